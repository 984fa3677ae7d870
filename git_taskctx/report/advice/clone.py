"""Steps to fetch a context, its files or its records, to put one away, or to begin another."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence

from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import find_waiting, open_session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.refs import find_ref
from git_taskctx.git.remote import remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.whereabouts import likely_remote
from git_taskctx.model.context import Context
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.step import Step, taskctx
from git_taskctx.model.values import replace
from git_taskctx.report.advice import steps_for
from git_taskctx.report.advice.chain import ended, holds_nothing_new
from git_taskctx.report.advice.fixed import TITLE
from git_taskctx.situation import Situation


def nothing_active(caller: Caller) -> tuple[Step, ...]:
    """Suggest bringing back the task that was put away last, or what is left of it, and beginning a new one."""
    waiting, ways = list[Context](), list[Step]()
    with contextlib.suppress(TaskctxError):  # what does not read is no reason not to begin anew
        waiting = find_waiting(replace(caller, context_id=None))
        if waiting:
            ways += _of_last(caller, waiting[-1])
    return (*ways, taskctx("init", _free(waiting), *TITLE))


def find_free(caller: Caller) -> str:
    """Return the first id that no task has whose context was put away."""
    return _free(find_waiting(replace(caller, context_id=None)))


def _free(taken: Sequence[Context]) -> str:
    ids = {one.task_id for one in taken}
    return next(f"TASK-{number}" for number in itertools.count(1) if f"TASK-{number}" not in ids)


def _of_last(caller: Caller, last: Context) -> tuple[Step, ...]:
    with open_session(replace(caller, task=last.task_id, context_id=last.context_id), write=False) as session:
        if session.over or holds_nothing_new(session):
            return ended(session)
        return (taskctx("recover", session.task, why="brings it back"),)


def find_recoverable(caller: Caller) -> str | None:
    """Return the task that `recover` would bring back, or None."""
    for one in reversed(find_waiting(replace(caller, context_id=None))):
        named = replace(caller, task=one.task_id, context_id=one.context_id)
        with contextlib.suppress(TaskctxError), open_session(named, write=False) as session:
            if not session.over:
                return session.task
    return None


def goes_on_here(task: str, *, is_active: bool) -> Step:
    """Return how to go on with a task whose snapshots were fetched."""
    return taskctx("status") if is_active else taskctx("recover", task, why="goes on with it here")


def not_known(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching an unknown context from a remote, or listing the known ones."""
    names = remotes_of(repository.git)
    brings = [taskctx("fetch", likely_remote(names), "--with-snapshots", why="where another clone has it")]
    return (*brings[: len(names)], taskctx("list"))


def no_record(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching what others recorded, if there is a remote."""
    if not remotes_of(repository.git):
        return (taskctx("list"),)
    return (taskctx("fetch", why="brings what others recorded"),)


def not_all_here(repository: Repository) -> tuple[Step, ...]:
    """Suggest fetching what is missing from a report."""
    words = ("fetch", likely_remote(remotes_of(repository.git)), "--with-snapshots")
    return (taskctx(*words, why="where another clone has what is missing"),)


def fetch(repository: Repository) -> Step:
    """Suggest fetching the records of the likely remote."""
    return taskctx("fetch", likely_remote(remotes_of(repository.git)))


def other_active(repository: Repository) -> tuple[Step, ...]:
    """Suggest putting the active task away, or using another worktree."""
    purge = taskctx("purge", why="puts that one away")
    return (purge, *(one.instead("one task per worktree") for one in _other_worktree(repository)))


def one_active(repository: Repository) -> tuple[Step, ...]:
    """Suggest another worktree for the new task, or putting the active one away."""
    purge = taskctx("purge", why="puts that one away")
    others = tuple(one.because("one task per worktree") for one in _other_worktree(repository))
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


def begin_anew(repository: Repository, again: Sequence[str]) -> Step:
    """Suggest beginning the task once more, with what lies in the worktree as work of the first agent."""
    aside = bool(repository.git.run("status", "--porcelain", "-z").out)
    words = [("git", "taskctx", "purge"), ("git", "taskctx", *again)]
    if aside:
        words = [("git", "stash", "-u"), *words, ("git", "stash", "pop")]
    return Step(words[0], "begins anew with them; or take agents out of the policy", after=tuple(words[1:]))


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
    elsewhere = taskctx("init", task, "--task-file", "FILE").instead("if it is somewhere else")
    return (taskctx("init", task, *TITLE), *(() if named else (elsewhere,)))


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


# Evidence
