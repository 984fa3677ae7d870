"""Whatever was done to a task, who types what is shown comes to its end."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import pytest
from desk import TASK, Desk, Said, hints_of
from gitrepo import GitRepo

STEPS = 40
"""How many lines are typed at most; a task with three agents and no trouble takes some six."""
_BLANKS = {"SOMEBODY-ELSE": "carol", "LOG": "run.log", "N": "0", "WHY": "chosen"}


def _edit(desk: Desk, draw: Random) -> None:
    name = draw.choice(("parser.py", "README", "new.py", "deep/new file"))
    desk.repo.write(name, f"{draw.random()}\n")


def _remove(desk: Desk, draw: Random) -> None:
    (desk.repo.path / draw.choice(("parser.py", "README"))).unlink(missing_ok=True)


def _stash(desk: Desk, draw: Random) -> None:
    desk.repo.run("stash", "-u", "-q")


def _commit(desk: Desk, draw: Random) -> None:
    desk.repo.run("add", "-A")
    desk.repo.run("commit", "-q", "--no-verify", "-m", "early")


def _branch(desk: Desk, draw: Random) -> None:
    desk.repo.run("checkout", "-q", "-b", f"side-{draw.random()}")


def _verb(*words: str) -> Callable[[Desk, Random], None]:
    def run(desk: Desk, draw: Random) -> None:
        agent = draw.choice(("implementer", "reviewer", "validator"))
        desk.run(*(agent if word == "AGENT" else word for word in words))

    return run


ACTS = (
    _edit, _edit, _remove, _stash, _commit, _branch,
    _verb("snapshot", "--agent", "AGENT"), _verb("snapshot", "--agent", "AGENT", "--done"),
    _verb("snapshot", "--agent", "AGENT", "--wip"), _verb("start", "--agent", "AGENT"),
    _verb("start", "--agent", "AGENT", "--take-over", "it died"),
    _verb("snapshot", "--agent", "AGENT", "--attest", "mine"),
    _verb("block", "--agent", "AGENT", "--finding", "wrong"), _verb("verify"), _verb("purge"), _verb("recover", TASK),
    _verb("resolve-drift", "--accept", "--note", "kept"), _verb("restore", "--agent", "AGENT"),
)  # fmt: skip


def _type(desk: Desk, line: str) -> Said:
    """Type a line, and for each word that only the user knows some word."""
    return desk.typed_here(re.sub(rf"\b({'|'.join(_BLANKS)})\b", lambda found: _BLANKS[found[0]], line))


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(5, 60))])
def test_hints_alone_lead_to_the_end(desk: Desk, seed: int) -> None:
    """From any state, the first thing that is shown each time ends in a sealed commit, or in a task that is put away.

    Where a line does not do, what it says instead is typed.
    """
    draw = Random(seed)
    desk.init()
    for _ in range(draw.randint(3, 12)):
        draw.choice(ACTS)(desk, draw)
    typed, hints = list[str](), list[str]()
    for _ in range(STEPS):
        hints = hints or hints_of(desk.run("status"))
        line = hints[0]
        assert line.startswith("git "), line
        if line.startswith(("git taskctx log ", "git taskctx push ", "git taskctx init ")):
            break  # nothing is left to be done
        said = _type(desk, line)
        typed.append(f"{said.code} {line}")
        hints = hints_of(said) if said.code not in (0, 3) else []
        assert hints[:1] != [line], typed
    else:
        pytest.fail("\n".join(typed))
    assert desk.data("status")["task"] is None, typed
    assert desk.records("seal") or desk.records("purge"), typed


def test_a_task_that_went_well_takes_a_line_for_each_handoff(begun: Desk) -> None:
    """The shortest way is the one that is shown."""
    begun.repo.write("parser.py", "mended\n")
    typed = list[str]()
    while not (line := hints_of(begun.run("status"))[0]).startswith("git taskctx log "):
        typed.append(line)
        assert _type(begun, line).code == 0
    assert typed == [
        "git taskctx snapshot --agent implementer",
        "git taskctx start --agent reviewer",
        "git taskctx snapshot --agent reviewer",
        "git taskctx start --agent validator",
        "git taskctx snapshot --agent validator --done",
        "git add -A && git commit",
    ]


def test_two_clones_that_went_on_come_together(implemented: Desk, repo: GitRepo) -> None:
    """A fork of the ledger is chosen by typing one of the lines that are shown, and the task goes on."""
    second = implemented.repo.path.parent / "second"
    bare = GitRepo.init(implemented.repo.path.parent / "hub.git", "--bare")
    implemented.repo.git("remote", "add", "origin", str(bare.path))
    implemented.repo.git("push", "-q", "origin", "main")
    implemented.ok("push", "origin", "--with-snapshots")
    implemented.repo.git("clone", "-q", str(bare.path), str(second))
    other = Desk(GitRepo(second))
    for line in ("git taskctx fetch origin --with-snapshots", f"git taskctx recover {TASK}"):
        assert _type(other, line).code == 0
    for one in (implemented, other):
        one.ok("block", "--agent", "reviewer", "--finding", f"in {one.repo.path.name}")
    implemented.ok("push", "origin", "--with-snapshots")
    other.run("fetch", "origin", "--with-snapshots")
    lines = hints_of(other.run("status"))
    assert all("--holds" in line for line in lines)
    assert _type(other, lines[0]).code == 0
    assert "--holds" not in other.ok("status").both
