"""The tasks of the corpus: what was done in each repository, so that every kind of record is in one of them."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desk import TASK, Desk
from gitrepo import GitRepo

START = 1_767_225_600
NOTES = "refs/notes/taskctx"
POLICY = '[standards]\nrequire = false\n[task]\nrequire_status = ["in_progress", "review"]\n'
TASK_FILE = """\
id: {task}
title: Mend the parser
status: in_progress
priority: P1
description: |
  It breaks on tabs.
acceptance_criteria:
  - it parses tabs
scope:
  in: ["*.py", "tests/**"]
validation:
  commands:
    - make test
    - make lint
standards:
  - standards/code.md#naming
"""
STANDARD = "# Code\n\n## Naming\n\nNames are words.\n\n## Size\n\nFiles have 400 lines at most.\n"
RULE = "=" * 20
PASSED = f"""\
{RULE} test session starts {RULE}
collected 3 items

test_a.py ...                                                            [100%]

{RULE} 3 passed in 0.01s {RULE}
"""
FAILED = f"""\
{RULE} test session starts {RULE}
collected 2 items

test_a.py .F                                                             [100%]

{RULE} FAILURES {RULE}
{RULE} short test summary info {RULE}
FAILED test_a.py::test_tabs - assert 1 == 2
{RULE} 1 failed, 1 passed in 0.02s {RULE}
"""


class Clock:
    """Seconds that go by with each look; git's dates follow."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime.datetime:
        self.at += 7
        date = f"{self.at} +0000"
        os.environ["GIT_AUTHOR_DATE"] = os.environ["GIT_COMMITTER_DATE"] = date
        return datetime.datetime.fromtimestamp(self.at, datetime.UTC)


class Work:
    """A repository in which tasks are done."""

    def __init__(self, folder: Path, clock: Clock, *, policy: str = POLICY, algorithm: str = "sha1") -> None:
        self.folder, self.clock = folder, clock
        self.repo = GitRepo.init(folder / "work", f"--object-format={algorithm}")
        self.desk = Desk(self.repo)
        self.asked: list[str] = []
        """Revisions and ranges that verdicts are asked on."""
        self.repo.write("parser.py", "".join(f"line {number}\n" for number in range(12)))
        self.repo.write("other.py", "other\n")
        self.repo.write("standards/code.md", STANDARD)
        self.repo.write("tasks/TASK-9.task.yaml", TASK_FILE.format(task="TASK-9"))
        if policy:
            self.repo.write(".taskctx.toml", policy)

    def commit(self, message: str = "Mend the parser", *args: str, stage: bool = True) -> str:
        """Commit everything at the next moment; return the oid."""
        self.clock()
        if stage:
            self.repo.add()
        self.repo.git("-c", "core.hooksPath=/nonexistent", "commit", "-q", "--allow-empty", "-m", message, *args)
        return self.repo.head()

    def ok(self, *args: str, **options: Any) -> Any:
        """Run a verb that must end well, unless an exit code is given."""
        said = self.desk.run(*args, **{key: value for key, value in options.items() if key != "code"})
        if said.code != options.get("code", 0):
            raise SystemExit(f"{args} ended with {said.code}\n{said.both}")
        return said

    def begin(self, task: str = TASK, *args: str) -> None:
        self.ok("init", task, "--title", "Mend the parser", *args)

    def ask(self, *names: str) -> None:
        """Have verdicts on revisions and ranges, as they are now."""
        self.asked += ["..".join(self.repo.git("rev-parse", end) for end in name.split("..")) for name in names]

    def edit(self, text: str = "mended\n", path: str = "parser.py") -> None:
        self.repo.write(path, (self.repo.read(path).decode() if self.repo.at(path).exists() else "") + text)

    def snapshot(self, agent: str, *args: str, code: int = 0) -> Any:
        return self.ok("snapshot", "--agent", agent, *args, code=code)

    def validate(self, text: str = "mended\n", *args: str) -> None:
        self.edit(text)
        self.snapshot("implementer", *args)
        self.snapshot("reviewer", *args)
        self.snapshot("validator", "--done", *args)

    def seal(self, *args: str) -> str:
        commit = self.commit("Mend the parser", *args)
        self.ok("verify")
        return commit

    def clone(self, name: str) -> Work:
        """Clone the repository, with everything of ours."""
        self.repo.git("clone", "-q", os.fspath(self.repo.path), os.fspath(self.folder / name))
        other = object.__new__(Work)
        other.folder, other.clock, other.repo = self.folder, self.clock, GitRepo(self.folder / name)
        other.desk, other.asked = Desk(other.repo), []
        return other


def plain(work: Work) -> None:
    """One task from its file, all in order, twice; and a commit that is nobody's."""
    base = work.commit("base")
    work.ok("init", "TASK-9")
    work.edit()
    work.snapshot("implementer", "--wip")
    work.edit("more\n")
    work.snapshot("implementer")
    work.ok("start", "--agent", "reviewer")
    work.snapshot("reviewer")
    work.ok("start", "--agent", "validator")
    work.snapshot("validator", "--done")
    work.seal()
    work.begin("TASK-2")
    work.validate("second\n", "--actor", "Zoë “Z” Ünal")
    work.seal()
    work.edit("nobody's\n")
    work.commit("nobody's")
    work.ask("HEAD", "HEAD~1", "HEAD~2", f"{base}..HEAD~1", f"{base}..HEAD")


def drifting(work: Work) -> None:
    """Drift counted, put right, accepted, vouched for; findings; a takeover; turns back; and what agents say."""
    work.commit("base")
    work.edit("dirty before the task\n", "other.py")
    work.begin()
    work.snapshot("implementer", "--allow-clean")
    work.edit()
    work.snapshot("implementer")  # reopened
    work.edit("drift\n")
    work.edit("new\n", "new file.py")
    work.ok("verify", code=1)
    work.edit("another drift\n")
    work.ok("verify", code=1)
    work.ok("restore", "--agent", "implementer", "--paths", "parser.py", "--paths", "new file.py")
    work.ok("resolve-drift", "--note", "an editor saved it\nby itself")
    work.edit("kept drift\n")
    work.ok("start", "--agent", "reviewer", code=1)
    work.ok("resolve-drift", "--note", "it is right", "--accept", "--actor", "somebody else")
    work.ok("start", "--agent", "reviewer")
    work.ok("block", "--agent", "reviewer", "--finding", "tabs still break,\nsee line 3")
    work.ok("block", "--agent", "reviewer", "--finding", "a name is not a word")
    work.ok("start", "--agent", "implementer")  # back, implied
    work.edit("fixed\n")
    work.snapshot("implementer")
    work.ok("start", "--agent", "implementer")  # resume
    work.edit("fixed better\n")
    work.ok("update", "--agent", "implementer", "--session-id", "s-1", "--qa-log", "logs/qa.log")
    work.snapshot("implementer")
    work.ok("start", "--agent", "implementer", "--take-over", "the first one died", "--actor", "second")
    work.edit("by the second\n")
    work.ok("start", "--agent", "reviewer", "--take-over", "it died")
    work.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    work.ok("unblock", "--agent", "reviewer", "--finding", "F2")
    work.snapshot("reviewer")
    work.edit("the validator's own\n")
    work.snapshot("validator", code=1)
    work.snapshot("validator", "--attest", "these lines are mine")
    work.ok("start", "--agent", "reviewer")  # back
    work.snapshot("reviewer")
    work.ok("start", "--agent", "validator")
    work.snapshot("validator")
    work.ok("update", "--agent", "validator", "--status", "done")
    work.repo.git("add", "parser.py")
    work.commit(stage=False)
    work.desk.run("verify")
    work.ask("HEAD", "HEAD~1..HEAD")


def quality(work: Work) -> None:
    """Runs of QA: a baseline, failures, contradictions, a claimed baseline, evidence by lines; `qa.require`."""
    work.commit("base")
    work.repo.write(".git/info/exclude", "*.log\n")
    for name, text in (("pass.log", PASSED), ("fail.log", FAILED), ("odd.log", "nothing that is known\n")):
        work.repo.write(name, text)

    def qa(agent: str, log: str, *args: str) -> None:
        work.ok("record-qa", "--agent", agent, "--from", log, *args)

    work.ok("init", "TASK-9")
    qa("implementer", "fail.log", "--command", "make test", "--exit-code", "1")
    work.edit()
    qa("implementer", "pass.log", "--command", "make test", "--exit-code", "0", "--baseline")
    work.repo.write("notes.md", "one\ntwo\nthree\n")
    work.ok("attach", "notes.md", "--type", "excerpt", "--lines", "L1-L2", "--description", "why\nit broke")
    work.ok("attach", "notes.md", "--type", "summary")
    work.repo.remove("notes.md")
    work.ok("attach", "pass.log", "--type", "other")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    qa("reviewer", "pass.log", "--command", "make test", "--exit-code", "1")
    qa("reviewer", "odd.log")
    work.ok("start", "--agent", "validator")
    qa("validator", "pass.log", "--command", "make test", "--exit-code", "0")
    qa("validator", "odd.log", "--command", "make lint", "--exit-code", "0")
    work.snapshot("validator", "--done")
    work.seal()
    work.ask("HEAD")
    work.begin("TASK-3")
    work.edit("third\n")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    qa("reviewer", "fail.log")
    work.commit("too early")
    work.desk.run("verify")
    work.ask("HEAD", "HEAD~1..HEAD")


def rebuilt(work: Work) -> None:
    """A task's text captured anew: other words, another policy, a section that moved; and volatile keys at the end."""
    work.commit("base")
    work.ok("init", "TASK-9")
    work.edit()
    work.snapshot("implementer")
    work.snapshot("reviewer")
    file = "tasks/TASK-9.task.yaml"
    work.repo.write(file, work.repo.read(file).decode().replace("breaks on tabs", "breaks on tabs and on spaces"))
    work.ok("rebuild")
    work.snapshot("reviewer")
    work.repo.write("standards/code.md", STANDARD.replace("# Code\n", "# Code\n\nSome words first.\n"))
    work.ok("rebuild")
    work.snapshot("reviewer")
    work.snapshot("validator")
    work.desk.run("start", "--agent", "implementer")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.repo.write(file, work.repo.read(file).decode().replace("in_progress", "done"))
    work.seal()
    work.ask("HEAD", "HEAD~1..HEAD")
    work.repo.git("reset", "-q", "--soft", "HEAD~1")
    work.repo.write(file, work.repo.read(file).decode().replace("status: done", "status: closed"))
    work.commit("Mend the parser, closed")
    work.ok("adopt", "HEAD", "--task", "TASK-9")
    work.ask("HEAD")


def another_policy(work: Work) -> None:
    """A newer policy taken while the task runs."""
    work.commit("base")
    work.ok("init", "TASK-9")
    work.edit()
    work.snapshot("implementer")
    work.repo.write(".taskctx.toml", POLICY + "[chain]\nmay_edit = ['implementer']\n")
    work.repo.git("add", ".taskctx.toml")
    work.clock()
    work.repo.git("commit", "-q", "-m", "policy", "--", ".taskctx.toml")
    newer = work.repo.head()
    work.desk.run("verify")
    work.ok("resolve-drift", "--note", "the policy was committed", "--accept")
    work.ok("rebuild", "--policy", newer)
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.seal()
    work.ask("HEAD", "HEAD~1..HEAD", "HEAD~2..HEAD")


def parts(work: Work) -> None:
    """A task in several commits, one of them amended; a branch at the same commit; a detached HEAD."""
    base = work.commit("base")
    work.begin()
    work.edit()
    work.snapshot("implementer")
    work.repo.git("checkout", "-q", "-b", "topic")
    work.ok("hook", "post-checkout", base, base, "1", code=0)
    work.commit("first part")
    work.desk.run("status")
    work.edit("second part\n", "other.py")
    work.snapshot("implementer")
    work.commit("second part")
    work.desk.run("status")
    work.commit("second part, amended", "--amend")
    work.desk.run("status")
    work.edit("half\n")
    work.edit("other half\n", "other.py")
    work.snapshot("implementer")
    work.repo.git("add", "parser.py")
    work.commit("half", stage=False)
    work.desk.run("status")
    work.commit("half, amended", "--amend", stage=False)
    work.desk.run("status")
    work.repo.git("checkout", "-q", "--detach")
    work.ok("hook", "post-checkout", work.repo.head(), work.repo.head(), "1")
    work.ok("start", "--agent", "implementer")
    work.edit("third\n")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.seal()
    work.ask("HEAD", "HEAD~1", "HEAD~2", f"{base}..HEAD")


def bypassed(work: Work) -> None:
    """Commits that bypassed the gate: one that stays, and one that was undone."""
    base = work.commit("base")
    work.ok("install")
    work.begin()
    work.edit()
    work.snapshot("implementer")
    work.commit("around", "--no-verify")
    work.desk.run("status")
    work.edit("more\n")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.commit("Mend the parser", "--no-verify")
    work.desk.run("status")
    work.begin("TASK-2")
    work.edit("second\n")
    work.snapshot("implementer")
    work.commit("around again", "--no-verify")
    work.desk.run("status")
    work.repo.git("reset", "-q", "--soft", "HEAD~1")
    work.repo.git("reset", "-q")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.commit("second", "--no-verify")
    work.desk.run("status")
    work.desk.run("verify")
    work.ask("HEAD", "HEAD~1", "HEAD~2", f"{base}..HEAD")


def moved(work: Work) -> None:
    """HEAD moved while an agent was at work; an early commit; a merge in progress at a snapshot."""
    work.commit("base")
    work.repo.git("checkout", "-q", "-b", "topic")
    work.begin()
    work.edit()
    work.repo.git("checkout", "-q", "main")
    work.repo.git("stash", "-q")
    work.repo.write("elsewhere.py", "elsewhere\n")
    work.commit("others")
    work.repo.git("branch", "-f", "topic", "main")
    work.repo.git("checkout", "-q", "topic")
    work.repo.git("stash", "pop", "-q")
    work.desk.run("recover", TASK)
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.seal()
    work.begin("TASK-2")
    work.edit("early\n")
    work.commit("early")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.ok("verify")
    work.ask("HEAD", "HEAD~1", "HEAD~2..HEAD")
    work.repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    work.edit("theirs\n")
    work.commit("theirs")
    work.repo.git("checkout", "-q", "topic")
    work.begin("TASK-3")
    work.repo.git("merge", "-q", "side", check=False)
    work.repo.write("parser.py", "both\n")
    work.snapshot("implementer")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.commit("merged")
    work.desk.run("verify")
    work.ask("HEAD")


def put_away(work: Work) -> None:
    """Several contexts of one task; one put away and brought back, one restored after it."""
    work.commit("base")
    work.begin()
    work.edit()
    work.snapshot("implementer")
    work.ok("purge")
    work.ok("recover", TASK)
    work.snapshot("reviewer")
    work.ok("restore", "--agent", "init")
    work.ok("restore", "--agent", "saved")
    work.ok("purge")
    work.begin(TASK, "--agents", "writer,editor")
    work.edit("again\n")
    work.snapshot("writer", "--actor", "a writer")
    work.snapshot("editor", "--done", "--actor", "an editor")
    work.seal()
    work.begin(TASK, "--agents", "alone")
    work.edit("once more\n")
    work.snapshot("alone", "--done")
    work.ok("purge")
    work.ask("HEAD", "HEAD~1..HEAD")


def unborn(work: Work) -> None:
    """A task on a branch without a commit, where all but one file lay there before."""
    work.begin()
    work.validate()
    work.repo.add("parser.py")
    work.commit(stage=False)
    work.ok("verify", code=0)
    work.ask("HEAD")


def forked(work: Work, *, holds: bool) -> None:
    """Two clones went on with one task, and their ledgers were merged."""
    work.commit("base")
    bare = work.folder / "hub.git"
    work.repo.git("init", "-q", "--bare", os.fspath(bare))
    work.repo.git("remote", "add", "origin", os.fspath(bare))
    work.repo.git("push", "-q", "-u", "origin", "main")
    work.begin()
    work.edit()
    work.snapshot("implementer")
    work.ok("push", "origin", "--with-snapshots")
    other = work.clone("other")
    other.repo.git("remote", "set-url", "origin", os.fspath(bare))
    other.ok("fetch", "origin", "--with-snapshots")
    other.ok("recover", TASK)
    other.ok("restore", "--agent", "implementer")
    other.ok("block", "--agent", "reviewer", "--finding", "found in the other clone", "--actor", "other")
    other.ok("push", "origin", "--with-snapshots")
    work.snapshot("reviewer")
    work.desk.run("fetch", "origin", "--with-snapshots")
    if holds:
        entries = [json.loads(line) for line in lines_of(work.repo)]
        mine = next(one for one in entries if one["type"] == "start")
        work.ok("resolve-drift", "--note", "the review counts", "--holds", mine["id"])
    else:
        work.ask("HEAD")
        return
    work.snapshot("validator", "--done")
    work.seal()
    work.ask("HEAD")


def forked_late(work: Work) -> None:
    """A fork that was merged after the commit was sealed: nothing says which side holds."""
    work.commit("base")
    work.begin()
    work.validate()
    other = work.clone("other")
    other.repo.git("fetch", "-q", "origin", "+refs/notes/*:refs/notes/*", "+refs/taskctx/*:refs/taskctx/*")
    other.ok("recover", TASK)
    other.ok("block", "--agent", "reviewer", "--finding", "late", "--actor", "other", "--task", TASK)
    work.seal()
    work.ok("fetch", os.fspath(other.repo.path))
    for target in (work.repo.head(), work.repo.tree()):
        text = "".join(f"{line}\n" for line in sorted(set(lines_of(work.repo))))
        blob = work.repo.git("hash-object", "-w", "--stdin", input=text)
        work.repo.git("notes", "--ref=taskctx", "add", "-f", "-C", blob, target)
    work.ask("HEAD")


def signed(work: Work) -> None:
    """Every record signed; the second task by an actor that the key may not sign for."""
    key = work.folder / "key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "key", "-f", os.fspath(key)]
    subprocess.run(words, check=True)
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])
    work.repo.config("gpg.format", "ssh")
    work.repo.config("user.signingKey", os.fspath(key))
    work.repo.write(".taskctx.signers", f'"A U Thor" {public}\n')
    work.commit("base")
    work.begin()
    work.validate()
    work.seal()
    work.begin("TASK-2")
    work.edit("second\n")
    work.snapshot("implementer", "--actor", "somebody else")
    work.snapshot("reviewer")
    work.snapshot("validator", "--done")
    work.seal()
    work.ask("HEAD", "HEAD~1")


def by_patch(work: Work) -> None:
    """A commit picked onto another base, one reworded, one squashed and adopted."""
    work.commit("base")
    work.repo.git("checkout", "-q", "-b", "topic")
    work.begin()
    work.validate()
    work.seal()
    sealed = work.repo.head()
    work.repo.git("checkout", "-q", "main")
    work.repo.write("elsewhere.py", "elsewhere\n")
    work.commit("others")
    work.clock()
    work.repo.git("cherry-pick", sealed)
    picked = work.repo.head()
    work.repo.git("checkout", "-q", "topic")
    work.commit("Mend the parser, in other words", "--amend")
    reworded = work.repo.head()
    work.ok("adopt", "HEAD", "--task", TASK)
    work.repo.git("branch", "sealed", sealed)
    work.repo.git("checkout", "-q", "main")
    work.repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic", "-X", "ours")
    work.ask(sealed, picked, reworded, "main", "main~2..main")


def places(work: Work) -> None:
    """A linked worktree, what a tree cannot show, paths out of scope, a secret by force, and paths that are odd."""
    work.commit("base")
    work.repo.git("worktree", "add", "-q", "-b", "linked", os.fspath(work.folder / "linked"))
    there = object.__new__(Work)
    there.folder, there.clock, there.repo = work.folder, work.clock, GitRepo(work.folder / "linked")
    there.desk, there.asked = Desk(there.repo), []
    there.ok("init", "TASK-9")
    there.edit()
    there.edit("out of scope\n", "elsewhere/notes.txt")
    there.repo.write(b"odd \xff name.py", "odd\n")
    there.edit("assumed\n", "other.py")
    there.repo.git("update-index", "--assume-unchanged", "other.py")
    there.edit('password = "correct-horse-battery"\n', "settings.py")
    there.snapshot("implementer", code=1)
    there.snapshot("implementer", "--force-secrets")
    there.snapshot("reviewer")
    there.snapshot("validator", "--done")
    there.repo.git("update-index", "--no-assume-unchanged", "other.py")
    there.repo.git("checkout", "-q", "--", "other.py")
    there.commit()
    there.desk.run("verify")
    work.ask("linked")


def long(work: Work) -> None:
    """More records than one anchor holds."""
    work.commit("base")
    work.begin()
    for number in range(14):
        work.ok("block", "--agent", "implementer", "--finding", f"finding {number}")
    for number in range(14):
        work.ok("unblock", "--agent", "implementer", "--finding", f"F{number + 1}")
    work.validate()
    work.seal()
    work.ask("HEAD")


LEDGERS: dict[str, tuple[Callable[[Work], None], dict[str, str]]] = {
    "plain": (plain, {}),
    "drifting": (drifting, {}),
    "quality": (quality, {"policy": POLICY + '[qa]\nrequire = true\n[commit]\nrequire = "budget"\n'}),
    "rebuilt": (rebuilt, {}),
    "another-policy": (another_policy, {}),
    "parts": (parts, {"policy": POLICY + '[commit]\npartial = true\nrequire = "snapshot"\n'}),
    "bypassed": (bypassed, {}),
    "moved": (moved, {}),
    "put-away": (put_away, {}),
    "unborn": (unborn, {"policy": ""}),
    "forked-holds": (lambda work: forked(work, holds=True), {}),
    "forked-open": (lambda work: forked(work, holds=False), {}),
    "forked-late": (forked_late, {}),
    "signed": (signed, {"policy": POLICY + "[proof]\nrequire_signed = true\nallowed_signers = '.taskctx.signers'\n"}),
    "by-patch": (by_patch, {"policy": POLICY + "[proof]\nby_patch = true\n"}),
    "places": (places, {}),
    "long": (long, {}),
    "sha256": (plain, {"algorithm": "sha256"}),
}


def lines_of(repo: GitRepo) -> list[str]:
    """Return every record in the ledger, each once, by context and number."""
    found = set()
    for listed in repo.git("notes", "--ref=taskctx", "list").splitlines():
        found.update(repo.git("cat-file", "blob", listed.split()[0]).splitlines())
    records = [(json.loads(line), line) for line in found]
    return [line for one, line in sorted(records, key=lambda pair: (pair[0]["context"], pair[0]["seq"], pair[1]))]
