"""A proof as JUnit XML: a suite for the range, a case for each commit; one that is not required is skipped."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from git_taskctx.model.proof import CommitProof, Proof, Proven
from git_taskctx.report.document import printable

_WRONG = {Proven.VIOLATED: "failure", Proven.UNPROVEN: "error"}


def render(proof: Proof) -> str:
    """Return the suites; violated is a failure, unproven an error, so that neither is a pass."""
    cases = [_case(one) for one in proof.commits]
    verdicts = [one.verdict for one in proof.required]
    for reason in proof.reasons:
        verdicts.append(Proven.UNPROVEN)
        result = _element("error", reason.code.value, reason.message)
        cases.append(
            f"    <testcase classname={_quoted('git taskctx')} name={_quoted(proof.range)}>\n{result}    </testcase>\n"
        )
    counts = (
        f'tests="{len(cases)}" failures="{verdicts.count(Proven.VIOLATED)}" errors="{verdicts.count(Proven.UNPROVEN)}" '
        f'skipped="{len(proof.commits) - len(proof.required)}"'
    )
    name = _quoted(f"verify {proof.range}")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="git taskctx" {counts.rpartition(" ")[0]}>\n'
        f"  <testsuite name={name} {counts}>\n{''.join(cases)}  </testsuite>\n</testsuites>\n"
    )


def _case(one: CommitProof) -> str:
    name = f"{one.commit[:12]} {one.subject}".strip()
    opened = f"    <testcase classname={_quoted(one.task or 'git taskctx')} name={_quoted(name)}"
    result = ""
    if one.verdict in _WRONG:
        codes = ", ".join(dict.fromkeys(reason.code.value for reason in one.reasons))
        text = "\n".join(f"{reason.code.value}: {reason.message}" for reason in one.reasons)
        result = _element(_WRONG[one.verdict] if one.required else "skipped", codes, text)
    elif not one.required:
        result = _element("skipped", "not required", "")
    if one.notices:
        notices = "\n".join(f"{notice.code.value}: {notice.message}" for notice in one.notices)
        result += f"      <system-out>{_text(notices)}</system-out>\n"
    return f"{opened}>\n{result}    </testcase>\n" if result else f"{opened}/>\n"


def _element(name: str, message: str, text: str) -> str:
    kind = f" type={_quoted(message)}" if name != "skipped" else ""
    return f"      <{name} message={_quoted(message)}{kind}>{_text(text)}</{name}>\n"


def _quoted(text: str) -> str:
    return quoteattr(printable(text))


def _text(text: str) -> str:
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
