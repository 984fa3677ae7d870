"""A proof as a GitLab code quality report: an array of violations, empty when there is nothing to say."""

from __future__ import annotations

import json
from typing import Any

from git_taskctx.model.proof import CommitProof, Proof, Reason, Weight
from git_taskctx.report.document import printable
from git_taskctx.report.proofs import counted, fingerprint_of, noticed, place_of, sentence_of


def render(proof: Proof) -> str:
    """Return the report; what is wrong is `critical`, what is missing `major`, notices are `info`."""
    levels = {Weight.VIOLATED: "critical", Weight.UNPROVEN: "major", Weight.NOTICE: "info"}
    issues = [_issue(one, reason, levels[reason.weight]) for one, reason in counted(proof)]
    issues += [_issue(one, reason, "info") for one, reason in noticed(proof)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(one: CommitProof | None, reason: Reason, severity: str) -> dict[str, Any]:
    return {
        "description": printable(sentence_of(one, reason)),
        "check_name": f"taskctx.{reason.code.value}",
        "fingerprint": fingerprint_of(one, reason),
        "severity": severity,
        "location": {"path": printable(place_of(reason)), "lines": {"begin": 1}},
    }
