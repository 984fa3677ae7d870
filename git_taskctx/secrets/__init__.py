"""What may not be written, and what is remembered to be clean.

`patterns` is the everyday scan, of our own patterns alone; `deep` adds the vendors of a library, and others that
neither has. Both have the same shape: bytes and a name in, hits out.
"""

from __future__ import annotations

from git_taskctx.secrets.memory import Memory
from git_taskctx.secrets.patterns import Hit, check, everyday, everyday_key, scan, scan_json, scan_lines, scan_pieces

__all__ = [
    "Hit",
    "Memory",
    "check",
    "everyday",
    "everyday_key",
    "scan",
    "scan_json",
    "scan_lines",
    "scan_pieces",
]
