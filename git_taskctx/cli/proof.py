"""Verbs about commits: the proof that `verify REV` gives, and adopt."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from git_taskctx.cli.answer import Answer
from git_taskctx.cli.call import Call
from git_taskctx.cli.options import Argument
from git_taskctx.errors import Fatal, Usage
from git_taskctx.limits import EVENT_LIMIT
from git_taskctx.model.values import replace
from git_taskctx.shell import shell_word

if TYPE_CHECKING:
    from git_taskctx.model.oids import CommitOid
    from git_taskctx.model.proof import Proof
    from git_taskctx.proof.found import Judged
    from git_taskctx.proof.rules import Rules

ProofFormat = Literal["text", "json", "github", "gitlab", "sarif", "junit"]
REPORTS = get_args(ProofFormat)[2:]
"""Formats of proofs only."""
SUMMARY_LIMIT = 1024 * 1024
"""Bytes of a step summary on GitHub."""
FILES = {"gitlab": "code-quality.json", "sarif": "proof.sarif", "junit": "junit.xml"}
"""Files of `--reports` beside `proof.json`."""


def prove(
    call: Call, revision: str, *, policy: str | None, commit_map: str | None, form: str, reports: str | None
) -> Answer:
    """Prove a commit, or each of a range."""
    found, _ = judge(call, revision, policy=policy, commit_map=commit_map)
    return _answer(call, found, form, reports)


def prove_job(call: Call, revision: str | None, *, policy: str | None, form: str, reports: str | None) -> Answer:
    """Prove a CI job's commits, after fetching what its clone lacks."""
    from git_taskctx.errors import CouldNotTell
    from git_taskctx.git.repository import open_repository
    from git_taskctx.proof.clone import prove_job, unproven_job
    from git_taskctx.proof.job import name_commit, name_job, read_job

    environ = {"GIT_TERMINAL_PROMPT": "0", **os.environ}
    repository = open_repository(call.folder, environ, bare=call.bare is not None)
    call._repository = repository.view(GIT_NO_LAZY_FETCH="0")  # what a partial clone left out is fetched, too
    try:
        job = name_job(revision) if revision is not None else read_job(os.environ, _read_event())
    except CouldNotTell as error:
        return _answer(call, unproven_job("this job", error), form, reports)
    named = name_commit(policy) if policy is not None else None
    found = prove_job(call.repository, job, lambda commit: rules_at(call, commit), policy=named)
    return _answer(call, found, form, reports)


def _read_event() -> Any:
    """Return GitHub's event, if any. Raises: CouldNotTell, Fatal."""
    import json

    from git_taskctx.errors import CouldNotTell
    from git_taskctx.files import read_plain

    place = os.environ.get("GITHUB_EVENT_PATH")
    data = read_plain(Path(place), limit=EVENT_LIMIT) if place else None
    try:
        return json.loads(data) if data is not None else None
    except (ValueError, RecursionError) as error:
        raise CouldNotTell(f"the event of this job cannot be read: {place}") from error


def _answer(call: Call, found: Proof, form: str, reports: str | None) -> Answer:
    from git_taskctx.report.advice import advised
    from git_taskctx.report.proofs import proof
    from git_taskctx.report.text import notes

    not_proved = found.situation is not None and found.situation.kind == "proof.not_proved"
    if found.situation is not None and not_proved and call.repository.has_worktree:
        found = replace(found, situation=found.situation.knowing(caller=call.caller(named=False)))
    found = advised(found)
    if reports is not None:
        _write_reports(found, call.folder / reports)
    raw = _report(found, form) if form in REPORTS else None
    return Answer(
        found,
        raw=raw,
        text=lambda document: proof(document, found),
        notes=lambda document: notes(document, found.warnings, found.hints),
        code=found.verdict.exit_code,
        reason=found.summary,
        hints=found.hints,
        paths=tuple(dict.fromkeys(path for one in found.required for reason in one.reasons for path in reason.paths)),
    )


def judge(
    call: Call,
    revision: str,
    *,
    policy: str | None,
    commit_map: str | None = None,
    keep: dict[CommitOid, Judged] | None = None,
) -> tuple[Proof, Rules]:
    """Return the proof of a commit or a range, and the rules applied; `keep` as in `prove`."""
    from git_taskctx.agents.here import is_active

    repository, notices = call.repository, tuple[str, ...]()
    if repository.has_worktree and is_active(str(repository.toplevel), str(repository.git_dir)):
        from git_taskctx.commits.seal import seal_head

        notices = seal_head(call.caller())
    repository.begin()
    from git_taskctx.proof.prove import prove
    from git_taskctx.proof.range import read_commit_map, resolve_range

    what = resolve_range(repository, revision, policy)
    renamed = read_commit_map(repository, Path(call.folder, commit_map) if commit_map is not None else None)
    rules = rules_at(call, what.policy)
    proof = prove(repository, what, rules, renamed=renamed, keep=keep)
    return replace(proof, warnings=(*notices, *proof.warnings)), rules


def _write_reports(found: Proof, folder: Path) -> None:
    """Write a proof in every machine format.

    Raises: Fatal, also for a link as folder or file; links above are followed.
    """
    from git_taskctx.files import make_folder, write_atomic
    from git_taskctx.report.machine import render_json

    make_folder(folder)
    write_atomic(folder / "proof.json", render_json(found).encode("utf-8", "surrogateescape"))
    for form, name in FILES.items():
        write_atomic(folder / name, _report(found, form))


def refuse_for_worktree(policy: str | None, commit_map: str | None, form: str, reports: str | None) -> None:
    """Refuse options of proofs for the worktree. Raises: Usage."""
    given = {
        "--policy": policy,
        "--commit-map": commit_map,
        "--reports": reports,
        "--format": form if form in REPORTS else None,
    }
    for option, value in given.items():
        if value is not None:
            words = f"{option} {shell_word(value)}"
            raise Usage(f"{words} is for the proof of commits", hint=f"git taskctx verify HEAD {words}")


def rules_at(call: Call, commit: CommitOid | None) -> Rules:
    """Return the rules for a range with this base, never those of the change itself."""
    from git_taskctx.proof.rules import rules_of

    def at(other: CommitOid | None) -> Rules:
        return rules_at(call, other)

    repository = call.repository
    if commit is not None and not repository.objects.has(commit):
        return rules_of(call.config(None), None, missing=True, at=at)
    config = call.config(commit)
    signers = repository.find_blob(commit, config.policy.proof.allowed_signers)
    return rules_of(config, signers, at=at)


def _report(found: Proof, form: str) -> bytes:
    if form == "github":
        from git_taskctx.report.formats.github import render_summary

        place = os.environ.get("GITHUB_STEP_SUMMARY")
        if place:
            try:
                with Path(place).open("ab") as file:
                    file.write(render_summary(found, room=max(0, SUMMARY_LIMIT - file.tell())).encode("utf-8"))
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise Fatal(
                    f"cannot write the step summary {place}: {why}", hint="unset GITHUB_STEP_SUMMARY"
                ) from error
    rendered: str = importlib.import_module(f"git_taskctx.report.formats.{form}").render(found)
    return rendered.encode("utf-8")


def adopt(
    call: Call, revision: Annotated[str, Argument("REV", "The commit with the validated tree.", complete="<revisions>")]
) -> Answer:
    """Attach a task's records to a commit of the same tree.

    Only to a commit that they prove: the validated tree, on the right parent. Any other is refused.
    """
    from git_taskctx.handoff.adopt import adopt
    from git_taskctx.report import text

    caller = call.caller()
    adopted = adopt(caller, revision, lambda commit: rules_at(call, commit))
    return Answer(
        adopted,
        text=lambda document: document.sentence(
            ("adopted ", "ok"), f"{adopted.commit[:12]} is what was validated for ", (adopted.task, "bold")
        ),
        notes=lambda document: text.notes(
            document, (), () if adopted.new else (f"git taskctx verify {adopted.commit[:12]}   # it was proved before",)
        ),
    )
