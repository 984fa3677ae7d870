"""A task's commits: which the gate allows, which were made since the last record, and which bypassed it."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.commits.made import commits_since
from git_taskctx.commits.managers import is_gated
from git_taskctx.context.session import Event, Session
from git_taskctx.context.volatile import is_volatile
from git_taskctx.errors import Refused
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.index import IndexCopy
from git_taskctx.git.private import private_folder
from git_taskctx.git.quoting import quote
from git_taskctx.ledger.chain import Chain
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Bypass, Part, Rebase
from git_taskctx.model.policy import NO_VERIFY
from git_taskctx.model.snapshot import Change
from git_taskctx.model.values import replace
from git_taskctx.situation import Situation

SHOWN = 5
"""Maximum number of names in a sentence."""


def require_settled(session: Session) -> None:
    """Refuse a commit with unresolved drift, or by policy while an agent is at work. Raises: Refused, Fatal."""
    session.require_open()
    chain = session.chain
    if chain.at_work and session.context.policy.commit.require != "budget":
        raise Refused(
            f"{chain.owner} has been at work since {chain.since}, and nothing it does now has been approved",
            Situation("chain.working", agent=chain.owner),
        )


def require_approved(session: Session) -> None:
    """Refuse a commit with open findings, or by policy before every agent is done. Raises: Refused."""
    chain = session.chain
    if chain.open_findings:
        first = chain.open_findings[0]
        raise Refused(
            f"findings are open: {_listed([f'{one.id} (by {one.by})' for one in chain.open_findings])}",
            Situation("chain.finding_open", finding=first),
        )
    if session.context.policy.commit.require == "validated" and not chain.validated:
        missing = [agent for agent in chain.agents if not chain.seats[agent].approves]
        raise Refused(
            f"not validated: {_listed(missing)} {'has' if len(missing) == 1 else 'have'} not approved this tree",
            Situation("chain.not_done", session=session, agent=missing[0]),
        )


def require_tree(session: Session, parent: CommitOid | None, held: TreeOid) -> bool:
    """Return whether a commit with tree `held` on `parent` is the whole task; False for an allowed part.

    Raises: Refused for another parent, for a path that equals neither the parent's nor the agents' entry, and by policy
    for a part; CouldNotTell when objects are missing.
    """
    chain, repository = session.chain, session.repository
    expected = session.require_snapshot()
    if parent != chain.parent and not is_amended_part(chain, parent):
        raise Refused(
            f"the task must be one commit on {_short(chain.parent)}, and this one sits on {_short(parent)}",
            Situation("chain.other_parent"),
        )
    base, wanted = repository.tree_of(parent), expected.commit_tree
    missing = [
        change
        for change in compare_trees(repository, wanted, held)
        if not is_volatile(session.context, session.repository.objects, [change])
    ]
    if not missing:
        return True
    touched = {change.path for change in compare_trees(repository, base, held)}
    foreign = [change for change in missing if change.path in touched]
    if foreign:
        count = len(foreign)
        mine = {change.path for change in compare_trees(repository, base, wanted)}
        out, into = ([one.path for one in foreign if (one.path in mine) is its] for its in (False, True))
        raise Refused(
            f"{count} path{' differs' if count == 1 else 's differ'} from {expected.agent}'s snapshot {expected.n}",
            Situation("chain.not_the_tasks", session=session, out=out, into=into),
            paths=_names(foreign),
        )
    if not session.context.policy.commit.partial:
        count = len(missing)
        raise Refused(
            f"only a part of the task: {count} path{'s of it are' if count > 1 else ' of it is'} not staged "
            "(commit.partial)",
            Situation("chain.not_staged", session=session),
            paths=_names(missing),
        )
    return False


def is_amended_part(chain: Chain, parent: CommitOid | None) -> bool:
    """Return whether a commit on `parent` would replace the task's last part."""
    last = chain.parts[-1] if chain.parts else None
    return last is not None and (last.commit, last.parent) == (chain.parent, parent)


def unrecorded(session: Session, *, gated: bool | None = None) -> list[Event]:
    """Return the records due for parts of the task and for commits that bypassed the gate.

    `gated` says whether there is a gate here; None finds out, if there is anything to record.
    """
    if session.archived or session.edited:
        return []
    events: list[Event] = []
    probe = replace(session)
    for commit, how in commits_since(session):
        due = _records_of(probe, commit, how)
        if due and due[0].type == "bypass":
            gated = is_gated(session.repository) if gated is None else gated
            due = due if gated else []
        for event in due:
            probe.chain = probe.chain.apply(probe.draft(event, probe.chain.since, 0))
        events += due
    return events


def keep_up(session: Session, *, gated: bool | None = None) -> tuple[str, ...]:
    """Record what was committed since the last record; return messages. Raises: as `commit`."""
    notices = []
    for event in unrecorded(session, gated=gated):
        commit = event.commit or ""
        payload = event.payload
        if isinstance(payload, Part):
            with private_folder(session.repository) as folder:
                index_tree = IndexCopy(session.repository, folder).write_tree(session.repository.git)
            event = replace(event, payload=replace(payload, index_tree=index_tree))
            notices.append(f"{session.task}: commit {commit[:12]} is a part of it, and it goes on")
        elif isinstance(payload, Bypass):
            notices.append(f"{session.task}: commit {commit[:12]} bypassed the gate: {payload.reason}")
        on = (commit,) if event.type == "part" else ()
        session.commit([event], on=on, reason=f"{session.task}: {event.type} {commit[:12]}")
    return tuple(notices)


def _records_of(session: Session, commit: CommitOid, how: str) -> list[Event]:
    """Return the records due for one commit; none for the one that ends the task."""
    chain, repository = session.chain, session.repository
    held = repository.tree_of(commit)
    parent = repository.parent_of(commit)
    try:
        require_settled(session)
        require_approved(session)
        if chain.at_work:
            return []
        whole = require_tree(session, parent, held)
    except Refused as error:
        if commit in chain.bypassed:
            return []
        reason = error.message.split("\n")[0]
        return [Event(Bypass(NO_VERIFY, how, reason), chain.owner, commit_tree=held, commit=commit)]
    amended = [_moved_back(chain, parent)] if parent != chain.parent else []
    if whole and chain.validated:
        return amended
    # A whole commit before the chain is done can still be the one that ends it.
    part = Part(parent=parent if whole else commit, previous_parent=chain.parent)
    return [*amended, Event(part, chain.owner, tree=chain.settled_tree, commit_tree=held, commit=commit)]


def _moved_back(chain: Chain, parent: CommitOid | None) -> Event:
    payload = Rebase(parent=parent, previous_parent=chain.parent, amended=True)
    return Event(payload, chain.owner, tree=chain.settled_tree, commit=parent, base=chain.base)


def _listed(names: Sequence[str]) -> str:
    """Return a list of names in words, at most `SHOWN`."""
    shown = [*names[:SHOWN], f"{len(names) - SHOWN} more"] if len(names) > SHOWN else names
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _names(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(quote(change.path) for change in changes)


def _short(commit: CommitOid | None) -> str:
    return commit[:12] if commit else "no commit"
