"""What may not be written, and what is remembered to be clean.

`patterns` is the everyday scan, of our own patterns alone; `deep` adds the vendors of a library, and others that
neither has. Both have the same shape: bytes and a name in, hits out. A verb refuses what its user typed through
`context.caller.refuse_secrets`; `context.guard` searches the files that it keeps.
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

__all__ = [
    "Hit",
    "Memory",
    "everyday",
    "everyday_key",
    "refuse_hits",
    "scan",
    "scan_json",
    "scan_lines",
    "scan_pieces",
]
