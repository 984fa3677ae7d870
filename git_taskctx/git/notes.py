"""`refs/notes/taskctx`: lines attached to objects, in the fan-out tree of `git notes`.

Lines are only added. The tree is changed along one path, so that a write costs the same however many notes there are;
notes of other fan-outs are found and kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from git_taskctx.errors import TryAgain
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.objects import FOLDER, ObjectStore, TreeEntry
from git_taskctx.git.refs import RefConflict, RefMove, Refs, tries
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import FILE, PROGRAM, Tree
from git_taskctx.limits import ANY_NOTE_LIMIT
from git_taskctx.model.oids import CommitOid

NOTES_REF = "refs/notes/taskctx"
WIDE = 64
"""A folder with more notes gets sub-folders."""


def read_note(objects: ObjectStore, commit: str | None, target: str) -> list[str]:
    """Return the lines attached to `target` in the notes `commit`, in order."""
    if commit is None:
        return []
    blobs = find_notes(objects, commit, [target])[target]
    return sorted({line for blob in blobs for line in note_lines(objects.get(blob, "blob"))})


def find_notes(objects: ObjectStore, commit: str, targets: Sequence[str]) -> dict[str, list[str]]:
    """Return the blobs attached to each of many objects in the notes `commit`.

    They are looked up together, by level of the fan-out, so that each tree is read once.
    """
    found: dict[str, list[str]] = {target: [] for target in targets}
    level: dict[str, list[tuple[str, bytes]]] = {
        objects.tree_of(commit): [(target, target.encode()) for target in found]
    }
    while level:
        objects.read_ahead(list(level))
        below: dict[str, list[tuple[str, bytes]]] = {}
        for tree, wanted in level.items():
            names = {name for _, rest in wanted for name in (rest, rest[:2])}
            entries = {entry.name: entry for entry in objects.read_tree(tree, names)}
            for target, rest in wanted:
                leaf, branch = entries.get(rest), entries.get(rest[:2])
                if leaf is not None and leaf.mode != FOLDER:
                    found[target].append(leaf.oid)
                if branch is not None and branch.mode == FOLDER and rest[2:]:
                    below.setdefault(branch.oid, []).append((target, rest[2:]))
        level = below
    return found


def note_lines(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8", "surrogateescape").split("\n") if line]


def grep_notes(repository: Repository, commits: Sequence[str], pattern: str) -> list[str]:
    """Return the lines of all notes that match an extended regular expression, with repetitions."""
    # grep.lineNumber, grep.column and color.grep would change what it prints (git-grep, CONFIGURATION).
    found = repository.git.with_env(GIT_NO_REPLACE_OBJECTS="1").run(
        "grep", "-h", "-a", "-E", "--no-color", "--no-textconv", "--no-line-number", "--no-column",
        "--no-recurse-submodules", "-e", pattern, *commits, ok=(0, 1),
    )  # fmt: skip
    return note_lines(found.out)


def append_notes(
    objects: ObjectStore,
    commit: str | None,
    additions: Mapping[str, Sequence[str]],
    *,
    message: str,
    merged: str | None = None,
) -> CommitOid:
    """Queue a notes commit on `commit` that adds lines to objects; the caller flushes and moves the ref.

    `merged`, whose lines are all in it, becomes its second parent.
    """
    tree = objects.tree_of(commit) if commit else None
    if additions:
        editor = Tree(objects, tree)
        for target, lines in additions.items():
            path = _find_place(editor, target.encode())
            leaf = editor.find(path)
            old = note_lines(objects.get(leaf.oid, "blob")) if leaf else []
            text = "".join(line + "\n" for line in sorted({*old, *lines}))
            editor.put(path, objects.add_blob(text.encode("utf-8", "surrogateescape")))
        tree = editor.write()
    parents = "".join(f"parent {parent}\n" for parent in (commit, merged) if parent)
    who = f"git-taskctx <git-taskctx@localhost> {int(time.time())} +0000"
    text = f"tree {tree or objects.empty_tree}\n{parents}author {who}\ncommitter {who}\n\n{message}\n"
    return CommitOid(objects.add("commit", text.encode("utf-8")))


def write_notes(
    objects: ObjectStore,
    refs: Refs,
    make: Callable[[str | None], str | None],
    *,
    moves: Sequence[RefMove] = (),
    reason: str,
) -> None:
    """Move the notes to the commit that `make` builds on the present one, together with `moves`, or nothing.

    By compare-and-swap: after a concurrent write `make` is called again; None from it changes nothing. Queued objects
    are written first. Raises: TryAgain when other refs moved, or the notes kept moving; ReadOnly; GitFailed.
    """
    conflict = RefConflict("")
    for _ in tries():
        current = refs.find(NOTES_REF)
        new = make(current)
        if new is None:
            return
        objects.flush()
        try:
            refs.move([*moves, RefMove(NOTES_REF, new, current)], reason=reason)
        except RefConflict as error:
            conflict = error
            refs.reread()
            if refs.find(NOTES_REF) == current and any(refs.find(move.ref) != move.old for move in moves):
                raise TryAgain("another process moved this context's refs", hint="run the same command again") from None
        else:
            return
    hint = conflict.hint or f"git show-ref {NOTES_REF}   # then try again"
    raise TryAgain(f"cannot write to the ledger: {conflict.message}", hint=hint)


def new_lines(repository: Repository, ours: str | None, theirs: str) -> dict[str, list[str]]:
    """Return the lines that only the notes commit `theirs` has, by object. Raises: CouldNotTell.

    What is not a note (another path, not a file, longer than `ANY_NOTE_LIMIT`) is ignored.
    """
    objects = repository.objects
    old = objects.tree_of(ours) if ours else objects.empty_tree
    changes = compare_trees(repository, old, objects.tree_of(theirs))
    notes = [(change.path.replace(b"/", b""), change.oid) for change in changes if change.mode in (FILE, PROGRAM)]
    width = len(objects.zero)
    notes = [(name, oid) for name, oid in notes if re.fullmatch(rb"[0-9a-f]{%d}" % width, name)]
    sizes = objects.sizes({oid for _, oid in notes})
    found: dict[str, list[str]] = {}
    for name, oid in notes:
        if sizes.get(oid, 0) <= ANY_NOTE_LIMIT:
            target = name.decode()
            known = {*read_note(objects, ours, target), *found.get(target, ())}
            lines = [line for line in note_lines(objects.get(oid, "blob")) if line not in known]
            if lines:
                found.setdefault(target, []).extend(lines)
    return found


def _find_place(tree: Tree, target: bytes) -> bytes:
    """Return the path of an object's note, existing or new."""
    folder, rest = tree, target
    while len(rest) > 2 and rest not in folder.entries:
        branch = folder.entries.get(rest[:2])
        wide = folder is tree or branch or sum(len(name) == len(rest) for name in folder.entries) >= WIDE
        if not wide or (isinstance(branch, TreeEntry) and branch.mode != FOLDER):
            break
        folder, rest = folder.open(rest[:2]), rest[2:]
    levels = range(0, len(target) - len(rest), 2)
    return b"".join(target[at : at + 2] + b"/" for at in levels) + rest
