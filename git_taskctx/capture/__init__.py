"""Files into an immutable block: the task file and the scope. Pure, but for being handed what was read.

A file of the repository is data here, whoever wrote it: it is bounded, parsed without executing anything, and every
problem in it is told with its place.
"""
