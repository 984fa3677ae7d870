"""A proof for GitHub Actions: annotations on stdout, and everything in the step's summary.

A step shows ten errors and ten warnings (docs.github.com, "Usage limits": annotations); the rest would be dropped in
silence, so it is counted in the last one and listed in the summary. Notices are ten as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_taskctx.model.proof import CommitProof, Proof, Reason, Weight
from git_taskctx.report.document import printable
from git_taskctx.report.proofs import HOW, counted, noticed, sentence_of

LIMIT = 10
"""Annotations of one level that a step shows."""
_LEAST = "\n… the rest does not fit into a step summary\n"


def render(proof: Proof) -> str:
    """Return the workflow commands, and the verdict in plain words."""
    reasons = list(counted(proof))
    levels: dict[str, Sequence[tuple[CommitProof | None, Reason]]] = {
        "error": [pair for pair in reasons if pair[1].weight is Weight.VIOLATED],
        "warning": [pair for pair in reasons if pair[1].weight is not Weight.VIOLATED],
        "notice": list(noticed(proof)),
    }
    lines = [f"commit: {proof.verdict.value} ({_plain(proof.summary)})"]
    for level, pairs in levels.items():
        lines += _commands(level, pairs)
    return "".join(f"{line}\n" for line in lines)


def _commands(level: str, pairs: Sequence[tuple[CommitProof | None, Reason]]) -> Iterator[str]:
    shown = pairs if len(pairs) <= LIMIT else pairs[: LIMIT - 1]
    for one, reason in shown:
        place = f"file={_property(reason.paths[0])}," if reason.paths else ""
        title = _property(f"git taskctx: {reason.code.value}")
        yield f"::{level} {place}title={title}::{_message(sentence_of(one, reason))}"
    if len(shown) < len(pairs):
        yield f"::{level} title=git taskctx::{len(pairs) - len(shown)} more; they are in the summary of this step"


def render_summary(proof: Proof, *, room: int) -> str:
    """Return the whole as Markdown, in at most `room` bytes of UTF-8; rows that do not fit are counted."""
    head = f"### git taskctx: {proof.verdict.value}\n\n{_markdown(proof.summary)}"
    head += f" in <code>{_markdown(proof.range)}</code>; `proof.scope` is `{proof.scope}`.\n\n"
    head += "| commit | verdict | task | why |\n| --- | --- | --- | --- |\n"
    tail = "".join(f"\n    {_plain(hint)}\n" for hint in proof.hints)
    left = room - len((head + tail + _LEAST).encode("utf-8"))
    rows = []
    for one in proof.commits:
        row = _row(one)
        left -= len(row.encode("utf-8"))
        if left < 0:
            rows.append(_LEAST)
            break
        rows.append(row)
    whole = head + "".join(rows) + tail
    return whole if len(whole.encode("utf-8")) <= room else ""


def _row(one: CommitProof) -> str:
    verdict = one.verdict.value + HOW.get(one.by or "", "") + ("" if one.required else " (not required)")
    reasons = [f"`{reason.code.value}` {_markdown(reason.message)}" for reason in (*one.reasons, *one.notices)]
    return f"| `{one.commit[:12]}` | {verdict} | {_markdown(one.task or '')} | {'<br>'.join(reasons)} |\n"


def _plain(text: str) -> str:
    """Return one line without anything that a terminal or a workflow command obeys."""
    return printable(" ".join(text.split())).replace("::", ": :")


def _message(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _markdown(text: str) -> str:
    """Return text that Markdown and HTML take as it is."""
    line = printable(" ".join(text.split()))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~&@:$])", lambda found: f"&#{ord(found[1])};", line)
