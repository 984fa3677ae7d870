"""Files into an immutable block: the task file and the scope. Pure: file contents are passed in.

Files of the repository are untrusted data: size-limited, parsed without executing anything, and every problem is
reported with its place.
"""
