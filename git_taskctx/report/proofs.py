"""The proof of commits, for people; and what of it every report for machines begins with."""

from __future__ import annotations

from collections.abc import Iterator

from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.proof import CommitProof, Proof, Proven, Reason
from git_taskctx.report.document import Document, Span

POLICY_FILE = ".taskctx.toml"
"""The file that a report points at where a reason is about no path."""
STYLE = {Proven.VERIFIED: "ok", Proven.VIOLATED: "bad", Proven.UNPROVEN: "warn"}
HOW = {
    "commit": ", by the records of this commit",
    "tree": ", by the records of its tree",
    "patch": ", by the records of the same change on another base",
    "part": ", as a part of the task",
    "merge": ", as a merge of verified commits",
}
"""How a commit was verified, behind the verdict."""
SHOWN = 10
"""Maximum number of paths of a reason that are shown to people."""
NOT_REQUIRED = 20
"""How many commits that are not required to be proved are shown to people."""


def proof(document: Document, what: Proof) -> None:
    """Write the verdict on the whole, then each commit with its reasons."""
    document.line((f"{what.subject}: ", "dim"), (what.verdict.value, STYLE[what.verdict]))
    if len(what.commits) != 1:
        place = f" in {what.range}" if what.commits else ""
        document.sentence(f"{what.summary}{place}", (f" (proof.scope = {what.scope})", "dim"))
    for notice in what.notices:
        document.sentence(("notice: ", "dim"), (notice.code.value, "dim"), f": {notice.message}")
    left = NOT_REQUIRED
    for one in what.commits:
        left -= not one.required
        if one.required or left >= 0:
            _commit(document, one)
    if left < 0:
        document.line(f"  and {-left} more, not required")


def _commit(document: Document, one: CommitProof) -> None:
    verdict = (one.verdict.value, STYLE[one.verdict] if one.required else "dim")
    about = (f" for {one.task}" if one.task else "") + HOW.get(one.by or "", "")
    aside: Span = "" if one.required else (" (not required)", "dim")
    document.line((one.commit[:12], "bold"), "  ", verdict, about, aside, (f"  {one.subject}", "dim"))
    for reason in one.reasons:
        document.sentence("  ", (reason.code.value, STYLE[one.verdict]), f": {reason.message}")
        for path in reason.paths[:SHOWN]:
            document.line("    ", (path, "path"))
        if len(reason.paths) > SHOWN:
            document.line(f"    and {len(reason.paths) - SHOWN} more")
    for notice in one.notices:
        document.sentence(("  notice: ", "dim"), (notice.code.value, "dim"), f": {notice.message}")


def counted(what: Proof) -> Iterator[tuple[CommitProof | None, Reason]]:
    """Yield every reason that counts: of the whole, then of the commits that must be proved."""
    for reason in what.reasons:
        yield None, reason
    for one in what.required:
        for reason in one.reasons:
            yield one, reason


def noticed(what: Proof) -> Iterator[tuple[CommitProof | None, Reason]]:
    """Yield what does not count: notices, and reasons of commits that are not required."""
    for notice in what.notices:
        yield None, notice
    for one in what.commits:
        for reason in one.notices if one.required else (*one.reasons, *one.notices):
            yield one, reason


def place_of(reason: Reason) -> str:
    """Return the path that a report points at."""
    return reason.paths[0] if reason.paths else POLICY_FILE


def sentence_of(one: CommitProof | None, reason: Reason) -> str:
    """Show a reason in one line, with the commit that it is about."""
    where = f"{one.commit[:12]}{f' ({one.task})' if one.task else ''}: " if one is not None else ""
    return f"{where}{reason.message}"


def fingerprint_of(one: CommitProof | None, reason: Reason) -> str:
    """Return what identifies a reason in every report."""
    name = "\0".join((one.commit if one else "", reason.code.value, reason.record or "", reason.message))
    return sha256_hex(name.encode("utf-8", "backslashreplace"))
