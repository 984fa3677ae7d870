"""Object names, kept apart by type so that a tree is never passed where a commit is meant."""

from __future__ import annotations

from typing import NewType

from git_taskctx.errors import Usage
from git_taskctx.lean import regex

CommitOid = NewType("CommitOid", str)
TreeOid = NewType("TreeOid", str)
BlobOid = NewType("BlobOid", str)

_DIGITS = frozenset("0123456789")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ") | _LOWER
_OID = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = regex(r"[0-9a-f]{64}")
RESERVED_AGENTS = ("init", "saved", "taskctx")
"""Names that stand beside agents in refs and findings: the starting tree, states saved by restore, ourselves."""


def check_task_id(text: str) -> str:
    """Return `text` when it can be a task id, that is also a folder name and a part of a ref.

    Raises: Usage.
    """
    if not is_task_id(text):
        raise Usage(
            f"{text!r} cannot be a task id",
            hint="a letter or digit, then letters, digits, '.', '_' and '-', 64 at most, as in TASK-0824",
        )
    return text


def is_task_id(text: str) -> bool:
    """Return whether `text` can be a task id."""
    plain = _LETTERS | _DIGITS
    return (
        0 < len(text) <= 64 and text[0] in plain and plain.union("._-").issuperset(text)
        and ".." not in text and not text.endswith((".lock", "."))
    )  # fmt: skip


def check_agent_name(text: str) -> str:
    """Return `text` when it can name an agent. Raises: Usage."""
    if not is_agent_name(text):
        raise Usage(
            f"{text!r} cannot name an agent",
            hint="a lower-case letter, then letters, digits and '-', 32 at most; "
            + ", ".join(RESERVED_AGENTS)
            + " are reserved",
        )
    return text


def is_agent_name(text: object) -> bool:
    """Return whether something can name an agent, and so be a part of a ref and of a file's name."""
    if not isinstance(text, str) or not 0 < len(text) <= 32 or text in RESERVED_AGENTS:
        return False
    return text[0] in _LOWER and (_LOWER | _DIGITS).union("-").issuperset(text)


def is_oid(text: str) -> bool:
    """Return whether `text` has the form of an object's whole name, of either algorithm."""
    return _OID.fullmatch(text) is not None


def is_context_id(text: str) -> bool:
    """Return whether `text` has the form of a context id: 16 hex digits."""
    return len(text) == 16 and _DIGITS.union("abcdef").issuperset(text)


def is_sha256(text: str) -> bool:
    """Return whether `text` has the form of a sha256: 64 hex digits."""
    return _SHA256.fullmatch(text) is not None
