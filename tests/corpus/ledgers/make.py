"""Make the corpus of ledgers with the package of a checkout: `PYTHONPATH=OLD:OLD/tests python make.py FOLDER`.

Each ledger becomes a bundle of a repository in which tasks were done, and what that version says of it: the hash of
each record's line, the state that the records add up to after each, and the verdicts on its commits. The clock, the
ids and the dates are fixed, so that two runs of the same version make the same ledgers (but for signatures).

The ledgers here were made with the last version in which a record held what only its kind carries as an untyped bag.
They are not made anew: that records of before read, hash and prove as before is what they are for.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from desk import Desk
from gitrepo import GitRepo

sys.path.insert(0, os.fspath(Path(__file__).parent))
from state import context_state, proof_of
from tasks import LEDGERS, NOTES, Clock, Work


def make(name: str, out: Path, place: Path) -> None:
    """Make one ledger, and write what is said of it."""
    from git_taskctx.cli import call

    folder, clock, ids = place / name, Clock(), itertools.count(1)
    call.now = clock
    secrets.token_hex = lambda n=None: hashlib.sha256(f"{name} {next(ids)}".encode()).hexdigest()[: 2 * (n or 8)]
    os.urandom = lambda n: hashlib.sha256(f"{name} {next(ids)} more".encode()).digest()[:n]
    clock()
    do, options = LEDGERS[name]
    work = Work(folder, clock, **options)
    do(work)
    repo = work.repo
    for number, revision in enumerate(work.asked):  # so that a bundle has them, whatever the branch is at
        repo.git("update-ref", f"refs/heads/asked/{number}", revision.rpartition("..")[2])
    refs = repo.git("for-each-ref", "--format=%(refname)").splitlines()
    kept = [ref for ref in refs if ref.startswith(("refs/heads/", NOTES, "refs/taskctx/contexts/"))]
    if name != "plain":  # the history of a ledger is large, and proves nothing
        last = repo.git("log", "-1", "--format=%s", NOTES)
        repo.git("update-ref", NOTES, repo.git("commit-tree", "-m", last, f"{NOTES}^{{tree}}"))
    repo.git("-c", "pack.compression=9", "bundle", "create", "-q", os.fspath(out / f"{name}.bundle"), *kept)
    clone = place / f"{name}-clone"
    fetched = GitRepo.init(clone, f"--object-format={options.get('algorithm', 'sha1')}", "--initial-branch=none")
    fetched.git("fetch", "-q", os.fspath(out / f"{name}.bundle"), "+refs/*:refs/*")
    told = {"contexts": contexts_in(clone), "proofs": {}}
    for one in work.asked:
        told["proofs"][one] = proof_of(Desk(fetched), one)
    (out / f"{name}.json").write_text(json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(name, (out / f"{name}.bundle").stat().st_size, (out / f"{name}.json").stat().st_size)


def contexts_in(place: Path) -> dict[str, Any]:
    """Return what that version makes of each context in a repository."""
    from git_taskctx.handoff.chain import fold
    from git_taskctx.handoff.ledger import read_ledger

    from git_taskctx.errors import BadData
    from git_taskctx.git.repository import open_repository

    repository, found = open_repository(place, os.environ), {}
    refs = repository.git.run("for-each-ref", "--format=%(refname)", "refs/taskctx/contexts").out.decode().split()
    for context in (ref.rpartition("/")[2] for ref in refs):
        try:
            ledger = read_ledger(repository, context, repository.git.run("rev-parse", NOTES).out.decode().strip())
        except BadData as error:
            found[context] = type(error).__name__
        else:
            found[context] = context_state(ledger.entries, ledger.aside, fold)
    repository.close()
    return found


def main(out: Path, names: Iterable[str]) -> None:
    """Make the ledgers named, or all."""
    for variable in [name for name in os.environ if name.startswith(("GIT_", "TASKCTX"))]:
        del os.environ[variable]
    with tempfile.TemporaryDirectory() as text:
        place = Path(text)
        home = place / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\n\tname = A U Thor\n\temail = author@example.com\n[init]\n\tdefaultBranch = main\n"
            '[protocol "file"]\n\tallow = always\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n'
        )
        os.environ |= {"HOME": os.fspath(home), "TZ": "UTC", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
        os.environ.pop("XDG_CONFIG_HOME", None)
        for name in names or LEDGERS:
            make(name, out, place)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
