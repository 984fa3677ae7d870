"""What is about to be kept is searched for secrets first, unless its path is allowed to hold them."""

from __future__ import annotations

from git_taskctx.capture.scope import compile_patterns
from git_taskctx.handoff.session import Session, refuse_secrets
from git_taskctx.model.values import replace


def refuse_content(session: Session, name: str, data: bytes, *, first_line: int = 1) -> None:
    """Refuse content that holds a secret, unless forced. Raises: Refused."""
    from git_taskctx import secrets

    allowed = session.context.policy.secrets.allow_paths
    if allowed and compile_patterns(allowed).covers(name):
        return
    hits = secrets.scan(data, name=name)
    refuse_secrets(session.caller, [replace(hit, line=hit.line + first_line - 1) for hit in hits])
