"""The verb `report`: a task as one page for people."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Argument, Option
from git_taskctx.errors import BadData, Refused, Usage

if TYPE_CHECKING:
    from git_taskctx.git.repository import Repository


def report(
    call: Call,
    subject: Annotated[
        str | None,
        Argument(
            metavar="[TASK|REV]",
            help="The task, or a commit of one; by default the active task, else HEAD.",
            complete="<tasks> <revisions>",
        ),
    ] = None,
    output: Annotated[
        str | None,
        Option(
            "-o", "--output", metavar="FILE", help="Where to write the page; - is standard output.", complete="<files>"
        ),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace FILE, whatever it is.")] = False,
) -> Answer:
    """Render a task as one HTML page, for people.

    Without -o it goes to standard output or, on a terminal, to a file in the git dir, where it is no change.
    """
    from git_taskctx import files
    from git_taskctx.cli.proof import rules_at
    from git_taskctx.commits.seal import seal_head
    from git_taskctx.model.step import shell_words
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
        told = {**data, "path": None, "bytes": len(page), "gaps": account.gaps, "html": page.decode("utf-8")}
        return Answer(
            told, raw=page, notes=lambda document: text.notes(document, (*ended, *account.gaps), account.hints)
        )
    where = os.fspath(place)
    warnings = (*ended, *account.gaps, *_is_a_change(repository, place))
    return Answer(
        {**data, "path": where, "bytes": len(page), "gaps": account.gaps, "html": None},
        text=lambda document: document.line(("wrote ", "ok"), where),
        notes=lambda document: text.notes(document, warnings, account.hints),
    )


def _require_ours(place: Path, given: str) -> None:
    """Refuse to replace what is no report. Raises: Refused; Fatal for a link or an odd file."""
    from git_taskctx import files
    from git_taskctx.model.step import shell_words
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
    """Warn where the page lies in the worktree, and git does not ignore it."""
    folder = place.parent.resolve()
    if not folder.is_relative_to(repository.toplevel.resolve()) or folder.is_relative_to(repository.git_dir.resolve()):
        return ()
    inside = folder.relative_to(repository.toplevel.resolve()) / place.name
    if repository.git.run("check-ignore", "-q", "--", os.fspath(inside), ok=(0, 1, 128)).code != 1:
        return ()
    return (f"{os.fspath(inside)} lies in the worktree, and is a change there like any other",)
