"""`restore`: the files of a snapshot come back, the present ones are saved first, and nobody else's are touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from desk import Desk, plain
from gitrepo import GitRepo
from prepared import fill
from tiers import some

from git_taskctx.cli import call


def tree_of(desk: Desk, agent: str = "implementer") -> str:
    """Return the tree of an agent's last snapshot."""
    return str(desk.seat(agent)["worktree_snapshot"]["tree"])


def all_kinds(repo: GitRepo) -> None:
    """Have the implementer leave all kinds of entries."""
    repo.write("parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.commit("base")
    begun = Desk(repo)
    begun.init()
    repo.write("run.sh", "#!/bin/sh\n", mode=0o755)
    repo.symlink("link", "README")
    repo.write("folder/deep/file", "deep\n")
    repo.write("folder/other", "other\n")
    repo.write("swap", "a file\n")
    repo.write("päth with ünicode \t tab", "x\n")
    repo.write(b"b\xffytes", "x\n")
    repo.write("empty", "")
    repo.remove("README")
    begun.implement()


@pytest.fixture
def rich(repo: GitRepo) -> Desk:
    """A worktree with all kinds of entries, snapshotted by the implementer."""
    fill(repo, all_kinds)
    return Desk(repo)


MESS: dict[str, Callable[[GitRepo], object]] = {
    "contents": lambda repo: (
        repo.write("folder/deep/file", "edited\n"),
        repo.chmod("run.sh", 0o644),
        repo.chmod("swap", 0o755),
        repo.write("README", "read me\n"),
        repo.write("new/er/file", "x\n"),
        repo.write("new.txt", "y\n"),
        repo.remove("link", "päth with ünicode \t tab", b"b\xffytes"),
        repo.symlink("link", "elsewhere"),
        repo.write(b"new\xff", "z\n"),
    ),
    "files and links": lambda repo: (
        repo.remove("link", "swap", "folder"),
        repo.write("link", "a file\n"),
        repo.symlink("swap", "run.sh"),
        repo.symlink("folder", "/etc"),
    ),
    "files and folders": lambda repo: (
        repo.remove("swap", "folder"),
        repo.write("swap/in/it", "x\n"),
        repo.write("folder", "x\n"),
    ),
    "deleted": lambda repo: repo.remove("folder", "parser.py"),
    "everything": lambda repo: [repo.remove(path.name) for path in repo.path.iterdir() if path.name[:1] != "."],
}


@pytest.mark.parametrize("name", MESS)
def test_a_tree_comes_back_and_goes_again(rich: Desk, name: str) -> None:
    """Modes, links, deletions, swaps of file and folder: exact; `restore --agent saved` undoes it, exact as well."""
    MESS[name](rich.repo)
    messy = rich.repo.oracle()
    assert messy != tree_of(rich)
    said = rich.ok("restore", "--agent", "implementer")
    assert "the worktree is exactly that tree" in said.out
    assert rich.repo.oracle(cold=True) == tree_of(rich)
    assert not rich.repo.at("new").exists()
    rich.ok("restore", "--agent", "saved")
    assert rich.repo.oracle(cold=True) == messy


def test_what_it_says(implemented: Desk) -> None:
    """What was written and what was deleted, and how to undo it."""
    implemented.repo.write("parser.py", "drift\n")
    implemented.repo.write("new.txt", "new\n")
    assert plain(implemented.ok("restore", "--agent", "implementer").out) == (
        "restored implementer's snapshot 1; the worktree is exactly that tree\n"
        "  wrote parser.py\n"
        "  deleted new.txt\n"
        "undo: git taskctx restore --context <context> --agent saved --round 1\n"
    )


def ended(desk: Desk) -> str:
    """Let the implementer's snapshot become the task's commit; return what `restore` said to undo it with."""
    undo = undo_of(desk.ok("restore", "--agent", "implementer").out)
    for agent in ("reviewer", "validator"):
        desk.ok("start", "--agent", agent)
        desk.ok("snapshot", "--agent", agent, *(["--done"] if agent == "validator" else []))
    desk.repo.git("add", "-A")
    desk.repo.git("commit", "-q", "-m", "done")
    desk.ok("verify")
    return undo


def undo_of(said: str) -> str:
    """Return the verb in the line `undo:`."""
    return next(line.removeprefix("undo: git taskctx ") for line in said.splitlines() if line.startswith("undo: "))


@pytest.mark.parametrize("name", some(("mode", "folder to link", "odd names", "everything"), ("everything",)))
def test_it_can_be_undone_when_the_task_is_over(rich: Desk, name: str) -> None:
    """What was taken comes back, exact, also when `.agent-output` is gone; nothing is put on record, no path beside."""
    MESS[name](rich.repo)
    messy = rich.repo.oracle()
    undo = ended(rich)
    shutil.rmtree(rich.repo.at(".agent-output"))
    before = rich.repo.git("rev-parse", "refs/notes/taskctx")
    again = undo_of(rich.ok(*undo.split()).out)
    assert rich.repo.oracle(cold=True) == messy
    rich.ok(*again.split())
    assert rich.repo.oracle(cold=True) == rich.repo.git("rev-parse", "HEAD^{tree}")
    rich.repo.write("beside.txt", "of a later task\n")
    rich.ok(*undo.split())
    assert rich.repo.at("beside.txt").read_text() == "of a later task\n"
    assert rich.repo.git("rev-parse", "refs/notes/taskctx") == before


def test_what_is_said_of_a_task_that_is_over(implemented: Desk) -> None:
    """Every refusal, and `recover`, leads to the task's log and to what `restore` saved; none to what is not true."""
    implemented.repo.write("notes.txt", "mine\n")
    ended(implemented)
    ways = (
        "git taskctx log --task TASK-1   # what was done",
        "git taskctx restore --context <context> --agent saved   # what `restore` saved last",
    )
    hints = "".join(f"hint: {way}\n" for way in ways)
    over = f"error: TASK-1 is over: commit <oid> is what was validated\n{hints}"
    new = 'hint: git taskctx init TASK-2 --title "what is to be done"\n'
    for verb in (["log", "--graph"], ["restore", "--agent", "saved"], ["get"]):
        assert plain(implemented.refuses(*verb, code=128)) == f"error: no task context is active here\n{hints}{new}"
    assert plain(implemented.refuses("recover", "TASK-1", code=128)) == over
    assert plain(implemented.refuses("restore", "--task", "TASK-1", "--agent", "implementer", code=128)) == over
    assert plain(implemented.refuses("start", "--task", "TASK-1", "--agent", "reviewer", code=128)) == over
    assert implemented.data("status")["task"] is None
    assert [plain(way) for way in implemented.data("status", "--task", "TASK-1")["next"]] == list(ways)
    assert implemented.ok("restore", "--task", "TASK-1", "--agent", "saved").err == ""
    assert implemented.repo.at("notes.txt").read_text() == "mine\n"


def test_a_task_that_was_put_away_or_begun_twice(begun: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is active `recover` is the way on, a new task gets a free name, and `recover` tells of two."""
    first = begun.context()["context_id"]
    begun.ok("purge")
    assert begun.refuses("log", code=128) == (
        "error: no task context is active here\n"
        "hint: git taskctx recover TASK-1   # brings it back\n"
        'hint: git taskctx init TASK-2 --title "what is to be done"\n'
    )
    later = datetime.now(UTC) + timedelta(hours=1)
    monkeypatch.setattr(call, "now", lambda: later)
    begun.init()
    begun.ok("purge")
    other = f"warning: TASK-1 has another context: {first}, which --context names\n"
    assert begun.ok("recover", "TASK-1").err.startswith(other)
    begun.ok("purge")
    assert "warning" not in begun.ok("recover", "TASK-1", "--context", first).err


def test_the_commit_was_undone(implemented: Desk) -> None:
    """A task whose commit is not part of HEAD any more goes on with `recover`."""
    implemented.repo.write("parser.py", "drift\n")
    ended(implemented)
    implemented.repo.git("reset", "-q", "--soft", "HEAD~1")
    assert implemented.ok("recover", "TASK-1").err == "hint: git add -A && git commit\n"


def test_links_lead_nowhere_outside(rich: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder that became a link is not written through."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "deep").mkdir()
    (outside / "deep" / "file").write_text("theirs\n")
    rich.repo.remove("folder")
    rich.repo.symlink("folder", os.fspath(outside))
    rich.ok("restore", "--agent", "implementer")
    assert (outside / "deep" / "file").read_text() == "theirs\n"
    assert rich.repo.read("folder/deep/file") == b"deep\n"


@pytest.mark.parametrize("where", ["the file itself", "in a folder", "a file for a folder"])
def test_an_ignored_file_in_the_way_is_refused(begun: Desk, where: str) -> None:
    """It is in no snapshot, so it could not be saved; nothing is written at all."""
    repo = begun.repo
    exclude = repo.git_dir() / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    path = {"the file itself": "cache", "in a folder": "cache", "a file for a folder": "cache/deep/file"}[where]
    repo.write(path, "recorded\n")
    begun.implement()
    repo.remove("cache")
    repo.write("parser.py", "drift\n")
    exclude.write_text("cache\n*.secret\n")
    mine = "cache/my.secret" if where == "in a folder" else "cache"
    repo.write(mine, "mine\n")
    said = begun.refuses("restore", "--agent", "implementer")
    assert "in the way" in said
    assert "  cache\n" in said
    assert repo.read(mine) == b"mine\n"
    assert repo.read("parser.py") == b"drift\n"
    assert begun.records("restore") == []


def test_ignored_files_elsewhere_stay(begun: Desk) -> None:
    """Also in a folder whose other files go away."""
    repo = begun.repo
    repo.write(".gitignore", "*.o\n")
    begun.implement()
    repo.write("build/new.c", "x\n")
    repo.write("build/new.o", "y\n")
    begun.ok("restore", "--agent", "implementer")
    assert repo.read("build/new.o") == b"y\n"
    assert not repo.at("build/new.c").exists()


def test_only_some_paths(begun: Desk) -> None:
    """`--paths` takes patterns, more than once; the rest stays."""
    begun.repo.write("a/one.txt", "1\n")
    begun.repo.write("b/two.txt", "2\n")
    begun.implement()
    begun.repo.write("a/one.txt", "x\n")
    begun.repo.write("b/two.txt", "x\n")
    begun.repo.write("parser.py", "x\n")
    said = begun.ok("restore", "--agent", "implementer", "--paths", "a/**", "--paths", "parser.py")
    assert "other paths differ from that tree" in said.out
    assert [begun.repo.read(path) for path in ("a/one.txt", "b/two.txt", "parser.py")] == [b"1\n", b"x\n", b"mended\n"]


def test_the_first_tree(desk: Desk) -> None:
    """`--agent init` is the worktree as it was when the task began, dirt included."""
    desk.repo.write("README", "my notes\n")
    desk.repo.write("scratch", "mine\n")
    desk.init()
    desk.implement()
    desk.repo.remove("scratch")
    desk.ok("restore", "--agent", "init")
    assert [desk.repo.read(path) for path in ("README", "scratch", "parser.py")] == [
        b"my notes\n",
        b"mine\n",
        b"broken\n",
    ]


def test_an_earlier_snapshot_of_an_agent(begun: Desk) -> None:
    """`--round N` counts its snapshots."""
    for content in ("one\n", "two\n", "three\n"):
        begun.implement(content)
    begun.ok("restore", "--agent", "implementer", "--round", "2")
    assert begun.repo.read("parser.py") == b"two\n"


def test_every_state_before_is_saved_under_a_number(implemented: Desk) -> None:
    """Restores may be undone one by one, in any order."""
    for content in ("one\n", "two\n"):
        implemented.repo.write("parser.py", content)
        implemented.ok("restore", "--agent", "implementer")
    implemented.ok("restore", "--agent", "saved", "--round", "1")
    assert implemented.repo.read("parser.py") == b"one\n"
    implemented.ok("restore", "--agent", "saved", "--round", "2")
    assert implemented.repo.read("parser.py") == b"two\n"
    assert "no state was saved under number 9" in implemented.refuses(
        "restore", "--agent", "saved", "--round", "9", code=128
    )
    implemented.repo.git("gc", "-q", "--prune=now")
    implemented.ok("restore", "--agent", "saved", "--round", "1")
    assert implemented.repo.read("parser.py") == b"one\n"


def test_the_index_and_head_stay_as_they_are(rich: Desk) -> None:
    """Restoring is no checkout: what was staged is still staged, byte for byte."""
    rich.repo.write("parser.py", "staged\n")
    rich.repo.add()
    before = rich.repo.census()
    rich.ok("restore", "--agent", "implementer")
    after = rich.repo.census()
    for key in before:
        if key in ("index", "refs") or key.startswith("git: "):
            assert before[key] == after[key], key


def test_files_that_are_right_are_not_written_again(rich: Desk) -> None:
    """Inode and mtime of everything else stay."""
    before = rich.repo.at("folder/other").stat()
    rich.repo.write("parser.py", "drift\n")
    rich.ok("restore", "--agent", "implementer")
    after = rich.repo.at("folder/other").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_it_works_while_drift_is_unresolved_and_settles_nothing(implemented: Desk) -> None:
    """It is on record; the budget wants a note."""
    implemented.repo.write("parser.py", "drift\n")
    implemented.ends(1, "verify")
    implemented.ok("restore", "--agent", "implementer")
    record = implemented.records("restore")[0]
    assert (record["from"], record["n"], record["saved"]) == ("implementer", 1, 1)
    assert implemented.seat("implementer")["drift_budget"] == 1
    implemented.ok("resolve-drift", "--note", "restored")


def test_what_is_saved_does_not_rest_on_what_git_remembers_of_a_file(begun: Desk) -> None:
    """With another conversion in force, files that git takes for unchanged are saved as they would now be stored."""
    begun.repo.config("core.autocrlf", "true")
    begun.repo.write("crlf.txt", "one\r\ntwo\r\n")
    begun.repo.add("crlf.txt")
    os.utime(begun.repo.git_dir() / "index", ns=(2**61, 2**61))  # so that no entry of it is racy
    begun.repo.config("core.autocrlf", "false")
    begun.repo.write("parser.py", "mended\n")
    stored, before = begun.repo.oracle(), begun.repo.oracle(cold=True)
    assert stored != before
    begun.ok("restore", "--agent", "init")
    context = begun.context()["context_id"]
    assert begun.repo.git("rev-parse", f"refs/taskctx/snapshots/{context}/saved/1") == before
    assert begun.repo.git("cat-file", "blob", f"{before}:crlf.txt") == "one\r\ntwo\r"


def test_hooks_and_filters_of_a_checkout_do_not_run(begun: Desk) -> None:
    """No hook of the user's is run: restoring is not a checkout."""
    hook = begun.repo.git_dir() / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    begun.implement()
    begun.repo.write("parser.py", "drift\n")
    begun.ok("restore", "--agent", "implementer")
    assert not begun.repo.at("hooked").exists()


def test_a_secret_that_would_be_saved_is_refused(implemented: Desk) -> None:
    """The state before is about to be written: it is scanned like a snapshot."""
    implemented.repo.write("parser.py", "token = ghp_" + "a1B2c3D4e5" * 4 + "\n")
    said = implemented.refuses("restore", "--agent", "implementer")
    assert "parser.py:1: GitHub token" in said
    assert implemented.repo.read("parser.py").startswith(b"token")
    implemented.ok("restore", "--agent", "implementer", "--force-secrets")


def test_our_own_folder_is_not_touched(implemented: Desk) -> None:
    """Whatever the tree: `.agent-output` is in none."""
    shutil.rmtree(implemented.repo.at(".agent-output") / "archive", ignore_errors=True)
    before = (implemented.folder() / "implementer-1-files.json.gz").read_bytes()
    implemented.ok("restore", "--agent", "init")
    assert (implemented.folder() / "implementer-1-files.json.gz").read_bytes() == before
    implemented.ok("get")


def test_a_tree_of_somebody_elses_making_leads_nowhere(implemented: Desk) -> None:
    """A state that was fetched may hold any path: none of ours, of git's, or outside is written."""
    implemented.ok("restore", "--agent", "init")
    repo = implemented.repo
    ref = repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx/snapshots/*/saved/1")
    blob = repo.git("hash-object", "-w", "--stdin", input="evil\n")
    outside, before = repo.path.parent / "evil", repo.census()
    for folder in (".agent-output", ".git", ".."):
        tree = repo.git("mktree", input=f"100755 blob {blob}\tevil")
        whole = f"{repo.git('ls-tree', ref)}\n040000 tree {tree}\t{folder}\n"
        repo.git("update-ref", ref, repo.git("mktree", input=whole))
        implemented.run("restore", "--agent", "saved", "--round", "1")
        places = (repo.path / folder / "evil", outside)
        assert not any(place.exists() for place in places)
    repo.write("parser.py", "broken\n")
    assert {path.name for path in repo.path.iterdir()} >= {"parser.py", ".git"}
    assert before["refs"] == repo.census()["refs"]
