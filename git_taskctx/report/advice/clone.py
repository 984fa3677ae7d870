"""Steps to fetch a context, its files or its records, to put one away, or to begin another."""

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
    """Suggest bringing back the task that was put away last, or what is left of it, and beginning a new one."""
    waiting, ways = list[Context](), list[Step]()
    with contextlib.suppress(TaskctxError):  # what does not read is no reason not to begin anew
        waiting = find_waiting(replace(caller, context_id=None))
        if waiting:
            ways += _of_last(caller, waiting[-1])
    return (*ways, taskctx("init", _free(waiting), *_TITLE))


def find_free(caller: Caller) -> str:
    """Return the first id that no task has whose context was put away."""
    return _free(find_waiting(replace(caller, context_id=None)))


def _free(taken: Sequence[Context]) -> str:
    ids = {one.task_id for one in taken}
    return next(f"TASK-{number}" for number in itertools.count(1) if f"TASK-{number}" not in ids)


def _of_last(caller: Caller, last: Context) -> tuple[Step, ...]:
    with open_session(replace(caller, task=last.task_id, context_id=last.context_id), write=False) as session:
        return ended(session) if session.over or holds_nothing_new(session) else brings_back(session.task)


def find_recoverable(caller: Caller) -> str | None:
    """Return the task that `recover` would bring back, or None."""
    for one in reversed(find_waiting(replace(caller, context_id=None))):
        named = replace(caller, task=one.task_id, context_id=one.context_id)
        with contextlib.suppress(TaskctxError), open_session(named, write=False) as session:
            if not session.over:
                return session.task
    return None


def recover(task: str) -> tuple[Step, ...]:
    """Suggest recovering a context."""
    return (taskctx("recover", task),)


def put_away(task: str, where: str = "") -> tuple[Step, ...]:
    """Suggest recovering a context where it belongs."""
    return (taskctx("recover", task, why=where),)


def goes_on_here(task: str, *, is_active: bool) -> Step:
    """Return how to go on with a task whose snapshots were fetched."""
    return taskctx("status") if is_active else taskctx("recover", task, why="goes on with it here")


def brings_back(task: str) -> tuple[Step, ...]:
    """Suggest bringing back what was just put away."""
    return (taskctx("recover", task, why="brings it back"),)


def known() -> tuple[Step, ...]:
    """Suggest listing the contexts."""
    return (taskctx("list"),)


def log_of(task: str, context: str | None = None) -> tuple[Step, ...]:
    """Suggest the log of a task."""
    return (taskctx("log", "--task", task, *(("--context", context) if context else ())),)


def records(session: Session) -> tuple[Step, ...]:
    """Suggest the log of the current task."""
    named = () if session.caller.task is None else ("--task", session.task)
    return (taskctx("log", *named),)


def not_known(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching an unknown context from a remote, or listing the known ones."""
    names = remotes_of(repository.git)
    brings = [taskctx("fetch", likely_remote(names), "--with-snapshots", why="where another clone has it")]
    return (*brings[: len(names)], taskctx("list"))


def no_record(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching what others recorded, if there is a remote."""
    if not remotes_of(repository.git):
        return known()
    return (taskctx("fetch", why="brings what others recorded"),)


def not_all_here(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching what is missing from a report."""
    words = ("fetch", likely_remote(remotes_of(repository.git)), "--with-snapshots")
    return (taskctx(*words, why="where another clone has what is missing"),)


def fetch(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching the records."""
    return (fetch_from(repository),)


def fetch_from(repository: Repository) -> Step:
    """Return how to fetch the records of the likely remote."""
    return taskctx("fetch", likely_remote(remotes_of(repository.git)))


def not_the_ledgers(task: str) -> tuple[Step, ...]:
    """Suggest fetching the files that the ledger names, or putting the context away as it is."""
    return (
        _SNAPSHOTS.because("where another clone went on with it"),
        taskctx("recover", task),
        taskctx("purge", "--all", why="puts it away as it is"),
    )


def went_on_elsewhere() -> tuple[Step, ...]:
    """Suggest fetching what another clone recorded."""
    return (_SNAPSHOTS.because("where another clone went on with it"),)


def only_ledger(task: str) -> tuple[Step, ...]:
    """Suggest fetching a context of which only the records are here."""
    return (
        _SNAPSHOTS.because("where another clone has it"),
        Step(("git", "log", "--grep", f"^taskctx: {task}: ", NOTES_REF), "what is known about it"),
    )


def other_active(repository: Repository) -> tuple[Step, ...]:
    """Suggest putting the active task away, or using another worktree."""
    purge = taskctx("purge", why="puts that one away")
    return (purge, *(one.instead("one task a worktree") for one in _other_worktree(repository)))


def one_active(repository: Repository) -> tuple[Step, ...]:
    """Suggest another worktree for the new task, or putting the active one away."""
    purge = taskctx("purge", why="puts that one away")
    others = tuple(one.because("one task a worktree") for one in _other_worktree(repository))
    return (*others, purge.instead("put this one away")) if others else (purge,)


def _other_worktree(repository: Repository) -> Iterator[Step]:
    """Yield the command for a new worktree at a free path; git needs a commit for one."""
    if repository.head().commit is None:
        return
    for number in itertools.count(1):
        name = f"other-{number}" if number > 1 else "other"
        place = repository.toplevel.parent / name
        if not os.path.lexists(place) and find_ref(repository.git, f"refs/heads/{name}") is None:
            yield Step(("git", "worktree", "add", f"../{name}")).then("cd", f"../{name}")
            return


def alive_elsewhere(folder: Path) -> tuple[Step, ...]:
    """Suggest putting a context away in the worktree where it is active."""
    return (Step(("git", "-C", os.fspath(folder), "taskctx", "purge")),)


def no_task_id(path: Path) -> tuple[Step, ...]:
    """Suggest removing a note that names no task."""
    return (Step(("rm", os.fspath(path))).then("git", "taskctx", "status"),)


def no_ledger() -> tuple[Step, ...]:
    """Suggest beginning a task, so that there is something to push."""
    return (taskctx("init", "TASK-1", *_TITLE),)


def which_task() -> tuple[Step, ...]:
    """Suggest naming the task whose snapshots to push."""
    return (taskctx("push", "REMOTE", "--with-snapshots", "--task", "ID"),)


def which_remote() -> tuple[Step, ...]:
    """Suggest naming the remote."""
    return (taskctx("fetch", "REMOTE", why="`git remote -v` lists them"),)


def whose_records(revision: str) -> tuple[Step, ...]:
    """Suggest naming the task whose records to adopt."""
    return (taskctx("adopt", revision, "--task", "TASK-1"),)


def forked(sides: Sequence[tuple[str, str]]) -> tuple[Step, ...]:
    """Suggest a command for each side of a fork: the hash of a record, and what that side is."""
    return tuple(taskctx("resolve-drift", "--note", "WHY", "--holds", sha[:12], why=why) for sha, why in sides)


def saved(context: str, number: int) -> tuple[Step, ...]:
    """Suggest undoing a restore that failed half-way."""
    return (undo(context, number).because("what was there before"),)


def ended_elsewhere(repository: Repository, commit: CommitOid) -> tuple[Step, ...]:
    """Suggest pulling the commit of a task that ended elsewhere, past files of it in the worktree."""
    if repository.is_ancestor(commit, "HEAD"):
        return ()
    if not repository.git.run("status", "--porcelain", "-z").out:
        return (Step(("git", "pull"), "brings its commit"),)
    aside = Step(("git", "stash", "-u")).then("git", "pull")
    return (aside.because("its files are in its commit; the stash keeps what lies here"),)


# Beginning a task, and its text


def begin_with_title(task: str, *, named: bool = False) -> tuple[Step, ...]:
    """Suggest beginning a task without a file; `named` if a file was named but cannot be read."""
    elsewhere = taskctx("init", task, "--task-file", "FILE").instead("where it lies elsewhere")
    return (taskctx("init", task, *_TITLE), *(() if named else (elsewhere,)))


def not_in_list(ids: Sequence[str], name: str) -> tuple[Step, ...]:
    """Suggest beginning a task of a list of tasks."""
    return (taskctx("init", ids[0], "--task-file", os.fsdecode(unquote(name)), why="or another one of them"),)


def put_in_file(task: str) -> tuple[Step, ...]:
    """Suggest a task file for a text that is too long for the command line."""
    return (taskctx("init", task, "--task-file", "FILE", why="put it into a task file"),)


def name_agents(task: str) -> tuple[Step, ...]:
    """Suggest beginning a task with its own chain of agents."""
    return (taskctx("init", task, "--agents", "A,B,C"),)


def not_ready(
    name: str, again: Sequence[str], *, filled: bool, status: bool, criterion: bool = False, task: str = ""
) -> tuple[Step, ...]:
    """Suggest completing a task file, or beginning whatever its status; `again` is what was typed.

    `criterion` if only criteria are missing; `task` is the id that the file should have.
    """
    if task:
        return (taskctx(*again, why=f"once the id in {name} is {task}, or with its own id"),)
    step = taskctx(*again, why=f"once {name} is filled in")
    if not status:
        return (step, taskctx(*again, "--criterion", "what must hold")) if criterion else (step,)
    why = f"or set the status in {name}" if filled else f"once {name} is filled in; or set its status"
    return (taskctx(*again, "--any-status", why=why),)


def several(situations: Sequence[Situation]) -> tuple[Step, ...]:
    """Return the steps for several problems."""
    return tuple(step for one in situations for step in steps_for(one))


def captured(task: str) -> tuple[Step, ...]:
    """Suggest looking at what was captured."""
    return (taskctx("get", "--task", task),)


def rebuild() -> tuple[Step, ...]:
    """Suggest capturing the text again."""
    return (taskctx("rebuild"),)


def outside_scope(paths: Sequence[str]) -> tuple[Step, ...]:
    """Suggest undoing changes outside the scope; `paths` are quoted."""
    return (taskctx("restore", "--agent", "init", *_only(paths), why="undoes them"),)


def _only(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for path in paths for word in ("--paths", f":/{os.fsdecode(unquote(path))}"))


# Evidence


def no_evidence(ids: Sequence[str]) -> tuple[Step, ...]:
    """Suggest listing the evidence."""
    return (taskctx("evidence", "list", why=f"there is: {', '.join(ids) or 'none'}"),)


def too_much_evidence() -> tuple[Step, ...]:
    """Suggest keeping fewer files."""
    return (taskctx("evidence", "list", why="put several files into one"),)


def type(words: Sequence[str]) -> tuple[Step, ...]:
    """Suggest the corrected command."""
    return (taskctx(*words),)


def help_on(verb: str) -> tuple[Step, ...]:
    """Suggest the help of a verb."""
    return (taskctx(verb, "-h"),)


def sweep_with_age() -> tuple[Step, ...]:
    """Suggest giving an age."""
    return (taskctx("sweep", "--ttl", "7d"),)
