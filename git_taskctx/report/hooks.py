"""What a person reads about git's hooks: what was installed, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.report.document import Document

_DONE = {"write": "wrote", "remove": "removed", "give back": "gave back", "link": "linked", "add": "added"}
_STYLE = {"error": "bad", "warning": "warn", "note": "dim"}


def steps(document: Document, done: Sequence[tuple[str, str]], *, dry_run: bool) -> None:
    """Write what was changed, or would be."""
    for what, target in done:
        document.line((f"would {what} " if dry_run else f"{_DONE.get(what, what)} ", "ok"), (target, "path"))


def seats(document: Document, rows: Sequence[tuple[str, str, str]]) -> None:
    """Write a table of the hooks: each with its state, and what runs it or stands in the way."""
    document.table(
        ("hook", "state", "by"),
        [(event, (state, "ok" if state == "in place" else "bad"), by or "-") for event, state, by in rows],
    )


def left(document: Document, reasons: Sequence[tuple[str, str]]) -> None:
    """Write which hooks were left as they are, and why: each reason once."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for event, why in reasons:
        groups.setdefault(why.replace(f"/{event} ", "/… "), []).append((event, why))
    for shared, group in groups.items():
        why = shared if len(group) > 1 else group[0][1]
        document.sentence(("left alone: ", "bad"), f"{', '.join(event for event, _ in group)} ({why})")


def health(document: Document, line: str | None) -> None:
    """Write the hooks' health in one line, and what fixes it."""
    if line is not None:
        verb = {"in place": "", "not installed": "install"}.get(line, "doctor")
        advice = f"   # git taskctx {verb}" if verb else ""
        document.line(("hooks: ", "dim"), (line, "warn" if verb else "dim"), (advice, "dim"))


def findings(document: Document, found: Sequence[tuple[str, str, str | None]]) -> None:
    """Write findings, each with the command that fixes it."""
    for level, what, command in found:
        document.sentence((f"{level}: ", _STYLE[level]), what)
        for line in (command or "").splitlines():
            document.line("  ", (line, "command"))
