"""What was put away goes when it is old enough, with all that kept it; the ledger and what is alive stay."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from desk import TASK, Desk, plain
from gitrepo import GitRepo

from git_taskctx.cli import call

Later = Callable[[float], None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Sets the clock that verbs read so many days ahead."""

    def set_ahead(days: float) -> None:
        monkeypatch.setattr(call, "now", lambda: datetime.now(UTC) + timedelta(days=days))

    return set_ahead


@pytest.fixture
def put_away(begun: Desk) -> Desk:
    """The same, after one snapshot, put away."""
    begun.implement()
    begun.ok("purge")
    return begun


def refs(desk: Desk) -> list[str]:
    """Return the refs that keep contexts."""
    return desk.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx").splitlines()


def archives(desk: Desk) -> list[str]:
    """Return the names in the archive."""
    return sorted(path.name for path in (desk.repo.path / ".agent-output" / "archive").iterdir())


def ledger(desk: Desk) -> str:
    """Return all that the notes hold."""
    return desk.repo.git("rev-parse", "refs/notes/taskctx^{tree}")


def swept(desk: Desk, *args: str) -> list[str]:
    """Sweep, and return the ids of the contexts that went."""
    return [one["context_id"] for one in desk.data("sweep", *args)["swept"]]


def test_refs_and_archive_go_and_the_ledger_stays(put_away: Desk) -> None:
    """Git finds no ref of the context any more and the notes as they were; the second time nothing is left to do."""
    context_id = put_away.data("list")[0]["context_id"]
    before, census = ledger(put_away), put_away.repo.census()
    assert len(refs(put_away)) == 4
    said = put_away.ok("sweep", "--ttl", "0")
    assert plain(said.out) == "swept TASK-1 (context <context>, last record <time>, seconds ago, 4 refs)\n"
    assert said.err.startswith("hint: git gc --prune=now   # ")
    assert (refs(put_away), archives(put_away), ledger(put_away)) == ([], [], before)
    assert put_away.repo.census() == census
    assert put_away.ok("sweep", "--ttl", "0") == put_away.ok("sweep", "--ttl", "0", "--dry-run")
    assert put_away.ok("sweep").err == "nothing to sweep\n"
    assert context_id in put_away.repo.git("notes", "--ref=taskctx", "show", "HEAD")


@pytest.mark.parametrize(
    ("days", "words"),
    [(0.0, "seconds"), (0.0015, "2 minutes"), (0.05, "1 hour"), (1.01, "1 day"), (30.5, "30 days")],
)
def test_ages_are_told(put_away: Desk, later: Later, days: float, words: str) -> None:
    """`list` and `sweep` say how old what is kept is, and how many refs keep it."""
    later(days)
    (row,) = put_away.ok("list").out.splitlines()[1:]
    assert re.split(r" {2,}", row.strip())[:5] == ["TASK-1", "put away", "implementer", words, "4"]
    assert f", {words} ago, 4 refs)" in put_away.ok("sweep", "--ttl", "0", "--dry-run").out
    (one,) = put_away.data("list")
    assert (one["refs"], round(one["age"] / 86_400, 2)) == (4, round(days, 2))


def test_a_dry_run_only_tells(put_away: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same contexts, and nothing moves."""
    at = datetime.now(UTC)
    monkeypatch.setattr(call, "now", lambda: at)
    before = refs(put_away), archives(put_away), ledger(put_away)
    said = put_away.ok("sweep", "--ttl", "0", "--dry-run")
    assert plain(said.out) == ("would sweep TASK-1 (context <context>, last record <time>, seconds ago, 4 refs)\n")
    assert said.err == "hint: git taskctx sweep --ttl 0   # removes them\n"
    dry = put_away.data("sweep", "--ttl", "0", "--dry-run")
    assert (refs(put_away), archives(put_away), ledger(put_away)) == before
    wet = put_away.data("sweep", "--ttl", "0")
    assert dry == {**wet, "dry_run": True}
    assert [(one["task"], one["refs"], one["archived"]) for one in wet["swept"]] == [(TASK, 4, True)]


@pytest.mark.parametrize(
    ("args", "kept", "gone"),
    [
        ((), 13.9, 14.1),
        (("--ttl", "7d"), 6.9, 7.1),
        (("--ttl", "2w"), 13.9, 14.1),
        (("--ttl=12h",), 0.4, 0.6),
        (("--ttl", "30m"), 0.01, 0.03),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_age_decides(put_away: Desk, later: Later, args: tuple[str, ...], kept: float, gone: float) -> None:
    """Counted from the last record; by default what the policy says, 14 days."""
    later(kept)
    assert put_away.ok("sweep", *args).err == "nothing to sweep\n"
    assert len(refs(put_away)) == 4
    later(gone)
    assert len(swept(put_away, *args)) == 1


def test_the_policy_in_force_says_how_long(put_away: Desk, later: Later) -> None:
    """The committed one, and a personal setting that keeps longer; `--ttl` wins over both."""
    put_away.repo.write(".taskctx.toml", "[lifecycle]\narchive_days = 30\n")
    put_away.repo.commit("policy")
    put_away.repo.config("taskctx.lifecycle.archivedays", "3")
    later(20)
    said = put_away.ok("sweep")
    assert "warning: taskctx.lifecycle.archiveDays = 3 " in said.err
    assert said.err.endswith("nothing to sweep\n")
    put_away.repo.config("taskctx.lifecycle.archivedays", "999999999999")
    assert put_away.ok("sweep").err == "nothing to sweep\n"
    assert len(swept(put_away, "--ttl", "19d")) == 1


@pytest.mark.parametrize("age", ["", "7", "d", "1.5d", "7 d", "7D", "-1d", "1y", "\u0667d", "9999999d", "00"])
def test_no_age(put_away: Desk, age: str) -> None:
    """129, with a line to copy, and nothing went."""
    said = put_away.refuses("sweep", f"--ttl={age}", code=129)
    assert said.endswith("is not an age: write 30m, 12h, 7d, 2w or 0\nhint: git taskctx sweep --ttl 7d\n")
    assert len(refs(put_away)) == 4


def test_what_is_alive_stays(put_away: Desk, tmp_path: Path, later: Later) -> None:
    """The active context here, also without its files or one of its notes, and the one of another worktree."""
    first = put_away.data("list")[0]["context_id"]
    put_away.init()
    put_away.repo.git("worktree", "add", "-q", tmp_path / "other")
    other = Desk(GitRepo(tmp_path / "other"))
    other.ok("init", "TASK-2", "--title", "Another")
    alive = {one["context_id"] for one in put_away.data("list")} - {first}
    later(100)
    marker = put_away.repo.git_dir() / "taskctx" / "context"
    noted = marker.read_bytes()
    marker.unlink()
    assert swept(put_away, "--dry-run") == [first]
    marker.write_bytes(noted)
    shutil.rmtree(put_away.repo.path / ".agent-output" / "tasks")
    assert swept(put_away) == [first]
    put_away.ok("recover", TASK)
    assert {one["context_id"] for one in put_away.data("list")} == alive
    other.ok("status")
    assert swept(other, "--ttl", "0") == []


def test_what_only_refs_keep_goes_too(begun: Desk, tmp_path: Path) -> None:
    """A context of a worktree that was removed, and the archive of another worktree whose refs are gone already."""
    begun.ok("purge")
    begun.repo.git("worktree", "add", "-q", tmp_path / "other")
    other = Desk(GitRepo(tmp_path / "other"))
    other.ok("init", "TASK-2", "--title", "Another")
    assert len(swept(other, "--ttl", "0")) == 1
    begun.repo.git("worktree", "remove", "--force", tmp_path / "other")
    assert len(archives(begun)) == 1
    data = begun.data("sweep", "--ttl", "0")["swept"]
    assert sorted((one["task"], one["refs"], one["archived"]) for one in data) == [
        (TASK, 0, True),
        ("TASK-2", 3, False),
    ]
    assert (refs(begun), archives(begun)) == ([], [])


def test_list_and_recover_say_that_it_went(put_away: Desk) -> None:
    """Nothing is listed, and what cannot come back is told from what never was; the task can begin anew."""
    context_id = put_away.data("list")[0]["context_id"]
    put_away.ok("sweep", "--ttl", "0")
    assert put_away.data("list") == []
    for args in ((TASK,), (TASK, "--context", context_id)):
        said = put_away.refuses("recover", *args, code=128)
        assert said.startswith("error: only the ledger of TASK-1 is here: the context itself was swept")
    assert "no context of TASK is known here" in put_away.refuses("recover", "TASK", code=128)
    assert "no context of TASK-1 is here" in put_away.refuses("get", "--task", TASK, code=128)
    put_away.init()
    put_away.ok("snapshot", "--agent", "implementer", "--allow-clean")


def test_the_space_comes_back_and_what_follows_is_whole(put_away: Desk) -> None:
    """After git's gc the snapshot's blob is gone; the same worktree, recorded again, has all its objects."""
    blob = put_away.repo.git("hash-object", "parser.py")
    put_away.repo.git("cat-file", "-e", blob)
    put_away.ok("sweep", "--ttl", "0")
    put_away.repo.git("gc", "-q", "--prune=now")
    assert put_away.repo.run("cat-file", "-e", blob).returncode == 1
    put_away.init()
    put_away.ok("snapshot", "--agent", "implementer", "--allow-clean")
    assert put_away.repo.git("fsck", "--no-dangling", "--no-progress") == ""
    put_away.repo.git("cat-file", "-e", blob)


def test_a_sealed_commit_keeps_its_proof(validated: Desk) -> None:
    """What hangs on the commit and its tree is there after sweep and gc, byte by byte."""
    validated.repo.commit("mended")
    validated.ok("status")
    before = validated.repo.git("notes", "--ref=taskctx", "show", "HEAD")
    assert len(swept(validated, "--ttl", "0")) == 1
    validated.repo.git("gc", "-q", "--prune=now")
    assert validated.repo.git("notes", "--ref=taskctx", "show", "HEAD") == before
    assert validated.repo.git("fsck", "--no-dangling", "--no-progress") == ""


def test_what_a_kill_left_is_finished(put_away: Desk) -> None:
    """Killed between the refs and the files, or amid the files: the ledger still tells the age, and the rest goes."""
    for ref in refs(put_away):
        put_away.repo.git("update-ref", "-d", ref)
    (name,) = archives(put_away)
    (put_away.repo.path / ".agent-output" / "archive" / name / "context.json").unlink()
    assert put_away.ok("sweep", "--ttl", "1h").err == "nothing to sweep\n"
    assert swept(put_away, "--ttl", "0") == [name]
    assert archives(put_away) == []


def test_what_a_killed_purge_left_is_no_active_context(put_away: Desk) -> None:
    """In the archive, but still noted as active: the notes go first, or they would name what nothing brings back."""
    (name,) = archives(put_away)
    put_away.repo.write(".agent-output/active", f"{TASK}\n")
    (put_away.repo.git_dir() / "taskctx" / "context").write_text(f"{name}\n")
    assert swept(put_away, "--ttl", "0") == [name]
    assert put_away.ok("status").out.startswith("no task context is active here\n")
    put_away.init()


def test_all_refs_of_a_context_or_none(put_away: Desk) -> None:
    """Another process holds one of them: 75, all of them there, and the archive too; the next sweep does it."""
    lock = put_away.repo.git_dir() / f"{refs(put_away)[-1]}.lock"
    lock.touch()
    assert "another process moved refs of TASK-1" in put_away.refuses("sweep", "--ttl", "0", code=75)
    assert (len(refs(put_away)), len(archives(put_away))) == (4, 1)
    lock.unlink()
    assert len(swept(put_away, "--ttl", "0")) == 1


def test_no_age_is_told_and_kept(put_away: Desk, later: Later) -> None:
    """Without ledger and refs nothing tells how old an archive is: it stays, but for `--ttl 0`; others' refs stay."""
    for ref in [*refs(put_away), "refs/notes/taskctx"]:
        put_away.repo.git("update-ref", "-d", ref)
    put_away.repo.git("update-ref", "refs/taskctx/contexts/mine", "HEAD")
    later(100)
    said = put_away.ok("sweep")
    assert said.err.startswith("warning: the age of context ")
    assert said.out == ""
    assert plain(put_away.ok("sweep", "--ttl", "0").out) == "swept ? (context <context>, 0 refs)\n"
    assert (refs(put_away), archives(put_away)) == (["refs/taskctx/contexts/mine"], [])


def test_no_link_is_followed(put_away: Desk, tmp_path: Path) -> None:
    """Neither out of the archive nor from a ref of ours to a branch."""
    context_ref = next(ref for ref in refs(put_away) if "/contexts/" in ref)
    (tmp_path / "kept").write_text("kept")
    archive = put_away.repo.path / ".agent-output" / "archive"
    (archive / archives(put_away)[0] / "link").symlink_to(tmp_path)
    (archive / ("0" * 16)).symlink_to(tmp_path)
    put_away.repo.git("update-ref", "-d", context_ref)
    put_away.repo.git("symbolic-ref", context_ref, "refs/heads/main")
    head = put_away.repo.head()
    put_away.ok("sweep", "--ttl", "0")
    assert put_away.repo.git("rev-parse", "refs/heads/main") == head
    assert (refs(put_away), archives(put_away)) == ([], ["0" * 16])
    assert (tmp_path / "kept").read_text() == "kept"


def test_of_several_put_away_the_newest_is_meant(desk: Desk, later: Later) -> None:
    """The same task begun again and again is several contexts; without --context the last one is shown."""
    for day in range(6):
        later(day)
        desk.init()
        newest = desk.context()["context_id"]
        desk.ok("purge")
        shown = desk.data("log", "--task", TASK)
        assert {record["context"] for record in shown} == {newest}
        assert desk.data("get", "--task", TASK)["context_id"] == newest
