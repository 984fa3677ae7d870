"""A proof as a GitLab code quality report: an array of violations, empty when there is nothing to say."""

from __future__ import annotations

import json
from typing import Any

from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.proof import CommitProof, Proof, Reason
from git_taskctx.report.document import printable
from git_taskctx.report.proofs import counted, is_error, noticed, place_of, sentence_of


def render_code_quality(proof: Proof) -> str:
    """Return the report; what is wrong is `critical`, what is missing `major`, notices are `info`."""
    issues: list[dict[str, Any]] = []
    for one, reason in counted(proof):
        issues.append(_issue(one, reason, "critical" if is_error(reason) else "major"))
    issues += [_issue(one, reason, "info") for one, reason in noticed(proof)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(one: CommitProof | None, reason: Reason, severity: str) -> dict[str, Any]:
    name = "\0".join((one.commit if one else "", reason.code.value, reason.record or "", reason.message))
    return {
        "description": printable(sentence_of(one, reason)),
        "check_name": f"taskctx.{reason.code.value}",
        "fingerprint": sha256_hex(name.encode("utf-8", "backslashreplace")),
        "severity": severity,
        "location": {"path": printable(place_of(reason)), "lines": {"begin": 1}},
    }
