"""Tests of the engine: one file a noun."""
