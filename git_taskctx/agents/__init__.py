"""The hooks that coding agents call, and the files that make them call us.

Each agent's format is in `dialects`; whether something is denied follows from the ledger alone.
"""
