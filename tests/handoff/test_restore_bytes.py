"""No byte is lost to `restore`: what no tree holds is saved beside it, and what is written meanwhile stays."""

from __future__ import annotations

import os
import select
import shlex
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo

from git_taskctx.git.checkout import CHANGED, Seen, Worktree


def saved_ref(desk: Desk, name: str = "saved/1") -> str:
    """Name a ref of what `restore` saved."""
    return f"refs/taskctx/snapshots/{desk.context()['context_id']}/{name}"


def bits(desk: Desk, path: str) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(desk.repo.at(path).lstat().st_mode)


def clean_filter(repo: GitRepo) -> None:
    """As nbstripout does it: outputs are not stored, and nothing brings them back."""
    repo.write(".gitattributes", "*.nb filter=strip\n")
    repo.config("filter.strip.clean", "grep -v ^output || :")


def ident(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.nb ident\n")


def line_ends(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.nb text\n")


def encoding(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.nb text working-tree-encoding=UTF-16\n")


CONVERSIONS: list[tuple[Callable[[GitRepo], None], bytes, bytes]] = [
    (clean_filter, b"code 1\noutput 1\n", b"code 2\noutput 2, of an hour's work\n"),
    (ident, b"one $Id$\n", b"two $Id: as somebody wrote it $\n"),
    (line_ends, b"one\n", b"two\r\nthree\nfour\r\n"),
    (encoding, "one\n".encode("utf-16"), b"\xfe\xff" + "two\r\nthree\n".encode("utf-16-be")),
]


@pytest.mark.parametrize(("convert", "first", "mine"), CONVERSIONS, ids=[case[0].__name__ for case in CONVERSIONS])
@pytest.mark.parametrize("target", ["implementer", "init"])
def test_what_git_would_not_store_comes_back(
    desk: Desk, convert: Callable[[GitRepo], None], first: bytes, mine: bytes, target: str
) -> None:
    """The undo gives the very bytes that lay there, whether the file was replaced or deleted."""
    convert(desk.repo)
    desk.repo.commit("attributes")
    desk.init()
    desk.repo.write("a.nb", first)
    desk.implement()
    desk.repo.write("a.nb", mine)
    desk.ok("restore", "--agent", target)
    assert not desk.repo.at("a.nb").exists() if target == "init" else desk.repo.read("a.nb") != mine
    desk.ok("restore", "--agent", "saved")
    assert desk.repo.read("a.nb") == mine


def test_what_git_gives_back_is_not_kept_twice(desk: Desk) -> None:
    """A conversion that can be turned round needs nothing beside the tree: an encrypted file is not stored in clear."""
    desk.repo.write(".gitattributes", "*.nb filter=rot\n")
    for way in ("clean", "smudge"):
        desk.repo.config(f"filter.rot.{way}", "tr a-zA-Z n-za-mN-ZA-M")
    desk.repo.commit("attributes")
    desk.init()
    desk.repo.write("a.nb", "hello\n")
    desk.implement()
    desk.repo.write("a.nb", "mine alone\n")
    desk.ok("restore", "--agent", "implementer")
    assert desk.repo.git("for-each-ref", saved_ref(desk, "saved/beside")) == ""
    desk.ok("restore", "--agent", "saved")
    assert desk.repo.read("a.nb") == b"mine alone\n"


def test_bytes_alone_come_back_where_the_tree_is_the_same(desk: Desk) -> None:
    """git sees no difference between the file and what was saved, and the outputs are missing all the same."""
    clean_filter(desk.repo)
    desk.repo.commit("attributes")
    desk.init()
    desk.repo.write("a.nb", "code 1\n")
    desk.implement()
    desk.repo.write("a.nb", "code 2\noutput\n")
    desk.ok("restore", "--agent", "implementer")
    desk.repo.write("a.nb", "code 2\n")
    desk.ok("restore", "--agent", "saved", "--round", "1")
    assert desk.repo.read("a.nb") == b"code 2\noutput\n"


def test_a_secret_that_a_filter_takes_out_is_refused(desk: Desk) -> None:
    """What is kept beside the tree is searched like all that is kept; the file stays as it is."""
    clean_filter(desk.repo)
    desk.repo.commit("attributes")
    desk.init()
    desk.repo.write("a.nb", "code 1\n")
    desk.implement()
    desk.repo.write("a.nb", "code 2\noutput ghp_" + "a1B2c3D4e5" * 4 + "\n")
    assert "a.nb:2: GitHub token" in desk.refuses("restore", "--agent", "implementer")
    assert desk.repo.read("a.nb").startswith(b"code 2")
    desk.ok("restore", "--agent", "implementer", "--force-secrets")


def test_attributes_of_the_tree_decide_how_it_is_written(begun: Desk) -> None:
    """Also where they come with it: the files are as a checkout of that tree has them."""
    begun.repo.write(".gitattributes", "*.txt text eol=crlf\n")
    begun.repo.write("-first.txt", "one\r\n")
    begun.implement()
    begun.repo.remove(".gitattributes", "-first.txt")
    begun.ok("restore", "--agent", "implementer")
    assert begun.repo.read("-first.txt") == b"one\r\n"
    begun.ok("restore", "--agent", "saved")
    begun.ok("restore", "--agent", "implementer", "--paths", ":/-first.txt")
    assert begun.repo.read("-first.txt") == b"one\n"


@pytest.mark.parametrize(
    ("before", "mode", "after"), [(0o600, 0o644, 0o600), (0o600, 0o755, 0o700), (0o750, 0o644, 0o640)]
)
def test_permissions_are_not_widened(begun: Desk, before: int, mode: int, after: int) -> None:
    """What nobody else could read nobody else can; only the bits to run it are the tree's."""
    begun.repo.write("key", "one\n", mode=mode)
    begun.implement()
    begun.repo.write("key", "two\n", mode=before)
    begun.ok("restore", "--agent", "implementer")
    assert (begun.repo.read("key"), bits(begun, "key")) == (b"one\n", after)
    begun.ok("restore", "--agent", "saved")
    assert (begun.repo.read("key"), bits(begun, "key")) == (b"two\n", before)


def test_a_file_that_was_deleted_comes_back_as_narrow(begun: Desk) -> None:
    """Permissions are saved with what they were the permissions of."""
    begun.repo.write("key", "mine\n", mode=0o600)
    begun.ok("restore", "--agent", "init")
    assert not begun.repo.at("key").exists()
    begun.ok("restore", "--agent", "saved")
    assert (begun.repo.read("key"), bits(begun, "key")) == (b"mine\n", 0o600)


def loose(repo: GitRepo, revision: str) -> Path:
    """Return the file of a loose object."""
    oid = repo.git("rev-parse", revision)
    return repo.git_dir() / "objects" / oid[:2] / oid[2:]


@pytest.mark.parametrize("damage", ["gone", "damaged"])
def test_one_lost_blob_keeps_no_other_path_back(begun: Desk, damage: str) -> None:
    """All others are restored; what is lost is named, and the file in its place stays."""
    for name in ("a", "b", "c"):
        begun.repo.write(name, f"{name} of the snapshot\n")
    begun.implement()
    tree = begun.seat("implementer")["worktree_snapshot"]["tree"]
    blob = loose(begun.repo, f"{tree}:b")
    for name in ("a", "b", "c", "new"):
        begun.repo.write(name, "mine\n")
    blob.chmod(0o644)
    blob.unlink() if damage == "gone" else blob.write_bytes(b"no object")
    said = begun.ends(3, "restore", "--agent", "implementer")
    assert "  left as it is: b: " in said.out
    assert [begun.repo.read(name) for name in ("a", "b", "c")] == [
        b"a of the snapshot\n",
        b"mine\n",
        b"c of the snapshot\n",
    ]
    assert not begun.repo.at("new").exists()
    document = begun.run("restore", "--agent", "implementer", "--format", "json").document()
    assert document["error"]["code"] == "could-not-tell"
    assert document["error"]["paths"] == ["b"]
    begun.ok("restore", "--agent", "saved", "--round", "1")
    assert [begun.repo.read(name) for name in ("a", "c", "new")] == [b"mine\n"] * 3


def test_a_filter_that_fails_keeps_no_other_path_back(begun: Desk) -> None:
    """A smudge filter that must not fail, and does, is the matter of its own files."""
    begun.repo.write(".gitattributes", "*.bad filter=bad\n")
    begun.repo.config("filter.bad.clean", "cat")
    begun.repo.config("filter.bad.smudge", "false")
    begun.repo.config("filter.bad.required", "true")
    for name in ("a", "b.bad", "c"):
        begun.repo.write(name, "one\n")
    begun.implement()
    for name in ("a", "b.bad", "c"):
        begun.repo.write(name, "two\n")
    said = begun.ends(3, "restore", "--agent", "implementer")
    assert "left as it is: b.bad: " in said.out
    assert [begun.repo.read(name) for name in ("a", "b.bad", "c")] == [b"one\n", b"two\n", b"one\n"]


MEANWHILE = {
    "in place": "printf 'typed meanwhile\\n' >> {path}",
    "by rename": "printf 'typed meanwhile\\n' > x.swp && mv x.swp {path}",
    "same size and time": "printf 'twO\\n' > {path}; touch -d @1600000000 {path}",
    "mode": "chmod 600 {path}",
    "a link": "ln -sf /etc/passwd {path}",
    "a folder": "rm {path}; mkdir {path}; printf x > {path}/x",
    "a FIFO": "rm {path}; mkfifo {path}",
    "gone": "rm {path}",
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_what_is_written_while_it_runs_stays(begun: Desk, name: str) -> None:
    """Each file is compared once more when its turn comes: what is another one by then is left, and named."""
    repo = begun.repo
    repo.write(".gitattributes", "a.trap filter=trap\n")
    repo.config("filter.trap.clean", "cat")
    repo.config("filter.trap.smudge", "cat")
    for path in ("a.trap", "z", "other"):
        repo.write(path, "one\n")
    begun.implement()
    for path in ("a.trap", "z", "other"):
        repo.write(path, "two\n")
    os.utime(repo.at("z"), (1_600_000_000, 1_600_000_000))
    # git checks `a.trap` out when all is saved, and before anything is put into its place.
    repo.config("filter.trap.smudge", f"({MEANWHILE[name].format(path='z')}) >/dev/null; cat")
    said = begun.ends(75, "restore", "--agent", "implementer")
    assert "left as it is: z: changed while it was restored" in said.out
    found = subprocess.run(["stat", "-c", "%F", "z"], cwd=repo.path, capture_output=True, text=True, check=False).stdout
    assert {
        "in place": lambda: repo.read("z") == b"two\ntyped meanwhile\n",
        "by rename": lambda: repo.read("z") == b"typed meanwhile\n",
        "same size and time": lambda: repo.read("z") == b"twO\n",
        "mode": lambda: repo.read("z") == b"two\n" and bits(begun, "z") == 0o600,
        "a link": lambda: found == "symbolic link\n",
        "a folder": lambda: repo.read("z/x") == b"x",
        "a FIFO": lambda: found == "fifo\n",
        "gone": lambda: found == "",
    }[name]()
    assert repo.read("other") == b"one\n"


class Typing(Worktree):
    """A worktree in which somebody goes on typing into a file, between the look at it and what comes next."""

    typed = ""

    def _hash(self, file: int) -> Seen:
        seen, typed = super()._hash(file), self.typed
        self.typed = ""
        if typed:
            Path(f"/proc/self/fd/{file}").write_text(typed)
        return seen


@pytest.mark.needs_linux  # /proc
@pytest.mark.parametrize("typed", ["typed, and longer\n", "twO\n"])
@pytest.mark.parametrize("how", ["replaced", "deleted"])
def test_what_is_typed_between_the_look_and_the_rename_stays(tmp_path: Path, how: str, typed: str) -> None:
    """The file that was moved aside is looked at once more, and comes back if it is another one."""
    new, spare = tmp_path / "new", tmp_path / "spare"
    new.mkdir()
    (new / "z").write_text("one\n")
    file = tmp_path / "z"
    file.write_text("two\n")
    os.utime(file, (1_600_000_000, 1_600_000_000))
    worktree = Typing(tmp_path, "sha1")
    seen = worktree.look(b"z")
    worktree.typed = typed
    if how == "replaced":
        said = worktree.put(b"z", Worktree(new, "sha1"), seen, spare, bits=None)
    else:
        said = worktree.remove(b"z", seen, spare)
    assert (said, file.read_text(), spare.exists()) == (CHANGED, typed, False)


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(
    begun: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing is written, and nothing deleted, outside of the worktree."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "file").write_text("theirs\n")
    (outside / "stray").write_text("theirs\n")
    repo = begun.repo
    repo.write(".gitattributes", "a.trap filter=trap\n")
    repo.config("filter.trap.smudge", "cat")
    repo.write("a.trap", "one\n")
    repo.write("folder/file", "one\n")
    begun.implement()
    repo.write("a.trap", "two\n")
    repo.write("folder/file", "two\n")
    swap = f"mv folder away && ln -s {shlex.quote(os.fspath(outside))} folder"
    repo.config("filter.trap.smudge", f"({swap}) >/dev/null; cat")
    said = begun.run("restore", "--agent", "implementer")
    assert "left as it is: folder/file: " in said.out
    assert sorted(path.name for path in outside.iterdir()) == ["file", "stray"]
    assert (outside / "file").read_text() == "theirs\n"
    assert repo.read("away/file") == b"two\n"


def test_a_file_that_appears_meanwhile_is_not_written_over(begun: Desk) -> None:
    """Nor is a new file in the place of one that comes back."""
    repo = begun.repo
    repo.write(".gitattributes", "a.trap filter=trap\n")
    repo.config("filter.trap.smudge", "cat")
    repo.write("a.trap", "one\n")
    repo.write("z", "one\n")
    begun.implement()
    repo.write("a.trap", "two\n")
    repo.remove("z")
    repo.config("filter.trap.smudge", "(echo mine > z) >/dev/null; cat")
    assert "left as it is: z: changed" in begun.ends(75, "restore", "--agent", "implementer").out
    assert repo.read("z") == b"mine\n"


@pytest.mark.needs_linux  # pidfd_open waits for the child of a child
def test_it_is_killed_while_it_writes(begun: Desk, tmp_path: Path) -> None:
    """Every file is whole, old or new; what was there comes back, and nothing of ours is left beside it."""
    repo = begun.repo
    names = [f"file-{number:03}" for number in range(60)]
    for name in names:
        repo.write(name, f"{name} of the snapshot\n")
    repo.write(".gitattributes", "*.slow filter=slow\n")
    repo.config("filter.slow.clean", "cat")
    repo.config("filter.slow.smudge", "cat")
    repo.write("file-030.slow", "slow\n")
    begun.implement()
    for name in names:
        repo.write(name, f"{name}, mine\n")
    repo.write("file-030.slow", "mine\n")
    reached, gate = tmp_path / "reached", tmp_path / "gate"
    for fifo in (reached, gate):
        os.mkfifo(fifo)
    repo.config("filter.slow.smudge", f"echo $PPID > {reached}; cat {gate}")
    process = begun.begin("restore", "--agent", "implementer")
    git = os.pidfd_open(int(reached.read_text()))
    process.kill()
    process.communicate()
    gate.write_text("")
    assert select.select([git], [], [], 60)[0], "its git goes on, and ends"
    os.close(git)
    assert all(repo.read(name) in (f"{name} of the snapshot\n".encode(), f"{name}, mine\n".encode()) for name in names)
    repo.config("filter.slow.smudge", "cat")
    begun.ok("restore", "--agent", "saved")
    assert all(repo.read(name) == f"{name}, mine\n".encode() for name in names)
    assert not any(path.name.startswith(".tmp") for path in repo.at(".agent-output").iterdir())
