"""The rows: which command, in which state, against what, and what it should cost."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import OURS, Case, Command, Goal
from benchmarks.shapes import Bench, Worktree

STATUS = ("git", "status", "--porcelain=v2", "-z")
STASH = ("git", "stash", "create")
VERIFY = ("git", "taskctx", "verify")
LOG = ("git", "log", "--notes=taskctx")
SNAPSHOT = ("git", "taskctx", "snapshot", "--agent", "implementer")
START = ("git", "taskctx", "start", "--agent", "reviewer")
APPEND = ("git", "taskctx", "update", "--agent", "implementer", "--session-id", "s-1")
MANY = 1000
"""Changed files, where there are many."""
UNTRACKED = 200_000
"""New files, where there are very many."""


@dataclass
class Place:
    """One repository to measure in, and its worktrees, cloned when they are first needed."""

    bench: Bench
    source: Path
    label: str

    @functools.cached_property
    def work(self) -> Worktree:
        """The worktree of most rows."""
        return self.bench.worktree(self.source, f"work-{self.label}")

    @functools.cached_property
    def touched(self) -> Worktree:
        """The one in which everything is touched."""
        return self.bench.worktree(self.source, f"touched-{self.label}")

    @functools.cached_property
    def has_caches(self) -> bool:
        """Whether a call leaves something behind that makes the next one quicker."""
        self.work.begin(changes=0, snapshot=True)
        self.work.taskctx("verify")
        return bool(self.work.caches())

    @functools.cached_property
    def files(self) -> int:
        """How many files it has, known without a worktree."""
        return self.bench.git(self.source, "ls-tree", "-r", "-z", "HEAD").count(b"\0")

    @property
    def is_small(self) -> bool:
        """Judged by the goals for 1k files."""
        return self.files < 3_000

    @property
    def is_large(self) -> bool:
        """Judged by the goals for 100k files."""
        return self.files >= 30_000

    def command(self, *argv: str) -> Command:
        """Return a command in the worktree, which need not be there yet."""
        return Command(argv, self.bench.folder / f"work-{self.label}", self.bench.env)


def cases_of(place: Place) -> Iterator[Case]:
    """Yield the rows that are measured in every repository."""
    d20 = min(20, place.files // 2)
    counts = (0, d20, MANY) if place.is_large else (d20,)
    for count in counts:
        yield _verify(place, count)
        if place.is_large:
            yield _verify(place, count, warm=True)
    for count in counts:
        if count:
            yield _snapshot(place, count)
            if place.is_large:
                yield _snapshot(place, count, warm=True)
    yield _touched(place)
    yield from _agents_hooks(place)
    if place.is_large:
        yield _untracked(place)
    yield Case(
        f"start {place.label}, {d20} changes",
        lambda: place.work.begin(changes=d20, snapshot=True),
        place.command(*START),
        {"STATUS": place.command(*STATUS)},
        (Goal("ratio"),),
        lambda name: _hand_back(place.work) if name == OURS else None,
    )
    yield Case(
        f"get {place.label}", lambda: place.work.begin(changes=d20), place.command("git", "taskctx", "get"), {},
        (Goal("ms"),),
    )  # fmt: skip


def cases_of_ledger(
    bench: Bench,
    source: Path,
    *,
    notes: tuple[int, int],
    tasks: tuple[int, int],
    past: tuple[int, int],
    proofs: tuple[int, int],
) -> Iterator[Case]:
    """Yield the rows that do not depend on the worktree."""

    def fill(worktree: str, method: str, count: int) -> None:
        made = bench.worktree(source, worktree)
        getattr(made, method)(count)
        made.taskctx("init", "TASK-1", "--title", "Measure")

    for what, method, (few, many) in (
        ("notes", "fill_notes", notes),
        ("tasks on one base commit", "fill_tasks", tasks),
    ):

        def prepare(method: str = method, few: int = few, many: int = many) -> None:
            fill(f"{method}-few", method, few - 1)
            fill(f"{method}-many", method, many - 1)

        small = f"with {few:,}"
        yield Case(
            f"ledger append, {many:,} {what}",
            prepare,
            Command(APPEND, bench.folder / f"{method}-many", bench.env),
            {small: Command(APPEND, bench.folder / f"{method}-few", bench.env)},
            (Goal("ratio", 1.5, small),),
        )
    yield from _hooks(bench, source, past)
    yield from _proofs(bench, *proofs)
    yield Case(
        "git taskctx -h", lambda: None, Command(("git", "taskctx", "-h"), bench.folder, bench.env), {},
        (Goal("ms", 90),),
    )  # fmt: skip


def _hooks(bench: Bench, source: Path, past: tuple[int, int]) -> Iterator[Case]:
    """Yield what the hooks cost after many tasks, beside what they cost after few."""
    few, many = past
    small = f"with {few:,}"

    def prepare() -> None:
        for count in past:
            bench.worktree(source, f"hooks-{count}").fill_archive(count)

    here = "h=$(git rev-parse HEAD) && git taskctx hook post-checkout $h $h 1"
    for name, argv in (
        ("pre-commit", ("git", "taskctx", "hook", "pre-commit")),
        ("post-commit", ("git", "taskctx", "hook", "post-commit")),
        ("post-checkout", ("sh", "-c", here)),
    ):
        yield Case(
            f"hook {name}, {many:,} past tasks",
            prepare,
            Command(argv, bench.folder / f"hooks-{many}", bench.env),
            {small: Command(argv, bench.folder / f"hooks-{few}", bench.env)},
            (Goal("ratio", 1.1, small),),
        )


def _proofs(bench: Bench, few: int, many: int) -> Iterator[Case]:
    """Yield the rows about proofs: few of many commits with notes, short and long, and what each one more costs.

    No program in Python ends before Python has begun: what that takes stands beside the first ratio.
    """
    for long in (False, True):
        folder = bench.folder / ("proofs-long" if long else "proofs")

        def command(words: tuple[str, ...], count: int, folder: Path = folder) -> Command:
            return Command((*words, f"HEAD~{count}..HEAD"), folder, bench.env)

        what = f"of {many:,} commits{', long chains' if long else ''}"
        start = {"python": Command((sys.executable, "-c", "pass"), folder, bench.env)}
        yield Case(
            f"verify A..B, {few:,} {what}",
            lambda long=long: bench.validated(many, long=long),  # type: ignore[misc]
            command(VERIFY, few),
            {"log": command(LOG, few), **start},
            (Goal("ratio", 3, "log"), Goal("extra ms", 60, "python"), Goal("ms")),
        )
        for count in (max(few + 1, many // 10), max(few + 2, many // 2)):
            yield Case(
                f"verify A..B, {count:,} {what}",
                lambda long=long: bench.validated(many, long=long),  # type: ignore[misc]
                command(VERIFY, count),
                {"log": command(LOG, count), "few": command(VERIFY, few), "few log": command(LOG, few)},
                (
                    Goal("ms"),
                    Goal("slope", 3, "log", ", each"),
                    Goal("extra ms", 0.1 * (count - few), "few", ", more commits"),
                    Goal("extra MB", 40, "few", ", memory"),
                ),
            )


def _verify(place: Place, count: int, *, warm: bool = False) -> Case:
    limit = 10 if place.is_small else 2.5 if not place.is_large else 0.85 if warm else 1.2
    memory = () if warm or not count else (Goal("extra MB", 60, note=", memory"),)
    return Case(
        f"verify {place.label}, {_words(count)}{', warm' if warm else ''}",
        lambda: place.work.begin(changes=count, snapshot=True),
        place.command(*VERIFY),
        {"STATUS": place.command(*STATUS)},
        (Goal("ratio", limit), *memory),
        lambda name: place.work.forget() if name == OURS and not warm else None,
        lambda: not warm or place.has_caches,
    )


def _snapshot(place: Place, count: int, *, warm: bool = False) -> Case:
    growth = (
        Goal("extra ms", 80 + 0.4 * count, note=", growth"),
        Goal("extra MB", 60, note=", memory"),
    )
    if warm:
        goals: tuple[Goal, ...] = (Goal("ratio", 1.0 if count < MANY else None),)
    elif count >= MANY:
        goals = (Goal("ratio", 2.7), Goal("ratio", None, "STASH"), *growth)
    elif place.is_large:
        goals = (Goal("ratio", 1.4), Goal("ratio", 0.9, "STASH"), *growth)
    elif place.is_small:
        goals = (Goal("ms", 110), Goal("ratio"), Goal("ratio", None, "STASH"), *growth)
    else:
        goals = (Goal("ratio", 4), Goal("ratio", 2, "STASH"), *growth)

    def before(name: str) -> None:
        """Edit, so that each command finds content that is in no object yet; the owner goes back to work."""
        place.work.freshen()
        if name == OURS:
            place.work.taskctx("start", "--agent", "implementer")
            if not warm:
                place.work.forget()

    return Case(
        f"snapshot {place.label}, {_words(count)}{', warm' if warm else ''}",
        lambda: place.work.begin(changes=count),
        place.command(*SNAPSHOT),
        {"STATUS": place.command(*STATUS), "STASH": place.command(*STASH)},
        goals,
        before,
        lambda: not warm or place.has_caches,
    )


def _touched(place: Place) -> Case:
    """Build the row in which every file has another time: the call after the first one, against a clean one."""

    def prepare() -> None:
        place.work.begin(changes=0, snapshot=True)
        place.touched.begin(changes=0, snapshot=True)
        place.touched.touch_all()

    touched = Command(VERIFY, place.bench.folder / f"touched-{place.label}", place.bench.env)
    return Case(
        f"verify {place.label}, all touched, second call",
        prepare,
        touched,
        {"a clean call": place.command(*VERIFY)},
        (Goal("ratio", 1.1, "a clean call"),),
    )


def _agents_hooks(place: Place) -> Iterator[Case]:
    """Yield what an agent waits for at every write, and when it stops."""
    path = place.bench.folder / f"work-{place.label}"
    for what, event, more, limit in (
        (
            "a write",
            "PreToolUse",
            {"tool_name": "Write", "tool_input": {"file_path": f"{path}/new", "content": ""}},
            35,
        ),
        ("a stop", "Stop", {"stop_hook_active": False}, 45),
    ):
        payload = json.dumps({"session_id": "s", "cwd": str(path), "hook_event_name": event, **more})
        argv = ("sh", "-c", f"git-taskctx agent-hook {event} --agent claude <<'EOF'\n{payload}\nEOF")
        yield Case(
            f"agent's hook of {what}, {place.label}",
            lambda: place.work.begin(changes=0),
            place.command(*argv),
            {"python": place.command(sys.executable, "-c", "pass")},
            (Goal("ms", limit), Goal("extra ms", None, "python")),
        )


def _untracked(place: Place) -> Case:
    """Build the row of a worktree with very many new files, beside what git needs to take them all in."""
    into = (
        "cp .git/index .git/taken && GIT_INDEX_FILE=.git/taken git add -A && GIT_INDEX_FILE=.git/taken git write-tree"
    )

    def prepare() -> None:
        place.work.begin(changes=0)
        for number in range(UNTRACKED):
            file = place.work.path / f"untracked/{number % 500}/{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{number}\n" * 8)

    def before(name: str) -> None:
        if name == OURS:
            place.work.taskctx("start", "--agent", "implementer")

    return Case(
        f"snapshot {place.label}, {UNTRACKED:,} untracked",
        prepare,
        place.command(*SNAPSHOT),
        {"ADD": place.command("sh", "-c", into)},
        (Goal("ratio", 1.5, "ADD"), Goal("extra MB", 60, "ADD", ", memory")),
        before,
    )


def _hand_back(work: Worktree) -> None:
    """Come to where the implementer has a snapshot and the reviewer may start."""
    work.taskctx("start", "--agent", "implementer")
    work.taskctx("snapshot", "--agent", "implementer")


def _words(count: int) -> str:
    return f"{count:,} changes" if count else "clean"
