"""Verbs that hand a task to others: report, a page for people, and export, attestations for machines."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Argument, Option
from git_taskctx.errors import BadData, CouldNotTell, Refused, Usage
from git_taskctx.shell import shell_word, shell_words
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.git.repository import Repository
    from git_taskctx.model.attestation import JudgedBy
    from git_taskctx.model.proof import Proof
    from git_taskctx.proof.attest import Attested

_URI = re.compile(r"[a-z][a-z0-9+.-]*:[!#$&-;=?-Z_a-z~%\[\]]+")
"""RFC 3986, the scheme in lower case as in-toto asks for it."""


def export(
    call: Call,
    format: Annotated[
        Literal["agent-trace", "in-toto"],
        Option("--format FORMAT", "agent-trace: who wrote which line; in-toto: what was proved."),
    ],
    revision: Annotated[
        str | None, Argument("[REV|A..B]", "The commit, or each of a range; by default HEAD.", complete="<revisions>")
    ] = None,
    output: Annotated[
        str | None, Option("-o --output FILE", "Where to write them; - is standard output.", complete="<files>")
    ] = None,
    human: Annotated[list[str] | None, Option("--human NAME", "An actor who is a person; may be repeated.")] = None,
    resource_uri: Annotated[
        str | None, Option("--resource-uri URI", "Where consumers of in-toto find the repository.")
    ] = None,
    policy: Annotated[
        str | None,
        Option("--policy COMMIT", "Judge by the policy of this commit, not of the base.", complete="<revisions>"),
    ] = None,
    task: Annotated[
        str | None, Option("--task ID", "The task whose commits are meant, instead of REV.", complete="<tasks>")
    ] = None,
) -> Answer:
    """Write proved commits as attestations for other tools.

    Only verified commits are attested, one JSON document per line; for a violated one, in-toto gets the verdict alone.
    """
    from git_taskctx.cli.proof import judge
    from git_taskctx.commits.seal import seal_head
    from git_taskctx.files import write_atomic
    from git_taskctx.model.oids import CommitOid, check_task_id
    from git_taskctx.proof.attest import attest, find_range, judged_by
    from git_taskctx.proof.found import Judged
    from git_taskctx.report import text
    from git_taskctx.report.advice import advised
    from git_taskctx.report.machine import render_lines

    task = task or call.task
    _check(format, revision, task, output, human, resource_uri)
    ended = seal_head(call.caller()) if task else ()
    if revision is None:
        revision = find_range(call.repository, check_task_id(task)) if task else "HEAD"
    keep: dict[CommitOid, Judged] = {}
    proof, rules = judge(call, revision, policy=policy, keep=keep)
    judged = judged_by(proof, rules.policy)
    attested = attest(proof, keep, judged)
    _require_proof(proof, revision, attested, may_fail=format == "in-toto")
    warnings = [*ended, *proof.warnings, *_left_out(proof)]
    if format == "in-toto":
        documents = list(_statements(proof, attested, judged, resource_uri))
    else:
        documents, missing = _traces(call, attested, human or [])
        warnings += missing
    data = render_lines(documents)
    if output not in (None, "-"):
        write_atomic(Path(call.folder, output), data, mode=0o666)
        data = b""
    code, hints = proof.verdict.exit_code, advised(proof).hints
    return Answer(
        documents,
        raw=data,
        notes=lambda document: text.notes(document, warnings, hints if code else ()),
        code=code,
        reason=proof.summary if code else None,
        hints=hints,
    )


def _check(
    form: str,
    revision: str | None,
    task: str | None,
    output: str | None,
    human: list[str] | None,
    resource_uri: str | None,
) -> None:
    """Refuse what does not go together. Raises: Usage."""
    if revision is not None and task is not None:
        hint = f"git taskctx export --format {form} {shell_word(revision)}"
        raise Usage("a revision and --task cannot be used together", hint=hint)
    if human and form != "agent-trace":
        raise Usage("--human is for agent-trace", hint="git taskctx export --format agent-trace --human NAME")
    if output == "":
        raise Usage("the name of the output file is empty", hint=f"git taskctx export --format {form} -o FILE")
    if resource_uri is not None and form != "in-toto":
        raise Usage("--resource-uri is for in-toto", hint="git taskctx export --format in-toto --resource-uri URI")
    if resource_uri is not None and not _URI.fullmatch(resource_uri):
        raise Usage(f"{resource_uri!a} is not a URI", hint="git taskctx export --format in-toto --resource-uri URI")


def _require_proof(proof: Proof, revision: str, attested: list[Attested], *, may_fail: bool) -> None:
    """Refuse contradictory options. Raises: Usage."""
    verdict = proof.verdict.value
    then = Situation("proof.nothing_attested", revision=revision, found=proof)
    if verdict == "unproven":
        raise CouldNotTell(f"{proof.summary}, and nothing is attested", then)
    if verdict == "violated" and not may_fail:
        raise Refused(f"{proof.summary}, and nothing is attested", then)
    if verdict == "verified" and not attested:
        raise CouldNotTell(f"no commit of {revision} has records of its own: merges are proved by their parents", then)


def _left_out(proof: Proof) -> Iterator[str]:
    left = sum(one.verdict.value != "verified" and not one.required for one in proof.commits)
    if left and proof.verdict.value == "verified":
        verb = "is unproven, not required, and" if left == 1 else "are unproven, not required, and"
        yield f"{left} of {len(proof.commits)} commits {verb} left out"


def _statements(
    proof: Proof, attested: list[Attested], judged: JudgedBy, resource: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the statements of a range, oldest commit first; of a violated range only that."""
    from git_taskctx.report.formats.intoto import failure_of, statements_of

    if proof.verdict.value == "violated":
        for failed in reversed(proof.required):
            if failed.verdict is proof.verdict:
                yield failure_of(failed, judged, resource=resource)
        return
    for one in attested:
        yield from statements_of(one.handoff, resource=resource)


def _traces(call: Call, attested: list[Attested], humans: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return each commit's trace, oldest first, and what could not be separated in them."""
    from git_taskctx.git.lines import trace_lines
    from git_taskctx.proof.work import works_on
    from git_taskctx.report.formats.agenttrace import trace_record

    works = works_on(call.repository, attested)
    traces = trace_lines(call.repository, [(work.base, work.states) for work in works])
    rows = zip(attested, works, traces, strict=True)
    missing = [
        f"{one.commit.oid[:12]}: the tree that {turn.agent or 'the task'} left is not in this clone, and what it changed "
        "is shown with what came after (git taskctx fetch --with-snapshots)"
        for one, work in zip(attested, works, strict=True)
        for turn in work.missing
    ]
    return [trace_record(one, work, trace, humans=humans) for one, work, trace in rows], missing


def report(
    call: Call,
    subject: Annotated[
        str | None,
        Argument(
            "[TASK|REV]",
            "The task, or a commit of one; by default the active task, else HEAD.",
            complete="<tasks> <revisions>",
        ),
    ] = None,
    output: Annotated[
        str | None, Option("-o --output FILE", "Where to write the page; - is standard output.", complete="<files>")
    ] = None,
    force: Annotated[bool, Option("--force", "Replace FILE, whatever it is.")] = False,
) -> Answer:
    """Render a task as one HTML page, for people.

    Without -o it goes to standard output or, on a terminal, to a file in the git dir, where it does not count as a change.
    """
    from git_taskctx import files
    from git_taskctx.cli.proof import rules_at
    from git_taskctx.commits.seal import seal_head
    from git_taskctx.report import text
    from git_taskctx.report.account import account_of
    from git_taskctx.report.page import render_page

    if output == "":
        raise Usage("the name of the output file is empty", hint="git taskctx report -o report.html")
    if subject is not None and ".." in subject:
        raise Usage(
            f"a report is about one commit, and not about a range as '{subject}'",
            hint=f"git taskctx verify {shell_words([subject])}   # judges each commit of it",
        )
    place = Path(call.folder, output) if output is not None and output != "-" else None
    if place is not None and output is not None and not force:
        _require_ours(place, output)
    repository = call.repository
    ended = seal_head(call.caller()) if subject is not None else ()  # the active task is looked at as it ends
    account = account_of(call.caller(), subject, lambda commit: rules_at(call, commit))
    page = render_page(account)
    data = {"task": account.task, "context": account.context_id, "proof": account.proof, "verdict": account.verdict}
    if place is None and output is None and call.format == "text" and sys.stdout.isatty():
        files.make_folder(repository.private_dir)
        place = repository.private_dir / f"report-{account.task}.html"
        files.write_atomic(place, page)
    elif place is not None:
        files.write_atomic(place, page, mode=0o666)
    else:
        shown = {**data, "path": None, "bytes": len(page), "gaps": account.gaps, "html": page.decode("utf-8")}
        return Answer(
            shown, raw=page, notes=lambda document: text.notes(document, (*ended, *account.gaps), account.hints)
        )
    where = os.fspath(place)
    warnings = (*ended, *account.gaps, *_is_a_change(repository, place))
    return Answer(
        {**data, "path": where, "bytes": len(page), "gaps": account.gaps, "html": None},
        text=lambda document: document.line(("wrote ", "ok"), where),
        notes=lambda document: text.notes(document, warnings, account.hints),
    )


def _require_ours(place: Path, given: str) -> None:
    """Refuse to replace another file than a report. Raises: Refused; Fatal for a link or a special file."""
    from git_taskctx import files
    from git_taskctx.report.page import LIMIT, MARK

    try:
        found = files.read_plain(place, limit=LIMIT)
    except BadData:  # too large to be one
        found = b""
    if found is not None and not found.startswith(MARK):
        raise Refused(
            f"{place} is not a report of git-taskctx, and is not replaced",
            hint=f"git taskctx report --force -o {shell_words([given])}   # replaces it",
        )


def _is_a_change(repository: Repository, place: Path) -> tuple[str, ...]:
    """Warn where git does not ignore the page in the worktree."""
    folder = place.parent.resolve()
    if not folder.is_relative_to(repository.toplevel.resolve()) or folder.is_relative_to(repository.git_dir.resolve()):
        return ()
    inside = folder.relative_to(repository.toplevel.resolve()) / place.name
    if repository.git.run("check-ignore", "-q", "--", os.fspath(inside), ok=(0, 1, 128)).code != 1:
        return ()
    return (f"{os.fspath(inside)} lies in the worktree, and is a change there like any other",)
