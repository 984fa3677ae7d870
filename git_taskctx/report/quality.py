"""What a person reads about QA and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_taskctx.model.verdict import Outcome
from git_taskctx.report.document import Document, Span

if TYPE_CHECKING:
    from git_taskctx.context.compare import Comparison
    from git_taskctx.context.evidence import AttachResult, Piece
    from git_taskctx.context.qa import QaRecorded
    from git_taskctx.model.qa import QaReport, QaRun

SHOWN = 20
"""Maximum number of failures that are named before they are only counted."""
_STYLES = {"passed": "ok", "failed": "bad", "contradiction": "bad", "unknown": "warn", "open": "warn"}
WORDS = {
    Outcome.YES: ("not worse", "ok"),
    Outcome.NO: ("worse", "bad"),
    Outcome.COULD_NOT_TELL: ("could not tell", "warn"),
}


def recorded(document: Document, what: QaRecorded) -> None:
    """Show what a log was found to say."""
    run = what.run
    code = "no exit code given" if run.exit_code is None else f"exit code {run.exit_code}"
    document.line((run.status, _STYLES[run.status]), f": {' '.join(run.key.split())} ({code}), by {run.agent}")
    if not run.reports:
        document.line("  unknown log: no tool is recognized in it; it is stored as it is")
    for report in run.reports:
        document.line("  ", *_report(report))
        _failures(document, report)
    document.line((f"log {what.evidence.id}", "dim"), f": {what.evidence.stored}")
    if what.baseline:
        claim = ", on your word: the tree is not as the task began" if run.claimed else ""
        document.line(f"this is the baseline{claim}")


def _report(report: QaReport) -> list[Span]:
    counts = [f"{count} {name}" for name, count in report.counts.items()]
    counts += [f"{name} {value}%" for name, value in report.percentages.items()]
    said = {"open": "nothing failed so far", "measured": "no verdict"}.get(report.status, report.status)
    spans: list[Span] = [(report.tool, "bold"), ": ", (said, _STYLES.get(report.status, ""))]
    if counts:
        spans.append(f": {', '.join(counts)}")
    if report.note:
        spans.append(f" ({report.note})")
    return spans


def _failures(document: Document, report: QaReport) -> None:
    for name in report.failures[:SHOWN]:
        document.line("    ", (name, "bad"))
    more = max(report.failures_count, len(report.failures)) - min(len(report.failures), SHOWN)
    if more > 0:
        document.line(f"    and {more} more")


def compared(document: Document, what: Comparison) -> None:
    """Write the comparison, command by command."""
    document.line(("qa: ", "dim"), WORDS[what.outcome])
    document.line(what.summary)
    for row in what.rows:
        document.line("  ", (" ".join(row.command.split()), "bold"), ": ", (row.reason, WORDS[row.outcome][1]))
        document.line(f"    baseline {_when(row.baseline)}; now {_when(row.now)}")
        _names(document, "new", "bad", row.new)
        _names(document, "gone", "ok", row.gone)
        if row.still:
            document.line(f"    still failing: {row.still}")
        for text in row.numbers:
            document.line(f"    {text}")


def _when(run: QaRun | None) -> str:
    if run is None:
        return "none"
    claim = ", on somebody's word" if run.claimed else ""
    return f"{run.status} ({run.log}, by {run.agent} at {run.at}{claim})"


def _names(document: Document, word: str, style: str, names: tuple[str, ...]) -> None:
    for name in names[:SHOWN]:
        document.line("    ", (f"{word}: ", style), name)
    if len(names) > SHOWN:
        document.line(f"    and {len(names) - SHOWN} more {word}")


def attached(document: Document, what: AttachResult) -> None:
    """Show what was attached, and under which id."""
    one = what.evidence
    where = f"{one.path}:{one.lines}" if one.lines else one.path
    known = "" if what.new else ", as it was attached before"
    document.line((one.id, "ok"), f": {where} ({one.type}, {one.size} bytes{known})")


def listed(document: Document, pieces: tuple[Piece, ...]) -> None:
    """Write the table of evidence."""
    if not pieces:
        document.line("no evidence")
        return
    document.table(
        ("id", "type", "bytes", "original", "path", "description"),
        [
            (
                (piece.evidence.id, "bold"),
                piece.evidence.type,
                str(piece.evidence.size),
                (piece.original, "warn" if piece.original in ("changed", "gone") else "dim"),
                (piece.evidence.path + (f":{piece.evidence.lines}" if piece.evidence.lines else ""), "path"),
                " ".join((piece.evidence.description or "").split()),
            )
            for piece in pieces
        ],
        cut=True,
    )


def original_warnings(pieces: tuple[Piece, ...]) -> tuple[str, ...]:
    """Show which originals are no longer what was attached."""
    return tuple(
        f"{piece.evidence.path} is {'gone' if piece.original == 'gone' else 'no longer what was attached'} "
        f"({piece.evidence.id} keeps it as it was)"
        for piece in pieces
        if piece.original in ("changed", "gone")
    )
