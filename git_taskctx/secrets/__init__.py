"""What may not be written, and what is known to be clean.

`patterns` is the everyday scan with our own patterns; `deep` adds a library's and further ones. Both take bytes and a
name and return hits. Verbs use `context.caller.refuse_secrets` for typed text; `context.guard` scans files.
"""

from __future__ import annotations

from git_taskctx.secrets.memory import Memory
from git_taskctx.secrets.patterns import (
    Hit,
    everyday,
    everyday_key,
    refuse_hits,
    scan,
    scan_json,
    scan_lines,
    scan_pieces,
)

__all__ = ["Hit", "Memory", "everyday", "everyday_key", "refuse_hits", "scan", "scan_json", "scan_lines", "scan_pieces"]
