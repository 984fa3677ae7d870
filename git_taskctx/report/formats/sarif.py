"""A proof as SARIF 2.1.0 (OASIS), for code scanning: a rule for each code, a result for each reason."""

from __future__ import annotations

import json
from typing import Any

from git_taskctx import __version__
from git_taskctx.git.quoting import unquote
from git_taskctx.model.proof import Code, CommitProof, Proof, Reason, Weight
from git_taskctx.report.document import printable
from git_taskctx.report.proofs import counted, fingerprint_of, noticed, place_of, sentence_of

_LEVELS = {Weight.VIOLATED: "error", Weight.UNPROVEN: "warning", Weight.NOTICE: "note"}


def render(proof: Proof) -> str:
    """Return the log, with every code as a rule, so that results can be told apart between runs."""
    results = [_result(one, reason, _LEVELS[reason.weight]) for one, reason in counted(proof)]
    results += [_result(one, reason, "note") for one, reason in noticed(proof)]
    driver = {
        "name": "git-taskctx",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": code.value,
                "shortDescription": {"text": code.meaning},
                "defaultConfiguration": {"level": _LEVELS[code.weight]},
            }
            for code in Code
        ],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "git-taskctx/"},
        "results": results,
        "properties": {"verdict": proof.verdict.value, "range": printable(proof.range), "scope": proof.scope},
        "invocations": [{"executionSuccessful": True, "exitCode": proof.verdict.exit_code}],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(one: CommitProof | None, reason: Reason, level: str) -> dict[str, Any]:
    return {
        "ruleId": reason.code.value,
        "ruleIndex": list(Code).index(reason.code),
        "level": level,
        "message": {"text": printable(sentence_of(one, reason))},
        "locations": [_location(path) for path in (reason.paths[:10] or (place_of(reason),))],
        "partialFingerprints": {"taskctx/v1": fingerprint_of(one, reason)},
        "properties": {"commit": one.commit if one else None, "record": reason.record and printable(reason.record)},
    }


def _location(path: str) -> dict[str, Any]:
    uri = "".join(chr(byte) if chr(byte) in _SAFE else f"%{byte:02X}" for byte in unquote(path))
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 1}}
    }


_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
"""Characters that a path may hold in a URI (RFC 3986: unreserved, and the slash)."""
