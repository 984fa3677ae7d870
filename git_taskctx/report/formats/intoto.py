"""Proved commits as statements of the in-toto attestation framework v1, unsigned.

The verdict is a SLSA verification summary, each QA run a test result, and the chain a predicate of our own; the
specifications are in-toto/attestation and slsa-framework/slsa on GitHub. Statements have no time: the same records make
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from git_taskctx import __version__
from git_taskctx.model.attestation import HANDOFF, NAMESPACE, Checked, Handoff, JudgedBy, uri_of
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.codec import to_plain
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import CommitProof, Proven

STATEMENT = "https://in-toto.io/Statement/v1"
SUMMARY = "https://slsa.dev/verification_summary/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
VERIFIER = f"{NAMESPACE}verify"
LEVEL = "TASKCTX_VERIFIED"
"""What a verified commit has reached. No level of SLSA is claimed, and names that begin with `SLSA_` are SLSA's."""
_RESULTS = {"passed": "PASSED", "failed": "FAILED"}
"""A log that was not understood, or that its exit code contradicts, is no result."""


def statements_of(handoff: Handoff, *, resource: str | None) -> Iterator[dict[str, Any]]:
    """Yield what can be said of a verified commit: the chain, the verdict, and the checks of its validated tree."""
    subject = {"digest": {"gitCommit": handoff.commit}}
    yield _statement([subject], HANDOFF, to_plain(handoff))
    evidence = [{"uri": uri_of(handoff.record), "digest": {"sha256": handoff.sha256}}]
    if handoff.by == "part":  # it rests on the records of a later commit too: all would have to be named, or none
        evidence = []
    yield _summary(handoff.commit, handoff.policy, resource, "PASSED", [LEVEL], evidence)
    validated = handoff.approvals[-1].tree
    last = {check.command: check for check in handoff.checks if check.tree == validated}
    for check in last.values():
        if validated is not None and check.status in _RESULTS:
            yield _test_result(check, validated, handoff)


def failure_of(one: CommitProof, policy: JudgedBy, *, resource: str | None) -> dict[str, Any]:
    """Return the verdict on a commit that is violated: it failed the policy, and nothing else is said of it."""
    if one.verdict is not Proven.VIOLATED:
        raise ValueError(f"{one.commit} is {one.verdict}")
    return _summary(one.commit, policy, resource, "FAILED", ["FAILED"], [])


def _statement(subject: list[dict[str, Any]], kind: str, predicate: dict[str, Any]) -> dict[str, Any]:
    return {"_type": STATEMENT, "subject": subject, "predicateType": kind, "predicate": predicate}


def _summary(
    commit: CommitOid,
    policy: JudgedBy,
    resource: str | None,
    result: str,
    levels: list[str],
    evidence: list[dict[str, Any]],
) -> dict[str, Any]:
    predicate = {
        "verifier": {"id": VERIFIER, "version": {"git-taskctx": __version__}},
        "resourceUri": resource or resource_of(commit),
        "policy": {"uri": f"{NAMESPACE}policy", "digest": {"sha256": policy.sha256}},
        **({"inputAttestations": evidence} if evidence else {}),
        "verificationResult": result,
        "verifiedLevels": levels,
    }
    return _statement([{"digest": {"gitCommit": commit}}], SUMMARY, predicate)


def resource_of(commit: CommitOid) -> str:
    """Return a URI of a commit that holds wherever the repository lies: its SWHID (ISO/IEC 18670), if it is SHA-1."""
    return f"swh:1:rev:{commit}" if len(commit) == 40 else f"{NAMESPACE}commit/{commit}"


def _test_result(check: Checked, tree: TreeOid, handoff: Handoff) -> dict[str, Any]:
    """Return one run as a test result; it is about what lay in the worktree, and so about a commit of just that."""
    subject: list[dict[str, Any]] = [{"digest": {"gitTree": tree}}]
    if tree == handoff.tree:
        subject.append({"digest": {"gitCommit": handoff.commit}})
    command = {"name": check.command, "digest": {"sha256": sha256_hex(check.command.encode("utf-8"))}}
    failed = {"failedTests": list(check.failures)} if check.failures else {}
    return _statement(subject, TEST_RESULT, {"result": _RESULTS[check.status], "configuration": [command], **failed})
