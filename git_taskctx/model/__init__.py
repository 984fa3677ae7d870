"""What the product talks about, as frozen values: contexts, snapshots, records and verdicts.

Pure: nothing here reads a file, a clock, an environment or a repository.
"""
