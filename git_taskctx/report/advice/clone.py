"""What to type where a context, its files or its records are not here: bring them, put one away, or begin another."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import find_waiting, open_session
from git_taskctx.context.session import Session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.quoting import unquote
from git_taskctx.git.refs import find_ref
from git_taskctx.git.remote import remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.whereabouts import likely_remote
from git_taskctx.model.context import Context
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.step import Step, taskctx
from git_taskctx.model.values import replace
from git_taskctx.report.advice import steps_for
from git_taskctx.report.advice.chain import ended, holds_nothing_new, undo
from git_taskctx.situation import Situation

_TITLE = ("--title", "what is to be done")
_SNAPSHOTS = taskctx("fetch", "--with-snapshots")


def nothing_active(caller: Caller) -> tuple[Step, ...]:
    """Show of the task that was put away last how it comes back, or what is left of it; and how a new one begins."""
    waiting, ways = list[Context](), list[Step]()
    with contextlib.suppress(TaskctxError):  # what does not read is no reason not to begin anew
        waiting = find_waiting(replace(caller, context_id=None))
        if waiting:
            ways += _of_last(caller, waiting[-1])
    free = next(f"TASK-{number}" for number in itertools.count(1) if f"TASK-{number}" not in _ids(waiting))
    return (*ways, taskctx("init", free, *_TITLE))


def _of_last(caller: Caller, last: Context) -> tuple[Step, ...]:
    with open_session(replace(caller, task=last.task_id, context_id=last.context_id), write=False) as session:
        return ended(session) if session.over or holds_nothing_new(session) else brings_back(session.task)


def _ids(contexts: Sequence[Context]) -> set[str]:
    return {one.task_id for one in contexts}


def find_recoverable(caller: Caller) -> str | None:
    """Return the task that `recover` would bring back; None where there is none."""
    for one in reversed(find_waiting(replace(caller, context_id=None))):
        named = replace(caller, task=one.task_id, context_id=one.context_id)
        with contextlib.suppress(TaskctxError), open_session(named, write=False) as session:
            if not session.over:
                return session.task
    return None


def recover(task: str) -> tuple[Step, ...]:
    """Bring a context back."""
    return (taskctx("recover", task),)


def put_away(task: str, where: str = "") -> tuple[Step, ...]:
    """Bring a context back, where it belongs."""
    return (taskctx("recover", task, why=where),)


def goes_on_here(task: str, *, is_active: bool) -> Step:
    """Go on with a task whose snapshots came along."""
    return taskctx("status") if is_active else taskctx("recover", task, why="goes on with it here")


def brings_back(task: str) -> tuple[Step, ...]:
    """Bring back what was put away just now."""
    return (taskctx("recover", task, why="brings it back"),)


def known() -> tuple[Step, ...]:
    """Look which contexts there are."""
    return (taskctx("list"),)


def log_of(task: str, context: str | None = None) -> tuple[Step, ...]:
    """Look what is on record of a task."""
    return (taskctx("log", "--task", task, *(("--context", context) if context else ())),)


def records(session: Session) -> tuple[Step, ...]:
    """Look what is on record of the task at hand."""
    named = () if session.caller.task is None else ("--task", session.task)
    return (taskctx("log", *named),)


def not_known(repository: Repository) -> tuple[Step, ...]:
    """Find a context that is not known here: a remote may have it, else look which ones are."""
    names = remotes_of(repository.git)
    brings = [taskctx("fetch", likely_remote(names), "--with-snapshots", why="where another clone has it")]
    return (*brings[: len(names)], taskctx("list"))


def no_record(repository: Repository) -> tuple[Step, ...]:
    """Bring what others recorded, where there is somebody to ask."""
    if not remotes_of(repository.git):
        return known()
    return (taskctx("fetch", why="brings what others recorded"),)


def not_all_here(repository: Repository) -> tuple[Step, ...]:
    """Bring what a report could not tell of."""
    words = ("fetch", likely_remote(remotes_of(repository.git)), "--with-snapshots")
    return (taskctx(*words, why="where another clone has what is missing"),)


def fetch(repository: Repository) -> tuple[Step, ...]:
    """Bring the notes, and merge them with those that are here."""
    return (fetch_from(repository),)


def fetch_from(repository: Repository) -> Step:
    """Return what brings the notes of the likely remote."""
    return taskctx("fetch", likely_remote(remotes_of(repository.git)))


def not_the_ledgers(task: str) -> tuple[Step, ...]:
    """Bring the files that the ledger names, or put the context away as it is."""
    return (
        _SNAPSHOTS.because("where another clone went on with it"),
        taskctx("recover", task),
        taskctx("purge", "--all", why="puts it away as it is, as when it is over"),
    )


def went_on_elsewhere() -> tuple[Step, ...]:
    """Bring what another clone recorded."""
    return (_SNAPSHOTS.because("where another clone went on with it"),)


def only_ledger(task: str) -> tuple[Step, ...]:
    """Bring a context of which only records are here."""
    return (
        _SNAPSHOTS.because("where another clone has it"),
        Step(("git", "log", "--grep", f"^taskctx: {task}: ", NOTES_REF), "what is known of it"),
    )


def other_active(repository: Repository) -> tuple[Step, ...]:
    """Put the active task away, or work on another one elsewhere."""
    purge = taskctx("purge", why="puts that one away")
    return (purge, *(one.instead("one task a worktree") for one in _other_worktree(repository)))


def one_active(repository: Repository) -> tuple[Step, ...]:
    """Begin a task in another worktree, or put the active one away."""
    purge = taskctx("purge", why="puts that one away")
    others = tuple(one.because("one task a worktree") for one in _other_worktree(repository))
    return (*others, purge.instead("put this one away")) if others else (purge,)


def _other_worktree(repository: Repository) -> Iterator[Step]:
    """Yield what makes another worktree, where nothing is yet; git adds none without a commit."""
    if repository.head().commit is None:
        return
    for number in itertools.count(1):
        name = f"other-{number}" if number > 1 else "other"
        place = repository.toplevel.parent / name
        if not os.path.lexists(place) and find_ref(repository.git, f"refs/heads/{name}") is None:
            yield Step(("git", "worktree", "add", f"../{name}")).then("cd", f"../{name}")
            return


def alive_elsewhere(folder: Path) -> tuple[Step, ...]:
    """Put a context away in the worktree that it is alive in."""
    return (Step(("git", "-C", os.fspath(folder), "taskctx", "purge")),)


def no_task_id(path: Path) -> tuple[Step, ...]:
    """Take away what names no task."""
    return (Step(("rm", os.fspath(path))).then("git", "taskctx", "status"),)


def no_ledger() -> tuple[Step, ...]:
    """Begin a task, so that there is something to send."""
    return (taskctx("init", "TASK-1", *_TITLE),)


def which_task() -> tuple[Step, ...]:
    """Name the task whose snapshots are to be sent."""
    return (taskctx("push", "REMOTE", "--with-snapshots", "--task", "ID"),)


def which_remote() -> tuple[Step, ...]:
    """Name the remote."""
    return (taskctx("fetch", "REMOTE", why="`git remote -v` lists them"),)


def whose_records(revision: str) -> tuple[Step, ...]:
    """Name the task whose records are meant."""
    return (taskctx("adopt", revision, "--task", "TASK-1"),)


def forked(sides: Sequence[tuple[str, str]]) -> tuple[Step, ...]:
    """Choose a side; each is the hash of a record and what it is."""
    return tuple(taskctx("resolve-drift", "--note", "WHY", "--holds", sha[:12], why=why) for sha, why in sides)


def saved(context: str, number: int) -> tuple[Step, ...]:
    """Bring back what was there before a restore that failed half-way."""
    return (undo(context, number).because("what was there before"),)


def ended_elsewhere(repository: Repository, commit: CommitOid) -> tuple[Step, ...]:
    """Bring the commit of a task that ended elsewhere to where its files may lie in the worktree."""
    if repository.is_ancestor(commit, "HEAD"):
        return ()
    if not repository.git.run("status", "--porcelain", "-z").out:
        return (Step(("git", "pull"), "brings its commit"),)
    aside = Step(("git", "stash", "-u")).then("git", "pull")
    return (aside.because("its files are in its commit; the stash keeps what lies here"),)


# Beginning a task, and its text


def begin_with_title(task: str, *, named: bool = False) -> tuple[Step, ...]:
    """Begin a task without a file; `named` says that one was named, and is not read."""
    elsewhere = taskctx("init", task, "--task-file", "FILE").instead("where it lies elsewhere")
    return (taskctx("init", task, *_TITLE), *(() if named else (elsewhere,)))


def not_in_list(ids: Sequence[str], name: str) -> tuple[Step, ...]:
    """Begin a task that a list of tasks holds."""
    return (taskctx("init", ids[0], "--task-file", os.fsdecode(unquote(name)), why="or another one of them"),)


def put_in_file(task: str) -> tuple[Step, ...]:
    """Begin a task with a text that is too long for the command line."""
    return (taskctx("init", task, "--task-file", "FILE", why="put it into a task file"),)


def name_agents(task: str) -> tuple[Step, ...]:
    """Begin a task with a chain of its own."""
    return (taskctx("init", task, "--agents", "A,B,C"),)


def not_ready(
    name: str, again: Sequence[str], *, filled: bool, status: bool, criterion: bool = False, task: str = ""
) -> tuple[Step, ...]:
    """Fill a task file in, or take it whatever its status says; `again` is what was typed.

    `criterion` says that only criteria are missing, and `task` is the id that the file should have.
    """
    if task:
        return (taskctx(*again, why=f"once the id in {name} is {task}, or with its own id"),)
    step = taskctx(*again, why=f"once {name} is filled in")
    if not status:
        return (step, taskctx(*again, "--criterion", "what must hold")) if criterion else (step,)
    why = f"or set the status in {name}" if filled else f"once {name} is filled in; or set its status"
    return (taskctx(*again, "--any-status", why=why),)


def several(situations: Sequence[Situation]) -> tuple[Step, ...]:
    """Do what each of several problems asks for."""
    return tuple(step for one in situations for step in steps_for(one))


def captured(task: str) -> tuple[Step, ...]:
    """Look at what was captured."""
    return (taskctx("get", "--task", task),)


def rebuild() -> tuple[Step, ...]:
    """Capture the text anew."""
    return (taskctx("rebuild"),)


def outside_scope(paths: Sequence[str]) -> tuple[Step, ...]:
    """Undo changes outside the scope; paths as they are quoted."""
    return (taskctx("restore", "--agent", "init", *_only(paths), why="undoes them"),)


def _only(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for path in paths for word in ("--paths", f":/{os.fsdecode(unquote(path))}"))


# Evidence


def no_evidence(ids: Sequence[str]) -> tuple[Step, ...]:
    """Look what there is."""
    return (taskctx("evidence", "list", why=f"there is: {', '.join(ids) or 'none'}"),)


def too_much_evidence() -> tuple[Step, ...]:
    """Take less."""
    return (taskctx("evidence", "list", why="put several files into one"),)


def type(words: Sequence[str]) -> tuple[Step, ...]:
    """Type what was meant."""
    return (taskctx(*words),)


def help_on(verb: str) -> tuple[Step, ...]:
    """Look how a verb is typed."""
    return (taskctx(verb, "-h"),)


def sweep_with_age() -> tuple[Step, ...]:
    """Give an age."""
    return (taskctx("sweep", "--ttl", "7d"),)
