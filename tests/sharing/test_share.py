"""The ledger and the snapshots, shared between clones: no record is lost, and a task goes on elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from desk import Desk, plain
from gitrepo import GitRepo
from transports import served_by_daemon, served_by_http

from git_taskctx.model.canonical import dump_canonical

NOTES = "refs/notes/taskctx"


class Hub:
    """A bare repository, and desks in clones of it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.bare = GitRepo.init(place / "hub.git", "--bare")
        first = GitRepo.init(place / "first")
        first.write("parser.py", "broken\n")
        first.commit("base")
        first.git("remote", "add", "origin", os.fspath(self.bare.path))
        first.git("push", "-q", "-u", "origin", "main")
        self.first = Desk(first)

    def clone(self, name: str, *args: str) -> Desk:
        """Clone it once more."""
        self.bare.git("clone", "-q", *args, f"file://{self.bare.path}", os.fspath(self.place / name))
        return Desk(GitRepo(self.place / name))

    def lines(self) -> set[str]:
        """Return every line of the ledger in the bare repository."""
        listed = self.bare.git("ls-tree", "-r", "--format=%(objectname)", NOTES, check=False).split()
        return {line for oid in listed for line in self.bare.git("cat-file", "blob", oid).splitlines() if line}

    def ids(self) -> set[tuple[str, str]]:
        """Return task and id of every record there."""
        records = [json.loads(line) for line in self.lines() if line.startswith("{")]
        return {(record["task"], record["id"]) for record in records}


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path)


def ids_of(desk: Desk) -> set[tuple[str, str]]:
    return {(record["task"], record["id"]) for record in desk.records()}


# The ledger


def test_records_of_two_clones_come_together(hub: Hub) -> None:
    """Each has all records after a push and a fetch; other notes are merged as well, and nothing is pushed twice."""
    second = hub.clone("second")
    hub.first.ok("init", "TASK-1", "--title", "One")
    second.ok("init", "TASK-2", "--title", "Two")
    hub.first.repo.git("notes", "--ref=taskctx", "add", "-m", "a person's line", "HEAD^{tree}")
    first_said = hub.first.ok("push", "origin")
    second_said = second.ok("push", "origin")
    assert plain(first_said.out) == f"pushed 1 record of TASK-1 to {hub.bare.path}\n"
    assert second_said.out == (
        f"fetched 1 record that origin had\npushed 1 record of TASK-2 to file://{hub.bare.path}\n"
    )
    assert hub.first.ok("fetch").out == "fetched 1 record of TASK-2 from origin\n"
    assert hub.first.ok("fetch").out == "nothing new in the ledger of origin\n"
    assert hub.first.ok("push", "origin").out == "origin has everything already\n"
    assert {task for task, _ in hub.ids()} == {"TASK-1", "TASK-2"}
    ours = {desk.repo.git("rev-parse", NOTES) for desk in (hub.first, second)} | {hub.bare.git("rev-parse", NOTES)}
    assert len(ours) == 1
    shown = second.repo.git("notes", "--ref=taskctx", "show", "HEAD^{tree}")
    assert shown == "a person's line"


def test_records_that_the_other_side_dropped_stay_here_and_go_back(hub: Hub) -> None:
    """A fetch never takes a record away, also where the other side's history goes on from ours."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    hub.first.implement()
    hub.first.ok("push", "origin")
    mine = ids_of(hub.first)
    attacker = hub.clone("attacker").repo
    attacker.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
    for line in attacker.git("notes", "--ref=taskctx", "list").splitlines():
        attacker.git("notes", "--ref=taskctx", "remove", line.split()[1])
    attacker.git("push", "-q", "origin", NOTES)
    assert hub.ids() == set()
    assert hub.first.ok("fetch").out == "nothing new in the ledger of origin\n"
    assert ids_of(hub.first) == mine
    hub.first.ok("push", "origin")
    assert hub.ids() == mine


@contextlib.contextmanager
def over_files(folder: Path) -> Iterator[str]:
    yield f"file://{folder}"


@pytest.mark.parametrize(
    ("served", "count"),
    [
        pytest.param(over_files, 4, id="file"),
        pytest.param(over_files, 10, id="file, many", marks=pytest.mark.deep),
        pytest.param(served_by_daemon, 3, id="git"),
        pytest.param(served_by_http, 3, id="http"),
    ],
)
def test_clones_push_at_once(
    hub: Hub, served: Callable[[Path], contextlib.AbstractContextManager[str]], count: int
) -> None:
    """No record is lost, whoever comes first, and over whatever wire."""
    desks = [hub.clone(f"clone-{number}") for number in range(count)]
    hub.bare.git("config", "http.receivepack", "true")
    with served(hub.place) as address:
        for number, desk in enumerate(desks):
            desk.ok("init", f"TASK-{number}", "--title", "One of many")
            desk.repo.git("remote", "set-url", "origin", f"{address}/hub.git")
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "git_taskctx", "push", "origin"], cwd=desk.repo.path, env=desk.environment(),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for desk in desks
        ]  # fmt: skip
        said = [(process.communicate(), process.returncode) for process in running]
        assert [code for _, code in said] == [0] * count, said
        desks[0].ok("fetch")
    assert {task for task, _ in hub.ids()} == {f"TASK-{number}" for number in range(count)}
    assert {one["task"] for one in desks[0].data("list")} == {"TASK-0"}


def test_a_push_that_is_refused_for_good_is_told(hub: Hub) -> None:
    """A hook of the other side that says no is no lost race: one try, and its words."""
    hook = hub.bare.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho tried >>tries\nexit 1\n")
    hook.chmod(0o755)
    hub.first.ok("init", "TASK-1", "--title", "One")
    said = hub.first.refuses("push", "origin", code=128)
    assert "origin does not take refs/notes/taskctx: [remote rejected] (pre-receive hook declined)" in said
    assert (hub.bare.path / "tries").read_text() == "tried\n"


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (("push", "elsewhere"), 1, "error: there is no remote 'elsewhere' (known: origin)"),
        (
            ("push", "./nowhere.git"),
            128,
            "error: `git ls-remote`: './nowhere.git' does not appear to be a git repository",
        ),
        (("fetch", "-x"), 129, "error: no such option: -x"),
        (("push",), 129, "error: missing argument 'REMOTE'"),
        (("fetch", "--upload-pack=touch x", "origin"), 129, "error: no such option: --upload-pack"),
    ],
    ids=str,
)
def test_what_is_no_remote_is_refused(hub: Hub, argv: tuple[str, ...], code: int, told: str) -> None:
    """One sentence, and the command to type; nothing that looks like an option reaches git."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    assert hub.first.refuses(*argv, code=code).startswith(told)


def test_nothing_to_push_and_nothing_to_fetch(hub: Hub) -> None:
    """Without a ledger a push is refused, and a fetch says that the other side has none; no folder is made."""
    assert "there is no ledger here yet" in hub.first.refuses("push", "origin", code=128)
    assert hub.first.ok("fetch").out == "origin has no ledger\n"
    assert not (hub.first.repo.path / ".agent-output").exists()


def test_a_dry_run_says_what_would_leave_and_sends_nothing(hub: Hub) -> None:
    """Address, records and refs; the bare repository stays as it is. A password in the address is not shown."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    hub.first.implement()
    hub.first.repo.git("config", "remote.origin.pushurl", f"file://user:hunter2@{hub.bare.path}")
    said = hub.first.ok("push", "origin", "--with-snapshots", "--dry-run")
    assert said.out == (
        f"would push 2 records of TASK-1 to file://{hub.bare.path}\n"
        f"would push 4 refs of contexts and snapshots to file://{hub.bare.path}\n"
    )
    assert hub.bare.git("for-each-ref", "refs/notes", "refs/taskctx") == ""


def test_a_dry_run_says_what_would_come_and_takes_nothing(hub: Hub) -> None:
    """Records and contexts; no ref of ours moves, and the fetch after it brings exactly that."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    hub.first.implement()
    hub.first.ok("push", "origin", "--with-snapshots")
    second = hub.clone("second")
    told = "fetch 2 records of TASK-1 from origin\nwould fetch the snapshots of TASK-1\n"
    assert second.ok("fetch", "--with-snapshots", "--dry-run").out == f"would {told}"
    assert second.ok("fetch", "--dry-run").out == f"would {told.splitlines()[0]}\n"
    listed = second.repo.git("for-each-ref", "--format=%(refname)", "refs/notes", "refs/taskctx")
    assert listed == "refs/taskctx/remotes/origin/seen"
    assert second.data("list") == []
    said = second.ok("fetch", "--with-snapshots")
    assert said.out == f"{told.replace('would fetch', 'fetched').replace('fetch 2', 'fetched 2')}"
    for words in (("fetch",), ("fetch", "--with-snapshots")):
        assert second.ok(*words, "--dry-run").out == "nothing new in the ledger of origin\n"


def test_a_dry_run_looks_at_all_contexts_at_once(hub: Hub, tmp_path: Path) -> None:
    """However many contexts the other side has, git is started as often."""
    second, trace, started = hub.clone("second"), tmp_path / "trace", list[int]()
    for number in (1, 2, 3):
        hub.first.ok("init", f"TASK-{number}", "--title", "One")
        hub.first.ok("push", "origin", "--with-snapshots")
        hub.first.ok("purge")
        trace.unlink(missing_ok=True)
        said = second.process("fetch", "--with-snapshots", "--dry-run", env={"GIT_TASKCTX_TRACE": os.fspath(trace)})
        tasks = {f"would fetch the snapshots of TASK-{one}" for one in range(1, number + 1)}
        assert set(said.out.splitlines()[1:]) == tasks
        started.append(len(trace.read_text().splitlines()))
    assert started == started[:1] * 3


def test_only_the_ledger_leaves_unless_asked(hub: Hub) -> None:
    """No tree, no content, no context: notes alone."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    hub.first.implement("kept at home\n")
    hub.first.ok("push", "origin")
    assert hub.bare.git("for-each-ref", "--format=%(refname)", "refs/notes", "refs/taskctx") == NOTES
    everything = hub.bare.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    blobs = [line.split()[0] for line in everything.splitlines() if line.endswith("blob")]
    assert all("kept at home" not in hub.bare.git("cat-file", "blob", blob) for blob in blobs)


def test_a_secret_that_was_let_pass_does_not_leave(hub: Hub) -> None:
    """What was recorded by force is found once more before it goes; by force it goes, and is told."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    secret = "AKIA" + "Q7RXW2LMNB4TUVZ9"
    hub.first.repo.write("config.py", f"key = '{secret}'\n")
    hub.first.ok("snapshot", "--agent", "implementer", "--force-secrets")
    hub.first.ok("push", "origin")
    said = hub.first.refuses("push", "origin", "--with-snapshots")
    assert "config.py:1: " in said
    assert secret not in said
    assert hub.bare.git("for-each-ref", "refs/taskctx") == ""
    forced = hub.first.ok("push", "origin", "--with-snapshots", "--force-secrets")
    assert "config.py:1: recorded by force" in forced.err


def test_evidence_and_what_only_the_library_knows_do_not_leave_either(hub: Hub) -> None:
    """Evidence is unpacked and searched by the path that it came from, files with the deep scan."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    token = "SG" + "." + "q7ZkU2m9XwB4t8RdNpL3vY" + "." + "q7ZkU2m9XwB4t8RdNpL3vYc6HsGfJ1aE0iQoT5eWuK7"
    hub.first.repo.write("mail.log", f"one\nsent with {token}\n")
    hub.first.ok("attach", "mail.log", "--type", "other")
    hub.first.repo.remove("mail.log")
    said = hub.first.refuses("push", "origin", "--with-snapshots")
    assert said.startswith("error: found what looks like a secret:\n  mail.log:2: SendGrid API Key\n")
    hub.first.repo.write("mail.py", f"send({token})\n")
    hub.first.ok("snapshot", "--agent", "implementer")
    said = hub.first.refuses("push", "origin", "--with-snapshots")
    assert "mail.py:1: SendGrid API Key" in said
    assert token not in said
    assert hub.bare.git("for-each-ref", "refs/taskctx") == ""


def test_evidence_that_cannot_be_searched_does_not_leave(hub: Hub) -> None:
    """What does not unpack may hold anything: could not tell, and nothing is sent."""
    repo = hub.first.repo
    hub.first.ok("init", "TASK-1", "--title", "One")
    repo.write("note.txt", "a note\n")
    hub.first.ok("attach", "note.txt", "--type", "other")
    ref = f"refs/taskctx/contexts/{hub.first.context()['context_id']}"
    [stored] = [name for name in repo.git("ls-tree", "-r", "--name-only", ref).split() if name.startswith("evidence/")]
    damaged = repo.git("hash-object", "-w", "--stdin", input="no gzip")
    index = {"GIT_INDEX_FILE": os.fspath(hub.place / "index")}
    repo.git("read-tree", ref, env=index)
    repo.git("update-index", "--cacheinfo", f"100644,{damaged},{stored}", env=index)
    repo.git("update-ref", ref, repo.git("write-tree", env=index))
    said = hub.first.ends(3, "push", "origin", "--with-snapshots")
    assert "evidence E1 (note.txt) is damaged, and cannot be searched for secrets" in said.err
    assert hub.bare.git("for-each-ref", "refs/notes", "refs/taskctx") == ""


def test_odd_notes_of_the_other_side_are_left_there(hub: Hub) -> None:
    """Paths that are no notes, a folder of links, lines that are no records: merged, or left, and nothing breaks."""
    evil = hub.clone("evil").repo
    blob = evil.git("hash-object", "-w", "--stdin", input='{"id":"x"}\nnot json\n')
    link = evil.git("hash-object", "-w", "--stdin", input="/etc/passwd")
    anchor = evil.git("hash-object", "-w", "--stdin", input="an anchor")
    tree = evil.git(
        "mktree", input=f"100644 blob {blob}\t{anchor}\n100644 blob {blob}\tREADME\n120000 blob {link}\t{'a' * 40}\n"
    )
    evil.git("push", "-q", "origin", f"{evil.git('commit-tree', '-m', 'evil', tree)}:{NOTES}")
    hub.first.ok("init", "TASK-1", "--title", "One")
    hub.first.ok("fetch")
    assert hub.first.repo.git("notes", "--ref=taskctx", "show", anchor) == 'not json\n{"id":"x"}'
    assert hub.first.ok("status").err == ""
    hub.first.ok("push", "origin")


def test_a_shallow_clone_fetches_and_pushes(hub: Hub) -> None:
    """Depth 1 knows the ledger too, and adds to it."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    hub.first.ok("push", "origin")
    shallow = hub.clone("shallow", "--depth", "1")
    shallow.ok("fetch")
    shallow.ok("init", "TASK-2", "--title", "Two")
    shallow.ok("push", "origin")
    assert {task for task, _ in hub.ids()} == {"TASK-1", "TASK-2"}


def test_the_branchs_remote_is_the_one_to_fetch_from(hub: Hub) -> None:
    """As git fetch has it: the branch's, the only one, origin; otherwise it must be named."""
    hub.first.repo.git("remote", "add", "other", os.fspath(hub.place / "nowhere"))
    assert hub.first.ok("fetch").out == "origin has no ledger\n"
    hub.first.repo.git("remote", "rename", "origin", "upstream")
    assert hub.first.ok("fetch").out == "upstream has no ledger\n"
    hub.first.repo.git("switch", "-q", "-c", "topic")
    assert "none of the remotes is called origin" in hub.first.refuses("fetch", code=128)
    assert hub.first.ok("fetch", "upstream").out == "upstream has no ledger\n"


# Snapshots


def handed_over(hub: Hub) -> Desk:
    """Begin a task, hand it to another clone, and let the reviewer go on there."""
    repo = hub.first.repo
    hub.first.ok("init", "TASK-1", "--title", "One")
    repo.write("run.sh", "#!/bin/sh\n", mode=0o755)
    repo.symlink("link", "run.sh")
    repo.write(b"b\xffytes", "x\n")
    repo.write("empty", "")
    repo.remove("README") if repo.at("README").exists() else None
    hub.first.implement()
    hub.first.ok("push", "origin", "--with-snapshots")
    other = hub.clone("other")
    said = other.ok("fetch", "--with-snapshots")
    assert said.both == (
        "fetched 2 records of TASK-1 from origin\nfetched the snapshots of TASK-1\n"
        "hint: git taskctx recover TASK-1   # goes on with it here\n"
    )
    assert other.ok("recover", "TASK-1").err == (
        "hint: git taskctx restore --agent implementer   # brings what implementer left\n"
    )
    other.ok("restore", "--agent", "implementer")
    other.ok("start", "--agent", "reviewer")
    return other


def test_a_dirty_tree_arrives_in_another_clone(hub: Hub) -> None:
    """The same tree, modes, links and odd names included; the reviewer goes on there, and both clones are on record."""
    other = handed_over(hub)
    assert other.repo.oracle() == hub.first.repo.oracle()
    other.repo.write("parser.py", "reviewed\n")
    other.ok("snapshot", "--agent", "reviewer")
    other.ok("push", "origin", "--with-snapshots")
    hub.first.ok("fetch", "--with-snapshots")
    assert hub.first.ok("get").err == ""
    for agent in ("implementer", "reviewer", "validator"):
        export = (hub.first.folder() / f"context-{agent}.json").read_bytes()
        assert export == dump_canonical(hub.first.data("get", "--role", agent))
    assert [record["type"] for record in hub.first.records()] == [
        "init", "snapshot", "start", "snapshot",
    ]  # fmt: skip
    assert len({record["clone"] for record in hub.first.records()}) == 2
    hub.first.ok("restore", "--agent", "reviewer")
    hub.first.ok("start", "--agent", "validator")
    hub.first.ok("snapshot", "--agent", "validator", "--done")
    assert hub.first.repo.read("parser.py") == b"reviewed\n"


def test_refs_of_the_other_clone_do_not_stay(hub: Hub) -> None:
    """What was fetched is ours afterwards; only the ledger's place is remembered, so that sweep gives all back."""
    other = handed_over(hub)
    refs = other.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx/remotes")
    assert refs == "refs/taskctx/remotes/origin/notes"


def test_the_active_context_follows_by_itself(hub: Hub) -> None:
    """A fetch without more brings what the active context needs to go on with the records that it brings."""
    handed_over(hub).ok("push", "origin", "--with-snapshots")
    assert "fetched the snapshots of TASK-1" in hub.first.ok("fetch").out
    assert hub.first.ok("status").err == ""


def test_records_without_their_snapshots_are_told_at_once(hub: Hub) -> None:
    """When the other clone pushed records alone, fetch says so; nothing is lost, and its next push mends it."""
    other = handed_over(hub)
    other.ok("push", "origin")
    said = hub.first.ok("fetch")
    told = "another clone went on with TASK-1, and has not pushed its snapshots: it must push --with-snapshots"
    assert f"warning: {told}\n" in said.err
    assert "git taskctx fetch --with-snapshots   # where another clone went on" in hub.first.refuses("status", code=3)
    other.ok("push", "origin", "--with-snapshots")
    assert hub.first.ok("fetch").err == "hint: git taskctx status\n"
    assert hub.first.ok("status").err == ""


@pytest.mark.parametrize("with_snapshots", [True, False])
def test_a_task_that_ended_elsewhere_is_put_away_here(hub: Hub, with_snapshots: bool) -> None:
    """The clone that handed it on is told, and free for another task; the whole context can come from an archive."""
    other = handed_over(hub)
    other.ok("snapshot", "--agent", "reviewer")
    other.ok("snapshot", "--agent", "validator", "--done")
    other.repo.add()
    other.repo.git("commit", "-q", "-m", "the task")
    other.ok("verify")
    assert "no task is named" in other.refuses("push", "origin", "--with-snapshots", code=128)
    other.ok("push", "origin", *(["--with-snapshots", "--task", "TASK-1"] if with_snapshots else []))
    said = hub.first.ok("fetch")
    assert said.err.startswith(
        "warning: TASK-1 is over in another clone, and is put away here\n"
        "hint: git stash -u && git pull   # its files are in its commit; the stash keeps what lies here\n"
    )
    other.repo.git("push", "-q", "origin", "HEAD:main")
    hub.first.repo.git("stash", "-q", "-u")
    hub.first.repo.git("pull", "-q", "--no-rebase", "origin", "main")
    assert hub.first.repo.head() == other.repo.head()
    assert hub.first.data("list")[0]["sealed"] == other.repo.git("rev-parse", "HEAD")
    assert hub.first.run("log", "--task", "TASK-1").code == (0 if with_snapshots else 3)
    hub.first.ok("init", "TASK-2", "--title", "The next one")


def test_what_cannot_be_recovered_is_not_promised(hub: Hub) -> None:
    """A clone that comes when the task is over, and its last context was not pushed, takes none of its refs."""
    handed_over(hub).ok("push", "origin")
    late = hub.clone("late")
    said = late.ok("fetch", "--with-snapshots")
    assert "recover" not in said.both
    refs = late.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx")
    assert refs == "refs/taskctx/remotes/origin/notes"


def test_a_lock_that_stays_on_the_other_side_is_named(hub: Hub) -> None:
    """A git that was killed there left it: the push says which file it is, and goes through once that is gone."""
    hub.first.init()
    lock = hub.bare.path / f"{NOTES}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    said = hub.first.refuses("push", "origin", code=75)
    assert said == (
        f"error: origin is locked: {lock} stays there\n"
        f"hint: rm {lock}   # on the machine of origin, if no git is running there\n"
    )
    assert hub.ids() == set()
    subprocess.run(["sh", "-c", said.split("hint: ")[1]], check=True)
    hub.first.ok("push", "origin")
    assert hub.ids() == ids_of(hub.first)


# A look

LOOK = (
    ("recover", "TASK-1"), ("status",), ("get",), ("log",), ("recover", "TASK-1"),
    ("restore", "--agent", "implementer"), ("verify",),
    ("restore", "--agent", "init"), ("restore", "--agent", "saved"), ("restore", "--agent", "saved", "--round", "1"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("put_away", "pushed_first"),
    [
        pytest.param(False, False, id="at work, looks, then first"),
        pytest.param(True, True, id="put away, first, then looks"),
        pytest.param(False, True, id="at work, first, then looks", marks=pytest.mark.deep),
        pytest.param(True, False, id="put away, looks, then first", marks=pytest.mark.deep),
    ],
)
def test_a_look_in_a_second_clone_forks_nothing(hub: Hub, put_away: bool, pushed_first: bool) -> None:
    """Whoever looks at a task that the first clone goes on with, before or after it does, writes no record of it."""
    hub.first.init()
    hub.first.implement()
    if put_away:
        hub.first.ok("purge")
    hub.first.ok("push", "origin", "--with-snapshots", "--task", "TASK-1")
    other = hub.clone("other")
    other.ok("fetch", "--with-snapshots")
    notes = other.repo.git("rev-parse", NOTES)

    def go_on() -> None:
        if put_away:
            hub.first.ok("recover", "TASK-1")
        hub.first.ok("start", "--agent", "reviewer")
        hub.first.ok("push", "origin", "--with-snapshots")

    def look() -> None:
        for words in LOOK:
            other.ok(*words)
        assert other.repo.git("status", "--porcelain") == ""  # as it was before the first one
        assert other.repo.git("rev-parse", NOTES) == notes
        other.ok("fetch", "--with-snapshots")
        other.ok("push", "origin")

    for step in (go_on, look) if pushed_first else (look, go_on):
        step()
    other.ok("fetch", "--with-snapshots")
    assert other.data("status")["owner"] == "reviewer"
    hub.first.ok("fetch", "--with-snapshots")
    assert hub.first.records() == other.records()
    back = ["purge", "recover"] if put_away else []
    assert [one["type"] for one in other.records()] == ["init", "snapshot", *back, "start"]
    assert len({one["clone"] for one in other.records()}) == 1


def test_a_task_that_came_back_stays(hub: Hub) -> None:
    """What one clone put away another brings back and goes on with; its own fetches do not put it away again."""
    hub.first.init()
    hub.first.implement()
    hub.first.ok("purge")
    hub.first.ok("push", "origin", "--with-snapshots", "--task", "TASK-1")
    other = hub.clone("other")
    other.ok("fetch", "--with-snapshots")
    other.ok("recover", "TASK-1")
    assert "put away" not in other.ok("fetch").both
    assert "put away" not in other.ok("get", "--role", "reviewer").out
    other.ok("restore", "--agent", "implementer")
    other.ok("start", "--agent", "reviewer")
    assert [one["type"] for one in other.records()] == ["init", "snapshot", "purge", "recover", "start"]
    assert other.data("status")["owner"] == "reviewer"


def test_an_edited_file_that_is_mended_is_on_record(hub: Hub) -> None:
    """A hand in `context.json` is closed by `recover`, and the ledger says so; a file that is gone is no such thing."""
    hub.first.init()
    (hub.first.folder() / "context.json").unlink()
    hub.first.ok("recover", "TASK-1")
    assert [one["type"] for one in hub.first.records()] == ["init"]
    (hub.first.folder() / "context.json").write_text("{}")
    hub.first.ok("recover", "TASK-1")
    assert [one["type"] for one in hub.first.records()] == ["init", "recover"]


# Forks


def forked(hub: Hub) -> Desk:
    """Let two clones build upon the same record, and bring both sides together in the first."""
    other = handed_over(hub)
    hub.first.ok("block", "--agent", "implementer", "--finding", "only here")
    other.ok("push", "origin", "--with-snapshots")
    hub.first.ok("fetch", "--with-snapshots")
    return other


def test_a_fork_is_told_by_what_to_type(hub: Hub) -> None:
    """A fetch that brings a fork hints at both sides; the one that lost is told so, and what to type then is true."""
    other = handed_over(hub)
    hub.first.ok("block", "--agent", "implementer", "--finding", "only here")
    other.ok("push", "origin", "--with-snapshots")
    told = hub.first.ok("fetch", "--with-snapshots").err.splitlines()
    assert told[-3].startswith("warning: the ledger of TASK-1 forks at record 3: ")
    ways = [line.removeprefix("hint: git taskctx resolve-drift --note WHY --holds ") for line in told[-2:]]
    record = next(way.split()[0] for way in ways if "start by" in way)
    hub.first.repo.write("parser.py", "nobody's\n")
    other.ok("snapshot", "--agent", "reviewer")
    other.ok("push", "origin", "--with-snapshots")
    hub.first.ok("fetch", "--with-snapshots")
    assert hub.first.ok("resolve-drift", "--note", "talked", "--holds", record).err == (
        "warning: context.json of TASK-1 was that of the side that does not hold, and is replayed\n"
        "hint: git taskctx restore --agent reviewer\n"
        'hint: git taskctx resolve-drift --accept --note "what happened"   '
        "# or keep it as it is now, which voids what was approved\n"
    )


def reviewed_twice(hub: Hub) -> Desk:
    """Have the reviewer work in two clones at once, and push from both."""
    other = handed_over(hub)
    hub.first.repo.config("user.name", "First")
    hub.first.ok("start", "--agent", "reviewer")
    for desk, text in ((hub.first, "first\n"), (other, "other\n")):
        desk.repo.write("parser.py", text)
        desk.ok("snapshot", "--agent", "reviewer")
    hub.first.ok("push", "origin", "--with-snapshots")
    return other


def test_both_sides_have_their_own_snapshots(hub: Hub) -> None:
    """The snapshots of the two sides go by the same name: the side that holds replaces the other one everywhere."""
    other = reviewed_twice(hub)
    said = other.refuses("push", "origin", "--with-snapshots", code=128)
    assert "the ledger of TASK-1 forks at record 3" in said
    ways = [line.split("--holds ")[1].split()[0] for line in said.splitlines() if "start by A U Thor" in line]
    other.ok("resolve-drift", "--note", "the other holds", "--holds", ways[0])
    other.ok("push", "origin", "--with-snapshots")
    hub.first.ok("fetch")
    assert "+other" in hub.first.ok("diff", "--agent", "reviewer").out
    hub.first.ok("restore", "--agent", "reviewer")
    assert hub.first.repo.read("parser.py") == b"other\n"
    hub.first.ok("start", "--agent", "validator")
    for desk in (hub.first, other):
        refs = desk.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx/remotes")
        assert refs == "refs/taskctx/remotes/origin/notes"


def test_the_side_that_was_fetched_can_be_chosen(hub: Hub) -> None:
    """The first push stays on the other side while the ledger forks, and with it what the first clone left."""
    other = reviewed_twice(hub)
    kept = hub.bare.git("for-each-ref", "refs/taskctx")
    said = other.refuses("push", "origin", "--with-snapshots", code=128)
    assert hub.bare.git("for-each-ref", "refs/taskctx") == kept
    [way] = [line.split("--holds ")[1].split()[0] for line in said.splitlines() if "start by First" in line]
    other.ok("resolve-drift", "--note", "the first holds", "--holds", way)
    assert "+first" in other.ok("diff", "--agent", "reviewer").out
    other.ok("restore", "--agent", "reviewer")
    assert other.repo.read("parser.py") == b"first\n"


def test_what_a_fork_left_is_swept_with_its_context(hub: Hub) -> None:
    """Refs that were fetched, and never taken, go like all others of a context that was put away long ago."""
    reviewed_twice(hub).run("push", "origin", "--with-snapshots")
    other = Desk(GitRepo(hub.place / "other"))
    other.ok("purge", "--all")
    assert "refs/taskctx/remotes/origin/contexts/" in other.repo.git("for-each-ref", "refs/taskctx")
    other.ok("sweep", "--ttl", "0")
    refs = other.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx")
    assert refs == "refs/taskctx/remotes/origin/notes"


@pytest.mark.parametrize("side", [0, 1])
def test_a_fork_stops_the_task_until_a_side_is_chosen(hub: Hub, side: int) -> None:
    """Both sides are kept and named; one command says which holds, and every clone follows it."""
    other = forked(hub)
    said = hub.first.refuses("status", code=128)
    assert "the ledger of TASK-1 forks at record 3: 2 were built upon the same one" in said
    ways = [line.removeprefix("hint: ") for line in said.splitlines() if "--holds" in line]
    assert len(ways) == 2
    records = [way.split("--holds ")[1].split()[0] for way in ways]
    ended = hub.first.ok("resolve-drift", "--note", "talked about it", "--holds", records[side])
    assert f"the side with {records[side]} holds; " in ended.out
    assert hub.first.ok("status").err == ""
    hub.first.ok("push", "origin", "--with-snapshots")
    other.ok("fetch", "--with-snapshots")
    assert other.records() == hub.first.records()
    hub.first.ok("block", "--agent", "reviewer", "--finding", "goes on")


def test_a_side_is_chosen_only_where_something_forks(hub: Hub) -> None:
    """--holds with a record that is on no fork is refused, and nothing is written."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    [record] = hub.first.records()
    said = hub.first.refuses("resolve-drift", "--note", "x", "--holds", record["id"])
    assert f"no record {record['id']} is on a side of a fork" in said
    assert len(hub.first.records()) == 1


def test_a_password_in_an_address_is_told_nowhere(hub: Hub) -> None:
    """Whatever comes of it, what is printed has the address without the name and the password in it."""
    hub.first.ok("init", "TASK-1", "--title", "One")
    address = "https://user:se%40cret@localhost:1/x"
    said = [
        hub.first.run(*args, *form)
        for args in (
            ("push", address),
            ("fetch", address),
            ("fetch", address, "--dry-run"),
            ("install", "--notes", address),
        )
        for form in ((), ("--format", "json"))
        if form == () or args[0] != "install"
    ]
    assert {one.code for one in said} == {128}
    for one in said:
        assert "https://localhost:1/x" in one.both
        assert "user" not in one.both.replace("users", "")
        assert "cret" not in one.both
    at = f"file://user:secret@{hub.first.repo.path.parent}/none.git"
    assert "secret" not in hub.first.run("push", at).both
    traced = hub.first.process("push", address, env={"GIT_TASKCTX_TRACE": "1"}).err
    assert "https://localhost:1/x" in traced.partition("error: ")[0]
    assert "cret" not in traced
