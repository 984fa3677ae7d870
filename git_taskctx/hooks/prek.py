"""Whether prek also runs our hook beside its own, as it does from 0.3.5 on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from git_taskctx.hooks.health import read_author, read_script
from git_taskctx.limits import VERSION_SECONDS

_OLDEST = (0, 3, 5)
"""The first prek that runs `<hook>.legacy`; earlier ones move a hook there and never run it."""
_PROGRAM = re.compile(rb'^PREK="([^"\n\0]+)"$', re.MULTILINE)
_VERSION = re.compile(rb"prek (\d+)\.(\d+)\.(\d+)")


def find_fault(path: Path, event: str, environ: Mapping[str, str]) -> str | None:
    """Return why ours would not run beside prek's hook at `path`, if so."""
    if read_author(path, event) != "prek":
        return None
    named = _PROGRAM.search(read_script(path) or b"")
    program = named[1] if named else b"prek"
    import subprocess

    try:
        done = subprocess.run(
            [program, b"--version"], env=dict(environ), capture_output=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.match(done.stdout)
    if found is None or tuple(map(int, found.groups())) >= _OLDEST:
        return None
    return f"{found[0].decode()} runs no hook beside its own, as 0.3.5 and later do"
