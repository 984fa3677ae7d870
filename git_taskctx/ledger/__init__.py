"""What is on record: records read and appended, the chain's fold, forks, and the refs that keep objects alive.

Nothing here knows a worktree.
"""
