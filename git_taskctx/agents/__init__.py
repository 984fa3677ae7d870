"""What coding agents run by themselves: the hooks that they call, and the files that make them call.

The agents' own forms are told in `dialects`; whether something is denied follows from the ledger alone.
"""
