"""A proved commit as a trace record of Agent Trace 0.1.0: who brought which of its lines.

The specification (CC BY 4.0) and its schema are cursor/agent-trace on GitHub. What it calls a conversation is a turn
here; we know no address of one, so that `url` stays away, and `related` names the record of the turn.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Sequence
from typing import Any

from git_taskctx import __version__
from git_taskctx.git.lines import Trace, Traced
from git_taskctx.git.quoting import quote
from git_taskctx.model.attestation import NAMESPACE, uri_of
from git_taskctx.model.codec import to_plain
from git_taskctx.proof.attest import Attested
from git_taskctx.proof.work import Work, WorkTurn

VERSION = "0.1.0"
"""Of the specification."""
VENDOR = "git-taskctx"
"""Our key in `metadata`."""
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, f"{NAMESPACE}agent-trace")
_MODEL = re.compile(r"[a-z0-9][a-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._:/@-]*")
"""An actor whose name is a model's, as models.dev has them: `provider/model`."""
_LONGEST_MODEL = 250


def trace_record(one: Attested, work: Work, trace: Trace, *, humans: Collection[str] = ()) -> dict[str, Any]:
    """Return the record of one commit; `humans` are the actors that are known to be people."""
    handoff = one.handoff
    brought = {state for traced in trace.files for state in _states(traced)}
    turns = dict.fromkeys(turn for state, some in enumerate(work.turns) if state in brought for turn in some)
    return {
        "version": VERSION,
        "id": str(uuid.uuid5(_IDS, f"{one.commit.oid} {handoff.sha256}")),
        "timestamp": one.claim.record.time,
        "vcs": {"type": "git", "revision": one.commit.oid},
        "tool": {"name": VENDOR, "version": __version__},
        "files": [_file(traced, work, humans) for traced in trace.files if _states(traced)],
        "metadata": {
            VENDOR: {
                "task": handoff.task,
                "context": handoff.context,
                "tree": handoff.tree,
                "by": handoff.by,
                "notices": list(handoff.notices),
                "record": uri_of(handoff.record),
                "sha256": handoff.sha256,
                "signatures": to_plain(handoff.signatures),
                "turns": [_turn(turn, missing=turn in work.missing) for turn in turns],
                "deleted": [path_of(path) for path in trace.deleted],
            }
        },
    }


def path_of(path: bytes) -> str:
    """Return a path as it is; as git quotes it where it is not UTF-8, or looks quoted already."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return quote(path)
    return quote(path) if text.startswith('"') else text


def _turn(turn: WorkTurn, *, missing: bool) -> dict[str, Any]:
    return {
        "record": uri_of(turn.record),
        "agent": turn.agent,
        "actor": turn.actor,
        "time": turn.time,
        "accepted": turn.accepted,
        "missing": missing,
    }


def _states(traced: Traced) -> list[int]:
    return sorted({*traced.states, *(lines.state for lines in traced.lines)})


def _file(traced: Traced, work: Work, humans: Collection[str]) -> dict[str, Any]:
    return {
        "path": path_of(traced.path),
        "conversations": [
            {
                "contributor": contributor(work.turns[state], humans),
                "ranges": [
                    {"start_line": lines.first, "end_line": lines.last, "content_hash": f"sha256:{lines.sha256}"}
                    for lines in traced.lines
                    if lines.state == state
                ],
                "related": [{"type": "record", "url": uri_of(turn.record)} for turn in work.turns[state]],
            }
            for state in _states(traced)
        ],
    }


def contributor(turns: Sequence[WorkTurn], humans: Collection[str]) -> dict[str, str]:
    """Return who did it: an agent is `ai`, unless its actor is known to be a person.

    Accepted changes and those of no agent are `unknown`; turns that cannot be separated too, unless agents and people
    are among them: `mixed`.
    """
    kinds = {_kind(turn, humans) for turn in turns}
    if len(kinds) > 1:
        return {"type": "mixed" if kinds == {"ai", "human"} else "unknown"}
    (kind,) = kinds
    models = {turn.actor for turn in turns}
    if kind == "ai" and len(models) == 1 and _MODEL.fullmatch(min(models)) and len(min(models)) <= _LONGEST_MODEL:
        return {"type": "ai", "model_id": min(models)}
    return {"type": kind}


def _kind(turn: WorkTurn, humans: Collection[str]) -> str:
    if turn.agent is not None and turn.actor in humans:
        return "human"
    return "ai" if turn.agent is not None and not turn.accepted else "unknown"
