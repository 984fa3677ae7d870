"""One open context: chosen, opened and written back, and what each role gets from it."""
