"""Whether the worktree is what the chain expects: judged, counted in the budget, and how to put it right."""
