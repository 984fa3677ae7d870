"""Capture the immutable block again; nothing else changes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from git_taskctx.config import Config
from git_taskctx.context.gather import POLICY_FILE, Captured, Given, Ground, capture_file, capture_words, committed_in
from git_taskctx.context.guard import refuse_task
from git_taskctx.context.session import Event, Session, commands_of, with_baseline
from git_taskctx.context.staleness import read_task_file_bytes
from git_taskctx.errors import Refused
from git_taskctx.git.quoting import unquote
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.begin import InitRequest
from git_taskctx.ledger.kept import TASK_FILE
from git_taskctx.model.codec import to_plain
from git_taskctx.model.context import Context, Immutable
from git_taskctx.model.oids import BlobOid, CommitOid
from git_taskctx.model.payloads import Rebuild
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation

UNCOUNTED = ("sources", "repo_paths")
"""Parts of the block that follow from line numbers and the tree, and are not the task's text."""


@dataclass(frozen=True)
class Newer:
    """Another policy to use."""

    commit: CommitOid
    config: Config


@dataclass(frozen=True)
class FieldChange:
    """A changed field of the block or the policy."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Rebuilt:
    changes: tuple[FieldChange, ...]
    """Empty where the text is the same, and nothing was written."""
    voided: tuple[str, ...]
    """Agents whose approval of the old text is void."""
    warnings: tuple[str, ...] = ()
    same_text: bool = False
    """True when only sections of standards moved, so that approvals stand."""


def rebuild(session: Session, *, any_status: bool = False, newer: Newer | None = None) -> Rebuilt:
    """Capture the task again; coordination stays, approvals of the old text are void.

    Raises: Refused without the task file, by its gates, or for a policy with other agents; BadData for an unreadable
    file.
    """
    session.require_open(may_be_blocked=True)
    context = session.context
    with read_worktree(session.repository, keep=False) as reading:
        captured = _capture(session, _ground(session, newer, reading), any_status=any_status, alone=newer is None)
    captured = replace(captured, immutable=with_baseline(captured.immutable, session.chain.baseline))
    policy = _of_the_chain(session, newer.config) if newer else context.policy
    warnings = (*(newer.config.warnings if newer else ()), *captured.warnings)
    pipelines = newer.config.pipelines if newer else context.pipelines
    new = context.replace(immutable=captured.immutable, policy=policy, pipelines=pipelines)
    changes = tuple(_differences(_shown(context), _shown(new)))
    if not changes:
        return Rebuilt((), (), warnings)
    refuse_task(session.caller, policy.secrets, captured.immutable, captured.path, captured.data)
    same_text = _same_text(changes, context.immutable, captured.immutable)
    approved = tuple(agent for agent, seat in session.chain.seats.items() if seat.approves)
    edits: dict[str, Any] = {"immutable": captured.immutable, "policy": policy, "pipelines": pipelines}
    sha = None
    if captured.data is not None:
        sha = BlobOid(session.repository.objects.hash("blob", captured.data))
        edits["git"] = replace(context.git, task_file_sha=sha)
    payload = Rebuild(
        fields=tuple(change.field for change in changes),
        capture=captured.capture,
        commands=commands_of(captured.immutable),
        task_file_sha=sha,
        policy_commit=newer.commit if newer is not None else None,
        same_text=same_text,
    )
    session.commit(
        [Event(payload, session.chain.owner)],
        changes=edits,
        kept={TASK_FILE: captured.data} if captured.data is not None else {},
        reason=f"{session.task}: rebuilt",
    )
    return Rebuilt(changes, () if same_text else approved, warnings, same_text)


def _of_the_chain(session: Session, config: Config) -> Policy:
    """Return a newer policy with the agents of the chain, which stay. Raises: Refused where a proof requires others."""
    agents = session.chain.agents
    if config.agents not in (None, agents):
        raise Refused(
            f"the chain of {session.task} was fixed when it began, as {', '.join(agents)}; "
            f"this policy names {', '.join(config.policy.agents)}, and no proof by it would hold",
            Situation("clone.begin_anew", repository=session.repository, again=_again(session)),
        )
    return replace(config.policy, agents=session.context.policy.agents)


def _again(session: Session) -> tuple[str, ...]:
    """Return the command that begins the task anew with the agents of the policy."""
    block, path = session.context.immutable, session.context.git.task_file
    if path is None:
        words = block.task_snapshot
        return InitRequest(session.task, words.title, words.description, words.acceptance_criteria).words()
    given, is_found = Given.of(block), Path(path).name.startswith(session.task)
    named = None if is_found else os.fsdecode(unquote(path))
    return InitRequest(session.task, given.title, given.description, given.criteria, named).words()


def _ground(session: Session, newer: Newer | None, reading: Reading) -> Ground:
    """Return the ground to capture on: the policy in force, with the files that it names as of its own commit."""
    if newer is not None:
        return Ground(newer.config.policy, newer.commit, reading, committed_in(newer.config))
    records = [entry.record for entry in session.entries]
    said = (record.payload for record in reversed(records))
    taken = (one.policy_commit for one in said if isinstance(one, Rebuild) and one.policy_commit is not None)
    committed = next(iter(session.chain.capture.oids("policy")), POLICY_FILE)
    return Ground(session.context.policy, next(taken, records[0].base), reading, committed)


def _capture(session: Session, ground: Ground, *, any_status: bool, alone: bool) -> Captured:
    """Capture the task from its source; the command line's words stay. `alone`: there must be a text to capture."""
    old, path = session.context.immutable, session.context.git.task_file
    if path is None:
        captured = capture_words(old.task_snapshot, ground)
        if alone and not (captured.immutable.standards_citations or old.standards_citations):
            raise Refused(
                f"{session.task} was not captured from a file, and cites no standard",
                Situation("clone.captured", task=session.task),
            )
        return captured
    data = read_task_file_bytes(session.repository, path)
    if data is None:
        raise Refused(f"the task file {path} is gone", Situation("clone.captured", task=session.task))
    task, again = session.task, ("rebuild",)
    return capture_file(path, data, ground, task=task, any_status=any_status, again=again, given=Given.of(old))


def _shown(context: Context) -> dict[str, Any]:
    """Return what counts of the block, the policy and the pipelines, with citations by section."""
    plain = {key: value for key, value in to_plain(context.immutable).items() if key not in UNCOUNTED}
    citations = {
        f"{one['file']}#{one['section']}": {key: value for key, value in one.items() if key != "text"}
        for one in plain["standards_citations"]  # of the text its hash says the same
    }
    shown = {**plain, "standards_citations": citations, "policy": to_plain(context.policy)}
    return shown if context.pipelines is None else {**shown, "pipelines": to_plain(context.pipelines)}


def _same_text(changes: tuple[FieldChange, ...], old: Immutable, new: Immutable) -> bool:
    """Return whether sections of standards moved without any change of words."""
    said = [{(one.content_sha, one.requirement) for one in block.standards_citations} for block in (old, new)]
    return said[0] == said[1] and all(change.field.startswith("standards_citations.") for change in changes)


def _differences(old: Any, new: Any, name: str = "") -> Iterator[FieldChange]:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        if old != new:
            yield FieldChange(name, old, new)
        return
    for key in sorted(old.keys() | new.keys()):
        yield from _differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
