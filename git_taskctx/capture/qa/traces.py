"""Traces of a failure beside the tools' own words: what a shell, make or a package manager says when a program fails.

One log may hold several runs. A crash, or a program that is not known here, leaves only such a line before the summary
of a tool that passed.
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
"""Lines as a whole, from their beginning: what a test prints in the middle of its own line is not looked at."""


def find_traces(log: str) -> Iterator[str]:
    """Yield the first line that says that something failed, if any; `log` holds no document for machines."""
    if found := _TRACE.search(log):
        yield found[0].strip()[:100]
