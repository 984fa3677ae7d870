"""git's hooks: what is put in place, how it is taken away, and what each hook does."""
