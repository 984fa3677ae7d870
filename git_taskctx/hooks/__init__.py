"""git's hooks: how they are installed and removed, and what each one does."""
