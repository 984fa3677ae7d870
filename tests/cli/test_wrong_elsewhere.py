"""What goes wrong elsewhere: the places where tools of this kind miss a change, touch what is not theirs, or fall."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import TASK, Desk, executable, plain
from gitrepo import GitRepo


def drift(desk: Desk) -> list[str]:
    """Verify, which must say no; return the causes."""
    said = desk.ends(1, "verify").out
    assert said.startswith("worktree: no\ndrift since "), said
    return [line.strip() for line in said.splitlines()[1:] if line.startswith("  ")]


# Changes that are easily missed


def test_a_new_untracked_file_after_a_review_is_drift(begun: Desk) -> None:
    """It would be committed unseen with `git add -A`."""
    begun.to_reviewer()
    begun.repo.write("backdoor.py", "import os\n")
    assert drift(begun) == ["backdoor.py: added"]


def test_a_deleted_tracked_file_is_drift(begun: Desk) -> None:
    """Gone from disk, whatever the index says."""
    begun.to_reviewer()
    begun.repo.remove("README")
    assert drift(begun) == ["README: deleted"]


def test_a_changed_gitignore_is_drift_not_an_instruction(begun: Desk) -> None:
    """Hiding a file by rule is told with the file that it hides."""
    begun.repo.write("helper.py", "help\n")
    begun.to_reviewer()
    begun.repo.write(".gitignore", "helper.py\n")
    assert drift(begun) == [
        ".gitignore: ignore rules changed (added)",
        "helper.py: ignore rules changed (is there, but is ignored now)",
    ]


def test_rules_outside_the_tree_that_hide_a_file_are_drift(begun: Desk) -> None:
    """`.git/info/exclude` is in no tree; what it hides was."""
    begun.repo.write("helper.py", "help\n")
    begun.to_reviewer()
    exclude = begun.repo.git_dir() / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("helper.py\n")
    assert drift(begun) == ["helper.py: ignore rules changed (is there, but is ignored now)"]


@pytest.mark.parametrize(
    ("change", "causes"),
    [
        (lambda repo: repo.chmod("parser.py", 0o755), ["parser.py: mode changed (100644 to 100755)"]),
        (lambda repo: repo.git("mv", "README", "LIESMICH"), ["LIESMICH: renamed (from README)"]),
        (
            lambda repo: (repo.remove("README"), repo.symlink("README", "parser.py")),
            ["README: type changed (file to symbolic link)"],
        ),
        (
            lambda repo: repo.git("checkout", "-q", "--", "parser.py"),
            ["parser.py: checked out (it is as in HEAD again)"],
        ),
        (lambda repo: repo.write("parser.py", "mended\r\n"), ["parser.py: edited"]),
        (
            lambda repo: (
                repo.git("update-index", "--assume-unchanged", "README"),
                repo.write("README", "hidden\n"),
            ),
            ["README: edited behind assume-unchanged or skip-worktree (assume-unchanged)"],
        ),
    ],
    ids=["mode", "rename", "type", "checkout", "line ends", "assume-unchanged"],
)  # fmt: skip
def test_every_change_has_its_cause(begun: Desk, change: Callable[[GitRepo], object], causes: list[str]) -> None:
    """One path, one cause, in words that a person recognises."""
    begun.to_reviewer()
    change(begun.repo)
    assert drift(begun) == causes


def test_a_file_with_the_same_size_and_time_is_drift(begun: Desk) -> None:
    """An edit that puts size and mtime back is found: git's index knows the ctime."""
    begun.to_reviewer()
    path = begun.repo.at("parser.py")
    found = path.stat()
    path.write_bytes(b"MENDED\n")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert drift(begun) == ["parser.py: edited"]


def test_staging_is_a_notice_unless_strict(begun: Desk) -> None:
    """What was snapshotted may be staged; `--strict` counts it, and says so once."""
    begun.to_reviewer()
    begun.repo.add()
    assert begun.ok("verify").out.endswith("  notice: staged only (what is staged differs, the files do not)\n")
    assert "staged only" in begun.ends(1, "verify", "--strict").out
    assert begun.seat("reviewer")["drift_budget"] == 1


def test_a_snapshot_from_a_sub_folder_covers_the_whole_worktree(begun: Desk) -> None:
    """Where one stands makes no difference."""
    begun.repo.write("deep/down/file", "x\n")
    begun.repo.write("parser.py", "mended\n")
    begun.ok("snapshot", "--agent", "implementer", cwd=begun.repo.at("deep/down"))
    tree = begun.seat("implementer")["worktree_snapshot"]["tree"]
    assert tree == begun.repo.oracle()
    begun.repo.write("README", "changed\n")
    begun.ends(1, "verify", cwd=begun.repo.at("deep/down"))


# What is not ours


def test_no_verb_touches_what_is_the_users(desk: Desk) -> None:
    """Index, HEAD, stash, files, ignore files, configuration: byte for byte, times and inodes included."""
    repo = desk.repo
    repo.write("README", "stashed\n")
    repo.git("stash")
    repo.write("parser.py", "staged\n")
    repo.add()
    repo.write("parser.py", "mended\n")
    repo.write("new.txt", "new\n")
    before = repo.census()
    for code, args in (
        (0, ("init", TASK, "--title", "Mend")),
        (0, ("snapshot", "--agent", "implementer", "--allow-clean")),
        (0, ("verify",)),
        (0, ("start", "--agent", "reviewer")),
        (0, ("block", "--agent", "reviewer", "--finding", "no test")),
        (3, ("verify",)),
        (0, ("status",)),
        (0, ("get",)),
        (0, ("diff", "--agent", "implementer")),
        (0, ("diff", "--agent", "implementer", "--type", "from-base")),
        (0, ("log",)),
        (0, ("list",)),
        (0, ("unblock", "--agent", "reviewer", "--finding", "F1")),
        (0, ("update", "--agent", "reviewer", "--session-id", "s1")),
        (0, ("snapshot", "--agent", "reviewer")),
        (0, ("start", "--agent", "implementer")),
        (0, ("fingerprint",)),
        (0, ("fingerprint", "--exact", "--write")),
        (0, ("config",)),
        (0, ("purge",)),
        (0, ("recover", TASK)),
    ):
        desk.ends(code, *args)
        assert differences(before, repo.census()) == [], args
    repo.write("new.txt", "edited\n")
    desk.ok("snapshot", "--agent", "implementer", "--wip")
    desk.ok("snapshot", "--agent", "implementer")
    repo.write("new.txt", "drift\n")
    before = repo.census()
    desk.ends(1, "verify")
    desk.ok("resolve-drift", "--accept", "--note", "mine")
    assert differences(before, repo.census()) == []


def differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Return what differs between two censuses."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def test_another_worktrees_stash_is_not_our_drift(begun: Desk, tmp_path: Path) -> None:
    """The stash is one for all worktrees: it is a cause only where it holds what is missing here."""
    begun.to_reviewer()
    begun.repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    other.write("parser.py", "other\n")
    other.git("stash")
    assert begun.ok("verify").out.startswith("worktree: yes\n")
    begun.repo.git("checkout", "-q", "--", "parser.py")
    assert drift(begun) == ["parser.py: checked out (it is as in HEAD again)"]


def test_inside_a_hook_no_other_repository_is_touched(begun: Desk, tmp_path: Path) -> None:
    """git sets GIT_DIR and GIT_INDEX_FILE there; they say which repository is meant, wherever one stands."""
    other = GitRepo.init(tmp_path / "other")
    other.write("a", "a\n")
    other.commit("other")
    before = other.census(), sorted(path for path in other.git_dir().rglob("*"))
    begun.repo.write("parser.py", "mended\n")
    env = {
        "GIT_DIR": os.fspath(begun.repo.git_dir()),
        "GIT_WORK_TREE": os.fspath(begun.repo.path),
        "GIT_INDEX_FILE": os.fspath(begun.repo.git_dir() / "index"),
    }
    said = begun.process("snapshot", "--agent", "implementer", cwd=other.path, env=env)
    assert said.code == 0, said.both
    assert begun.seat("implementer")["worktree_snapshot"]["tree"] == begun.repo.oracle()
    assert (other.census(), sorted(path for path in other.git_dir().rglob("*"))) == before


def test_a_real_hook_sees_its_own_repository(begun: Desk, tmp_path: Path) -> None:
    """`git commit PATH` runs the hook over an index of its own; `verify` there judges the worktree."""
    begun.implement()
    env = executable(tmp_path / "bin")
    hook = begun.repo.git_dir() / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ngit taskctx verify >{tmp_path}/said 2>&1\necho $? >>{tmp_path}/said\n")
    hook.chmod(0o755)
    begun.repo.git("commit", "-q", "-m", "part", "parser.py", env=env)
    said = (tmp_path / "said").read_text()
    assert said.startswith("worktree: yes\n"), said
    assert said.endswith("\n0\n")


def test_two_snapshots_at_once(begun: Desk) -> None:
    """Both are kept, or one is refused; never is one lost on the quiet."""
    begun.repo.write("parser.py", "mended\n")
    begun.repo.write("deep/file", "x\n")
    processes = [begun.begin("snapshot", "--agent", "implementer") for _ in range(3)]
    codes = [(process.communicate(timeout=60), process.returncode)[1] for process in processes]
    assert set(codes) <= {0, 75}, codes
    assert 0 in codes
    assert begun.seat("implementer")["worktree_snapshot"]["n"] == codes.count(0)
    assert len(begun.records("snapshot")) == codes.count(0)


# Submodules, LFS, line ends


@pytest.fixture
def nested(begun: Desk, tmp_path: Path) -> Desk:
    """A context, with a submodule that the implementer added."""
    library = GitRepo.init(tmp_path / "library")
    library.write("lib.c", "one\n")
    library.commit("one")
    begun.repo.git("submodule", "--quiet", "add", str(library.path), "lib")
    begun.to_reviewer()
    return begun


def test_a_dirty_submodule_is_told(nested: Desk) -> None:
    """Its content is in no tree of ours; that it changed is not hidden."""
    nested.repo.write("lib/lib.c", "hacked\n")
    assert drift(nested) == ["lib: submodule dirty"]


def test_a_submodule_that_was_dirty_and_still_is_the_same_is_no_drift(nested: Desk) -> None:
    """Recorded as it was, with a warning; another edit in it is drift."""
    nested.ok("start", "--agent", "reviewer")
    nested.repo.write("lib/lib.c", "patched\n")
    said = nested.ok("snapshot", "--agent", "reviewer")
    assert "warning: lib: submodule dirty; its content is not in the snapshot\n" in said.err
    nested.ok("verify")
    nested.repo.write("lib/lib.c", "patched more\n")
    assert drift(nested) == ["lib: submodule dirty"]


def test_a_moved_submodule_is_its_own_cause(nested: Desk) -> None:
    """With the commits that it moved between."""
    library = GitRepo(nested.repo.at("lib"))
    library.write("lib.c", "two\n")
    library.commit("two")
    assert [plain(cause) for cause in drift(nested)] == ["lib: submodule moved (<oid> to <oid>)"]


@pytest.mark.needs_lfs
def test_an_lfs_file_whose_content_is_its_pointers_is_no_drift(desk: Desk) -> None:
    """Real git-lfs: smudged or not, added again or touched, the tree is the pointer's."""
    desk.repo.git("lfs", "install", "--local")
    desk.repo.git("lfs", "track", "*.bin")
    desk.repo.write("model.bin", b"\0\1" * 1000)
    desk.repo.commit("model")
    desk.init()
    desk.to_reviewer()
    desk.repo.write("model.bin", b"\0\1" * 1000)
    desk.ok("verify", "--exact")
    desk.repo.write("model.bin", desk.repo.git("show", "HEAD:model.bin") + "\n")
    desk.ok("verify", "--exact")
    desk.repo.write("model.bin", b"\0\2" * 1000)
    assert drift(desk) == ["model.bin: edited"]
    desk.ok("restore", "--agent", "reviewer")
    assert desk.repo.read("model.bin") == b"\0\1" * 1000


@pytest.mark.parametrize(
    ("config", "attributes"),
    [({"core.autocrlf": "true"}, ""), ({}, "*.txt text eol=crlf\n"), ({"core.autocrlf": "input"}, "")],
    ids=["autocrlf", "eol", "input"],
)
def test_checkouts_with_crlf_verify(desk: Desk, config: dict[str, str], attributes: str) -> None:
    """Line ends that git converts are no drift, also after a fresh checkout, and restore writes them again."""
    for key, value in config.items():
        desk.repo.config(key, value)
    if attributes:
        desk.repo.write(".gitattributes", attributes)
    desk.repo.write("page.txt", "one\r\ntwo\r\n")
    desk.repo.write("unix.txt", "one\ntwo\n")
    desk.repo.commit("pages")
    desk.repo.remove("page.txt", "unix.txt")
    desk.repo.checkout("--", "page.txt", "unix.txt")
    desk.init()
    desk.repo.write("new.txt", "new\r\n")
    desk.to_reviewer()
    assert desk.seat("reviewer")["worktree_snapshot"]["tree"] == desk.repo.oracle()
    desk.repo.remove("page.txt")
    desk.repo.checkout("--", "page.txt")
    desk.ok("verify", "--exact")
    before = desk.repo.read("page.txt")
    desk.repo.write("page.txt", "three\r\n")
    desk.ends(1, "verify")
    desk.ok("restore", "--agent", "reviewer")
    assert desk.repo.read("page.txt") == before
    desk.ok("resolve-drift", "--note", "restored")


# git's own housekeeping


def test_after_gc_everything_still_works(begun: Desk) -> None:
    """`git gc --prune=now` keeps every snapshot, `git fsck` has nothing to say, and verify, diff and restore work."""
    begun.to_reviewer()
    begun.repo.write("parser.py", "drift\n")
    begun.ok("restore", "--agent", "implementer")
    diff = begun.ok("diff", "--agent", "implementer", "--type", "from-base").out
    begun.repo.git("gc", "--quiet", "--prune=now")
    begun.repo.git("reflog", "expire", "--expire=now", "--all")
    begun.repo.git("gc", "--quiet", "--prune=now")
    assert begun.repo.git("fsck", "--full", "--strict", "--no-dangling") == ""
    begun.ok("verify")
    shutil.rmtree(begun.folder())
    begun.ok("recover", TASK)
    for path in begun.folder().glob("*.diff.gz"):
        path.unlink()
    assert begun.ok("diff", "--agent", "implementer", "--type", "from-base").out == diff
    begun.ok("restore", "--agent", "saved")
    assert begun.repo.read("parser.py") == b"drift\n"


def test_nothing_that_we_write_is_left_unreachable(begun: Desk) -> None:
    """By design every object hangs on a ref of ours."""
    begun.repo.write("README", "dirt\n")
    begun.ok("purge")
    begun.ok("init", "TASK-2", "--title", "Another")
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    unreachable = begun.repo.git("fsck", "--unreachable", "--no-reflogs").splitlines()
    kinds = {line.split()[1] for line in unreachable}
    assert kinds <= {"commit", "tree", "blob"}
    assert not any(line.split()[1] == "tree" and is_worktree(begun, line.split()[2]) for line in unreachable)


def is_worktree(desk: Desk, tree: str) -> bool:
    """Tell whether a tree is one of the worktree."""
    return "parser.py" in desk.repo.git("ls-tree", "--name-only", tree)


# A hostile or damaged context.json

HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "truncated": b'{"version": 1, "task_id": "TASK',
    "not JSON": b"\x00\xff\xfe",
    "a list": b"[]",
    "huge": b'{"version": 1, "task_id": "' + b"x" * 10_000_000 + b'"}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep object": b'{"a":' * 900 + b"1" + b"}" * 900,
    "duplicate keys": b'{"version": 1, "version": 1}',
    "wrong types": b'{"version": "1", "agents": {}, "coordination": []}',
    "NaN": b'{"version": NaN}',
    "a big number": b'{"version": ' + b"9" * 5000 + b"}",
    "surrogates": b'{"version": 1, "task_id": "\\ud800"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_context_gives_one_clear_line_and_harms_nothing(begun: Desk, name: str) -> None:
    """Reading warns and shows the ledger's; writing refuses in one error; recover mends it."""
    begun.implement()
    path = begun.folder() / "context.json"
    path.write_bytes(HOSTILE[name])
    before = begun.repo.census()
    got = begun.ok("get")
    assert got.err.count("\n") == 1
    assert got.err.startswith("warning: context.json of TASK-1 ")
    assert len(got.err) < 300
    begun.refuses("start", "--agent", "reviewer")
    assert path.read_bytes() == HOSTILE[name]
    assert differences(before, begun.repo.census()) == []
    begun.ok("recover", TASK)
    begun.ok("start", "--agent", "reviewer")


def test_a_context_of_a_later_version_is_not_ours_to_change(begun: Desk) -> None:
    """The error names the version and the way; the file stays."""
    path = begun.folder() / "context.json"
    later = path.read_bytes().replace(b'"version": 1', b'"version": 2')
    path.write_bytes(later)
    for args in (("get",), ("verify",), ("snapshot", "--agent", "implementer"), ("status",)):
        assert begun.refuses(*args, code=128) == (
            "error: context.json of TASK-1 has schema version 2; this git-taskctx reads version 1\n"
            "hint: upgrade git-taskctx to the version that wrote it\n"
        )
    assert path.read_bytes() == later


ODD: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "dangling link": lambda path: path.symlink_to("/nonexistent"),
    "FIFO": lambda path: os.mkfifo(path),
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["context.json", "../../active", "../../.context_store.lock", "../../.gitignore"])
def test_odd_files_are_never_opened(begun: Desk, kind: str, name: str) -> None:
    """A link, a FIFO or a folder where a file of ours should be: 128 with its name, at once, from every verb."""
    path = begun.folder() / name
    path.unlink(missing_ok=True)
    ODD[kind](path)
    target = Path("/etc/passwd").read_bytes()
    for args in (("get",), ("snapshot", "--agent", "implementer", "--allow-clean"), ("verify",)):
        said = begun.run(*args)
        if name.endswith(".lock") and args[0] in ("get", "verify"):
            continue  # reading takes no lock
        assert said.code == 128, said.both
        assert said.err.startswith("error: "), said.err
        assert path.name in said.err
    assert Path("/etc/passwd").read_bytes() == target
    assert not Path("/nonexistent").exists()


@pytest.mark.parametrize("place", [".", "tasks", "tasks/TASK-1"])
def test_a_linked_folder_is_refused(begun: Desk, place: str, tmp_path: Path) -> None:
    """`.agent-output`, or a folder in it, that is a symbolic link is not opened."""
    folder = begun.repo.at(".agent-output") / place
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    for args in (("get",), ("snapshot", "--agent", "implementer", "--allow-clean"), ("status",), ("list",)):
        if args[0] == "list" and place != ".":
            continue  # what is listed is read from refs
        said = begun.refuses(*args, code=128)
        assert "a symbolic link" in said


@pytest.mark.parametrize("verb", ["init", "fingerprint", "list", "status"])
def test_a_linked_folder_before_init_is_refused(desk: Desk, verb: str, tmp_path: Path) -> None:
    """Nothing is written through it."""
    (tmp_path / "elsewhere").mkdir()
    desk.repo.symlink(".agent-output", os.fspath(tmp_path / "elsewhere"))
    args = (verb, TASK, "--title", "x") if verb == "init" else (verb,)
    assert "a symbolic link" in desk.refuses(*args, code=128)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("verb", ["init", "status", "fingerprint", "list"])
def test_a_tracked_folder_is_refused(desk: Desk, verb: str) -> None:
    """Somebody committed it: 128, with the command that mends it."""
    desk.repo.write(".agent-output/x", "x\n")
    desk.repo.git("add", "-f", ".agent-output/x")
    args = (verb, TASK, "--title", "x") if verb == "init" else (verb,)
    assert desk.refuses(*args, code=128) == (
        "error: .agent-output is tracked by git\nhint: git rm -r --cached .agent-output\n"
    )


@pytest.mark.parametrize("text", ["../../../../etc", "TASK-1/../../..", "a\nb", "/etc", ".."])
def test_the_active_task_is_read_as_an_id_not_as_a_path(begun: Desk, text: str) -> None:
    """What a stranger wrote into `active` leads nowhere outside."""
    begun.repo.write(".agent-output/active", text)
    said = begun.refuses("get", code=128)
    assert "active" in said


def test_foreign_files_are_left_alone(begun: Desk) -> None:
    """What others put into our folder stays, and is in nobody's snapshot."""
    begun.repo.write(".agent-output/qa.log", "mine\n")
    begun.repo.write(".agent-output/tasks/TASK-1/notes", "mine\n")
    begun.implement()
    assert begun.seat("implementer")["worktree_snapshot"]["files_count"] == 1
    begun.ok("purge")
    assert begun.repo.read(".agent-output/qa.log") == b"mine\n"
    assert b"mine\n" in [path.read_bytes() for path in begun.repo.at(".agent-output").rglob("notes")]


def test_our_files_are_for_their_owner_alone(begun: Desk) -> None:
    """Files are 0600, folders 0700, whatever the umask says; git ignores all of it."""
    os.umask(0)
    begun.implement()
    begun.repo.write("parser.py", "drift\n")
    begun.ok("restore", "--agent", "implementer")
    begun.ok("purge")
    begun.ok("recover", TASK)
    modes = {path: path.stat().st_mode & 0o777 for path in begun.repo.at(".agent-output").rglob("*")}
    wrong = {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)}
    assert wrong == set()
    assert begun.repo.at(".agent-output").stat().st_mode & 0o777 == 0o700
    assert ".agent-output" not in begun.repo.git("status", "--porcelain", "--untracked-files=all")


# Control characters

EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnp\x9b31m"


def test_control_characters_never_reach_the_terminal(desk: Desk) -> None:
    """In titles, descriptions, findings, notes, actors and paths: escaped on every stream, in every format."""
    desk.repo.write(f"{EVIL}.txt".encode(), "x\n")
    verbs: list[tuple[str, ...]] = [
        ("init", TASK, "--title", f"Mend {EVIL}", "--description", f"It {EVIL} breaks", "--actor", f"me{EVIL}"),
        ("snapshot", "--agent", "implementer", "--allow-clean", "--actor", f"me{EVIL}"),
        ("block", "--agent", "reviewer", "--finding", f"no {EVIL} test"),
        ("start", "--agent", "reviewer"),
        ("start", "--agent", "implementer", "--take-over", f"died {EVIL}"),
        ("unblock", "--agent", "reviewer", "--finding", f"F1{EVIL}"),
        ("get",),
        ("status",),
        ("log",),
        ("list",),
        ("diff", "--path"),
        ("start", "--agent", f"rev{EVIL}"),
        ("get", "--task", f"T{EVIL}"),
        ("restore", "--agent", "init", "--paths", f"{EVIL}.txt"),
        (f"verb{EVIL}",),
    ]
    for args in verbs:
        for form in ((), ("--format", "json")):
            said = desk.run(*args, *form)
            bad = [character for character in said.both if not character.isprintable() and character != "\n"]
            assert bad == [], (args, said.both)
    desk.repo.write(f"{EVIL}.txt".encode(), "edited\n")
    desk.run("snapshot", "--agent", "implementer")
    desk.repo.write(f"{EVIL}.txt".encode(), "drift\n")
    for verb in ("verify", "status"):
        said = desk.run(verb)
        assert [character for character in said.both if not character.isprintable() and character != "\n"] == []
