"""Verbs about what proves the work: record-qa, compare-qa, attach, evidence."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import AgentOption, Argument, Option
from git_taskctx.errors import Usage
from git_taskctx.model.context import EvidenceType

if TYPE_CHECKING:
    from git_taskctx.context.evidence import EvidenceSource


def record_qa(
    call: Call,
    agent: AgentOption,
    log: Annotated[str, Option("--from LOG", "The log, or - for standard input.", complete="<files>")],
    command: Annotated[str | None, Option("--command C", "The command that wrote it, as typed.")] = None,
    exit_code: Annotated[int | None, Option("--exit-code N", "The exit code of that command.", min=0)] = None,
    baseline: Annotated[bool, Option("--baseline", "The log is from before the task.")] = False,
) -> Answer:
    """Record a run of tests or linters from its log.

    Its numbers and failures go into the context, and the log is kept. The log of an unknown tool counts as unknown,
    and an exit code that contradicts the log is not a pass.
    """
    from git_taskctx.context.qa import QaRequest, record_qa
    from git_taskctx.report import quality, text

    source = _read(call, log)
    request = QaRequest(agent, source, command, exit_code, baseline)
    with call.open(write=True) as session:
        recorded = record_qa(session, request)
        warnings = (*session.warnings, *recorded.warnings)
    steps = () if recorded.baseline else ("git taskctx compare-qa   # against the baseline",)
    return Answer(
        {"run": recorded.run, "evidence": recorded.evidence, "baseline": recorded.baseline, "warnings": warnings},
        text=lambda document: quality.recorded(document, recorded),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def compare_qa(
    call: Call,
    agent: Annotated[
        str | None, Option("--agent A", "Whose runs; by default anyone's last.", complete="<agents>")
    ] = None,
) -> Answer:
    """Compare the last runs with the baseline.

    Exit code 0: nothing new fails; 1: something does, by name; 3: could not tell.
    """
    from git_taskctx.context.compare import compare_qa
    from git_taskctx.model.verdict import Outcome
    from git_taskctx.report import quality, text
    from git_taskctx.report.advice.fixed import log_of

    with call.open(write=False) as session:
        compared = compare_qa(session, agent=agent)
        warnings = tuple(session.warnings)
        who = agent or session.chain.owner
    missing = [row.command for row in compared.rows if row.now is None or row.other_tree]
    missing = missing or (["make test"] if not compared.rows else [])
    worse = [row.command for row in compared.rows if row.outcome is Outcome.NO and row.command not in missing]
    steps = (
        *(log_of(who, command).line for command in missing),
        *(log_of(who, command).because("once it is fixed").line for command in worse),
    )
    return Answer(
        compared,
        text=lambda document: quality.compared(document, compared),
        notes=lambda document: text.notes(document, warnings, steps),
        code=compared.outcome.exit_code,
        reason=compared.summary,
        hints=steps,
    )


def attach(
    call: Call,
    path: Annotated[str, Argument("PATH", "The file, or - for standard input.", complete="<files>")],
    evidence_type: Annotated[EvidenceType, Option("--type T", f"What it is: {', '.join(get_args(EvidenceType))}.")],
    lines: Annotated[str | None, Option("--lines L10-L20", "Only these lines.")] = None,
    description: Annotated[str | None, Option("--description TEXT", "What it shows.")] = None,
) -> Answer:
    """Keep a file, or lines of it, as evidence.

    It gets a permanent id, and is kept as it is now, whatever happens to the original.
    """
    from git_taskctx.context.evidence import attach
    from git_taskctx.report import quality, text

    source = _read(call, path, lines=lines)
    with call.open(write=True) as session:
        attached = attach(session, source, evidence_type, description=description)
        warnings = tuple(session.warnings)
    steps = (f"git taskctx evidence show {attached.evidence.id}",)
    return Answer(
        attached,
        text=lambda document: quality.attached(document, attached),
        notes=lambda document: text.notes(document, warnings, steps),
    )


def evidence(
    call: Call,
    action: Annotated[Literal["list", "show"], Argument("[list|show]", "All of it, or one.")] = "list",
    evidence_id: Annotated[str | None, Argument("[ID]", "Id of the one to show, such as E1.")] = None,
) -> Answer:
    """List the evidence, or show one piece of it.

    A piece is shown as it was attached; a warning says when the original has changed.
    """
    from git_taskctx.context.evidence import find_piece, pieces, read_evidence
    from git_taskctx.report import quality, text

    if action == "show" and evidence_id is None:
        raise Usage("which evidence?", hint="git taskctx evidence show E1")
    if action == "list" and evidence_id is not None:
        raise Usage("`evidence list` takes no id", hint=f"git taskctx evidence show {evidence_id}")
    with call.open(write=False) as session:
        found = pieces(session) if evidence_id is None else (find_piece(session, evidence_id),)
        data = None if evidence_id is None else read_evidence(session, found[0].evidence)
        warnings = (*session.warnings, *quality.original_warnings(found))
    if data is None:
        return Answer(
            found,
            text=lambda document: quality.listed(document, found),
            notes=lambda document: text.warnings(document, warnings),
        )
    return Answer(
        {"evidence": found[0].evidence, "original": found[0].original, "content": data.decode("utf-8", "replace")},
        raw=data,
        notes=lambda document: text.warnings(document, warnings),
    )


def _read(call: Call, path: str, *, lines: str | None = None) -> EvidenceSource:
    from git_taskctx.context.evidence import STDIN, check_stdin, read_source
    from git_taskctx.limits import EVIDENCE_LIMIT

    if path != STDIN:
        return read_source(call.repository, call.folder, path, lines=lines)
    if lines is not None:
        raise Usage("--lines needs a file", hint="git taskctx attach FILE --type excerpt --lines L10-L20")
    return check_stdin(sys.stdin.buffer.read(EVIDENCE_LIMIT + 1))
