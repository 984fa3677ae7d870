"""Drift: every change has its cause, in words that a person recognises, and what git converts is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import Desk, executable, hints_of, plain
from gitrepo import GitRepo


def drift(desk: Desk) -> list[str]:
    """Verify, which must say no; return the causes."""
    said = desk.ends(1, "verify").out
    assert said.startswith("worktree: drifted\ndrift since "), said
    return [line.strip() for line in said.splitlines()[1:] if line.startswith("  ")]


MOVES: dict[str, tuple[Callable[[Desk], object], str]] = {
    "commit": (lambda desk: desk.repo.git("commit", "-q", "--allow-empty", "-m", "empty"), "commit: empty"),
    "reset": (lambda desk: desk.repo.git("reset", "-q", "--soft", "HEAD~1"), "reset: moving to HEAD~1"),
    "merge": (lambda desk: desk.repo.git("merge", "-q", "side"), "merge side: Fast-forward"),
    "checkout": (
        lambda desk: desk.repo.git("checkout", "-q", "side"),
        "from main to side",
    ),
    "pull": (lambda desk: desk.repo.git("pull", "-q", ".", "side"), "pull -q . side: Fast-forward"),
}


@pytest.mark.parametrize("move", MOVES)
def test_head_that_moved_is_drift_in_the_reflogs_own_words(desk: Desk, move: str) -> None:
    """Rebase, merge, pull, reset: what happened is told as git tells it, and the paths that came along."""
    desk.repo.commit("second")
    desk.repo.checkout("-b", "side")
    desk.repo.write("other.py", "other\n")
    desk.repo.commit("other")
    desk.repo.checkout("main")
    desk.init()
    desk.to_reviewer()
    MOVES[move][0](desk)
    said = plain(desk.ends(1, "verify").out)
    [line] = [line for line in said.splitlines() if line.startswith("  HEAD moved (<oid> to <oid>")]
    assert MOVES[move][1] in line
    assert ("  other.py: added\n" in said) == (move in ("merge", "checkout", "pull"))
    assert "1 unresolved drift (0 allowed) since reviewer's snapshot" in desk.refuses("start", "--agent", "validator")


@pytest.mark.parametrize(
    ("committed", "then", "is_kept"),
    [
        ({"other.py": "other\n"}, {}, True),
        ({"other.py": "other\n"}, {"other.py": "edited\n"}, False),
        ({".taskctx.toml": 'agents = ["one"]\n'}, {}, False),
    ],
)
def test_a_commit_beside_the_task_is_kept_first(
    desk: Desk, committed: dict[str, str], then: dict[str, str], is_kept: bool
) -> None:
    """Where the worktree differs by it alone, in paths that the task left alone, the first hint accepts it.

    Not where its policy names other agents, by which no proof would hold: who accepts that is warned.
    """
    desk.init()
    desk.to_reviewer()
    for name, text in committed.items():
        desk.repo.write(name, text)
        desk.repo.git("add", name)
    desk.repo.git("commit", "-q", "-m", "beside", "--", *committed)
    for name, text in then.items():
        desk.repo.write(name, text)
    first, second, *_ = hints_of(desk.ok("status"))
    accept = 'git taskctx resolve-drift --accept --note "what happened"   # keeps what was committed beside the task'
    assert (first.startswith(accept), second.startswith("git reset --keep")) == (is_kept, is_kept)
    said = desk.ok("resolve-drift", "--accept", "--note", "kept")
    warned = "names one: no proof by it holds for a chain of implementer, reviewer, validator" in said.err
    assert warned == (".taskctx.toml" in committed)
    assert desk.ok("verify").out.startswith("worktree: matches\n")


def test_a_rebase_between_agents_is_drift(desk: Desk) -> None:
    """With autostash the files are the same; HEAD is not."""
    desk.repo.checkout("-b", "side")
    desk.repo.write("other.py", "other\n")
    desk.repo.commit("other")
    desk.repo.checkout("main")
    desk.init()
    desk.to_reviewer()
    desk.repo.git("rebase", "-q", "--autostash", "side")
    said = plain(desk.ends(1, "verify").out)
    assert "HEAD moved" in said
    assert "(rebase" in said
    desk.ok("resolve-drift", "--accept", "--note", "rebased")
    git = desk.context()["git"]
    assert git["head"] == git["parent"] == desk.repo.head()
    desk.ok("start", "--agent", "implementer")


def test_an_operation_in_progress_is_drift(reviewed: Desk) -> None:
    """A merge that stopped at a conflict is named."""
    git_dir = reviewed.repo.git_dir()
    (git_dir / "MERGE_HEAD").write_text(reviewed.repo.head() + "\n")
    assert "  operation in progress (merge in progress)\n" in reviewed.ends(1, "verify").out


def test_committed_early(reviewed: Desk) -> None:
    """HEAD moved with the very tree: its own cause, and no path has changed."""
    reviewed.repo.commit("too early")
    said = plain(reviewed.ends(1, "verify").out)
    assert said.startswith("worktree: drifted\ndrift since reviewer's snapshot 1 (<time>): committed early\n")
    assert "  committed early (<oid> to <oid>, same tree)\n" in said


@pytest.mark.parametrize("way", ["reset --hard", "stash", "checkout -- ."])
def test_work_that_was_taken_away(reviewed: Desk, way: str) -> None:
    """Stash or reset between agents: file by file, and `restore` brings it back."""
    reviewed.repo.git(*way.split())
    cause = "stashed (git stash list)" if way == "stash" else "checked out (it is as in HEAD again)"
    assert f"  parser.py: {cause}\n" in reviewed.ends(1, "verify").out
    reviewed.ok("restore", "--agent", "reviewer")
    reviewed.ok("resolve-drift", "--note", "back")


# Changes that are easily missed


def test_a_new_untracked_file_after_a_review_is_drift(reviewed: Desk) -> None:
    """It would be committed unseen with `git add -A`."""
    reviewed.repo.write("backdoor.py", "import os\n")
    assert drift(reviewed) == ["backdoor.py: added"]


def test_a_deleted_tracked_file_is_drift(reviewed: Desk) -> None:
    """Gone from disk, whatever the index says."""
    reviewed.repo.remove("README")
    assert drift(reviewed) == ["README: deleted"]


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
def test_every_change_has_its_cause(reviewed: Desk, change: Callable[[GitRepo], object], causes: list[str]) -> None:
    """One path, one cause, in words that a person recognises."""
    change(reviewed.repo)
    assert drift(reviewed) == causes


def test_a_file_with_the_same_size_and_time_is_drift(reviewed: Desk) -> None:
    """An edit that puts size and mtime back is found: git's index knows the ctime."""
    path = reviewed.repo.at("parser.py")
    found = path.stat()
    path.write_bytes(b"MENDED\n")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert drift(reviewed) == ["parser.py: edited"]


def test_staging_is_a_notice_unless_strict(reviewed: Desk) -> None:
    """What was snapshotted may be staged; `--strict` counts it, and says so once."""
    reviewed.repo.add()
    assert reviewed.ok("verify").out.endswith("  notice: staged only (what is staged differs, the files do not)\n")
    said = reviewed.ends(1, "verify", "--strict")
    assert "staged only" in said.out
    assert reviewed.seat("reviewer")["drift_budget"] == 1
    assert hints_of(said) == ["git reset -q   # nothing was staged"]
    assert reviewed.typed(hints_of(said)[0]).code == 0
    reviewed.ok("verify", "--strict")


def test_what_was_staged_is_staged_again_under_strict(begun: Desk) -> None:
    """The index comes back as the snapshot had it."""
    begun.repo.write("new.py", "new\n")
    begun.repo.add("new.py")
    begun.implement()
    begun.repo.git("reset", "-q")
    said = begun.ends(1, "verify", "--strict")
    assert begun.typed(hints_of(said)[0]).code == 0
    assert begun.repo.git("diff", "--cached", "--name-only") == "new.py"
    begun.ok("verify", "--strict")


def test_another_worktrees_stash_is_not_our_drift(reviewed: Desk, tmp_path: Path) -> None:
    """The stash is one for all worktrees: it is a cause only where it holds what is missing here."""
    reviewed.repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    other.write("parser.py", "other\n")
    other.git("stash")
    assert reviewed.ok("verify").out.startswith("worktree: matches\n")
    reviewed.repo.git("checkout", "-q", "--", "parser.py")
    assert drift(reviewed) == ["parser.py: checked out (it is as in HEAD again)"]


def test_a_real_hook_sees_its_own_repository(implemented: Desk, tmp_path: Path) -> None:
    """`git commit PATH` runs the hook over an index of its own; `verify` there judges the worktree."""
    env = executable(tmp_path / "bin")
    hook = implemented.repo.git_dir() / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ngit taskctx verify >{tmp_path}/said 2>&1\necho $? >>{tmp_path}/said\n")
    hook.chmod(0o755)
    implemented.repo.git("commit", "-q", "-m", "part", "parser.py", env=env)
    said = (tmp_path / "said").read_text()
    assert said.startswith("worktree: matches\n"), said
    assert said.endswith("\n0\n")


# Which snapshot


def test_asking_for_a_snapshot_that_is_not_there(begun: Desk) -> None:
    """`verify --expect`, `diff` and `restore` say so."""
    assert "reviewer has no snapshot yet" in begun.ends(3, "verify", "--expect", "reviewer").out
    assert "has no snapshot yet" in begun.refuses("diff", "--agent", "reviewer", code=128)
    assert "has no snapshot yet" in begun.refuses("restore", "--agent", "reviewer", code=128)
    begun.implement()
    assert "has no snapshot 7" in begun.refuses("restore", "--agent", "implementer", "--round", "7", code=128)


def test_expect_asks_about_any_agents_snapshot_without_cost(implemented: Desk) -> None:
    """Whoever owns the tree; budget only when that agent owns it."""
    implemented.ok("start", "--agent", "reviewer")
    implemented.repo.write("parser.py", "reviewed\n")
    implemented.ok("snapshot", "--agent", "reviewer")
    assert "parser.py: edited" in implemented.ends(1, "verify", "--expect", "implementer").out
    assert implemented.seat("implementer")["drift_budget"] == 0
    implemented.ok("verify", "--expect", "reviewer")
    implemented.repo.write("parser.py", "drift\n")
    implemented.ends(1, "verify", "--expect", "reviewer")
    assert implemented.seat("reviewer")["drift_budget"] == 1


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


def test_drift_names_the_hashes_of_each_path(implemented: Desk) -> None:
    """What was recorded and what is there: in the document, in the record, and in the text that asks for it."""
    implemented.repo.write("parser.py", "other\n")
    implemented.repo.write("new.py", "new\n")
    expected, present, new = (
        implemented.repo.git("hash-object", "--stdin", input=text) for text in ("mended\n", "other\n", "new\n")
    )
    wanted = {"new.py": (None, new), "parser.py": (expected, present)}
    for causes in (implemented.data("verify", code=1)["causes"], implemented.records("drift")[0]["causes"]):
        assert {one["path"]: (one.get("expected"), one.get("present")) for one in causes} == wanted
    said = implemented.ends(1, "verify", "--verbose").out
    assert f"    expected {expected}\n    present  {present}\n" in said
    assert f"    expected nothing\n    present  {new}\n" in said
    assert expected not in implemented.ends(1, "verify").out


def test_an_open_editor_is_no_drift(begun: Desk) -> None:
    """Its swap file is named and counts for nothing: there at one snapshot, gone at the next, and in no commit."""
    begun.repo.write(".parser.py.swp", "vim\n")
    assert ".parser.py.swp is left out" in begun.implement().err
    (notice,) = begun.data("verify")["notices"]
    assert (notice["kind"], notice["path"]) == ("an editor's own file, left out", ".parser.py.swp")
    begun.ok("snapshot", "--agent", "reviewer")
    begun.repo.write(".parser.py.swo", "another\n")
    begun.repo.remove(".parser.py.swp")
    begun.ok("snapshot", "--agent", "validator", "--done")
    begun.repo.remove(".parser.py.swo")
    assert begun.data("verify")["notices"] == []
    begun.repo.commit("the task")
    assert begun.ok("verify", "HEAD").out.startswith("commit: verified\n")


def test_work_in_an_embedded_repository_alone_is_named_everywhere(begun: Desk) -> None:
    """While at work status, verify, snapshot and diff name it alike; a snapshot's diff names it too."""
    inner = GitRepo.init(begun.repo.at("vendor/lib"))
    inner.write("lib.py", "one\n")
    inner.commit("lib")
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    assert "nothing changed yet" in begun.ok("status").out
    inner.write("lib.py", "two\n")
    told = "; not in a snapshot: vendor/lib (submodule dirty)\n"
    assert told in begun.ok("status").out
    assert told in begun.ends(3, "verify").out
    assert told.strip("\n") in begun.ends(1, "start", "--agent", "validator").err
    beside = "warning: vendor/lib: submodule dirty; its content is not in the diff\n"
    assert begun.ok("diff", "--agent", "reviewer").err == beside
    assert "vendor/lib: submodule dirty" in begun.ok("snapshot", "--agent", "reviewer").err
    assert beside in begun.ok("diff").err
    assert "worktree: matches" in begun.ok("status").out


def test_an_embedded_repository_alone_is_named_where_nothing_else_changed(desk: Desk) -> None:
    """The refusal of a snapshot without changes says which changes no snapshot can hold."""
    inner = GitRepo.init(desk.repo.at("lib"))
    inner.write("lib.py", "one\n")
    inner.commit("lib")
    desk.init()
    inner.write("lib.py", "two\n")
    refused = desk.ends(1, "snapshot", "--agent", "implementer").err
    assert "nothing changed since TASK-1 began; lib: submodule dirty, which no snapshot holds\n" in refused


def test_edits_in_an_embedded_repository_are_drift_staged_or_not(begun: Desk) -> None:
    """The snapshot says whose content it does not hold; staging the repository changes no answer."""
    inner = GitRepo.init(begun.repo.at("vendor/lib"))
    inner.write("lib.py", "one\n")
    inner.commit("lib")
    assert "vendor/lib: submodule dirty" not in begun.implement().err
    begun.ok("verify")
    inner.write("lib.py", "two\n")
    (cause,) = begun.data("verify", code=1)["causes"]
    assert (cause["kind"], cause["path"]) == ("submodule dirty", "vendor/lib")
    begun.repo.git("add", "vendor/lib")
    (cause,) = begun.data("verify", code=1)["causes"]
    assert (cause["kind"], cause["path"]) == ("submodule dirty", "vendor/lib")
    begun.ok("resolve-drift", "--accept", "--note", "wanted")
    begun.ok("verify")
    begun.repo.git("rm", "-q", "-f", "--cached", "vendor/lib")
    begun.ok("verify")
    inner.write("lib.py", "one\n")
    begun.ends(1, "verify")
