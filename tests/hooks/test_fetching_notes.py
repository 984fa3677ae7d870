"""`install --notes`: plain `git fetch` brings the records of a remote, and never writes over ours."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

import pytest
from desk import TASK, Desk
from gitrepo import GitRepo
from prepared import own_folder

NOTES = "refs/notes/taskctx"
SIDE = "refs/taskctx/remotes/origin/notes"
LINE = "+refs/notes/taskctx*:refs/taskctx/remotes/origin/notes*"


@pytest.fixture
def clone(tmp_path: Path) -> Desk:
    """A clone of a bare repository that has the commit of a task, and its records."""
    shutil.copytree(_three(), tmp_path, symlinks=True, dirs_exist_ok=True)
    for name in ("first", "second"):
        repo = GitRepo(tmp_path / name)
        repo.git("remote", "set-url", "origin", f"file://{tmp_path / 'hub.git'}")
        repo.git("update-index", "-q", "--refresh")
    return Desk(repo)


@functools.cache
def _three() -> Path:
    """Make the three repositories, once, and return where they are."""
    folder = own_folder("fetching")
    bare = GitRepo.init(folder / "hub.git", "--bare")
    first = GitRepo.init(folder / "first")
    first.write("parser.py", "broken\n")
    first.commit("base")
    first.git("remote", "add", "origin", os.fspath(bare.path))
    desk = Desk(first)
    desk.init()
    desk.validate()
    first.commit("the task")
    desk.ok("verify")
    first.git("push", "-q", "-u", "origin", "main")
    desk.ok("push", "origin")
    bare.git("clone", "-q", f"file://{bare.path}", os.fspath(folder / "second"))
    return folder


@pytest.fixture
def hub(clone: Desk) -> GitRepo:
    """The bare repository."""
    return GitRepo(clone.repo.path.parent / "hub.git")


def lines(desk: Desk, remote: str = "origin") -> list[str]:
    """Return the lines by which a remote is fetched."""
    return desk.repo.git("config", "--get-all", f"remote.{remote}.fetch").splitlines()


def oid(repo: GitRepo, ref: str) -> str:
    """Return what a ref is at; nothing where there is none."""
    return repo.git("for-each-ref", "--format=%(objectname)", ref)


def verdict(desk: Desk) -> str:
    """Return what is told of HEAD."""
    return str(desk.run("verify", "HEAD", "--format", "json").document()["data"]["verdict"])


@pytest.mark.parametrize(
    "how", ["fetch", "fetch --all", "fetch --prune --force", "pull", "fetch origin", "remote update"]
)
def test_what_git_fetches_is_proved(clone: Desk, hub: GitRepo, how: str) -> None:
    """After the next fetch, however it is typed, HEAD is verified; the records lie beside ours, which are none."""
    assert verdict(clone) == "unproven"
    said = clone.ok("install", "--notes", "origin")
    assert f"added remote.origin.fetch = {LINE}\n" in said.out
    assert lines(clone) == ["+refs/heads/*:refs/remotes/origin/*", LINE]
    clone.repo.git(*how.split())
    assert verdict(clone) == "verified"
    assert (oid(clone.repo, SIDE), oid(clone.repo, NOTES)) == (oid(hub, NOTES), "")
    assert "remote.origin" not in clone.run("doctor").out


def test_ours_stay_whatever_is_fetched(clone: Desk, hub: GitRepo) -> None:
    """Records that only we have stay, also when the other side's are gone, or others, and are pruned here."""
    clone.ok("install", "--notes", "origin")
    clone.ok("init", "TASK-2", "--title", "Ours alone")
    ours = oid(clone.repo, NOTES)
    clone.repo.git("fetch", "--prune", "--force")
    assert (oid(clone.repo, NOTES), verdict(clone)) == (ours, "verified")
    tree = hub.git("mktree", input="")
    hub.git("update-ref", NOTES, hub.git("commit-tree", tree, "-m", "emptied"))
    clone.repo.git("fetch", "--prune", "--force")
    assert (oid(clone.repo, NOTES), oid(clone.repo, SIDE)) == (ours, oid(hub, NOTES))
    hub.git("update-ref", "-d", NOTES)
    clone.repo.git("fetch", "--prune", "--force")
    assert (oid(clone.repo, NOTES), oid(clone.repo, SIDE)) == (ours, "")
    assert [record["task"] for record in clone.records()] == ["TASK-2"]


def test_ours_and_theirs_are_read_together(clone: Desk) -> None:
    """A record that is there and here is one record; our own task's commit is proved as before."""
    clone.ok("install", "--notes", "origin")
    clone.ok("fetch", "origin")
    clone.repo.git("fetch")
    assert verdict(clone) == "verified"
    clone.init()
    clone.implement("once more\n")
    clone.ok("snapshot", "--agent", "reviewer")
    clone.ok("snapshot", "--agent", "validator", "--done")
    clone.repo.git("commit", "-q", "-a", "-m", "ours")
    clone.ok("verify")
    assert clone.data("verify", "HEAD~2..HEAD")["verdict"] == "verified"


def test_a_remote_without_records(clone: Desk, hub: GitRepo) -> None:
    """There is nothing to bring, and the fetch goes on; a line that names the ref whole would make it fail."""
    hub.git("update-ref", "-d", NOTES)
    clone.ok("install", "--notes", "origin")
    clone.repo.git("fetch")
    clone.repo.git("pull")
    clone.repo.git("config", "--add", "remote.origin.fetch", f"+{NOTES}:refs/taskctx/remotes/origin/notes")
    assert b"couldn't find remote ref" in clone.repo.run("fetch").stderr
    assert "every fetch fails while origin has no records" in clone.run("doctor").out


def test_a_remote_without_a_line_is_left_alone(clone: Desk) -> None:
    """With one line of ours, and no other, `git fetch` would bring no commit any more."""
    clone.repo.git("config", "--unset-all", "remote.origin.fetch")
    before = (clone.repo.common_dir() / "config").read_bytes()
    said = clone.refuses("install", "--notes", "origin")
    assert said == (
        "error: remote.origin.fetch is not set, and with a line of ours alone `git fetch` would bring nothing else\n"
        "hint: git taskctx fetch origin   # brings the ledger when it is typed\n"
    )
    assert (clone.repo.common_dir() / "config").read_bytes() == before


def test_taken_away_exactly(clone: Desk) -> None:
    """The configuration is as it was, to the byte; a line of somebody else's stays; twice is nothing to do."""
    clone.repo.git("config", "--add", "remote.origin.fetch", "+refs/notes/review:refs/notes/origin/review")
    before = (clone.repo.common_dir() / "config").read_bytes()
    clone.ok("install", "--notes", "origin")
    assert "nothing to do" in clone.ok("install", "--notes", "origin").err
    assert lines(clone).count(LINE) == 1
    assert "would unset remote.origin.fetch\n" in clone.ok("uninstall", "--dry-run").out
    clone.ok("uninstall")
    assert (clone.repo.common_dir() / "config").read_bytes() == before
    assert "nothing to do" in clone.ok("uninstall").err


def test_only_said(clone: Desk) -> None:
    """`--dry-run` changes nothing."""
    before = (clone.repo.common_dir() / "config").read_bytes()
    assert f"would add remote.origin.fetch = {LINE}\n" in clone.ok("install", "--notes", "origin", "--dry-run").out
    assert (clone.repo.common_dir() / "config").read_bytes() == before


def test_a_remote_that_is_renamed_and_removed(clone: Desk) -> None:
    """git leaves our line as it is: it goes on working, doctor says what is odd, and installing again mends it."""
    clone.ok("install", "--notes", "origin")
    clone.repo.git("remote", "rename", "origin", "up")
    clone.repo.git("fetch", "up")
    assert verdict(clone) == "verified"
    told = (
        f"warning: remote.up.fetch = {LINE}: records of up come as those of origin\n  git taskctx install --notes up\n"
    )
    assert told in clone.run("doctor").out
    clone.ok("install", "--notes", "up")
    assert lines(clone, "up")[1:] == ["+refs/notes/taskctx*:refs/taskctx/remotes/up/notes*"]
    assert "remote.up" not in clone.run("doctor").out
    clone.repo.git("remote", "remove", "up")
    assert verdict(clone) == "unproven"
    assert "(known: none)" in clone.refuses("install", "--notes", "up", code=128)


def test_what_a_remote_left_that_is_gone(clone: Desk) -> None:
    """Its records prove nothing; doctor says so, with the command that takes them away, and no other remote's."""
    told = "note: there is no remote {} any more, and proofs do not read the records that were fetched from it\n"
    url = clone.repo.git("remote", "get-url", "origin")
    clone.repo.git("remote", "add", "origin/other", url)
    for name in ("origin", "origin/other", f"at-{'0' * 12}"):  # the last one's is that of an address
        clone.repo.git("fetch", "-q", url, f"+{NOTES}:refs/taskctx/remotes/{name}/notes")
    assert "any more" not in clone.run("doctor").out
    clone.repo.git("remote", "remove", "origin")
    assert "any more" not in clone.run("doctor").out  # the other one's would go too
    clone.repo.git("remote", "remove", "origin/other")
    assert verdict(clone) == "unproven"
    said = clone.run("doctor").out
    assert told.format("origin/other") in said
    for name in ("origin/other", "origin"):
        command = said.split(told.format(name))[1].splitlines()[0].split("   #")[0]
        clone.repo.git("-c", f"alias.do=!{command}", "do")
        said = clone.run("doctor").out
        assert told.format(name) not in said
    [left] = clone.repo.git("for-each-ref", "--format=%(refname)", "refs/taskctx/remotes").splitlines()
    assert left.startswith("refs/taskctx/remotes/at-")
    clone.repo.git("update-ref", "refs/taskctx/remotes/origin/seen", oid(clone.repo, left))  # as a dry run leaves it
    assert told.format("origin") in clone.run("doctor").out


@pytest.mark.parametrize("name", ["-x/notes", "-x", "/notes", "/x/notes"])
def test_a_ref_beside_the_ledger(clone: Desk, hub: GitRepo, name: str) -> None:
    """What comes along with the pattern proves nothing, and is taken out of the ledger's way by our own fetch."""
    clone.ok("install", "--notes", "origin")
    ledger = oid(hub, NOTES)
    hub.git("update-ref", "-d", NOTES)
    hub.git("update-ref", f"{NOTES}{name}", ledger)
    clone.repo.git("fetch")
    assert oid(clone.repo, f"{SIDE}{name}") == ledger
    assert verdict(clone) == "unproven"
    hub.git("update-ref", "-d", f"{NOTES}{name}")
    hub.git("update-ref", NOTES, ledger)
    assert clone.data("verify", "--ci", "HEAD", code=0)["verdict"] == "verified"
    clone.repo.git("update-ref", "-d", SIDE)
    clone.repo.git("update-ref", f"{SIDE}/x", ledger)
    clone.ok("fetch", "origin")
    clone.repo.git("fetch")
    assert (oid(clone.repo, SIDE), verdict(clone)) == (ledger, "verified")


def test_a_remote_with_a_space_in_its_name(clone: Desk, hub: GitRepo) -> None:
    """What git itself would not make is one remote, and can be fetched from."""
    config = clone.repo.common_dir() / "config"
    config.write_text(config.read_text().replace('[remote "origin"]', '[remote "we ird"]'))
    assert "(known: we ird)" in clone.refuses("install", "--notes", "we", code=128)
    clone.ok("fetch", "we ird")
    assert (oid(clone.repo, NOTES), verdict(clone)) == (oid(hub, NOTES), "verified")


def test_what_makes_no_sense(clone: Desk) -> None:
    """A remote that is not there, and every repository at once."""
    said = clone.refuses("install", "--notes", "nobody", code=128)
    assert said == "error: there is no remote 'nobody' (known: origin)\nhint: git remote -v\n"
    assert "--notes is for one repository" in clone.refuses("install", "--global", "--notes", "origin", code=129)


@pytest.mark.parametrize("kind", ["blob", "tag", "tree"])
def test_what_is_no_ledger_takes_nothing_away(clone: Desk, hub: GitRepo, kind: str) -> None:
    """A remote may have anything under that name: what we have is proved as before."""
    clone.ok("fetch", "origin")
    clone.ok("install", "--notes", "origin")
    made = {
        "blob": lambda: hub.git("hash-object", "-w", "--stdin", input="x\n"),
        "tag": lambda: hub.git("mktag", input=f"object {hub.head()}\ntype commit\ntag x\ntagger a <b> 0 +0000\n\nx\n"),
        "tree": lambda: hub.git("rev-parse", "HEAD^{tree}"),
    }[kind]()
    hub.git("update-ref", NOTES, made)
    clone.repo.git("fetch", "--force")
    assert oid(clone.repo, SIDE) == made
    assert verdict(clone) == "verified"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("+refs/notes/*:refs/notes/*", "a fetch overwrites records that are not there, and --prune deletes them"),
        ("+refs/*:refs/*", "a fetch overwrites records that are not there, and --prune deletes them"),
        ("refs/notes/taskctx:refs/notes/taskctx", "a fetch overwrites records that are not there"),
        ("+refs/taskctx/*:refs/taskctx/*", "a fetch overwrites snapshots that are not there, and --prune deletes them"),
    ],
)
def test_a_dangerous_line_is_found(clone: Desk, line: str, told: str) -> None:
    """With the command that takes it away, after which doctor says nothing of it."""
    clone.repo.git("config", "--add", "remote.origin.fetch", line)
    said = clone.run("doctor").out
    assert f"warning: remote.origin.fetch = {line}: {told}" in said
    command = said.split(f"{line}: ")[1].splitlines()[1].split("   #")[0].strip()
    clone.repo.git("-c", f"alias.do=!{command}", "do")
    assert lines(clone) == ["+refs/heads/*:refs/remotes/origin/*"]


def test_from_a_linked_worktree(clone: Desk) -> None:
    """The line is for all worktrees."""
    clone.repo.git("worktree", "add", "-q", os.fspath(clone.repo.path.parent / "linked"))
    linked = Desk(GitRepo(clone.repo.path.parent / "linked"))
    linked.ok("install", "--notes", "origin")
    assert LINE in lines(clone)
    linked.repo.git("fetch")
    assert (verdict(clone), verdict(linked)) == ("verified", "verified")


def test_who_asks_for_what_plain_git_fetch_brought(clone: Desk, hub: GitRepo) -> None:
    """`log` and `report HEAD` read the records beside ours, as the proof does; what needs more says what brings it."""
    clone.ok("install", "--notes", "origin")
    clone.repo.git("fetch", "-q")
    assert not oid(clone.repo, NOTES)
    assert next(record["type"] for record in clone.data("log", "--task", TASK)) == "init"
    assert "TASK-1" in clone.ok("report", "HEAD").out
    assert clone.refuses("recover", TASK, code=128) == (
        "error: no context of TASK-1 is known here\n"
        "hint: git taskctx fetch origin --with-snapshots   # where another clone has it\n"
        "hint: git taskctx list\n"
    )
    assert clone.refuses("get", "--task", TASK, code=128) == (
        "error: no context of TASK-1 is here\n"
        "hint: git taskctx fetch origin --with-snapshots   # where another clone has it\n"
        "hint: git taskctx list\n"
    )
