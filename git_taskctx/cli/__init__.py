"""The command line: signatures and wiring, nothing else. One file per family of verbs."""
