"""Repositories that many tests begin with: each is made once in a process, and copied for every test."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from gitrepo import GitRepo


def fill(repo: GitRepo, make: Callable[..., object], *args: Hashable) -> None:
    """Bring an empty repository to where `make` brings one, which may depend on nothing but its arguments."""
    repo.become(_made(make, *args))


@functools.cache
def _made(make: Callable[..., Any], *args: Hashable) -> GitRepo:
    repo = GitRepo.init(own_folder(make.__name__))
    make(repo, *args)
    return repo


folder = Path()
"""Where they are kept: in a folder of this run."""


def own_folder(name: str) -> Path:
    """Return a folder that stays for as long as the process."""
    folder.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))
