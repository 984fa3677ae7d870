"""The caller of a verb, and the checks on every text that is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from git_taskctx.errors import Refused
from git_taskctx.git.repository import Repository
from git_taskctx.model.payloads import Origin
from git_taskctx.model.record import FIXED_FIELDS, Record
from git_taskctx.model.values import dataclass, field
from git_taskctx.store import Store

if TYPE_CHECKING:
    from datetime import datetime

    from git_taskctx.model.payloads import StageRun
    from git_taskctx.model.progress import Progress
    from git_taskctx.secrets import Hit


TEXT_LIMIT = 2048
"""Bytes of a finding or note."""


@dataclass(frozen=True)
class Caller:
    """Who calls, where and when."""

    repository: Repository
    store: Store
    actor: str
    clock: Callable[[], datetime]
    task: str | None = None
    """`--task`; None is the active one."""
    context_id: str | None = None
    """`--context`, where one task has several."""
    force_secrets: bool = False
    deep: bool = False
    """Whether to deep-scan what is about to be recorded."""
    on_progress: Callable[[Progress], None] = lambda _: None
    """Receives the progress of long work."""
    stage: StageRun | None = None
    """The acting stage of a pipeline, which goes into every record."""
    program: Path | None = None
    """The running git-taskctx, if hooks can run it."""
    forced: list[str] = field(default_factory=list, compare=False)
    """Suspected secrets that were recorded by force."""

    def now(self) -> str:
        """Return the time as records have it: ISO 8601, UTC, seconds."""
        from datetime import UTC

        return self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def origin(self) -> Origin:
        """Where a record is written, and whether by force: clone and worktree."""
        repository = self.repository
        linked = repository.git_dir != repository.common_dir
        worktree = repository.git_dir.name if linked else "main" if repository.has_worktree else "bare"
        return Origin(self.store.clone(), worktree, self.force_secrets, self.stage)


def check_secrets(caller: Caller, value: object, *, name: str) -> None:
    """Refuse text that holds a secret, unless forced. Raises: Refused."""
    from git_taskctx import secrets

    refuse_secrets(caller, secrets.scan_json(value, name=name))


def check_records(caller: Caller, drafts: Iterable[Record]) -> None:
    """Refuse records with a secret in any text; everything recorded passes here. Raises: Refused."""
    for draft in drafts:
        texts = {name: getattr(draft, name) for name in FIXED_FIELDS if name != "actor"}
        check_secrets(caller, draft.actor, name="the actor's name")
        check_secrets(caller, {**texts, **draft.body}, name=f"{draft.type} record")


def refuse_secrets(caller: Caller, hits: Sequence[Hit]) -> None:
    """Refuse these hits, or if forced note them for a warning. Raises: Refused."""
    from git_taskctx import secrets

    secrets.refuse_hits(hits, force=caller.force_secrets)
    texts = (f"{hit.name}:{hit.line}: recorded by force: {hit.kind}" for hit in hits)
    caller.forced.extend(text for text in texts if text not in caller.forced)


def check_text(text: str, *, what: str) -> str:
    """Return a typed note or finding. Raises: Refused when it is empty or too long."""
    text = text.strip()
    if not text:
        raise Refused(f"the {what} is empty", hint="say in a few words what it is about")
    if len(text.encode("utf-8", "surrogateescape")) > TEXT_LIMIT:
        raise Refused(f"the {what} is longer than {TEXT_LIMIT} bytes", hint="put the long text into a file")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
