"""What git-taskctx costs, side by side with git: whole processes, in the same run, as ratios.

`python -m tests.benchmarks` prints the table; `--help` tells the rest. Figures are medians of paired rounds, git and
ours in turn, with a warm cache, so that a busy machine hits both alike. Nothing is measured that does not exist.
"""
