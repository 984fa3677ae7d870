"""A task with everything in it that a report shows, as friendly or as hostile as it is told to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from desk import TASK, Desk
from gitrepo import GitRepo
from prepared import fill

from git_taskctx.cli.call import Call
from git_taskctx.cli.proof import rules_at
from git_taskctx.report.account import Account, account_of

BEFORE = "..\n" + "-" * 70 + "\nRan 2 tests in 0.001s\n\nOK\n"
AFTER = (
    f".F\n{'=' * 70}\nFAIL: test_bounds (test_prices.TotalTest.test_bounds)\n{'-' * 70}\n"
    f"Traceback (most recent call last):\nAssertionError\n\n{'-' * 70}\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n"
)
SCRIPT = "</title></textarea></style></script><script>alert(1)</script>"
IMAGE = '"><img src=x onerror="alert(1)"><a href=\'javascript:alert(1)\'>'
HOSTILE = (
    f"{SCRIPT}{IMAGE}{{{{ 7*7 }}}}{{% raw %}}&lt;b&gt;"
    "\u202etxt.exe\u2066 \x1b[31mred\x07\x85\u2028 \U0001f600\u200d\U0001f469"
)
"""What must be text wherever it stands."""


@dataclass(frozen=True)
class Words:
    """What people and agents wrote."""

    title: str = "Discount on a cart"
    description: str = "Regular customers get a discount, in percent."
    actor: str = "coder-model"
    finding: str = "a discount over 100 makes the total negative"
    note: str = "tried the rounding by hand; put back"
    command: str = "python -m unittest"
    path: str | bytes = "prices.py"
    line: str = "return 1"


HOSTILE_WORDS = Words(
    title=HOSTILE + "W" * 1700,
    description=HOSTILE,
    actor=f"{SCRIPT}{IMAGE}\u202e",
    finding=HOSTILE + "F" * 1500,
    note=HOSTILE,
    command=f"{HOSTILE} " + "c" * 500,
    path=b'"><img src=x onerror=alert(1)>\xff\n\xe2\x80\xae.py',
    line="y" * 8100 + f"\n</span></pre></details>{HOSTILE}\x00",  # git takes it for text: the NUL comes late
)


def played(folder: Path, words: Words = Words()) -> Desk:
    """Make a worktree in which every agent approved: a finding, a way back, drift, QA, an acceptance of drift.

    It is played once in a process, and copied.
    """
    repo = GitRepo(folder)
    fill(repo, _play, words)
    return Desk(repo)


def _play(repo: GitRepo, words: Words) -> None:
    one_commit(repo)
    desk = Desk(repo)

    def act(agent: str, *args: str) -> None:
        verb, *rest = args
        desk.ok(verb, "--agent", agent, "--actor", f"{words.actor}-{agent}", *rest)

    logs = [repo.path.parent / "before.log", repo.path.parent / "after.log"]
    for log, text in zip(logs, (BEFORE, AFTER), strict=True):
        log.write_text(text)
    desk.ok("init", TASK, "--title", words.title, "--description", words.description)
    act("implementer", "record-qa", "--from", str(logs[0]), "--command", words.command, "--exit-code", "0")
    repo.write(words.path, f"{words.line}\n")
    act("implementer", "snapshot")
    act("reviewer", "start")
    act("reviewer", "block", "--finding", words.finding)
    act("implementer", "start")
    repo.write(words.path, f"{words.line}\nchecked\n")
    act("implementer", "snapshot")
    repo.write("parser.py", "by hand\n")
    desk.ends(1, "verify")
    repo.write("parser.py", "broken\n")
    desk.ok("resolve-drift", "--note", words.note)
    repo.write("README", "accepted\n")
    desk.ends(1, "verify")
    desk.ok("resolve-drift", "--accept", "--note", words.note)
    act("reviewer", "start")
    act("reviewer", "unblock", "--finding", "F1")
    repo.write("logo.bin", b"\x00\x01\x02")
    act("reviewer", "snapshot")
    act("validator", "start")
    act("validator", "record-qa", "--from", str(logs[1]), "--command", words.command, "--exit-code", "1")
    act("validator", "snapshot", "--done")


def begun(folder: Path) -> Desk:
    """Make a worktree with one commit and nothing dirty."""
    repo = GitRepo(folder)
    fill(repo, one_commit)
    return Desk(repo)


def one_commit(repo: GitRepo) -> None:
    """Commit two files."""
    repo.write("parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.commit("base")


def account(desk: Desk, asked: str | None = None) -> Account:
    """Return what can be told in a worktree."""
    call = Call(folder=desk.repo.path)
    try:
        return account_of(call.caller(), asked, lambda commit: rules_at(call, commit))
    finally:
        call.close()
