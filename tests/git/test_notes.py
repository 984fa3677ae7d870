"""Notes that git reads, and git's notes that we read; lines are added and never lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from gitrepo import ROOT, GitRepo

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.notes import NOTES_REF, append_notes, read_note
from git_taskctx.git.objects import ObjectStore
from git_taskctx.git.process import Git
from git_taskctx.git.refs import RefMove, find_ref, move_refs


class Book:
    """A repository with its ledger, as the code above this room drives it."""

    def __init__(self, repo: GitRepo, environ: dict[str, str] | None = None) -> None:
        self.repo = repo
        self.git = Git(repo.path, environ or dict(os.environ))
        self.objects = ObjectStore(self.git, repo.git("rev-parse", "--show-object-format"))

    def append(self, notes: dict[str, list[str]]) -> None:
        """Add lines to objects, in one commit."""
        old = find_ref(self.git, NOTES_REF)
        new = append_notes(self.objects, old, notes, message="test")
        self.objects.flush()
        move_refs(self.git, [RefMove(NOTES_REF, new, old)], reason="append")

    def read(self, target: str) -> list[str]:
        """Return the lines of one object."""
        return read_note(self.objects, find_ref(self.git, NOTES_REF), target)

    def show(self, target: str) -> list[str]:
        """Return what git itself shows."""
        return self.repo.git("notes", "--ref=taskctx", "show", target).splitlines()


@pytest.fixture(params=["sha1", "sha256"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Book]:
    """A ledger in a repository of each kind, with one commit."""
    repo = GitRepo.init(tmp_path / "work", f"--object-format={request.param}")
    repo.write("a", "x")
    repo.commit()
    book = Book(repo)
    yield book
    book.objects.close()


def oids(book: Book, count: int) -> list[str]:
    """Return the names of many objects (they need not exist to have notes)."""
    return [book.objects.hash("blob", b"%d" % number) for number in range(count)]


def fill_by_git(book: Book, targets: list[str]) -> None:
    """Let git write a note of one line, `git`, to each target, under its own fan-out."""
    source = book.repo.tree()
    book.repo.git("notes", "--ref=taskctx", "add", "-m", "git", source)
    book.repo.git("notes", "--ref=taskctx", "copy", "--stdin", input="".join(f"{source} {to}\n" for to in targets))


def test_no_notes_yet(book: Book) -> None:
    """Where there is no ledger there are no lines."""
    assert book.read(book.repo.head()) == []


def test_git_shows_what_we_wrote(book: Book) -> None:
    """Notes on a commit, a tree and a blob are shown by git, line by line."""
    head, tree, blob = book.repo.head(), book.repo.tree(), book.repo.git("rev-parse", "HEAD:a")
    book.append({head: ["b", "a"], tree: ["ü"], blob: ['{"json": "x y"}']})
    assert book.show(head) == book.read(head) == ["a", "b"]
    assert book.show(tree) == book.read(tree) == ["ü"]
    assert book.show(blob) == book.read(blob) == ['{"json": "x y"}']
    listed = {line.split()[1] for line in book.repo.git("notes", "--ref=taskctx", "list").splitlines()}
    assert listed == {head, tree, blob}
    assert book.repo.git("fsck", "--strict", "--no-dangling") == ""


def test_lines_are_added(book: Book) -> None:
    """A second write keeps the first; the same line twice is one line."""
    head = book.repo.head()
    book.append({head: ["b"]})
    book.append({head: ["a", "b", "c"]})
    assert book.show(head) == ["a", "b", "c"]
    assert len(book.repo.git("rev-list", NOTES_REF).splitlines()) == 2


@pytest.mark.parametrize("count", [1, 40, 400, 3000])
def test_notes_of_git_are_found_and_kept(book: Book, count: int) -> None:
    """However git fanned its notes out, we find them, add to them, and git finds all of them after that."""
    targets = oids(book, count)
    fill_by_git(book, targets)
    head = book.repo.head()
    book.append({head: ["ours"], targets[0]: ["added"], targets[-1]: ["added"]})
    assert book.show(head) == ["ours"]
    assert set(book.show(targets[0])) == set(book.read(targets[0])) == {"added", "git"}
    for target in targets[1:-1:97]:
        assert book.read(target) == book.show(target) == ["git"]
    assert len(book.repo.git("notes", "--ref=taskctx", "list").splitlines()) == count + 2
    assert book.repo.git("fsck", "--strict", "--no-dangling") == ""


def test_notes_of_ours_are_kept_by_git(book: Book) -> None:
    """What git rewrites after us keeps all of ours; thousands, in git's own fan-out."""
    targets = oids(book, 2000)
    book.append({target: [f"ours {target}"] for target in targets})
    head = book.repo.head()
    book.repo.git("notes", "--ref=taskctx", "add", "-m", "git's", head)
    book.repo.git("notes", "--ref=taskctx", "append", "-m", "more", head)
    assert book.read(head) == ["git's", "more"]
    for target in targets[::97]:
        assert book.read(target) == book.show(target) == [f"ours {target}"]
    assert len(book.repo.git("notes", "--ref=taskctx", "list").splitlines()) == 2001
    book.append({targets[0]: ["again"]})
    assert set(book.show(targets[0])) == {"again", f"ours {targets[0]}"}


def test_trees_stay_small(book: Book) -> None:
    """No tree of the notes holds more than a folder's worth of entries, or a write would cost what all cost."""
    book.append({target: ["x"] for target in oids(book, 5000)})
    listed = [line.split() for line in book.repo.git("ls-tree", "-r", "-t", NOTES_REF).splitlines()]
    names = {book.repo.tree(NOTES_REF), *(line[2] for line in listed if line[1] == "tree")}
    assert max(len(book.objects.read_tree(name)) for name in names) <= 256


def test_a_write_adds_few_objects(book: Book) -> None:
    """One more line on thousands of notes writes one commit, one blob and the trees on its path."""
    book.append({target: ["x"] for target in oids(book, 3000)})
    before = int(book.repo.git("count-objects").split()[0])
    book.append({book.repo.head(): ["x"]})
    assert int(book.repo.git("count-objects").split()[0]) - before <= 6


def test_a_write_takes_as_many_processes_as_any(book: Book, tmp_path: Path) -> None:
    """The number of git processes of a write does not grow with the notes, nor with what is written."""
    real = shutil.which("git")
    log = tmp_path / "log"
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/git"
    script.write_text(f'#!/bin/sh\necho call >>"{log}"\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    targets = oids(book, 1200)
    counts = []
    book.append({targets[0]: ["first"]})
    for batch in (targets[:1], targets[1:1000], targets[1000:]):
        counted = Book(book.repo, {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
        log.write_text("")
        counted.append({target: ["x"] for target in batch})
        counts.append(len(log.read_text().splitlines()))
        counted.objects.close()
    assert max(counts) <= counts[0] + 2  # many objects are one pack, and what is there already is made young


def test_nothing_is_written_for_nothing(book: Book) -> None:
    """Many notes at once leave no tree behind that the next one replaced."""
    book.append({target: ["x"] for target in oids(book, 300)})
    book.append({target: ["y"] for target in oids(book, 300)})
    assert book.repo.git("fsck", "--unreachable") == ""


def test_a_file_in_the_way_is_kept(book: Book) -> None:
    """A file that is no note, called as a folder of notes would be, stays."""
    head = book.repo.head()
    blob = book.repo.git("hash-object", "-w", "--stdin", input="x")
    tree = book.repo.git("mktree", input=f"100644 blob {blob}\t{head[:2]}\n")
    book.repo.git("update-ref", NOTES_REF, book.repo.git("commit-tree", "-m", "x", tree))
    book.append({head: ["ours"]})
    assert book.show(head) == ["ours"]
    assert book.repo.git("rev-parse", f"{NOTES_REF}:{head[:2]}") == blob


def test_merged_by_git(book: Book) -> None:
    """Two people's ledgers merge line by line with git's own `cat_sort_uniq`, also without a common past."""
    head, other = book.repo.head(), book.repo.tree()
    book.append({head: ["1 both"], other: ["2 theirs"]})
    book.repo.git("update-ref", "refs/notes/theirs", NOTES_REF)
    book.repo.git("update-ref", "-d", NOTES_REF)
    book.append({head: ["1 both", "3 ours"]})
    book.repo.git("notes", "--ref=taskctx", "merge", "-q", "-s", "cat_sort_uniq", "refs/notes/theirs")
    assert book.read(head) == book.show(head) == ["1 both", "3 ours"]
    assert book.read(other) == ["2 theirs"]
    book.append({head: ["4 later"]})
    assert book.show(head) == ["1 both", "3 ours", "4 later"]


def test_a_note_without_a_last_newline_is_kept(book: Book) -> None:
    """A note that somebody else wrote, with odd bytes and no newline, loses none of them."""
    head = book.repo.head()
    blob = book.repo.git("hash-object", "-w", "--stdin", input=b"caf\xe9\r\nlast")
    book.repo.git("notes", "--ref=taskctx", "add", "-C", blob, head)
    book.append({head: ["more"]})
    shown = book.repo.run("notes", "--ref=taskctx", "show", head).stdout
    assert sorted(shown.splitlines(keepends=True)) == [b"caf\xe9\r\n", b"last\n", b"more\n"]


def test_files_that_are_no_notes_are_kept(book: Book) -> None:
    """git allows other files in a notes tree; they stay where they are."""
    blob = book.repo.git("hash-object", "-w", "--stdin", input="x")
    tree = book.repo.git("mktree", input=f"100644 blob {blob}\tREADME\n")
    book.repo.git("update-ref", NOTES_REF, book.repo.git("commit-tree", "-m", "x", tree))
    book.append({book.repo.head(): ["x"]})
    assert "README" in book.repo.git("ls-tree", "-r", "--name-only", NOTES_REF).splitlines()


def test_missing_ledger_objects_are_told(book: Book) -> None:
    """A ledger whose objects are gone is `could not tell`, never an empty one."""
    head = book.repo.head()
    book.append({head: ["x"]})
    blob = book.repo.git("notes", "--ref=taskctx", "list", head)
    (book.repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    fresh = Book(book.repo)
    with pytest.raises(CouldNotTell):
        fresh.read(head)
    fresh.objects.close()


def test_read_by_pygit2(repo: GitRepo, sealed_pygit2: ModuleType) -> None:
    """Another implementation finds our notes, and we find its."""
    repo.commit()
    book = Book(repo)
    targets = oids(book, 300)
    book.append({repo.head(): ["ours"]} | {target: ["x"] for target in targets})
    other = sealed_pygit2.Repository(os.fspath(repo.path))
    assert other.lookup_note(repo.head(), NOTES_REF).message == "ours\n"
    assert other.lookup_note(targets[7], NOTES_REF).message == "x\n"
    who = sealed_pygit2.Signature("a", "a@b", 1, 0)
    other.create_note("theirs\n", who, who, repo.tree(), NOTES_REF)
    assert book.read(repo.tree()) == ["theirs"]
    book.append({repo.tree(): ["added"]})
    assert book.show(repo.tree()) == ["added", "theirs"]
    book.objects.close()


WRITER = f"""
import os, sys
sys.path[:0] = [{os.fspath(ROOT)!r}, {os.fspath(ROOT / "tests")!r}, {os.fspath(ROOT / "tests/git")!r}]
from pathlib import Path
from gitrepo import GitRepo
from git_taskctx.git.refs import RefConflict
from test_notes import Book
book = Book(GitRepo(Path.cwd()))
for number in range(int(sys.argv[2])):
    while True:
        try:
            line = f"{{sys.argv[1]}} {{number}}"
            book.append({{sys.argv[3]: [line], sys.argv[4 + number % 2]: [line]}})
            break
        except RefConflict:
            continue
book.objects.close()
"""


def test_parallel_writers_lose_no_line(repo: GitRepo) -> None:
    """Writers that swap and retry lose nothing, whoever wins."""
    repo.write("a", "x")
    repo.commit()
    others = [repo.tree(), repo.git("rev-parse", "HEAD:a")]
    writers, rounds = 4, 8
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, f"w{writer}", str(rounds), repo.head(), *others], cwd=repo.path)
        for writer in range(writers)
    ]
    assert [process.wait(120) for process in running] == [0] * writers
    book = Book(repo)
    expected = sorted(f"w{writer} {number}" for writer in range(writers) for number in range(rounds))
    assert book.read(repo.head()) == expected
    assert sorted(line for other in others for line in book.read(other)) == expected
    assert len(repo.git("rev-list", NOTES_REF).splitlines()) == writers * rounds
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    book.objects.close()
