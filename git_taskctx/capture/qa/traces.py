"""Failure messages of shells, make and package managers beside the tools' own output.

A crash, or an unknown program, leaves only such a line before the summary of a tool that passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TRACE = re.compile(
    r"^(?:"
    r".*\b(?:Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted|Killed)"
    r"(?: \(core dumped\))?(?: +\S.*)?"
    r"|g?make(?:\[\d+\])?: (?:\*\*\* )?\[.*\] (?:Error \d+(?: \(ignored\))?|[A-Z][a-z]+.*)"
    r"|npm (?:ERR!|error) .*|.*\bELIFECYCLE\b.*|error Command failed with exit code \d+\..*"
    r"|error: script \".*\" exited with code \d+|error: Recipe `.*` failed .*|task: Failed to run task .*"
    r"|##\[error\].*|::error.*|Error: Process completed with exit code [1-9]\d*\.?"
    r"|.*\bexit(?:ed with)? (?:code|status):? [1-9]\d*\b.*"
    r"|(?:would reformat|Would reformat:?) .*|\[(?:warn|error)\] Code style issues .*"
    r"|  \d+ failing|[1-9]\d* (?:failures?|failed)\b.*|FAILED\b.*|FAIL\b.*|BUILD FAILED.*|BUILD FAILURE.*"
    r"|thread '.*' (?:\(\d+\) )?panicked at .*|panic: .*|fatal(?: error)?: .*"
    r"|(?:[\w./-]*/)?(?:ba|da|z|k)?sh: (?:line )?.*(?:command not found|No such file or directory|not found)"
    r"|Traceback \(most recent call last\):"
    r")$",
    re.MULTILINE,
)
"""Matched at line starts, as tests may print them in the middle of a line."""


def find_traces(log: str) -> Iterator[str]:
    """Yield the first line that reports a failure; `log` has no documents left."""
    if found := _TRACE.search(log):
        yield found[0].strip()[:100]
