"""Verbs that use the network: push, fetch."""

from __future__ import annotations

from typing import Annotated

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Argument, Option

_SNAPSHOTS = Option("--with-snapshots", "Also the task's context, and the trees of its snapshots.")


def push(
    call: Call,
    remote: Annotated[str, Argument("REMOTE", "Where to: a remote, or an address.", complete="<remotes>")],
    with_snapshots: Annotated[bool, _SNAPSHOTS] = False,
    dry_run: Annotated[bool, Option("--dry-run", "Only show what would be sent.")] = False,
) -> Answer:
    """Send the ledger to a remote, merged with what it has.

    Only records are sent; with --with-snapshots, so is the content of files that are not committed yet.
    """
    from git_taskctx.commits.seal import seal_head
    from git_taskctx.git.remote import require_remote
    from git_taskctx.report import sharing, text
    from git_taskctx.sharing.share import push

    caller = call.caller()
    where = require_remote(call.repository, remote)
    notices = seal_head(caller)
    done = push(caller, where, with_snapshots=with_snapshots, dry_run=dry_run)
    warnings = (*notices, *done.warnings, *caller.forced)
    return Answer(
        {"dry_run": dry_run, "pushed": done},
        text=lambda document: sharing.pushed(document, done, dry_run=dry_run),
        notes=lambda document: text.warnings(document, warnings),
    )


def fetch(
    call: Call,
    remote: Annotated[
        str | None, Argument("REMOTE", "Where from; by default as for git fetch.", complete="<remotes>")
    ] = None,
    with_snapshots: Annotated[bool, Option("--with-snapshots", "Also contexts and snapshots.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", "Only show what would be fetched.")] = False,
) -> Answer:
    """Merge the ledger of a remote into yours.

    No record is lost on either side. With --with-snapshots, a task begun elsewhere can go on here.
    """
    from git_taskctx.git.remote import default_remote, require_remote
    from git_taskctx.report import sharing, text
    from git_taskctx.report.advice import advised
    from git_taskctx.report.advice.clone import goes_on_here
    from git_taskctx.sharing.share import fetch

    chosen = require_remote(call.repository, remote) if remote is not None else default_remote(call.repository)
    caller = call.caller()
    merged = advised(fetch(caller, chosen, with_snapshots=with_snapshots, dry_run=dry_run))
    here = caller.store.active() if merged.contexts else None
    tasks = merged.contexts if call.repository.has_worktree and not dry_run else ()
    steps = tuple(goes_on_here(task, is_active=task == here).line for task in tasks)
    return Answer(
        merged,
        text=lambda document: sharing.fetched(document, merged, dry_run=dry_run),
        notes=lambda document: text.notes(document, merged.warnings, (*merged.hints, *steps)),
    )
