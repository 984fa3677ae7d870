"""Record the worktree at the end of an agent's work; its tree comes from `git.worktree.read_worktree`."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from git_taskctx.context.caller import Caller
from git_taskctx.context.committree import commit_tree_of
from git_taskctx.context.guard import refuse_added, refuse_blobs
from git_taskctx.context.scope import outside, scope_hash_of
from git_taskctx.context.session import Event, Session
from git_taskctx.errors import CouldNotTell, Refused
from git_taskctx.git.changes import compare_trees, pair_renames
from git_taskctx.git.patch import LARGE, Patch, conflicted, find_large, make_patches
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import RefMove
from git_taskctx.git.repository import Head, Repository
from git_taskctx.git.worktree import Reading
from git_taskctx.handoff.before import FilesBefore
from git_taskctx.handoff.changed import write_list
from git_taskctx.handoff.head import follow_head
from git_taskctx.lean import regex
from git_taskctx.ledger.chain import Chain
from git_taskctx.model import payloads
from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.policy import SecretsPolicy
from git_taskctx.model.snapshot import Change, WorktreeSnapshot
from git_taskctx.model.values import dataclass, field
from git_taskctx.situation import Situation

UNTRACKED_SHOWN = 50
_LOST = "objects of the previous snapshot are missing"
_UNTRACKED = regex(rb"(?:^|(?<=\0))\? ([^\0]+)")


@dataclass(frozen=True)
class Options:
    """Options of a snapshot."""

    done: bool = False
    wip: bool = False
    allow_clean: bool = False
    attest: str | None = None
    """Why an unverified tree is attested."""
    accepted: bool = False
    """Recorded for the owner by whoever accepts drift."""
    takeover: bool = False
    """Recorded by a take-over."""


@dataclass(frozen=True)
class PreparedSnapshot:
    """A snapshot ready to be recorded."""

    events: list[Event]
    snapshot: WorktreeSnapshot
    files: Mapping[str, bytes]
    moves: list[RefMove]
    changes: int
    reopened: tuple[str, ...] = ()
    """Paths that changed since this owner's own snapshot, without a start."""
    warnings: tuple[str, ...] = ()


@dataclass
class _Draft:
    """Data collected for a snapshot."""

    session: Session
    reading: Reading
    chain: Chain
    agent: str
    n: int
    head: Head
    base: CommitOid | None
    parent: CommitOid | None
    warnings: list[str] = field(default_factory=list)


def take_snapshot(
    session: Session, reading: Reading, agent: str, options: Options, *, chain: Chain
) -> PreparedSnapshot:
    """Prepare the snapshot of the present worktree for `agent`, the owner in `chain`.

    Its objects are kept; nothing is recorded before the caller commits the result. Raises: Refused for a secret, a path
    out of scope by policy, or old content that would revert others' work; TryAgain when a file changed after the tree
    was read.
    """
    repository = reading.repository
    head = reading.head
    base, parent, events = follow_head(session, chain, reading, head, accepted=options.accepted)
    draft = _Draft(session, reading, chain, agent, len(chain.seats[agent].snapshots) + 1, head, base, parent)
    previous = chain.tenure_tree
    commit_tree = commit_tree_of(repository, chain, reading.tree, parent)
    patches = _make_patches(draft, commit_tree, previous)
    _refuse_secrets(draft, patches)
    work = {change.path for change in compare_trees(repository, repository.tree_of(base), commit_tree)}
    changes = compare_trees(repository, repository.tree_of(base), reading.tree)
    changes = pair_renames([change for change in changes if change.path in work])
    out_of_scope, own_out_of_scope = _check_scope(draft, changes, previous)
    status = reading.status
    hidden = reading.hidden
    draft.warnings += [f"{path} is left out: an editor keeps it beside a file" for path in reading.temporary]
    for change in hidden:
        draft.warnings.append(f"{change.path}: {change.kind}; its content is not in the snapshot")
    tree_before = repository.tree_of(base) if chain.previous_owner == "init" else chain.tenure_tree
    before = FilesBefore(session, reading, chain.previous_owner, tree_before, draft.warnings)
    side, side_sha = write_list(before.describe(changes), status, count=len(changes))
    untracked, untracked_count = _untracked(status, since_init=reading.find_changes(chain.init_tree) or changes)
    prefix = f"{agent}-{draft.n}"
    index_tree = reading.index_tree
    reading.keep()
    snapshot = WorktreeSnapshot(
        n=draft.n,
        base_commit=base,
        head=head.commit,
        branch=head.branch,
        snapshot_time=session.caller.now(),
        actor=session.caller.actor,
        wip=options.wip,
        tree=reading.tree,
        tree_ref=session.snapshot_ref(agent, draft.n),
        commit_tree=commit_tree,
        index_tree=index_tree,
        files=f"{prefix}-files.json.gz",
        files_sha=side_sha,
        files_count=len(changes),
        untracked=tuple(untracked),
        untracked_count=untracked_count,
        hidden=hidden,
        diff_from_base=f"{prefix}-from-base.diff.gz",
        diff_sha=patches[0].sha,
        diff_stat=patches[0].stat,
        previous_agent=chain.previous_owner,
        diff_from_previous=f"{prefix}-incremental.diff.gz" if patches[1] else None,
        incremental_diff_sha=patches[1].sha if patches[1] else None,
        incremental_diff_error=None if patches[1] else _LOST,
        scope_hash=scope_hash_of(reading, session.context, chain.expected),
        out_of_scope=out_of_scope,
        own_out_of_scope=own_out_of_scope,
        conflicts=conflicted(patches[0])[:UNTRACKED_SHOWN],
        in_progress=repository.operation(),
        verified_start=chain.tenure_verified,
        accepted=options.accepted,
    )
    files = {
        snapshot.files: side,
        snapshot.diff_from_base: patches[0].compressed(),
        f"metrics-{agent}.json": _metrics(draft, snapshot, patches[0]),
    }
    if patches[1] and snapshot.diff_from_previous:
        files[snapshot.diff_from_previous] = patches[1].compressed()
    moves = [session.keep(agent, draft.n, reading.tree)]
    if commit_tree != reading.tree:
        moves.append(session.keep(agent + "/commit-tree", draft.n, commit_tree))
    reopened = _reopened(chain, reading, options)
    events.append(_event(snapshot, agent, options, reopened))
    warnings = (*draft.warnings, *snapshot.unfinished)
    return PreparedSnapshot(events, snapshot, files, moves, len(changes), reopened, warnings)


def keep_new_content(caller: Caller, policy: SecretsPolicy, reading: Reading, *, since: TreeOid) -> None:
    """Keep a reading's objects unless they add a secret to a tree on record. Raises: Refused, keeping nothing."""
    if reading.tree != since:
        try:
            apart = find_large(reading.repository.toplevel, reading.changes_since(since))
            (patch,) = make_patches(reading.repository, [(since, reading.tree)], binaries=False, apart=apart)
        except CouldNotTell:  # an old blob is lost: what is new can be read whole
            refuse_blobs(caller, policy, reading, since)
        else:
            refuse_added(caller, policy, reading, since, patch)
    reading.keep()


def _event(snapshot: WorktreeSnapshot, agent: str, options: Options, reopened: tuple[str, ...]) -> Event:
    payload = payloads.Snapshot(
        n=snapshot.n,
        index_tree=snapshot.index_tree,
        branch=snapshot.branch,
        in_progress=snapshot.in_progress,
        scope_hash=snapshot.scope_hash,
        diff_stat=snapshot.diff_stat,
        files_count=snapshot.files_count,
        verified_start=snapshot.verified_start,
        done=options.done,
        wip=options.wip,
        allow_clean=options.allow_clean,
        attest=options.attest,
        accepted=options.accepted,
        takeover=options.takeover,
        reopened=reopened[:UNTRACKED_SHOWN],
        hidden=snapshot.hidden,
        out_of_scope=snapshot.out_of_scope[:UNTRACKED_SHOWN],
    )
    return Event(
        payload,
        agent,
        tree=snapshot.tree,
        commit_tree=snapshot.commit_tree,
        commit=snapshot.head,
        base=snapshot.base_commit,
        diff_sha=snapshot.diff_sha,
    )


def _make_patches(draft: _Draft, commit_tree: TreeOid, previous: TreeOid) -> tuple[Patch, Patch | None, Patch | None]:
    """Return the diffs from the base, from the previous owner, and from the tree on record.

    The last two are None where objects are missing.
    """
    repository, tree = draft.reading.repository, draft.reading.tree
    base, settled = repository.tree_of(draft.base), draft.chain.settled_tree
    changes = [*compare_trees(repository, base, commit_tree), *(draft.reading.find_changes(settled) or ())]
    apart = find_large(repository.toplevel, changes)
    incremental: Patch | None
    added: Patch | None
    try:
        pairs = [(base, commit_tree), (previous, tree), (settled, tree)]
        from_base, incremental, added = make_patches(repository, pairs, apart=apart)
    except CouldNotTell:
        (from_base,) = make_patches(repository, [(base, commit_tree)], apart=apart)
        incremental, added = (_find_patch(repository, old, tree, apart) for old in (previous, settled))
        draft.warnings.append(f"{_LOST}: what changed since is not shown")
    if from_base.size > LARGE:
        draft.warnings.append(
            f"the diff from the base has {from_base.size / 1048576:.1f} MiB, more than {LARGE // 1048576}: "
            "is a binary file in it by mistake?"
        )
    return from_base, incremental, added


def _find_patch(repository: Repository, old: TreeOid, new: TreeOid, apart: frozenset[bytes]) -> Patch | None:
    try:
        return make_patches(repository, [(old, new)], apart=apart)[0]
    except CouldNotTell:
        return None


def _refuse_secrets(draft: _Draft, patches: tuple[Patch, Patch | None, Patch | None]) -> None:
    """Refuse a secret in what is new; in the whole task with `--deep`, or if what is new is unknown.

    Raises: Refused.
    """
    reading, caller, policy = draft.reading, draft.session.caller, draft.session.context.policy.secrets
    settled, added = draft.chain.settled_tree, patches[2]
    if caller.deep or added is None:
        refuse_added(caller, policy, reading, reading.repository.tree_of(draft.base), patches[0])
    elif reading.tree != settled:
        refuse_added(caller, policy, reading, settled, added)


def _check_scope(
    draft: _Draft, changes: list[Change], previous: TreeOid
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return paths out of scope: the task's, and this agent's if known. Raises: Refused for the latter, by policy."""
    context, chain = draft.session.context, draft.chain

    def find(changed: list[Change]) -> tuple[str, ...]:
        paths = (quote(change.path) for change in changed)
        return outside(context.immutable.scope_patterns, (path for path in paths if path != context.git.task_file))

    since_init, since = draft.reading.find_changes(chain.init_tree), draft.reading.find_changes(previous)
    brought = {change.path for change in (changes if since_init is None else since_init)}
    whole = find([change for change in changes if change.path in brought])
    own = find(since) if since is not None else None
    found = whole if own is None else own
    if found and context.policy.scope.outside == "block":
        raise Refused(
            f"{len(found)} changed path{'s' * (len(found) != 1)} outside the task's scope",
            Situation("clone.outside_scope", paths=found[:3]),
            paths=found,
        )
    draft.warnings.extend(f"{path} is outside the task's scope" for path in found[:UNTRACKED_SHOWN])
    return whole, own


def _reopened(chain: Chain, reading: Reading, options: Options) -> tuple[str, ...]:
    expected = chain.expected
    if expected is None or chain.at_work or options.accepted or expected.tree == reading.tree:
        return ()
    return tuple(quote(change.path) for change in reading.find_changes(expected.tree) or ())


def _untracked(status: bytes, *, since_init: list[Change]) -> tuple[list[str], int]:
    """Return the first untracked files that the task added, and their number."""
    brought = {change.path for change in since_init}
    found = [path for match in _UNTRACKED.finditer(status) if (path := match[1]) in brought]
    return heapq.nsmallest(UNTRACKED_SHOWN, map(quote, found)), len(found)


def _metrics(draft: _Draft, snapshot: WorktreeSnapshot, patch: Patch) -> bytes:
    seat = draft.chain.seats[draft.agent]
    return dump_canonical(
        {
            "version": 1,
            "agent": draft.agent,
            "snapshot": snapshot.n,
            "rounds": seat.rounds,
            "started_at": draft.chain.since,
            "snapshot_time": snapshot.snapshot_time,
            "files_changed": snapshot.files_count,
            "lines_added": patch.added,
            "lines_deleted": patch.deleted,
            "diff_bytes": patch.size,
            "untracked": snapshot.untracked_count,
        }
    )
