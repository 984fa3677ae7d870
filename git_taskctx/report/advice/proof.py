"""Steps for a commit that is not proved: fetch what is missing, or look at what is wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from git_taskctx.commits.bypassed import find_bypassed
from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.remote import remotes_of
from git_taskctx.git.repository import Repository
from git_taskctx.ledger.refs import REMOTES
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.proof import Code, CommitProof, Proof, is_violated
from git_taskctx.model.step import Step, taskctx
from git_taskctx.proof.found import NO_RECORDS
from git_taskctx.proof.range import Range
from git_taskctx.report.advice import steps_for
from git_taskctx.report.advice.chain import way_back
from git_taskctx.report.advice.clone import fetch
from git_taskctx.situation import Situation

SHOWN = 3
"""How many tasks are named."""
_HISTORY = {Code.MERGE_UNCHECKED, Code.BASE_NOT_ANCESTOR, Code.OBJECTS_MISSING}
_ELSEWHERE = {Code.MISPLACED, Code.OTHER_PARENT}


def not_proved(
    repository: Repository,
    what: Range,
    found: Proof,
    *,
    asked: Collection[str] = (),
    beside: Sequence[Situation] = (),
    caller: Caller | None = None,
) -> tuple[Step, ...]:
    """Suggest fetching what is missing, or looking at what is wrong.

    `asked` are the remotes that were asked for records already, and `beside` what that showed; the task active in the
    worktree of `caller` may know more about the commit than its notes do.
    """
    codes, tip, ways = found.codes, what.tip, list[Step]()
    if caller is not None and NO_RECORDS & codes and (back := _by_the_task(caller, tip)):
        return back
    if NO_RECORDS & codes:
        ways += [step for one in beside for step in steps_for(one)]
    if Code.EMPTY_RANGE in codes:
        ways.append(Step(("git", "log", "--oneline", "--end-of-options", what.name, "--"), "what is in the range"))
    if Code.PART_OPEN in codes and what.without:
        end = "HEAD" if repository.find_commit("HEAD") not in (None, tip) else "BRANCH"
        ways.append(taskctx("verify", f"{what.without[0][:12]}..{end}", why="up to the commit that ends the task"))
    if NO_RECORDS & codes:
        ways += _bring_records(repository, codes, asked)
    if Code.POLICY_MISSING in codes:
        trusted = taskctx("verify", what.name, "--policy", "COMMIT").instead("by a policy that you trust")
        ways += [Step(("git", "fetch", "--deepen=1")), trusted]
    if _HISTORY & codes and repository.is_shallow:
        ways.append(Step(("git", "fetch", "--unshallow"), "the history that is cut"))
    elif Code.OBJECTS_MISSING in codes:
        why = "each is a commit; git fsck names what is missing"
        ways.append(Step(("git", "for-each-ref", NOTES_REF, REMOTES), why))
    if Code.MERGE_UNCHECKED in codes:
        ways.append(taskctx("verify", f"{tip[:12]}^2", why="what was merged, alone"))
    if Code.PARENT_UNPROVEN in codes and what.first is not None:
        trusted = taskctx("verify", f"{tip[:12]}^1..{tip[:12]}").instead("where that one is trusted")
        ways += [taskctx("verify", f"{tip[:12]}^1", why="its first parent, alone"), trusted]
    if _ELSEWHERE & codes:
        why = "the commit that was validated, before it was squashed or rebased"
        ways.append(taskctx("verify", "BRANCH", why=why))
    if Code.SIGNATURE_UNCHECKED in codes:
        why = "the signers' public keys; for ssh see: git config gpg.ssh.program"
        ways.append(Step(("gpg", "--import", "KEYS"), why))
    violated = [one for one in found.required if is_violated(one.reasons)]
    return (*ways, *map(_look_at, violated[:SHOWN]))


def _by_the_task(caller: Caller, tip: CommitOid) -> tuple[Step, ...]:
    """Return what leads on where the commit was made in the course of the active task: no records exist to fetch."""
    if caller.store.active() is None and caller.store.marker() is None:
        return ()
    with contextlib.suppress(TaskctxError), open_session(caller, write=False) as session:  # else nothing is known of it
        found = find_bypassed(session, tip)
        if found is not None:
            return (way_back(session, found).because("it bypassed the gate, and no record will prove it"),)
        repository, is_new = session.repository, tip not in (session.chain.parent, session.chain.init_head)
        made_here = tip == repository.find_commit("HEAD") and (repository.last_move() or "").startswith("commit")
        if is_new and made_here and not session.archived:
            return (taskctx("status", why=f"{session.task} is active here, and this commit has not ended it"),)
    return ()


def _bring_records(repository: Repository, codes: Collection[Code], asked: Collection[str]) -> tuple[Step, ...]:
    """Return what may bring records, and say that there may be none."""
    if not remotes_of(repository.git):
        why = "tasks known here; there is no remote to ask, and a commit made outside a task has no records"
        return (taskctx("list", why=why),)
    why = "or it was committed outside a task: nobody validated it" if Code.NO_RECORD in codes else ""
    step = fetch(repository).because(why)
    return (step,) if step.argv[-1] not in asked else ()


def _look_at(one: CommitProof) -> Step:
    if Code.COMMIT_BAD in {reason.code for reason in one.reasons}:
        return Step(("git", "cat-file", "commit", one.commit[:12]), "its header")
    if one.task:
        return taskctx("log", "--task", one.task, why="what was done")
    return Step(("git", "notes", "--ref=taskctx", "show", one.commit[:12]), "the records")


def not_proved_push(found: Proof) -> tuple[Step, ...]:
    """Suggest the first step of the proof of what is being pushed, else the whole proof."""
    if found.situation is not None and (steps := steps_for(found.situation)):
        return steps[:1]
    tip = found.commits[0].commit[:12] if found.commits else "HEAD"
    return (taskctx("verify", f"{found.policy[:12]}..{tip}" if found.policy is not None else tip),)


def nothing_recorded(repository: Repository, found: Proof) -> tuple[Step, ...]:
    """Suggest fetching what is missing about a commit."""
    return (steps_for(found.situation) if found.situation is not None else ()) or (fetch(repository),)


def nothing_attested(revision: str, found: Proof) -> tuple[Step, ...]:
    """Suggest finding out why nothing is attested."""
    return (taskctx("verify", revision, why="shows why"), *(steps_for(found.situation) if found.situation else ()))
