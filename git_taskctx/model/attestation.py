"""What others learn about a proved commit: our own predicate of the in-toto attestation framework.

Everything in it is on record. Names of agents and actors are worth what `signatures` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.qa import RunStatus
from git_taskctx.model.values import dataclass

NAMESPACE = "git-taskctx:"
"""Prefix of our URIs. They are names: nothing can be fetched there."""
HANDOFF = f"{NAMESPACE}handoff/v1"
"""The type of the predicate; the number is its version."""

Trust = Literal["verified", "unchecked", "none"]


@dataclass(frozen=True)
class JudgedBy:
    """The policy applied by the proof."""

    commit: CommitOid | None
    """The commit of the policy; null where there is none."""
    sha256: str
    """Of `rules`, as canonical JSON: sorted keys, two blanks of indent, a newline at the end."""
    rules: Mapping[str, Any]
    """Every key with its value in force; null is the default of a key that has none of its own."""


@dataclass(frozen=True)
class Approval:
    """One agent of the chain, and the tree that it approved."""

    agent: str
    actor: str | None
    """Who last acted in that role."""
    rounds: int
    """How often the tree was handed to it."""
    tree: TreeOid | None
    """Null where it has not approved, as in a part of a task."""
    time: str | None


@dataclass(frozen=True)
class Taken:
    """One snapshot of the worktree."""

    record: str
    agent: str
    actor: str
    time: str
    tree: TreeOid
    commits: TreeOid
    """The tree that a commit of it must have: without what was dirty before the task."""
    edited: bool
    """True when it is not the tree that was handed over."""
    accepted: bool
    """True when it was recorded by `resolve-drift --accept`: the changes are not the agent's own."""


@dataclass(frozen=True)
class Found:
    """A finding that blocked."""

    id: str
    agent: str
    opened: str
    closed: str | None


@dataclass(frozen=True)
class Noted:
    """Drift, a note that resolved it, or a bypassed check."""

    record: str
    kind: str
    """`drift`, `resolved`, `accepted`; `attest`, `force-secrets`, `no-verify`."""
    actor: str
    time: str


@dataclass(frozen=True)
class Checked:
    """The last run of a command that checks the work."""

    command: str
    agent: str
    actor: str
    time: str
    tree: TreeOid | None
    """What lay in the worktree when the run was recorded."""
    status: RunStatus
    log: str | None
    """sha256 of the log; null where it is not on record."""
    failures: tuple[str, ...]
    """Failures by name, not all of them where there are many."""


@dataclass(frozen=True)
class Signatures:
    """Whether the names are backed by keys."""

    state: Trust
    """`verified`: policy requires signatures (`proof.require_signed`), and all match the allowed signers.

    `unchecked`: some records are signed, but were not checked. `none`: names are as typed.
    """
    signed: int
    records: int


@dataclass(frozen=True)
class Handoff:
    """How a commit came about: who handed which tree to whom, and what was checked."""

    task: str
    context: str
    commit: CommitOid
    tree: TreeOid
    parent: CommitOid | None
    by: str
    """How the records were found: `commit`, `tree`, `patch`, `part`."""
    policy: JudgedBy
    approvals: tuple[Approval, ...]
    """In the order of the chain."""
    snapshots: tuple[Taken, ...]
    """Oldest first."""
    findings: tuple[Found, ...]
    events: tuple[Noted, ...]
    """Oldest first."""
    checks: tuple[Checked, ...]
    signatures: Signatures
    notices: tuple[str, ...]
    """Codes of notices, which do not count against the proof."""
    record: str
    """The record that claims the commit."""
    sha256: str
    """Of that record's line, which holds the hash of the previous one, and so on to the first."""


def uri_of(record: str) -> str:
    """Return the URI of a record."""
    return f"{NAMESPACE}record/{record}"
