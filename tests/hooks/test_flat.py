"""What a hook does is the same after a hundred tasks as after one."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from gated import Gated
from gitrepo import ROOT

COUNTER = """
import os, sys
def see(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)) and os.fsdecode(args[0]).startswith(os.environ["COUNTED"]):
        with_out = os.open(os.environ["COUNT"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(with_out, os.fsencode(args[0]) + b"\\n")
        os.close(with_out)
if "COUNT" in os.environ:
    sys.addaudithook(see)
"""


def fill(desk: Gated, count: int) -> None:
    """Put so many past tasks into the archive, the refs and the ledger, each as large as the one that is there."""
    repo, chance = desk.repo, random.Random(1)
    folder = repo.at(".agent-output/archive")
    (old,) = (path.name for path in folder.iterdir())
    kept = repo.git("for-each-ref", "--format=%(objectname) %(refname)", "refs/taskctx").splitlines()
    anchored = repo.git("hash-object", "--stdin", input=f"taskctx context {old}")
    line = repo.git("notes", "--ref=taskctx", "show", anchored)
    refs, notes = [], ["commit refs/notes/taskctx\ncommitter a <a@b> 0 +0000\ndata 0\nfrom refs/notes/taskctx^0\n"]
    for _ in range(count):
        new = chance.randbytes(8).hex()
        shutil.copytree(folder / old, folder / new)
        refs += [f"create {ref.replace(old, new)} {oid}" for oid, ref in map(str.split, kept) if old in ref]
        anchor, text = chance.randbytes(20).hex(), line.replace(old, new) + "\n"
        notes.append(f"M 100644 inline {anchor[:2]}/{anchor[2:]}\ndata {len(text.encode())}\n{text}\n")
    repo.git("update-ref", "--stdin", input="\n".join(refs) + "\n")
    repo.git("fast-import", "--quiet", input="".join(notes))


def work(desk: Gated, folder: Path, words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Run a hook; return the git processes that it starts, and the files of the repository that it opens."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(COUNTER)
    trace, count = folder / "trace", folder / "count"
    for file in (trace, count):
        file.unlink(missing_ok=True)
    env = {
        "GIT_TASKCTX_TRACE": os.fspath(trace), "COUNT": os.fspath(count), "COUNTED": os.fspath(desk.repo.path),
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
    }  # fmt: skip
    said = desk.process("hook", *words, env=env)
    assert said.code == 0, said.both
    processes = [line.rpartition("  ")[2].split()[0] for line in trace.read_text().splitlines()]
    opened = [os.path.basename(path) for path in count.read_text().splitlines()]  # noqa: PTH119
    return sorted(processes), sorted(name for name in opened if not name.startswith((".", "tmp-")))


@pytest.fixture
def seasoned(desk: Gated) -> Gated:
    """One past task, and the next one validated and staged."""
    desk.init()
    desk.validate()
    desk.passes("commit", "-q", "-a", "-m", "the first")
    desk.ok("init", "TASK-2", "--title", "The second")
    desk.repo.write("parser.py", "mended again\n")
    for words in (["implementer"], ["reviewer"], ["validator", "--done"]):
        desk.ok("snapshot", "--agent", *words)
    desk.repo.add()
    return desk


def test_a_hundred_past_tasks_cost_what_one_costs(seasoned: Gated, tmp_path: Path) -> None:
    """As many git processes of each kind, and the same files, for each hook."""
    head = seasoned.repo.head()
    hooks = (("pre-commit",), ("post-commit",), ("post-checkout", head, head, "1"))
    work(seasoned, tmp_path / "few", hooks[0])  # what the first reading of an index remembers
    few = [work(seasoned, tmp_path / "few", words) for words in hooks]
    fill(seasoned, 100)
    assert [work(seasoned, tmp_path / "few", words) for words in hooks] == few
    assert all(3 <= len(processes) <= 5 for processes, _ in few)
