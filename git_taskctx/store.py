"""The layout of `.agent-output`, written in an order that survives a crash.

Only the command line writes here. Links are not followed, and foreign files stay.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from git_taskctx import files
from git_taskctx.errors import BadData, Fatal
from git_taskctx.git.repository import Repository
from git_taskctx.lean import regex
from git_taskctx.limits import MAX_BYTES, NAME_FILE
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.context import EVIDENCE_FOLDER
from git_taskctx.model.oids import is_context_id, is_task_id
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation

FOLDER = ".agent-output"
CONTEXT = "context.json"
_IGNORE = b"*\n"
_OURS = regex(
    r"context(-[a-z0-9-]+)?\.json|context\.manifest|metrics-[a-z0-9-]+\.json|evidence|runs|"
    r"[a-z0-9-]+-(files\.json|from-base\.diff|incremental\.diff)\.gz|\.tmp-.*"
)
"""What we write into a context's folder."""
_STAGING = f"{files.TEMPORARY}staging-"


class Store:
    """The files of one worktree's contexts."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._private = repository.private_dir
        self.root = (repository.toplevel if repository.has_worktree else self._private) / FOLDER
        self._marker = self._private / "context"
        self._common = repository.common_dir

    def check(self) -> None:
        """Refuse a folder that is not ours alone, and make git ignore it.

        Raises: Fatal when `.agent-output` is a link or not a folder, or is tracked by git.
        """
        if self._repository.is_indexed(FOLDER):
            raise Fatal(f"{FOLDER} is tracked by git", hint=f"git rm -r --cached {FOLDER}")
        if files.require_plain(self.root, folder=True):
            ignore = self.root / ".gitignore"
            if files.read_plain(ignore, limit=MAX_BYTES) != _IGNORE:
                with contextlib.suppress(files.ReadOnly):
                    files.write_atomic(ignore, _IGNORE)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the one lock for this folder, and clean up leftovers.

        Raises: TryAgain after ten seconds; Fatal, ReadOnly.
        """
        self.check()
        if not self._repository.has_worktree:
            files.make_folder(self._private)
        files.make_folder(self.root)
        if files.read_plain(self.root / ".gitignore", limit=MAX_BYTES) != _IGNORE:
            files.write_atomic(self.root / ".gitignore", _IGNORE)
        with files.held_lock(self.root / ".context_store.lock"):
            tasks = [self.folder(task) for task in self.tasks()]
            evidence = [folder / EVIDENCE_FOLDER for folder in tasks]
            for folder in (self.root, self.root / "tasks", self.root / "archive", *tasks, *evidence):
                if files.require_plain(folder, folder=True):
                    files.sweep_temporaries(folder)
            for left in files.begin_with(self.root, _STAGING):
                _remove_folder(left)
            if not self._private.is_symlink():
                files.sweep_temporaries(self._private)
            try:
                yield
            finally:
                files.give_back(self.root.parent, FOLDER)

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """Make a folder for files to be renamed into the worktree; removed afterwards, or at the next lock.

        Requires the lock. Raises: Fatal, ReadOnly.
        """
        folder = self.root / f"{_STAGING}{os.urandom(6).hex()}"
        try:
            files.make_folder(folder)
            yield folder
        finally:
            _remove_folder(folder)

    def active(self) -> str | None:
        """Return the active task's id, if any. Raises: Fatal, BadData.

        Where a kill left only one of its two notes, the git dir's decides.
        """
        path = self.root / "active"
        data = files.read_plain(path, limit=NAME_FILE)
        text = data.decode("utf-8", "replace").strip() if data else ""
        if text and not is_task_id(text):
            raise BadData(f"{path} does not hold a task id", Situation("clone.no_task_id", path=path))
        if not text:
            marker = _read_marker(self._marker)
            return next((task for task in self.tasks() if marker and self._holds(task, marker)), None)
        return None if self._is_put_away(text) else text

    def marker(self) -> str | None:
        """Return the active context's id by the git dir, even if the folder is gone."""
        active = files.read_plain(self.root / "active", limit=NAME_FILE) or b""
        return None if self._is_put_away(active.decode("utf-8", "replace").strip()) else _read_marker(self._marker)

    @property
    def is_idle(self) -> bool:
        """Whether no context is active here, by either of its two notes."""
        return self.active() is None and self.marker() is None

    def _is_put_away(self, active: str) -> bool:
        """Return whether the context noted as active is in the archive already."""
        if is_task_id(active) and files.require_plain(self.folder(active), folder=True):
            return False
        marker = _read_marker(self._marker)
        return marker is not None and marker in self.archived()

    def _holds(self, task: str, context_id: str) -> bool:
        data = self.read(task, CONTEXT)
        return data is not None and f'"context_id": "{context_id}"'.encode() in data

    def activate(self, task: str, context_id: str, program: Path | None = None) -> None:
        """Make a context active; hooks find `program` even if PATH lacks it."""
        files.make_folder(self._private)
        if program is not None:
            files.write_atomic(self._private / "program", os.fsencode(program.absolute().parent) + b"\n")
        files.write_atomic(self._marker, context_id.encode() + b"\n")
        files.write_atomic(self.root / "active", task.encode() + b"\n")

    def deactivate(self) -> None:
        """Make no context active; idempotent."""
        for note in (self.root / "active", self._marker):
            with files.naming(note):
                note.unlink(missing_ok=True)

    def clone(self) -> str:
        """Return this clone's name, drawn once for its worktrees; it reveals nothing about the machine."""
        path = self._common / "taskctx" / "clone"
        data = files.read_plain(path, limit=NAME_FILE)
        if data is None:
            files.make_folder(path.parent)
            data = os.urandom(4).hex().encode() + b"\n"
            files.write_atomic(path, data)
        return data.decode("ascii", "replace").strip()

    def alive_here(self, context_id: str) -> bool:
        """Return whether a context is the active one, by either of its two notes."""
        active = self.active()
        return self.marker() == context_id or (active is not None and self._holds(active, context_id))

    def alive_elsewhere(self, context_id: str) -> Path | None:
        """Return another worktree in which this context is active, or its git dir if unknown."""
        for marker in (self._common / "taskctx" / "context", *self._common.glob("worktrees/*/taskctx/context")):
            if marker != self._marker and _read_marker(marker) == context_id:
                return _worktree_of(marker.parent.parent)
        return None

    def folder(self, task: str) -> Path:
        """Return the folder of a task; it may not exist."""
        return self.root / "tasks" / task

    def runs(self, task: str) -> list[int]:
        """Return the numbers of a task's pipeline runs, in order."""
        return sorted(int(name) for name in self._names(self.folder(task) / "runs") if name.isdecimal())

    def run_folder(self, task: str, number: int) -> Path:
        """Return the folder of a run; it may not exist."""
        return self.folder(task) / "runs" / str(number)

    def attempts(self, task: str, number: int, stage: str) -> list[int]:
        """Return the numbers of a stage's attempts in a run, in order."""
        names = self._names(self.run_folder(task, number) / "stages" / stage) if "/" not in stage else []
        return sorted(int(name) for name in names if name.isdecimal())

    def make_run(self, task: str) -> int:
        """Make the folder of the next run, and return its number. Raises: Fatal, ReadOnly."""
        number = max(self.runs(task), default=0) + 1
        files.make_folder(self.run_folder(task, number))
        return number

    def tasks(self) -> list[str]:
        """Return the tasks that have a folder here, sorted."""
        return self._names(self.root / "tasks")

    def archived(self) -> list[str]:
        """Return the ids of the archived contexts, sorted."""
        return [name for name in self._names(self.root / "archive") if is_context_id(name)]

    def read(self, task: str, name: str) -> bytes | None:
        """Return one file of a task, if it exists. Raises: Fatal, BadData."""
        return self._read(self.folder(task) / name)

    def read_archived(self, context_id: str, name: str) -> bytes | None:
        """Return one file of an archived context."""
        return self._read(self.root / "archive" / context_id / name)

    def _read(self, path: Path) -> bytes | None:
        """Read a file without any link on the way."""
        parts = path.relative_to(self.root).parts
        folders = [self.root.joinpath(*parts[:depth]) for depth in range(len(parts))]
        if not all(files.require_plain(folder, folder=True) for folder in folders):
            return None
        return files.read_plain(path)

    def write(self, task: str, contents: Mapping[str, bytes]) -> None:
        """Write a task's changed files, `context.json` after the others are durable.

        Requires the lock. Raises: Fatal, ReadOnly.
        """
        folder = self.folder(task)
        below = sorted({(folder / name).parent for name in contents} - {folder})
        for place in (self.root, folder.parent, folder, *below):
            files.make_folder(place)
        files.sweep_temporaries(folder)
        changed = {name for name, data in contents.items() if files.read_plain(folder / name) != data}
        for names in (sorted(changed - {CONTEXT}), changed & {CONTEXT}):
            if names:
                files.write_all({folder / name: contents[name] for name in names})

    def archive(self, task: str, context_id: str) -> None:
        """Move a task's folder to the archive; idempotent."""
        source, target = self.folder(task), self.root / "archive" / context_id
        if not files.require_plain(source, folder=True):
            return
        files.make_folder(target.parent)
        with files.naming(target):
            if files.require_plain(target, folder=True):
                import shutil

                self._set_aside(target, context_id)
                shutil.rmtree(target)
            source.rename(target)
            files.sync_all([target.parent])

    def unarchive(self, task: str, context_id: str) -> bool:
        """Move an archived context back; False if it is not in the archive."""
        source, target = self.root / "archive" / context_id, self.folder(task)
        if not files.require_plain(source, folder=True):
            return False
        files.make_folder(target.parent)
        if files.require_plain(target, folder=True):
            raise Fatal(f"{target} is in the way", hint=f"ls -l {shell_word(target)}   # look at it, then move it away")
        with files.naming(target):
            source.rename(target)
            files.sync_all([target.parent])
        return True

    def remember_left(self, place: str, task: str, context_id: str) -> None:
        """Note the branch of a context about to be archived; requires the lock."""
        note = self._note_of(place)
        files.make_folder(note.parent)
        files.write_atomic(note, f"{context_id} {task}\n".encode())

    def find_left(self, place: str) -> str | None:
        """Return the archived task of this branch; one lookup, however many there are."""
        if not all(files.require_plain(folder, folder=True) for folder in (self.root, self.root / "archive")):
            return None
        data = files.read_plain(self._note_of(place), limit=NAME_FILE) or b""
        context_id, _, task = data.decode("utf-8", "replace").strip().partition(" ")
        if not is_context_id(context_id) or not is_task_id(task):
            return None
        return task if files.require_plain(self.root / "archive" / context_id, folder=True) else None

    def _note_of(self, place: str) -> Path:
        return self.root / "archive" / f"left-{sha256_hex(place.encode('utf-8', 'surrogateescape'))[:32]}"

    def remove_archived(self, context_id: str) -> Path | None:
        """Delete an archived context's files, following no link; idempotent.

        Files that others put among them are moved to the folder that is returned.
        """
        folder = self.root / "archive" / context_id
        if context_id in self.archived():
            import shutil

            with files.naming(folder):
                for note in files.begin_with(folder.parent, "left-"):
                    if (files.read_plain(note, limit=NAME_FILE) or b"").startswith(context_id.encode()):
                        note.unlink()
                self._set_aside(folder, context_id)
                shutil.rmtree(folder)
                files.sync_all([folder.parent])
        aside = self._aside(context_id)
        return aside if files.require_plain(aside, folder=True) else None

    def _aside(self, context_id: str) -> Path:
        return self.root / f"left-by-others-{context_id}"

    def _set_aside(self, folder: Path, context_id: str) -> None:
        """Move what is not ours out of a context's folder."""
        for foreign in [entry for entry in folder.iterdir() if not _OURS.fullmatch(entry.name)]:
            files.make_folder(self._aside(context_id))
            place = self._aside(context_id) / foreign.name
            while os.path.lexists(place):
                place = place.with_name(f"{place.name}~")
            foreign.rename(place)

    def _names(self, folder: Path) -> list[str]:
        if not files.require_plain(self.root, folder=True) or not files.require_plain(folder, folder=True):
            return []
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def _remove_folder(folder: Path) -> None:
    """Delete a folder of ours, following no link."""
    if not folder.is_symlink() and folder.is_dir():
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _worktree_of(git_dir: Path) -> Path:
    """Return a git dir's worktree (gitrepository-layout(5)); a relative `gitdir` is git 2.48's."""
    data = files.read_plain(git_dir / "gitdir", limit=MAX_BYTES)
    dot_git = Path(os.path.normpath(git_dir / os.fsdecode(data.rstrip(b"\n")))) if data else git_dir
    return dot_git.parent if dot_git.name == ".git" else dot_git


def _read_marker(path: Path) -> str | None:
    data = files.read_plain(path, limit=NAME_FILE)
    text = data.decode("ascii", "replace").strip() if data else ""
    if text and not is_context_id(text):
        raise BadData(f"{path} does not hold a context id", hint=f"rm {shell_word(path)}")
    return text or None
