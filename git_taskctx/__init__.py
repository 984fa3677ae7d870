"""One immutable task context, and a verified handoff, for agents that share a dirty git worktree."""

__version__ = "0.2.0"
