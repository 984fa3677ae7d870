"""Verdicts and contexts for people and machines. The only rooms that phrase anything; nothing is decided here."""
