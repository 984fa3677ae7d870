"""The heart: snapshots, drift, the chain of agents, the ledger and the life cycle of a context.

Nothing here prints, reads the environment or parses a command line. Every verb takes a `Session` and gives a value.
"""
