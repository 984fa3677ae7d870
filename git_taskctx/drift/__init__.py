"""Whether the worktree is what the chain expects: judged, and counted in the drift budget."""
