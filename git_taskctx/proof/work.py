"""A commit's history as trees: what was there, what each agent changed, what was committed.

Trees missing in this clone are skipped, and their changes are reported with the next turn; no work is ever attributed
to the wrong agent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.lines import TreeState
from git_taskctx.git.objects import ObjectStore
from git_taskctx.git.repository import Repository
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.proof.attest import Attested
from git_taskctx.proof.range import find_commit


@dataclass(frozen=True)
class WorkTurn:
    """A turn, or a part of one: an actor's consecutive snapshots, what `init` found, or what only the commit has."""

    record: str
    """The record of its last snapshot, of `init`, or of the commit."""
    agent: str | None
    actor: str
    time: str
    accepted: bool = False
    """True when the actor accepted work that was not the agent's own."""


@dataclass(frozen=True)
class Work:
    """How the tree of a commit came about."""

    base: TreeOid
    states: tuple[TreeState, ...]
    """The last one is the commit's tree."""
    turns: tuple[tuple[WorkTurn, ...], ...]
    """Whose turns led to each state: empty for history, several where trees between them are missing."""
    missing: tuple[WorkTurn, ...] = ()
    """Turns that cannot be separated from the next one."""


@dataclass(frozen=True)
class _Step:
    turn: WorkTurn
    trees: tuple[TreeOid, ...]
    """The tree left, and its substitutes."""
    heads: tuple[CommitOid, ...] = ()
    """Where HEAD moved meanwhile: what came from there is not the agent's work."""


@dataclass
class _Builder:
    """Collects the states in order."""

    repository: Repository
    base: TreeOid
    commit: CommitOid
    there: set[str]
    states: list[TreeState] = field(default_factory=list)
    turns: list[tuple[WorkTurn, ...]] = field(default_factory=list)
    last: int = 0
    waiting: list[WorkTurn] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    missing: list[WorkTurn] = field(default_factory=list)

    def begin(self, tree: TreeOid) -> None:
        """Begin with the base and with the tree that HEAD had when the task began."""
        self.last = self._ground(self.base)
        self.last = self._ground(tree)

    def _ground(self, tree: TreeOid) -> int:
        """Return the index of a tree that is no agent's work."""
        for place, state in enumerate(self.states):
            if state.tree == tree and not state.before:
                return place
        self.states.append(TreeState(tree))
        self.turns.append(())
        return len(self.states) - 1

    def add(self, step: _Step) -> None:
        """Add a turn's tree, if it is here and differs."""
        for head in step.heads:
            tree = _tree_of(self.repository, head) if head != self.commit else None
            self.moved.append(self._ground(tree if tree is not None and tree in self.there else self.base))
        tree = next((tree for tree in step.trees if tree in self.there), None)
        if tree is None:
            self.waiting.append(step.turn)
            return
        before = tuple(dict.fromkeys((self.last, *self.moved)))
        turns, self.waiting, self.moved = (*self.waiting, step.turn), [], []
        if tree == self.states[self.last].tree:
            return
        self.missing += turns[:-1]
        self.states.append(TreeState(tree, before))
        self.turns.append(turns)
        self.last = len(self.states) - 1


def works_on(repository: Repository, some: Sequence[Attested]) -> list[Work]:
    """Return the states that led to each verified commit. Raises: CouldNotTell when a parent is missing."""
    steps = {one.commit.oid: list(_steps(one)) for one in some}
    wanted = {tree for one in steps.values() for step in one for tree in step.trees}
    wanted |= {one.commit.tree for one in some}
    for one in some:
        heads = (
            one.commit.parent,
            one.chain.init_head,
            *(head for step in steps[one.commit.oid] for head in step.heads),
        )
        commits = (find_commit(repository, head) for head in heads if head is not None)
        wanted |= {commit.tree for commit in commits if commit is not None}
    there = _trees_among(repository.objects, wanted) | {repository.objects.empty_tree}
    return [_work(repository, one, steps[one.commit.oid], there) for one in some]


def _trees_among(objects: ObjectStore, oids: Iterable[str]) -> set[str]:
    """Return which of some oids are trees here; records can name anything."""
    asked = sorted(oids)
    objects.read_ahead(asked, limit=0)
    found = ((oid, objects.find(oid, limit=0)) for oid in asked)
    return {oid for oid, one in found if one is not None and one.kind == "tree"}


def _work(repository: Repository, one: Attested, steps: Sequence[_Step], there: set[str]) -> Work:
    parent, began = one.commit.parent, one.chain.init_head
    base = _tree_of(repository, parent)
    if base is None:
        missing = f"the commit {parent}, that {one.commit.oid[:12]} sits on, is not in this clone"
        raise CouldNotTell(missing, hint="git fetch --deepen=1")
    before = _tree_of(repository, began)
    builder = _Builder(repository, base, one.commit.oid, there)
    builder.begin(before if before in there else base)
    for step in steps:
        builder.add(step)
    end = builder.last + 1  # what only was looked at, and led to nothing, is left out
    return Work(base, tuple(builder.states[:end]), tuple(builder.turns[:end]), tuple(builder.missing))


def _tree_of(repository: Repository, commit: CommitOid | None) -> TreeOid | None:
    """Return a commit's tree, the empty tree for None; None where the commit is missing."""
    if commit is None:
        return repository.objects.empty_tree
    found = find_commit(repository, commit)
    return found.tree if found is not None else None


def _steps(one: Attested) -> Iterator[_Step]:
    """Yield what `init` found, each turn, and the commit."""
    commit, first, last = one.commit, one.entries[0].record, one.claim.record
    init = _Step(WorkTurn(first.id, None, first.actor, first.time), (one.chain.init_tree,))
    init, *turns = _changes([init, *_turns(one)])
    at = next((head for step in reversed([init, *turns]) for head in reversed(step.heads)), one.chain.init_head)
    moved = (commit.parent,) if commit.parent is not None and commit.parent != at else ()
    if turns and one.handoff.by == "patch":  # the commit is the last turn's tree on another base
        turns[-1] = replace(turns[-1], trees=(*turns[-1].trees, commit.tree), heads=(*turns[-1].heads, *moved))
    yield init
    for step in turns:  # what was merged is no agent's work, whenever that was
        yield replace(step, heads=(*step.heads, *commit.parents[1:]))
    yield _Step(WorkTurn(last.id, None, last.actor, last.time), (commit.tree,), moved)


def _changes(steps: Iterable[_Step]) -> Iterator[_Step]:
    """Yield the steps that changed the tree, with what skipped steps knew."""
    for _, some in itertools.groupby(steps, key=lambda step: step.trees[0]):
        first, *others = some
        trees = tuple(dict.fromkeys(tree for step in (first, *others) for tree in step.trees))
        yield replace(first, trees=trees, heads=tuple(head for step in (first, *others) for head in step.heads))


def _turns(one: Attested) -> Iterator[_Step]:
    """Yield each actor's consecutive snapshots, and where HEAD moved meanwhile."""
    records = {entry.record.seq: entry.record for entry in one.entries}
    taken = sorted((made for seat in one.chain.seats.values() for made in seat.snapshots), key=lambda made: made.seq)
    at = one.chain.init_head
    for _, some in itertools.groupby(taken, key=lambda made: (made.agent, made.actor, made.accepted)):
        heads: list[CommitOid] = []
        for made in some:
            if made.head is not None and made.head != at:
                at = made.head
                heads.append(at)
        turn = WorkTurn(records[made.seq].id, made.agent, made.actor, made.time, made.accepted)
        yield _Step(turn, (made.tree, made.commit_tree), tuple(heads))
