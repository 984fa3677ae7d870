"""Ledgers and contexts that leave this clone or come into it: fetch, push, merge. The worktree is never read."""
