"""The ledgers that earlier versions wrote, as they lie in `corpus/ledgers`."""

from __future__ import annotations

import os
from pathlib import Path

from gitrepo import ROOT, GitRepo

CORPUS = ROOT / "tests" / "corpus" / "ledgers"
LEDGERS = sorted(path.stem for path in CORPUS.glob("*.bundle"))


def unpack_ledger(name: str, folder: Path) -> GitRepo:
    """Return a repository below `folder` that holds a ledger, made where it is not there yet."""
    place, bundle = folder / name, CORPUS / f"{name}.bundle"
    if place.exists():
        return GitRepo(place)
    algorithm = "sha256" if b"object-format=sha256" in bundle.read_bytes()[:100] else "sha1"
    repo = GitRepo.init(place, "--initial-branch=none", f"--object-format={algorithm}")
    repo.git("fetch", "-q", os.fspath(bundle), "+refs/*:refs/*")
    return repo


def lines_of(repo: GitRepo) -> list[str]:
    """Return every record in the notes, each once."""
    blobs = {line.split()[0] for line in repo.git("notes", "--ref=taskctx", "list").splitlines()}
    return sorted({line for blob in blobs for line in repo.git("cat-file", "blob", blob).splitlines()})
