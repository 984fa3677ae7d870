"""The repository as we see it: discovery, worktree to tree, diffs, refs and notes.

git decides what a tree is, and the `git` binary does all the work here, so that every repository that git can open
(sha256, reftable, partial clones, sparse checkouts) takes one and the same way. Paths are bytes in this room and
leave it quoted as git quotes them.
"""
