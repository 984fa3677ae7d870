"""Three-way merge by tree: in this process through libgit2, and by git itself wherever the two might differ.

libgit2 is believed where both sides merge cleanly, neither can hold a rename, and no attribute has a say. No merge
driver runs either way. Only processes that live long import pygit2: loading it costs every other verb too much.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

from git_taskctx.errors import CouldNotTell, GitFailed
from git_taskctx.files import sync_all
from git_taskctx.git.objects import DURABLE
from git_taskctx.git.private import private_folder
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository
from git_taskctx.limits import MERGED_FILE
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.values import dataclass, replace

_SHOWN = 12
"""Lines that are shown of a hunk."""
_BEGIN, _END = b"<<<<<<< ", b">>>>>>> "


@dataclass(frozen=True)
class TreeMerge:
    """What a merge gave."""

    tree: TreeOid
    """With both sides between markers where they collide."""
    collisions: tuple[str, ...] = ()
    """The paths in which they do, quoted."""
    hunks: str = ""
    """The lines of each."""


def merge_trees(
    repository: Repository, base: TreeOid, ours: TreeOid, theirs: TreeOid, names: tuple[str, str]
) -> TreeMerge:
    """Merge what `theirs` did since `base` into `ours`; `names` are those of the two sides, for the markers.

    Raises: CouldNotTell where objects are missing, or git is too old for what is not a plain merge.
    """
    if theirs in (base, ours):
        return TreeMerge(ours)
    if ours == base:
        return TreeMerge(theirs)
    found = merge_in_process(repository, base, ours, theirs)
    return TreeMerge(found) if found is not None else merge_by_git(repository, base, ours, theirs, names)


def merge_in_process(repository: Repository, base: TreeOid, ours: TreeOid, theirs: TreeOid) -> TreeOid | None:
    """Return the tree that libgit2 merges; None where git is to be asked."""
    import pygit2
    from pygit2.enums import Option

    if repository.algorithm != "sha1":
        return None
    written: list[str] = []
    try:
        # For each tree that it writes, it looks up all that is in it: 150 of 200 ms for 10,000 files, which are here.
        pygit2.option(Option.ENABLE_STRICT_OBJECT_CREATION, False)
        opened = _opened(os.fspath(repository.git_dir))
        trees: list[Any] = [opened[oid] for oid in (base, ours, theirs)]
        mine, other = (_changed(opened, trees[0], side) for side in trees[1:])
        both = {path for path in mine.keys() & other.keys() if _now(mine[path]) != _now(other[path])}
        if any({"A", "D"} <= {one.status_char() for one in side.values()} for side in (mine, other)):
            return None  # it may be a rename
        if _has_attributes(repository, trees[1], both):
            return None
        edits = {path: _now(one) for path, one in other.items() if path not in mine}
        edits |= _merge_contents(opened, [(path, mine[path], other[path]) for path in both], written)
        tree = TreeOid(str(_edited(opened, trees[1], edits, written)))
    except (pygit2.GitError, KeyError, ValueError):
        return None
    _make_durable(repository, written)
    return tree


def _make_durable(repository: Repository, written: list[str]) -> None:
    """Make objects durable, together: libgit2 would wait for the disk after each."""
    loose = [repository.object_dir / oid[:2] / oid[2:] for oid in dict.fromkeys(written)]
    loose = [path for path in loose if path.exists()]
    sync_all(loose)
    sync_all({path.parent for path in loose})


@functools.lru_cache(maxsize=1)
def _opened(git_dir: str) -> Any:
    """Return the repository, with what it has read of packs: a run merges in the same one again and again."""
    import pygit2

    return pygit2.Repository(git_dir)


def _changed(opened: Any, base: Any, side: Any) -> dict[str, Any]:
    """Return what a side changed, by path."""
    return {delta.new_file.path: delta for delta in opened.diff(base, side).deltas}


def _now(delta: Any) -> tuple[Any, int]:
    """Return the oid and the mode that a change leaves; no mode where the file is gone."""
    return delta.new_file.id, delta.new_file.mode


def _merge_contents(opened: Any, both: list[tuple[str, Any, Any]], written: list[str]) -> dict[str, Any]:
    """Return what files came to that both sides edited, in trees of those alone. Raises: ValueError for another answer.

    Merged in the whole trees they would cost as much as all other files.
    """
    if not both:
        return {}
    builders = [opened.TreeBuilder() for _ in range(3)]
    for number, (_, mine, other) in enumerate(both):
        files = (mine.old_file, mine.new_file, other.new_file)
        if len({file.mode for file in files}) > 1 or files[0].mode not in (0o100644, 0o100755) or _is_gone(files):
            raise ValueError("not three files of one mode")
        for builder, file in zip(builders, files, strict=True):
            builder.insert(str(number), file.id, file.mode)
    index = opened.merge_trees(*(opened[builder.write()] for builder in builders))
    if index.conflicts is not None:
        raise ValueError("a collision")
    written += (str(entry.id) for entry in index)
    return {path: (index[str(number)].id, mine.old_file.mode) for number, (path, mine, _) in enumerate(both)}


def _is_gone(files: tuple[Any, ...]) -> bool:
    return any(not file.id.raw.strip(b"\0") for file in files)


def _edited(opened: Any, tree: Any, edits: dict[str, Any], written: list[str]) -> Any:
    """Return the oid of a tree with files put in their places, or taken away where their mode is 0.

    Raises: ValueError where a file and a folder have one name.
    """
    builder = opened.TreeBuilder(tree) if tree is not None else opened.TreeBuilder()
    below: dict[str, dict[str, Any]] = {}
    for path, (oid, mode) in edits.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = (oid, mode)
            continue
        there = builder.get(name)
        if there is not None and there.type_str == "tree":
            raise ValueError(f"{name} is a folder")
        if mode:
            builder.insert(name, oid, mode)
        elif there is not None:
            builder.remove(name)
    for name, inner in below.items():
        there = builder.get(name)
        if there is not None and there.type_str != "tree":
            raise ValueError(f"{name} is a file")
        found = _edited(opened, there, inner, written)
        if len(opened[found]):
            builder.insert(name, found, 0o40000)
        elif there is not None:
            builder.remove(name)
    written.append(str(oid := builder.write()))
    return oid


def _has_attributes(repository: Repository, tree: Any, paths: set[str]) -> bool:
    """Return whether attributes might have a say in how the content of any of these is merged."""
    if not paths:
        return False
    if (repository.common_dir / "info/attributes").exists():
        return True
    folders = {""}
    for path in paths:
        while path := path.rpartition("/")[0]:
            folders.add(f"{path}/")
    return any(f"{folder}.gitattributes" in tree for folder in folders)


def merge_by_git(
    repository: Repository, base: TreeOid, ours: TreeOid, theirs: TreeOid, names: tuple[str, str]
) -> TreeMerge:
    """Let `git merge-tree` merge, in a repository of our own: no setting or driver of the user's has a say.

    Raises: CouldNotTell.
    """
    with private_folder(repository) as folder:
        scratch = folder / "merge"
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "taskctx"), ("EMAIL", "taskctx"), ("DATE", "@1 +0000"))}  # fmt: skip
        nowhere = dict.fromkeys(("GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"))
        git = replace(repository.git, cwd=folder).with_env(
            GIT_DIR=os.fspath(scratch), GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", **nowhere, **who
        )
        git.run("init", "-q", "--bare", "--template=", f"--object-format={repository.algorithm}")
        (scratch / "objects/info/alternates").write_text(f"{repository.object_dir}\n")
        try:
            first = git.run("commit-tree", "-m", "base", base).out.decode().strip()
            for name, tree in zip(names, (ours, theirs), strict=True):
                commit = git.run("commit-tree", "-m", name, "-p", first, tree).out.decode().strip()
                git.run("update-ref", f"refs/heads/{name}", commit)
            # What is merged goes to the real store; the commits that it is merged from go with the folder.
            into = git.with_settings(DURABLE).with_env(
                GIT_OBJECT_DIRECTORY=os.fspath(repository.object_dir),
                GIT_ALTERNATE_OBJECT_DIRECTORIES=os.fspath(scratch / "objects"),
            )
            done = into.run("merge-tree", "--write-tree", "-z", "--name-only", *names, ok=(0, 1))
        except GitFailed as error:
            what = f"{names[0]} and {names[1]} were not merged: {error.message}"
            raise CouldNotTell(what, hint="git --version   # 2.38 or newer merges by tree") from error
    oid, *paths = done.out.partition(b"\0\0")[0].rstrip(b"\0").split(b"\0")
    found = TreeOid(oid.decode())
    hunks = "\n".join(_hunks(repository, found, path) for path in paths) if done.code else ""
    return TreeMerge(found, tuple(map(quote, paths)) if done.code else (), hunks)


def _hunks(repository: Repository, tree: TreeOid, path: bytes) -> str:
    """Return where the two sides collide in a path, and with what."""
    lines = content_of(repository, tree, path).split(b"\n")
    shown = list[str]()
    for begin, end in marked(lines):
        shown.append(f"{quote(path)}: lines {begin + 1} to {end + 1}")
        shown += [f"    {line.decode('utf-8', 'replace')}" for line in lines[begin : end + 1][:_SHOWN]]
    return "\n".join(shown or [f"{quote(path)}: as a whole"])


def content_of(repository: Repository, tree: TreeOid, path: bytes) -> bytes:
    """Return the content of a file in a tree; nothing where there is none."""
    found = repository.objects.find(f"{tree}:{os.fsdecode(path)}", limit=MERGED_FILE)
    return found.data if found is not None and found.kind == "blob" else b""


def marked(lines: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each part that stands between markers."""
    begin = None
    for number, line in enumerate(lines):
        if line.startswith(_BEGIN):
            begin = number
        elif line.startswith(_END) and begin is not None:
            yield begin, number
            begin = None
