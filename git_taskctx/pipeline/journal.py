"""The state of a run, in its folder: `events.jsonl`, appended and made durable, and what each attempt left.

A run goes on from it by content: an outcome counts again where a stage has the same key, at whatever place it stands.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from git_taskctx import files
from git_taskctx.errors import Fatal, TaskctxError, TryAgain
from git_taskctx.limits import JOURNAL_LIMIT
from git_taskctx.model.canonical import DECODER, dump_line
from git_taskctx.model.codec import from_plain, to_plain
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.run import RunEvent
from git_taskctx.model.values import dataclass, replace
from git_taskctx.runner import Failure, Outcome, Writes, freeze
from git_taskctx.runner.frozen import hash_json
from git_taskctx.situation import Situation
from git_taskctx.store import Store

EVENTS = "events.jsonl"
VERSION = 1
ASK = ":ask"
"""What the id of a gate has behind the name of its stage."""


@dataclass(frozen=True)
class OwnWork:
    """What a stage left in a tree of its own, and what it was built upon."""

    base: TreeOid
    tree: TreeOid


class Journal:
    """The events of one run, and what follows from them."""

    def __init__(self, folder: Path, number: int, *, seen: tuple[RunEvent, ...] = (), first: str | None = None) -> None:
        self.folder, self.number, self.seen = folder, number, seen
        """seen: the events of before, where it goes on; first: the agent that the chain begins with."""
        self.seq = seen[-1].seq if seen else 0
        self.attempts: dict[str, int] = {}
        """The last attempt of each stage, of before."""
        self._ended: dict[str, RunEvent] = {}
        self._last: RunEvent | None = None
        """The end of the last stage of an agent that counts again."""
        self._left: RunEvent | None = None
        """The end of the first agent's last stage that is done: all checks and reviews of its work come after it."""
        self._saw: TreeOid | None = None
        """The tree that the last stage saw or left, of those that count again."""
        self.works: dict[str, OwnWork] = {}
        """What has not been brought together, by stage."""
        self.pending: RunEvent | None = None
        """What was brought together last, where a kill broke that off; or a collision, until it is solved."""
        latest: dict[str, RunEvent] = {}
        handed: set[str] = set()
        for event in seen:
            self._follow(event)
            if event.type == "stage-started" and event.stage is not None:
                self.attempts[event.stage] = max(self.attempts.get(event.stage, 0), event.attempt or 0)
            elif event.type == "stage-ended" and event.key is not None:
                if event.reused and event.key in self._ended:
                    event = replace(event, attempt=self._ended[event.key].attempt)
                key = str(event.key)
                latest[f"{event.stage}{ASK * bool(event.gate)}"] = self._ended[key] = event
            elif event.type == "again":
                handed |= {str(latest[name].key) for name in event.failed or () if name in latest}
        stands = {key for key, one in self._ended.items() if one.state in ("done", "skipped")} | handed
        self._ended = {key: one for key, one in self._ended.items() if key in stands}
        for event in seen:
            writes = event.writes or {}
            if event.key not in self._ended or event.gate or f"{event.stage}.work" in writes:
                continue
            if event.agent is not None and event.tree is not None:
                self._last = event
                self._left = event if event.agent == first and event.failure is None else self._left
            tree = event.tree or writes.get(f"{event.stage}.tree")
            self._saw = TreeOid(tree) if tree is not None else self._saw

    def _follow(self, event: RunEvent) -> None:
        work = (event.writes or {}).get(f"{event.stage}.work") if not event.reused else None
        if work is not None:
            self.works[event.stage or ""] = OwnWork(work["base"], work["tree"])
        if event.type in ("merged", "collision") and event.before is not None:
            is_over = (event.type, event.state) == ("merged", "done")
            self.pending = None if is_over else event
            for name in event.stages or () if is_over else ():
                self.works.pop(name, None)

    @property
    def begun(self) -> RunEvent | None:
        """The first event, of a run that goes on."""
        return next((event for event in self.seen if event.type == "run-started"), None)

    def begins(self, settled: TreeOid) -> TreeOid:
        """Return the tree that the run begins on; `settled` is on record now.

        Where no stage of the first agent is part of the run, what somebody put on record since is a new beginning.
        """
        started = [event.tree for event in self.seen if event.type == "run-started" and event.tree is not None]
        if not started or (self._left is None and not self.works and self._saw not in (None, settled)):
            return settled
        return TreeOid(started[-1])

    def asks(self, stage: str) -> bool:
        """Return whether a stage waited for a person when it ended last."""
        ends = [one for one in self.seen if one.type == "stage-ended" and one.stage == stage and one.gate]
        return bool(ends) and ends[-1].state == "waiting"

    def event(self, key: str) -> RunEvent | None:
        """Return the end of the stage that had a key before."""
        return self._ended.get(key)

    def outcome(self, key: str, settled: TreeOid) -> Outcome | None:
        """Return the outcome that a key had before: done, or a failure that handed back; None where it must run.

        settled: the tree on record now. Where somebody put another one on record since the last agent's stage ended,
        that is what the first agent's last stage left, so that all checks and reviews after it are done again.
        """
        event = self._ended.get(key)
        if event is None:
            return None
        writes, hash_ = dict(event.writes or {}), event.hash
        last, left = self._last, self._left
        if last is not None and last.tree != settled and left is not None and event.key == left.key:
            writes[f"{event.stage}.tree"] = settled
            hash_ = hash_json([event.hash, settled])
        frozen = Writes({name: freeze(value) for name, value in writes.items()})
        if event.failure is None:
            return Outcome("done", frozen, hash=hash_)
        failure = Failure(event.failure.kind, event.failure.message, event.failure.signature)
        timed_out = event.state == "timed out"
        return Outcome("timed out" if timed_out else "failed", frozen, error=failure, hash=hash_)

    def append(self, event: RunEvent) -> RunEvent:
        """Number an event and write it. Returns: it, numbered."""
        self.seq += 1
        event = replace(event, seq=self.seq)
        self._follow(event)
        data = f"{dump_line(to_plain(event))}\n".encode()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        path = self.folder / EVENTS
        with files.naming(path), os.fdopen(os.open(path, flags, 0o600), "ab", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":  # a kill left a line without its end
                data = b"\n" + data
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
        return event

    def settle(self) -> None:
        """Have on the disk what is appended. Raises: Fatal, ReadOnly."""
        with files.naming(self.folder / EVENTS):
            files.sync_all([self.folder / EVENTS])

    def count(self) -> int:
        """Return the number of an event that is not kept."""
        self.seq += 1
        return self.seq

    def attempt_folder(self, stage: str, attempt: int) -> Path:
        """Return the folder of an attempt, where the engine puts its output too; made where it is missing."""
        folder = self.folder
        for name in ("stages", stage, str(attempt)):
            folder = folder / name
            files.make_folder(folder)
        return folder


@contextlib.contextmanager
def begin_run(store: Store, task: str) -> Iterator[Journal]:
    """Begin a run of a task; only one runs at a time. Raises: TryAgain, Fatal, ReadOnly."""
    with _alone(store, task):
        number = store.make_run(task)
        yield Journal(store.run_folder(task, number), number)


@contextlib.contextmanager
def resume_run(store: Store, task: str, *, first: str) -> Iterator[Journal]:
    """Go on with the last run of a task whose chain begins with `first`. Raises: Fatal without one, TryAgain."""
    numbers = store.runs(task)
    if not numbers:
        raise Fatal(f"no run of {task} has begun", Situation("run.begins"))
    with _alone(store, task):
        folder = store.run_folder(task, numbers[-1])
        yield Journal(folder, numbers[-1], seen=tuple(read_events(folder)), first=first)


@contextlib.contextmanager
def _alone(store: Store, task: str) -> Iterator[None]:
    files.make_folder(store.run_folder(task, 0).parent)
    try:
        held = files.lock_folder(store.run_folder(task, 0).parent, wait=False)
    except BlockingIOError as error:
        raise TryAgain(f"a run of {task} is going on", Situation("run.going_on")) from error
    try:
        for attempt in store.run_folder(task, 0).parent.glob("*/stages/*/*/"):
            files.sweep_temporaries(attempt)
        yield
    finally:
        os.close(held)


def read_events(folder: Path) -> Iterator[RunEvent]:
    """Yield the events of a run that read; a kill may have torn a line."""
    for line in (files.read_plain(folder / EVENTS, limit=JOURNAL_LIMIT) or b"").splitlines():
        with contextlib.suppress(ValueError, RecursionError, TaskctxError):
            yield from_plain(RunEvent, DECODER.decode(line.decode("utf-8")), what=EVENTS)


def open_run(store: Store, task: str) -> RunEvent | None:
    """Return how the last run of a task ended; None where it is done, or has not ended."""
    numbers = store.runs(task)
    events = list(read_events(store.run_folder(task, numbers[-1]))) if numbers else []
    last = events[-1] if events else None
    return None if last is None or last.type != "run-ended" or last.state == "done" else last
