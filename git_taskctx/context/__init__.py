"""One open context: how it is chosen, opened and written back, and what is derived from it for each role."""
