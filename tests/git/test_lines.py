"""Who brought each line of a tree: `git blame` over a history of real commits is the oracle."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from gitrepo import GitRepo
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.lines import LARGE, Trace, TreeState, trace_lines
from git_taskctx.git.repository import open_repository
from git_taskctx.model.oids import TreeOid

Files = dict[bytes, tuple[str, bytes]]
"""Every file of a tree by its path: mode and content."""
TEXT, PROGRAM, LINK = "100644", "100755", "120000"
_BLAMED = re.compile(rb"^([0-9a-f]{40}) \d+ (\d+)", re.MULTILINE)


class Step(NamedTuple):
    """A commit: its files, and the numbers of its parents."""

    files: Files
    before: tuple[int, ...] = ()


class History:
    """Real commits in a repository of their own, and the same as states."""

    def __init__(self, folder: Path, steps: Sequence[Step]) -> None:
        self.repo = GitRepo.init(folder)
        self.steps = steps
        stream = b"".join(self._commit(number, step) for number, step in enumerate(steps))
        self.repo.git("fast-import", "--quiet", "--done", input=stream + b"done\n")
        self.commits = [self.repo.git("rev-parse", f"refs/states/{number}") for number in range(len(steps))]
        self.history = [
            TreeState(TreeOid(self.repo.tree(commit)), step.before)
            for commit, step in zip(self.commits, steps, strict=True)
        ]

    def _commit(self, number: int, step: Step) -> bytes:
        who = f"A <a@b> {1_700_000_000 + 60 * number} +0000\n".encode()
        out = b"commit refs/states/%d\nmark :%d\ncommitter %sdata 0\n" % (number, number + 1, who)
        for place, before in enumerate(step.before):
            out += b"%s :%d\n" % (b"merge" if place else b"from", before + 1)
        out += b"deleteall\n"
        for path, (mode, content) in step.files.items():
            name = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
            out += b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(content), content)
        return out

    def trace(self, old: int = 0) -> Trace:
        """Return what is traced of the last state, against the state `old`."""
        repository = open_repository(self.repo.path, dict(os.environ))
        try:
            (trace,) = trace_lines(repository, [(self.history[old].tree, self.history)])
            return trace
        finally:
            repository.close()

    def told(self, old: int = 0) -> dict[bytes, dict[int, int]]:
        """Return who brought each line that is somebody's, by path and line."""
        return {
            file.path: {line: run.state for run in file.lines for line in range(run.first, run.last + 1)}
            for file in self.trace(old).files
        }

    def blamed(self, paths: Sequence[bytes], old: int = 0) -> dict[bytes, dict[int, int]]:
        """Return the same as `git blame` has it, of the lines that one commit upon `old` would have brought."""
        last = self.commits[-1]
        alone = self.repo.git("commit-tree", f"{last}^{{tree}}", "-p", self.commits[old], "-m", "alone")
        found: dict[bytes, dict[int, int]] = {}
        for path in paths:
            brought = {line for oid, line in self._blame(alone, path) if oid == alone}
            owners = [(self.commits.index(oid), line) for oid, line in self._blame(last, path) if line in brought]
            found[path] = {line: number for number, line in owners if self.steps[number].before}
        return found

    def _blame(self, commit: str, path: bytes) -> list[tuple[str, int]]:
        shown = self.repo.run("blame", "--porcelain", commit, "--", path)
        assert shown.returncode == 0, shown.stderr
        return [(oid.decode(), int(line)) for oid, line in _BLAMED.findall(shown.stdout)]


EDITS: Any = st.lists(
    st.tuples(
        st.sampled_from(["insert", "insert", "delete", "replace", "move", "copy", "crlf", "end"]),
        st.integers(0, 12),
        st.integers(1, 4),
        st.integers(0, 3),
    ),
    min_size=2,
    max_size=5,
)
CHANGES: Any = st.lists(
    st.tuples(
        st.sampled_from([*["edit"] * 6, "add", "remove", "rename", "rename", "chmod", "link"]), st.integers(0, 1), EDITS
    ),
    min_size=2,
    max_size=4,
)


def edited(content: bytes, edits: Any, tag: bytes) -> bytes:
    """Return a text after some edits, never empty; its lines are few, and those of another text are others."""
    rows = content.split(b"\n")
    for kind, at, size, word in edits:
        at = min(at, len(rows))
        if kind == "insert":
            rows[at:at] = [b"%s %d" % (tag, word)] * size
        elif kind == "delete" and len(rows) > size + 1:
            del rows[at : at + size]
        elif kind == "replace":
            rows[at : at + 1] = [b"%s %d" % (tag, word)]
        elif kind == "move":
            taken, rows[at : at + size] = rows[at : at + size], []
            rows[word:word] = taken
        elif kind == "copy":
            rows[word:word] = rows[at : at + size]
        elif kind == "crlf":
            rows[at : at + size] = [row + b"\r" for row in rows[at : at + size]]
        elif kind == "end":
            rows += [b""] if rows[-1] else []
    text = b"\n".join(rows)
    return text if text.strip() else tag


def tag_of(content: bytes) -> bytes:
    """Return the word with which every line of a text begins."""
    return content.split()[0]


class Tags:
    """Names that nobody had before."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> bytes:
        """Return one."""
        self.count += 1
        return b"tag%d" % self.count


def changed(files: Files, changes: Any, tags: Tags) -> Files:
    """Return a tree after some changes."""
    found = dict(files)
    for kind, number, edits in changes:
        path = sorted(found)[number % len(found)] if found else b""
        if kind == "add" or not found:
            tag = tags.next()
            found[b"new \xff %s" % tag] = (TEXT, edited(b"\n".join(b"%s %d" % (tag, n) for n in range(8)), edits, tag))
            continue
        mode, content = found[path]
        tag = tag_of(content)
        if kind == "edit" and mode != LINK:
            found[path] = (mode, edited(content, edits, tag))
        elif kind == "remove" and len(found) > 1:
            del found[path]
        elif kind == "rename":
            del found[path]
            found[b"moved/" + tags.next()] = (mode, edited(content, edits[:1], tag) if mode != LINK else content)
        elif kind == "chmod" and mode != LINK:
            found[path] = (PROGRAM if mode == TEXT else TEXT, content)
        elif kind == "link":
            tag = tags.next()
            found[path] = (LINK if mode != LINK else TEXT, tag + b" target")
    return found


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Draw a base, and states upon it; some of them take in what others did to the base meanwhile."""
    tags = Tags()
    first = {b"a/%d" % n: (TEXT, b"".join(b"t%d %d\n" % (n, row % 5) for row in range(9))) for n in range(2)}
    steps = [Step(first)]
    upstream, last = 0, 0
    for _ in range(draw(st.integers(2, 5))):
        files = steps[last].files
        before = (last,)
        if draw(st.booleans()) and draw(st.booleans()):
            steps.append(Step(changed(steps[upstream].files, draw(CHANGES), tags)))
            upstream = len(steps) - 1
            texts = {tag_of(content): path for path, (_, content) in files.items()}
            taken = {
                path: one
                for path, one in steps[upstream].files.items()  # git follows a file that became two to each of them
                if draw(st.booleans()) and texts.get(tag_of(one[1]), path) == path
            }
            files, before = {**files, **taken}, (last, upstream)
        steps.append(Step(changed(files, draw(CHANGES), tags), before))
        last = len(steps) - 1
    return steps


@pytest.mark.slow
@given(histories())
def test_git_blame_says_the_same(steps: list[Step]) -> None:
    """Edits, moves, copies, renames, deletions, modes, links, CRLF, no newline at the end, odd names, merges."""
    with tempfile.TemporaryDirectory(dir=os.environ["HOME"]) as folder:
        history = History(Path(folder, "work"), steps)
        told = history.told()
        assert told == history.blamed(list(told))


def texts(**contents: bytes) -> Files:
    """Return files of text by their names."""
    return {name.encode(): (TEXT, content) for name, content in contents.items()}


def made(folder: Path, *trees: Files) -> History:
    """Return a history of trees, one after the other."""
    return History(
        folder / "work", [Step(files, (number - 1,) if number else ()) for number, files in enumerate(trees)]
    )


def shape(history: History) -> dict[bytes, tuple[list[tuple[int, int, int]], tuple[int, ...]]]:
    """Return of each file the runs of lines (first, last, state), and the states that changed it."""
    return {file.path: ([run[:3] for run in file.lines], file.states) for file in history.trace().files}


CASES: dict[str, tuple[list[Files], dict[bytes, tuple[list[tuple[int, int, int]], tuple[int, ...]]], list[bytes]]] = {
    "nothing": ([texts(a=b"1\n"), texts(a=b"1\n")], {}, []),
    "binary": ([texts(), texts(a=b"\0" * 9), texts(a=b"\0\n\1")], {b"a": ([], (1, 2))}, []),
    "binary becomes text": ([texts(a=b"\0"), texts(a=b"\0\1"), texts(a=b"1\n2\n")], {b"a": ([(1, 2, 2)], (1, 2))}, []),
    "text becomes binary": ([texts(a=b"1\n"), texts(a=b"1\n2\n"), texts(a=b"1\0")], {b"a": ([], (1, 2))}, []),
    "a late NUL is text": ([texts(), texts(a=b"1\n" * 4000 + b"\0\n")], {b"a": ([(1, 4001, 1)], (1,))}, []),
    "emptied": ([texts(a=b"1\n"), texts(a=b"1\n2\n"), texts(a=b"")], {b"a": ([], (1, 2))}, []),
    "only lines taken out": ([texts(a=b"1\n2\n"), texts(a=b"1\n")], {b"a": ([], (1,))}, []),
    "put back": ([texts(a=b"1\n2\n"), texts(a=b"1\n"), texts(a=b"1\n2\n")], {}, []),
    "mode alone": ([texts(a=b"1\n"), {b"a": (PROGRAM, b"1\n")}], {b"a": ([], (1,))}, []),
    "renamed alone": ([texts(a=b"1\n2\n"), texts(b=b"1\n2\n")], {b"b": ([], (1,))}, []),
    "renamed, then edited": (
        [texts(a=b"1\n2\n3\n"), texts(b=b"1\n2\n3\n"), texts(b=b"1\nx\n3\n")],
        {b"b": ([(2, 2, 2)], (1, 2))},
        [],
    ),
    "a link": ([texts(a=b"there"), {b"a": (LINK, b"there")}], {b"a": ([(1, 1, 1)], (1,))}, []),
    "deleted": ([texts(a=b"1\n", b=b"2\n"), texts(a=b"3\n")], {b"a": ([(1, 1, 1)], (1,))}, [b"b"]),
    "added and gone again": ([texts(a=b"1\n"), texts(a=b"1\n", b=b"2\n"), texts(a=b"1\n")], {}, []),
    "line ends": ([texts(a=b"1\n2\n"), texts(a=b"1\r\n2\n")], {b"a": ([(1, 1, 1)], (1,))}, []),
    "no newline at the end": ([texts(a=b"1\n2"), texts(a=b"1\n2\n3")], {b"a": ([(2, 3, 1)], (1,))}, []),
    "lines like a patch": (
        [texts(a=b"x\n"), texts(a=b"x\n@@ -1 +1 @@\n-- a\n++ b\ndiff --git a/b b/b\n\\ No newline\n")],
        {b"a": ([(2, 6, 1)], (1,))},
        [],
    ),
    "names like a patch": (
        [texts(), {b"a\n@@ -1 +1 @@\n": (TEXT, b"1\n"), b":100644\n": (TEXT, b"2\n")}],
        {b"a\n@@ -1 +1 @@\n": ([(1, 1, 1)], (1,)), b":100644\n": ([(1, 1, 1)], (1,))},
        [],
    ),
    "the same as an earlier state": (
        [texts(a=b"1\n"), texts(a=b"1\n2\n"), texts(a=b"1\n"), texts(a=b"1\n2\n")],
        {b"a": ([(2, 2, 3)], (1, 2, 3))},
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(tmp_path: Path, name: str) -> None:
    """What is told of the shapes that a file can take, and of those that are gone."""
    trees, expected, deleted = CASES[name]
    history = made(tmp_path, *trees)
    assert shape(history) == expected
    assert list(history.trace().deleted) == deleted


def test_each_run_carries_the_hash_of_its_bytes(tmp_path: Path) -> None:
    """The hash is of the lines as they are, line ends included."""
    history = made(tmp_path, texts(a=b"1\n"), texts(a=b"0\r\n1\n2"))
    (file,) = history.trace().files
    assert [run.sha256 for run in file.lines] == [hashlib.sha256(text).hexdigest() for text in (b"0\r\n", b"2")]


def test_a_large_file_has_no_lines(tmp_path: Path) -> None:
    """What is over the limit is named without its lines."""
    over = b"1\n" * (LARGE // 2 + 1)
    assert shape(made(tmp_path, texts(), texts(a=over, b=b"1\n"))) == {b"a": ([], (1,)), b"b": ([(1, 1, 1)], (1,))}


def test_a_submodule_has_no_lines(tmp_path: Path) -> None:
    """A submodule that moved is named; nothing of it needs to be here."""
    history = made(tmp_path, texts(a=b"1\n"))
    trees = []
    for commit in ("1" * 40, "2" * 40):
        entry = f"160000 commit {commit}\tsub\n"
        trees.append(history.repo.git("mktree", "--missing", input=entry))
    history.history[:] = [TreeState(TreeOid(trees[0])), TreeState(TreeOid(trees[1]), (0,))]
    assert shape(history) == {b"sub": ([], (1,))}


HOSTILE = {
    "diff.noprefix": "true",
    "diff.renames": "false",
    "diff.algorithm": "patience",
    "diff.context": "9",
    "diff.interHunkContext": "9",
    "diff.orderFile": "/dev/stdin",
    "diff.indentHeuristic": "false",
    "diff.external": "false",
    "diff.mine.textconv": "false",
    "diff.mine.binary": "true",
    "core.attributesFile": "/dev/null",
    "core.bigFileThreshold": "1",
    "color.ui": "always",
    "core.quotePath": "false",
}


def test_configuration_and_attributes_have_no_say(tmp_path: Path) -> None:
    """The answer is the same under every key and attribute that changes what git shows of a diff."""
    rows = b"".join(b"%d\n" % number for number in range(9))
    trees = [
        texts(old=rows, a=b"1\n"),
        {**texts(new=rows + b"x\n", a=b"1\n2\n"), b".gitattributes": (TEXT, b"* diff=mine -text\na binary\n")},
    ]
    history = made(tmp_path, *trees)
    before = shape(history)
    assert before == {
        b".gitattributes": ([(1, 2, 1)], (1,)), b"a": ([(2, 2, 1)], (1,)), b"new": ([(10, 10, 1)], (1,))
    }  # fmt: skip
    for key, value in HOSTILE.items():
        history.repo.config(key, value)
    history.repo.git("reset", "-q", "--hard", history.commits[-1])
    (history.repo.git_dir() / "info" / "attributes").write_text("* diff=mine\n")
    assert shape(history) == before


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """No object, no file: the repository is byte for byte what it was."""
    history = made(tmp_path, texts(a=b"1\n"), texts(a=b"2\n"))
    before = sorted((path, path.stat().st_mtime_ns) for path in history.repo.path.rglob("*") if path.is_file())
    history.trace()
    assert before == sorted((path, path.stat().st_mtime_ns) for path in history.repo.path.rglob("*") if path.is_file())


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    """Where a blob is gone nothing is guessed."""
    history = made(tmp_path, texts(a=b"1\n"), texts(a=b"2\n"))
    blob = history.repo.git("rev-parse", f"{history.commits[0]}:a")
    (history.repo.git_dir() / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CouldNotTell):
        history.trace()
