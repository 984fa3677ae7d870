"""The verbs of the handoff, one file each. Nothing here prints, reads the environment or parses a command line."""
