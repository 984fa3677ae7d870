"""Complete a task: seal its commit, run the notifier, put the context away.

The notifier comes from `git config` alone, never from a repository's files.
"""

from __future__ import annotations

import os
import subprocess
import sys

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.commits.commits import keep_up
from git_taskctx.commits.seal import is_committed, not_put_away, put_away, seal
from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.errors import BadData, Fatal, Refused, TaskctxError
from git_taskctx.git.notes import NOTES_REF, read_note
from git_taskctx.git.refs import find_ref
from git_taskctx.handoff.lifecycle import recover
from git_taskctx.limits import GIT_SECONDS
from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.record import Record, load_record
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.situation import ASIDE, Situation


@dataclass(frozen=True)
class Completed:
    task: str
    context_id: str
    commit: CommitOid
    title: str
    violated: str | None = None
    """Why its proof is known to be violated."""
    again: str | None = None
    """The command that makes the commit again."""
    notified: int | None = None
    """Exit code of the notifier."""
    warnings: tuple[str, ...] = ()
    """Why its context could not be put away."""
    situation: Situation | None = field(default=None, repr=False, compare=False, metadata=ASIDE)


def complete(caller: Caller, *, notifier: str | None) -> Completed:
    """End the task whose validated tree has been committed, and run the notifier; repeatable for a finished task.

    Without a task, and none active, it is the one that HEAD ended. Raises: Refused before the task's commit; Fatal
    where there is no such task.
    """
    caller = _named(caller)
    with open_session(caller, write=False) as session:
        task, archived, commit = session.task, session.archived, session.chain.sealed
        title, context_id = session.context.immutable.task_snapshot.title, session.context.context_id
        waits = archived and commit is None and is_committed(replace(session, archived=False))
    if waits:
        recover(caller, task)
    active = replace(caller, task=task, context_id=None)
    if waits or not archived:
        commit = _seal_task(active)
    if commit is None:
        raise Refused(f"{task} was put away before it was committed", Situation("clone.recover", task=task))
    with open_session(replace(caller, task=task, context_id=context_id), write=False) as session:
        around = find_bypassed(session, commit)
    done = Completed(task, context_id, commit, title)
    if around is not None:
        done = replace(done, violated=f"commit {commit[:12]} is what was validated, but {around.reason}")
    notified = _notify(caller, done, notifier) if notifier else None
    warnings = _put_away(active) if waits or not archived else ()
    then = Situation("chain.completed", task=task, found=around, notified=notified)
    return replace(done, notified=notified, warnings=warnings, situation=then)


def _put_away(caller: Caller) -> tuple[str, ...]:
    """Archive a sealed task, unless that is already done; return why it cannot be."""
    try:
        with open_session(caller, write=True) as session:
            if not session.archived:
                put_away(session, reason="over")
    except TaskctxError as error:
        return (not_put_away(caller.task or "", error),)
    return ()


def _seal_task(caller: Caller) -> CommitOid:
    with open_session(caller, write=True) as session:
        keep_up(session)
        if not is_committed(session):
            what = "validated, and not committed yet" if session.chain.validated else "not validated"
            raise Refused(f"{session.task} is {what}", Situation("chain.next_steps", session=session))
        return seal(session)


def _named(caller: Caller) -> Caller:
    """Return the caller about the task that HEAD ended, if none is named or active."""
    store = caller.store
    store.check()
    if caller.task is not None or store.active() is not None or store.marker() is not None:
        return caller
    repository = caller.repository
    head = repository.find_commit("HEAD")
    lines = read_note(repository.objects, find_ref(repository.git, NOTES_REF), head) if head else []
    seals = [record for line in lines if (record := _seal_of(line, head)) is not None]
    if not seals:
        raise Fatal("no task context is active here, and HEAD ended none", Situation("clone.known"))
    return replace(caller, task=seals[-1].task, context_id=seals[-1].context)


def _seal_of(line: str, head: CommitOid | None) -> Record | None:
    try:
        record = load_record(line)
    except BadData:
        return None
    return record if record.type == "seal" and record.commit == head else None


def _notify(caller: Caller, done: Completed, command: str) -> int:
    """Run a user's command with facts about the task, its output on stderr; return its exit code."""
    facts = {"task": done.task, "context": done.context_id, "commit": done.commit, "title": done.title}
    names = {f"TASKCTX_{name.upper()}": value for name, value in facts.items()}
    sys.stderr.flush()
    try:
        ended = subprocess.run(
            ["sh", "-c", command],
            cwd=caller.repository.toplevel,
            env={**caller.repository.git.environ, **names},
            input=dump_canonical({"version": 1, **facts}),
            stdout=2,
            timeout=GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return os.EX_TEMPFAIL
    return ended.returncode
