"""Commits of a task: the gate before them, the seal after them, and those that bypassed the gate."""
