"""A task in which everything happens that an export must tell, and the same trees as a history of real commits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from desk import TASK, Desk
from gitrepo import GitRepo

BASE = "".join(f"line {number}\n" for number in range(12))


def prepare(folder: Path) -> Desk:
    """Return a repository with files of all kinds, on a branch of its own, where something is dirty already."""
    repo = GitRepo.init(folder / "work")
    repo.write("parser.py", BASE)
    repo.write("dirty.py", BASE)
    repo.write("old name.py", BASE.replace("line", "row"))
    repo.write("gone.py", "gone\n")
    repo.write("crlf.txt", "one\r\ntwo\r\n")
    repo.write("run.sh", "#!/bin/sh\n")
    repo.write(b"caf\xe9", "un\n")
    repo.commit("base")
    repo.checkout("-b", "topic")
    repo.write("dirty.py", "before the task\n" + BASE)
    return Desk(repo)


def edit(repo: GitRepo, path: str | bytes, number: int, text: str) -> None:
    """Put a line in the place of another one."""
    rows = repo.read(path).splitlines(keepends=True)
    rows[number] = text.encode()
    repo.write(path, b"".join(rows))


def implement(desk: Desk) -> None:
    """The first turn: it edits, adds, renames, deletes, and takes on what was dirty."""
    repo = desk.repo
    edit(repo, "parser.py", 1, "by the implementer\n")
    edit(repo, "parser.py", 7, "by the implementer, too\n")
    edit(repo, "dirty.py", 5, "by the implementer\n")
    repo.write("image.png", b"\x89PNG\0\1")
    repo.write("new.py", "one\ntwo\nthree")
    repo.at("old name.py").rename(repo.at("new name.py"))
    repo.remove("gone.py")
    repo.write("crlf.txt", "one\r\ntwo\r\nthree\r\n")
    repo.chmod("run.sh", 0o755)
    repo.write(b"caf\xe9", "un\ndeux\n")
    repo.symlink("link", "parser.py")
    desk.ok("snapshot", "--agent", "implementer", "--actor", "anthropic/claude-opus-4-5-20251101")


def review(desk: Desk) -> None:
    """The second turn: a person edits what the first one did, and takes in what somebody else did."""
    repo = desk.repo
    desk.ok("start", "--agent", "reviewer", "--actor", "Rita")
    edit(repo, "parser.py", 7, "by the reviewer\n")
    edit(repo, "new name.py", 3, "by the reviewer\n")
    repo.write("new.py", "one\ntwo\nthree\nfour\n")
    repo.write("image.png", b"\x89PNG\0\2")
    desk.ok("snapshot", "--agent", "reviewer", "--actor", "Rita")
    edit(repo, "parser.py", 9, "by hand\n")
    desk.ends(1, "verify")
    desk.ok("resolve-drift", "--accept", "--note", "mended by hand", "--actor", "Hank")


def finish(desk: Desk) -> str:
    """The last turn, and the commit."""
    desk.ok("snapshot", "--agent", "validator", "--done", "--actor", "Val")
    commit = desk.repo.commit("Mend the parser")
    desk.ok("verify")
    return commit


def tell(folder: Path) -> tuple[Desk, str]:
    """Play all of it; return where, and the commit."""
    desk = prepare(folder)
    desk.init()
    implement(desk)
    review(desk)
    return desk, finish(desk)


def exported(desk: Desk, form: str, *args: str) -> list[dict[str, Any]]:
    """Return the documents of an export that must succeed."""
    return [json.loads(line) for line in desk.ok("export", "--format", form, *args).out.splitlines()]


def path_of(path: bytes) -> str:
    """Return a path as a document names it."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return '"' + "".join(chr(byte) if byte < 128 else f"\\{byte:03o}" for byte in path) + '"'


def blamed(desk: Desk, commit: str) -> dict[str, dict[int, str]]:
    """Return who brought each line of what a commit changed, by `git blame` over real commits of the recorded trees.

    Who: the agent and the actor, as in `reviewer Rita`. Lines that were there before the task are left out; those that
    were dirty are `init`'s.
    """
    repo = desk.repo
    records = [one for one in desk.records() if one["type"] in ("init", "snapshot")]
    made = {repo.git("rev-parse", f"{commit}^"): ""}
    last = next(iter(made))
    for number, record in enumerate(records):
        name = f"{record['agent']} {record['actor']}" if record["type"] == "snapshot" else "init"
        date = f"{1_700_000_000 + number} +0000"
        env = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        last = repo.git("commit-tree", record["tree"], "-p", last, "-m", name, env=env)
        made[last] = name
    found: dict[str, dict[int, str]] = {}
    changed = repo.run("diff", "--name-only", "-z", "--diff-filter=d", f"{commit}^", commit).stdout
    for path in changed.split(b"\0")[:-1]:
        told = repo.run("blame", "--porcelain", last, "--", path).stdout
        owners = re.findall(rb"^([0-9a-f]{40}) \d+ (\d+)", told, re.MULTILINE)
        found[path_of(path)] = {int(line): made[oid.decode()] for oid, line in owners if made[oid.decode()]}
    return found


__all__ = ["TASK", "blamed", "exported", "tell"]
