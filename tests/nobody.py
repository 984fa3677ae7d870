"""Somebody who is neither root nor, unless it was given to him, the owner of anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from gitrepo import ROOT, GitRepo

NOBODY = 65534


def readable_python() -> str:
    """Return a Python of this version that any user may run; skip where there is none."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to act as somebody who may only read")
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        tried = subprocess.run(
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", python, "-c", "import git_taskctx"],
            env={**os.environ, "PYTHONPATH": PATHS},
            capture_output=True,
            check=False,
        )
        if tried.returncode == 0:
            return python
    pytest.skip("another user cannot run this Python or read this checkout")


PATHS = os.pathsep.join((os.fspath(ROOT), sysconfig.get_path("purelib")))


def give_to_nobody(place: Path) -> None:
    """Make a folder and all that it holds his."""
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", place], check=True)


def as_nobody(python: str, repo: GitRepo, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run a verb as a user that is neither root nor the owner, and who trusts the repository."""
    trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    return subprocess.run(
        [
            "setpriv",
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            python,
            "-B",
            "-m",
            "git_taskctx",
            *args,
        ],
        cwd=repo.path,
        env={**os.environ, **trust, "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent", "PYTHONPATH": PATHS},
        capture_output=True,
        check=False,
        timeout=60,
    )
