"""black, prettier, flake8, pylint, pyright and biome: lines of problems, and mostly a verdict at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.qa.linters import problem
from git_taskctx.capture.qa.text import MISFIT, NONE_RAN, TRUNCATED, number, runs
from git_taskctx.model.qa import QaReport, ReportStatus

# black.

_BLACK_END = re.compile(
    r"^(?P<done>All done!|Oh no!) .*\n(?P<counts>\d+ files? (?:would be |failed to |left |reformat).*)\.$", re.MULTILINE
)
_BLACK_COUNT = re.compile(r"(\d+) files? ((?:would be |failed to )?(?:reformatted|reformat|left unchanged))")
_BLACK_ROW = re.compile(r"^(?:would reformat (?P<file>.+)|error: cannot format (?P<broken>.+?): .*)$", re.MULTILINE)


def read_black(log: str) -> Iterator[QaReport]:
    """Yield a report for each run; a run that reformatted files is not passed."""
    for rows, end in runs(log, _BLACK_ROW, _BLACK_END):
        if end is None:
            return
        names = tuple(f"{row['file'] or row['broken']} is not formatted" for row in rows)
        counts = {what.removeprefix("would be "): int(count) for count, what in _BLACK_COUNT.findall(end["counts"])}
        bad = 0 if "left unchanged" in counts and len(counts) == 1 else max(len(rows), 1)
        changed = bad and not rows
        status: ReportStatus = "unknown" if changed else "failed" if bad or end["done"] != "All done!" else "passed"
        note = "it changed the files that it was to check" if changed else None
        yield QaReport("black", status, counts, failures=names, failures_count=len(names), note=note)


# prettier.

_PRETTIER = re.compile(
    r"^(?:Checking formatting\.\.\.|(?P<good>All matched files use Prettier code style!)"
    r"|\[(?P<level>warn|error)\] (?P<text>.+))$",
    re.MULTILINE,
)


def read_prettier(log: str) -> Iterator[QaReport]:
    """Yield a report for `prettier --check`, which warns of each file and ends with a warning."""
    found = list(_PRETTIER.finditer(log))
    if not any(match["level"] is None for match in found):
        return
    rows = [match for match in found if match["level"] and not match["text"].startswith("Code style issues")]
    texts = (row["text"] if row["level"] == "error" else f"{row['text']} is not formatted" for row in rows)
    names = tuple(dict.fromkeys(texts))
    bad = any(match["level"] for match in found)
    good = any(match["good"] for match in found)
    status: ReportStatus = "failed" if bad else "passed" if good else "unknown"
    yield QaReport(
        "prettier", status, failures=names, failures_count=len(names), note=None if bad or good else TRUNCATED
    )


# flake8. It prints nothing when all is well, and ruff's rows are the same: those end with a count in words.

_FLAKE8_ROW = re.compile(
    r"^(?P<file>[^:\n]+\.pyi?):\d+:\d+: (?P<code>[A-Z]{1,3}\d{3}) (?!\[\*\])(?P<text>.+)$", re.MULTILINE
)
_NOT_FLAKE8 = re.compile(r"^Found \d+ errors?|^All checks passed!$|: [CRWEF]\d{4}: ", re.MULTILINE)


def read_flake8(log: str) -> Iterator[QaReport]:
    """Yield a report if there are flake8 lines."""
    rows = list(_FLAKE8_ROW.finditer(log))
    if rows and not _NOT_FLAKE8.search(log):
        names = tuple(dict.fromkeys(problem(row["file"], row["code"], row["text"]) for row in rows))
        yield QaReport("flake8", "failed", {"errors": len(rows)}, failures=names, failures_count=len(rows))


# pylint.

_PYLINT_ROW = re.compile(
    r"^(?P<file>[^:\n]+):\d+:\d+: (?P<code>[CRWEF]\d{4}): (?P<text>.+?) \((?P<rule>[\w-]+)\)$", re.MULTILINE
)
_PYLINT_END = re.compile(r"^Your code has been rated at (-?[\d.]+)/10", re.MULTILINE)


def read_pylint(log: str) -> Iterator[QaReport]:
    """Yield a report for each run: messages, then a rating."""
    for rows, end in runs(log, _PYLINT_ROW, _PYLINT_END):
        if not rows and end is None:
            return
        names = tuple(dict.fromkeys(problem(row["file"], row["rule"], row["text"]) for row in rows))
        status: ReportStatus = "failed" if rows else "passed"
        note = None if end else TRUNCATED
        yield QaReport("pylint", status, {"messages": len(rows)}, failures=names, failures_count=len(rows), note=note)


# pyright.

_PYRIGHT_ROW = re.compile(
    r"^ *(?P<file>[^:\n]+):\d+:\d+ - error: (?P<text>.+?)(?: \((?P<rule>report\w+)\))?$", re.MULTILINE
)
_PYRIGHT_END = re.compile(r"^(\d+) errors?, (\d+) warnings?, \d+ (?:informations?|notes?) ?$", re.MULTILINE)


def read_pyright(log: str) -> Iterator[QaReport]:
    """Yield a report for each run, which ends with the numbers of errors and warnings."""
    for rows, end in runs(log, _PYRIGHT_ROW, _PYRIGHT_END):
        if end is None:
            if rows:
                yield QaReport("pyright", "failed", failures_count=len(rows), note=TRUNCATED)
            return
        names = tuple(dict.fromkeys(problem(row["file"], row["rule"] or "", row["text"]) for row in rows))
        errors, warnings = int(end[1]), int(end[2])
        status: ReportStatus = "failed" if errors else "unknown" if rows else "passed"
        note = MISFIT if rows and not errors else None
        counts = {"errors": errors, "warnings": warnings}
        yield QaReport("pyright", status, counts, failures=names, failures_count=max(errors, len(names)), note=note)


# biome.

_BIOME_ROW = re.compile(
    r"^(?P<file>\S+?)(?::\d+:\d+)? (?P<rule>lint/\S+|format|assist/\S+|parse|organizeImports)\b.*━", re.MULTILINE
)
_BIOME_END = re.compile(
    r"^Checked (?P<files>\d+) files? in .+?\.(?: .*)?\n(?:Found (?P<errors>\d+) errors?\.\n?)?"
    r"(?:Found (?P<warnings>\d+) warnings?\.)?",
    re.MULTILINE,
)


def read_biome(log: str) -> Iterator[QaReport]:
    """Yield a report for each run: files checked, then errors found."""
    begin = 0
    for end in _BIOME_END.finditer(log):
        rows = list(_BIOME_ROW.finditer(log, begin, end.start()))
        errors, warnings = number(end["errors"]), number(end["warnings"])
        note = NONE_RAN if not int(end["files"]) else MISFIT if rows and not errors + warnings else None
        status: ReportStatus = "failed" if errors else "unknown" if note else "passed"
        names = tuple(dict.fromkeys(f"{row['file']}: {row['rule']}" for row in rows)) if errors else ()
        counts = {"errors": errors, "warnings": warnings}
        yield QaReport("biome", status, counts, failures=names, failures_count=errors, note=note)
        begin = end.end()
    if "━" in log and any(_BIOME_ROW.finditer(log, begin)) and not begin:
        yield QaReport("biome", "unknown", note=TRUNCATED)
