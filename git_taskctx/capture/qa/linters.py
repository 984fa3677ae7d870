"""eslint, ruff, mypy and tsc: lines of problems, named without line numbers, and a count at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from git_taskctx.capture.qa.text import TRUNCATED, number
from git_taskctx.model.qa import QaReport, ReportStatus


def problem(file: str, rule: str, text: str) -> str:
    """Return a problem's name, without its line number, so that it is stable."""
    return f"{file.strip().replace(chr(92), '/')}: {rule} {text}".strip()


# eslint: the formats stylish, unix and compact.

_HEAD_OR_ROW = re.compile(
    r"^ +\d{1,7}:\d{1,7} +(?P<level>error|warning) +(?P<text>\S.*)$|^(?P<file>\S.*\.\w{1,10})$"
    r"|^✖ (?P<problems>\d{1,9}) problems? \((?P<errors>\d{1,9}) errors?, (?P<warnings>\d{1,9}) warnings?\)$",
    re.MULTILINE,
)
_ONE_LINE = re.compile(
    r"^(?P<file>.+?)(?::\d+:\d+: (?P<unix>.+) \[(?P<unix_level>Error|Warning)(?:/(?P<unix_rule>[^\]]+))?\]"
    r"|: line \d+, col \d+, (?P<level>Error|Warning) - (?P<text>.+) \((?P<rule>[^()]+)\))$",
    re.MULTILINE,
)
_PROBLEMS = re.compile(r"^(\d+) problems?$", re.MULTILINE)
_CRASHED = re.compile(r"^Oops! Something went wrong! :\($", re.MULTILINE)
TOO_MANY = re.compile(r"^ESLint found too many warnings \(maximum: \d+\)\.$", re.MULTILINE)


def read_eslint(log: str) -> Iterator[QaReport]:
    """Yield a report for each run; problems without a count were cut off."""
    if _CRASHED.search(log):
        yield QaReport("eslint", "failed", failures_count=1, note="eslint crashed, or was misconfigured")
        return
    many = bool(TOO_MANY.search(log))
    file, names, rows = "", dict[str, None](), 0
    for match in _HEAD_OR_ROW.finditer(log):
        if match["file"]:
            file = match["file"]
        elif match["level"]:
            rows += 1
            if match["level"] == "error":
                text, _, rule = match["text"].rpartition("  ")
                names[problem(file, rule if text else "", text.strip() or rule)] = None
        else:
            counts = {"errors": int(match["errors"]), "warnings": int(match["warnings"])}
            bad = counts["errors"] + (counts["warnings"] if many else 0)
            status: ReportStatus = "failed" if bad else "passed"
            note = "too many warnings" if many and not counts["errors"] else None
            yield QaReport("eslint", status, counts, failures=tuple(names), failures_count=bad, note=note)
            names, rows = {}, 0
    if rows and file:
        yield QaReport("eslint", "unknown", failures=tuple(names), failures_count=len(names), note=TRUNCATED)
    if _PROBLEMS.search(log):
        yield from _one_line(log, many=many)


def _one_line(log: str, *, many: bool) -> Iterator[QaReport]:
    found = list(_ONE_LINE.finditer(log))
    stated = sum(int(count) for count in _PROBLEMS.findall(log))
    if not found:
        return
    bad = [match for match in found if "Error" in (match["unix_level"], match["level"])]
    names = tuple(
        problem(match["file"], match["unix_rule"] or match["rule"] or "", match["unix"] or match["text"])
        for match in bad
    )
    counts = {"errors": len(bad), "warnings": len(found) - len(bad)}
    status: ReportStatus = "failed" if bad or many else "passed" if len(found) == stated else "unknown"
    note = f"{stated} problems are counted, and {len(found)} are listed" if stated != len(found) else None
    yield QaReport("eslint", status, counts, failures=names, failures_count=len(bad), note=note)


# ruff.

_CODE = r"(?:[A-Z]{1,5}\d{2,4}|SyntaxError|invalid-syntax)"
_RUFF_ROW = re.compile(
    rf"^(?!::)(?P<file>.+?):\d+:\d+: (?P<code>{_CODE}):? (?:\[\*\] )?(?P<text>.+)$"
    rf"|^(?P<code2>{_CODE}):? (?:\[\*\] )?(?P<text2>.+)\n +--> (?P<file2>.+?):\d+:\d+$"
    rf"|^::error title=[Rr]uff \((?P<code3>{_CODE})\),file=(?P<file3>[^,\n]+),[^:\n]*::"
    rf"(?:.+?:\d+:\d+: {_CODE} )?(?P<text3>.+)$",
    re.MULTILINE,
)
_RUFF_END = re.compile(
    r"^Found (?P<found>\d+) errors?(?: \(\d+ fixed, (?P<left>\d+) remaining\))?\.$|^(?P<good>All checks passed!)$",
    re.MULTILINE,
)
_STATISTICS = re.compile(rf"^\s{{0,9}}(\d+)\t({_CODE})\t(?:\[[ *-]\] )?(\S+)$", re.MULTILINE)
_RUFF_BROKEN = re.compile(
    r"^(?:ruff failed|error: (?:unexpected argument|invalid value|Failed to parse).*)$", re.MULTILINE
)
_NO_FILES = re.compile(r"^warning: No Python files found under the given path\(s\)$", re.MULTILINE)


def _is_of_biome(log: str, at: int) -> bool:
    """Return whether a count is biome's, which has ruff's words below its number of files."""
    return log[log.rfind("\n", 0, max(at - 1, 0)) + 1 : at].startswith("Checked ")


def read_ruff(log: str) -> Iterator[QaReport]:
    """Yield a report if there are ruff lines, or its success message."""
    rows = list(_RUFF_ROW.finditer(log))
    groups = ((row["file"] or row["file2"] or row["file3"], row["code"] or row["code2"] or row["code3"],
               row["text"] or row["text2"] or row["text3"]) for row in rows)  # fmt: skip
    names = tuple(problem(file, code, text) for file, code, text in groups)
    statistics = _STATISTICS.findall(log)
    names = names or tuple(f"{code} {rule} ({times} times)" for times, code, rule in statistics)
    ends = [end for end in _RUFF_END.finditer(log) if end["good"] or not _is_of_biome(log, end.start())]
    if rows and not ends and not any(row["code2"] or row["code3"] or "[*]" in row[0] for row in rows):
        return  # rows of flake8 or pylint: ruff's end with a count in words
    stated = sum(number(end["left"] or end["found"]) for end in ends)
    listed = len(rows) or sum(int(times) for times, _, _ in statistics)
    if not listed and _RUFF_BROKEN.search(log) and "ruff" in log:
        yield QaReport("ruff", "failed", failures_count=1, note="ruff did not run")
    elif not listed and (not ends or _TSC_ROW.search(log)):
        return  # tsc before 4.6 ends in the same words
    elif not listed and not stated:
        empty = _NO_FILES.search(log)
        yield QaReport("ruff", "unknown", note="no files were checked") if empty else QaReport("ruff", "passed")
    else:
        count = max(stated, listed)
        note = f"{stated} errors are counted, and {listed} are listed" if stated and stated != listed else None
        yield QaReport("ruff", "failed", {"errors": count}, failures=names, failures_count=count, note=note)


_FORMAT = re.compile(
    r"^(?:(?P<bad>\d+) files? would be reformatted(?:, (?P<rest>\d+) files? (?:already formatted|left unchanged))?"
    r"|(?P<good>\d+) files? already formatted)$",
    re.MULTILINE,
)
_WOULD = re.compile(r"^Would reformat: (.+)$", re.MULTILINE)


def read_ruff_format(log: str) -> Iterator[QaReport]:
    """Yield a report for each `ruff format --check`."""
    names = tuple(f"{name} is not formatted" for name in _WOULD.findall(log))
    for match in _FORMAT.finditer(log):
        bad, good = number(match["bad"]), number(match["good"] or match["rest"])
        counts = {"not formatted": bad, "formatted": good}
        yield QaReport("ruff format", "failed" if bad else "passed", counts, failures=names, failures_count=bad)
        names = ()


# mypy.

_MYPY_ROW = re.compile(r"^(?P<file>.+?):\d+(?::\d+)?: error: (?P<text>.+?)(?:  \[(?P<rule>[\w-]+)\])?$", re.MULTILINE)
_MYPY_END = re.compile(
    r"^(?:Found (?P<found>\d+) errors? in \d+ files? "
    r"\((?:checked (?P<bad>\d+) source files?|errors prevented further checking)\)"
    r"|Success: no issues found in (?P<good>\d+) source files?)$",
    re.MULTILINE,
)
_MYPY_BROKEN = re.compile(r"^mypy: (?:error: )?(.+)$", re.MULTILINE)


def read_mypy(log: str) -> Iterator[QaReport]:
    """Yield a report for each run; errors count without a final count too."""
    begin = 0
    for end in _MYPY_END.finditer(log):
        names = _mypy_names(_MYPY_ROW.finditer(log, begin, end.start()))
        begin, count = end.end(), number(end["found"])
        checked = number(end["bad"] or end["good"])
        status: ReportStatus = "failed" if count else "passed"
        note = "errors prevented further checking" if count and not end["bad"] else None
        if not count and names:
            status, note = "unknown", "the summary does not fit what is above it"
        yield QaReport("mypy", status, {"errors": count, "files": checked}, {}, names, count, note)
    rest = _mypy_names(match for match in _MYPY_ROW.finditer(log, begin) if match["file"].endswith((".py", ".pyi")))
    if rest:
        yield QaReport("mypy", "failed", {"errors": len(rest)}, failures=rest, failures_count=len(rest), note=TRUNCATED)
    elif begin == 0 and (broken := _MYPY_BROKEN.search(log)):
        yield QaReport("mypy", "failed", failures_count=1, note=broken[1][:200])


def _mypy_names(rows: Iterable[re.Match[str]]) -> tuple[str, ...]:
    return tuple(problem(row["file"], row["rule"] or "", row["text"]) for row in rows)


# tsc.

_TSC_ROW = re.compile(
    r"^(?:(?P<file>.+?)(?:\(\d+,\d+\):|:\d+:\d+ -) )?error (?P<code>TS\d{3,6}): (?P<text>.+)$", re.MULTILINE
)
_TSC_END = re.compile(r"^Found (\d+) errors?(?: in .+)?\.?$", re.MULTILINE)
_TSC_WATCH = re.compile(r"^(?:\[.*\] )?Found 0 errors\.(?: Watching for file changes\.)?$", re.MULTILINE)


def read_tsc(log: str) -> Iterator[QaReport]:
    """Yield a report if there are TypeScript errors; it prints nothing on success."""
    rows = list(_TSC_ROW.finditer(log))
    if rows:
        names = tuple(problem(row["file"] or "tsc", row["code"], row["text"]) for row in rows)
        stated = max((int(end[1]) for end in _TSC_END.finditer(log)), default=0)
        count = max(stated, len(rows))
        yield QaReport("tsc", "failed", {"errors": count}, failures=names, failures_count=count)
    elif _TSC_WATCH.search(log):
        yield QaReport("tsc", "open", {"errors": 0})
