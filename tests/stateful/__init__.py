"""Random work in one worktree: real git commands, edits of files and our verbs, in any order, held against git.

`python -m tests.stateful --seconds 3600 --seed 1` goes on for an hour and prints the shortest way to what it finds.
"""
