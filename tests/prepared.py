"""Repositories that many tests begin with: each is made once in a process, and copied for every test."""

from __future__ import annotations

import atexit
import functools
import shutil
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


def own_folder(name: str) -> Path:
    """Return a folder that stays for as long as the process."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_folder()))


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="taskctx-templates-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
