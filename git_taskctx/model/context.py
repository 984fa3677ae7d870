"""`context.json`: the immutable block that every agent reads, and the moving part beside it."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
import functools
from collections.abc import Mapping
from typing import Any, Literal, Self

from git_taskctx.errors import BadData
from git_taskctx.model.canonical import dump_canonical, load_object, sha256_hex
from git_taskctx.model.codec import from_plain, to_plain
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid
from git_taskctx.model.pipeline import Pipelines
from git_taskctx.model.policy import Policy
from git_taskctx.model.qa import QaResults
from git_taskctx.model.snapshot import WorktreeSnapshot
from git_taskctx.model.values import dataclass, field, optional, replace

SCHEMA_VERSION = 1
EVIDENCE_FOLDER = "evidence"
"""In the task's folder: what was attached, gzipped, named by the hash of the original."""

Status = Literal["pending", "in_progress", "done", "blocked"]
EvidenceType = Literal["qa_log", "diff", "plan", "summary", "screenshot", "excerpt", "other"]


@dataclass(frozen=True)
class GitState:
    """Where in the history the task stands."""

    head: CommitOid | None
    """Base commit of all deltas; null on an unborn branch."""
    branch: str | None
    """Branch at init; null when detached."""
    parent: CommitOid | None
    """The commit that the task's commit must sit on; null when it will be the first."""
    init_tree: TreeOid
    """Fingerprint of the worktree when the task began."""
    task_file: str | None
    """Path of the task file, relative to the worktree where it lies inside."""
    task_file_sha: BlobOid | None
    """Blob oid of the task file as it was read."""
    dirty: tuple[str, ...] = optional(())
    """Paths that were dirty when the task began, the first 20: no agent's work."""
    dirty_count: int = optional(0)


@dataclass(frozen=True)
class TaskSnapshot:
    """The task in its own words."""

    title: str
    priority: str | None = None
    area: str | None = None
    description: str = ""
    outcome: str | None = None
    scope_in: tuple[str, ...] = ()
    scope_out: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    quality_gates: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()


@dataclass(frozen=True)
class StandardsCitation:
    """A section of a standard that the task must keep."""

    file: str
    section: str
    requirement: str
    line_span: str
    content_sha: str
    text: str | None = optional()
    """Its own lines, cut if long; null where an earlier citation has them, or without room."""


@dataclass(frozen=True)
class Command:
    """A command that checks the work."""

    command: str
    description: str | None = optional()


@dataclass(frozen=True)
class ValidationBaseline:
    """How the work is checked, and how the checks stood before it."""

    commands: tuple[Command, ...] = ()
    manual_checks: tuple[str, ...] = ()
    initial_results: QaResults = QaResults()


@dataclass(frozen=True)
class Immutable:
    """What no agent can change."""

    task_snapshot: TaskSnapshot
    standards_citations: tuple[StandardsCitation, ...] = ()
    validation_baseline: ValidationBaseline = field(default_factory=ValidationBaseline)
    scope_patterns: tuple[str, ...] = ()
    """Patterns of paths the task may change, macros expanded; none means every path."""
    repo_paths: tuple[str, ...] = ()
    """Paths that the patterns matched at init, sorted."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Which file and line each subsection came from."""


@dataclass(frozen=True)
class Finding:
    """Something that blocks, until whoever found it closes it."""

    id: str
    by: str
    text: str
    at: str
    closed_at: str | None = None


@dataclass(frozen=True)
class Coordination:
    """Where one agent stands."""

    status: Status = "pending"
    stale: bool = False
    """True when its `done` was given for a tree that has been replaced since."""
    started_at: str | None = None
    completed_at: str | None = None
    actor: str | None = None
    qa_log_path: str | None = None
    qa_results: QaResults | None = None
    """The last run of each command that it recorded."""
    session_id: str | None = None
    blocking_findings: tuple[Finding, ...] = ()
    worktree_snapshot: WorktreeSnapshot | None = None
    """Its last snapshot."""
    drift_budget: int = 0
    """Failed verifications of its snapshot that are unresolved."""


@dataclass(frozen=True)
class Evidence:
    """An attached artefact, by hash."""

    id: str
    type: EvidenceType
    path: str
    """Where it came from: relative to the worktree where it lies inside; `-` is standard input."""
    sha256: str
    """Of the original bytes; of the lines alone, where only those were taken."""
    size: int
    """Of the same bytes."""
    stored_sha256: str
    """Of the gzipped copy."""
    description: str | None = None
    lines: str | None = optional()
    """As in `L10-L20`, both ends included."""

    @property
    def stored(self) -> str:
        """The copy, from the task's folder."""
        return f"{EVIDENCE_FOLDER}/{self.sha256}.gz"


@dataclass(frozen=True)
class Audit:
    """Who wrote the file last."""

    created_by: str
    last_updated_at: str
    last_updated_by: str
    update_count: int
    git_head: CommitOid | None


@dataclass(frozen=True)
class Context:
    """One task in one worktree."""

    version: int
    task_id: str
    context_id: str
    created_at: str
    created_by: str
    git: GitState
    agents: tuple[str, ...]
    policy: Policy
    immutable: Immutable
    coordination: Mapping[str, Coordination]
    audit: Audit
    evidence: tuple[Evidence, ...] = ()
    pipelines: Pipelines | None = optional()
    """What `run` executes, as committed in the base."""

    def to_bytes(self) -> bytes:
        """Serialize, once; the same value is the same bytes on every machine."""
        return self._serialized

    @functools.cached_property
    def _serialized(self) -> bytes:
        return dump_canonical(to_plain(self))

    @property
    def sha(self) -> str:
        """The sha256 that ledger records carry."""
        return sha256_hex(self.to_bytes())

    def replace(self, **changes: Any) -> Self:
        """Return a copy with `changes` made."""
        return replace(self, **changes)


def load_context(data: bytes, *, what: str) -> Context:
    """Read a `context.json` of any known version.

    Raises: BadData for an unknown version (naming it) and for anything that does not fit the schema.
    """
    value = load_object(data, what=what)
    version = value.get("version")
    if version != SCHEMA_VERSION:
        shown = version if isinstance(version, int) else "unreadable"
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        raise BadData(
            f"{what} has schema version {shown}; this git-taskctx reads version {SCHEMA_VERSION}",
            hint="upgrade git-taskctx to the version that wrote it" if newer else None,
        )
    context = from_plain(Context, value, what=what)
    if set(context.coordination) != set(context.agents) or not context.agents:
        raise BadData(f"{what}: coordination and agents name different agents")
    return context
