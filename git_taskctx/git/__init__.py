"""The repository: discovery, worktree to tree, diffs, refs and notes.

git decides what a tree is, and the `git` binary does all the work, so that every repository that git can open (sha256,
reftable, partial clones, sparse checkouts) works the same. Paths are bytes here and leave this room quoted as git
quotes them.
"""
