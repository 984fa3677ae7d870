"""Verdicts and work in the formats that other machines read."""
