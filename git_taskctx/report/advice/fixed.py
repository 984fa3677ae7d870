"""The answers that follow from the words of a situation alone, without a look at the task or the clone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.quoting import shown, unquote
from git_taskctx.model.step import Step, taskctx
from git_taskctx.model.values import replace
from git_taskctx.shell import Shell, shell_words

if TYPE_CHECKING:
    from git_taskctx.hooks.place import Place

TITLE = ("--title", "what is to be done")
SNAPSHOTS = taskctx("fetch", "--with-snapshots")
NOTE = taskctx("resolve-drift", "--note", "what happened")
"""What is left to type once drift has been put right."""


def log_of(agent: str, command: str) -> Step:
    """Return how to record a run of `command`."""
    return taskctx("record-qa", "--agent", agent, "--from", "LOG", "--command", command, "--exit-code", "N")


def _install(place: Place) -> Step:
    """Suggest installing the hooks; a folder that is part of the worktree is written only on request."""
    if place.has_config_hooks or not (place.husky is not None or place.is_content(place.folder)):
        return taskctx("install")
    return taskctx("install", "--write-tracked", why="writes into the worktree, for all clones")


def _commit_policy(*names: str, message: str = "") -> Step:
    """Suggest committing policy files, which git need not know yet."""
    words = ("-m", message) if message else ()
    return Step(("git", "add", "--", *names)).then("git", "commit", *words, "--", *names)


_TAKE_POLICY = taskctx("rebuild", "--policy", "HEAD", why="takes the committed one")


def _unset(name: str, origin: str) -> tuple[Step, ...]:
    """Suggest removing a personal setting; one given with `-c` needs no command."""
    kind, _, place = origin.partition(":")
    where = ("--file", place) if Path(place).is_absolute() else ()
    return (Step(("git", "config", *where, "--unset-all", name)),) if kind == "file" else ()


ANSWERS: dict[str, Callable[..., Step | tuple[Step, ...]]] = {
    # The chain
    "chain.stale_text": lambda: taskctx("rebuild", why="takes the new text, and voids approvals of the old one"),
    "chain.nothing_done": lambda agent, words: taskctx("snapshot", "--agent", agent, *words, "--allow-clean"),
    "chain.outside": lambda agent: (
        taskctx("block", "--agent", agent, "--finding", "what has to change, and why", why="to hand the question on"),
        taskctx("rebuild", why="once the task file's scope has been widened"),
    ),
    "chain.act_as": lambda agent: Step(("export", f"GIT_TASKCTX_AGENT={agent}"), "the agent that this session acts as"),
    "chain.no_snapshot": lambda agent: taskctx("snapshot", "--agent", agent),
    "chain.other_parent": lambda: Step(("git", "commit"), "without --amend"),
    "chain.no_finding": lambda known: taskctx("status", why=f"open findings: {', '.join(known) or 'none'}"),
    "chain.found_by": lambda agent, finding: taskctx("unblock", "--agent", agent, "--finding", finding),
    "chain.no_agent": lambda agents: taskctx("status", why=f"agents: {', '.join(agents)}"),
    "chain.look": lambda: taskctx("status"),
    "chain.working": lambda agent, has_pipeline=False: (
        *([taskctx("run", why="runs the pipeline")] if has_pipeline else []),
        replace(taskctx("snapshot", "--agent", agent, why="when its work is done"), alternative=has_pipeline),
    ),
    "chain.qa_missing": lambda agent, command: log_of(agent, command).because("keep LOG outside the worktree"),
    "chain.nothing_to_update": lambda agent: taskctx("update", "--agent", agent, "--status", "done"),
    "chain.not_its_snapshot": lambda agent: taskctx("snapshot", "--agent", agent, "--done"),
    # Drift
    "drift.noted": lambda: NOTE,
    "drift.unresolved": lambda: (
        taskctx("verify", why="what differs, and how to put it right"),
        NOTE.because("when it is put right"),
    ),
    # Contexts
    "clone.known": lambda: taskctx("list"),
    "clone.recover": lambda task, why="": taskctx("recover", task, why=why),
    "clone.log_of": lambda task, context=None: taskctx(
        "log", "--task", task, *(("--context", context) if context else ())
    ),
    "clone.records": lambda session: taskctx("log", *(() if session.caller.task is None else ("--task", session.task))),
    "clone.not_the_ledgers": lambda task: (
        SNAPSHOTS.because("where another clone went on with it"),
        taskctx("recover", task),
        taskctx("purge", "--all", why="puts it away as it is"),
    ),
    "clone.went_on_elsewhere": lambda: SNAPSHOTS.because("where another clone went on with it"),
    "clone.only_ledger": lambda task: (
        SNAPSHOTS.because("where another clone has it"),
        Step(("git", "log", "--grep", f"^taskctx: {task}: ", NOTES_REF), "what is known about it"),
    ),
    "clone.alive_elsewhere": lambda folder: Step(("git", "-C", os.fspath(folder), "taskctx", "purge")),
    "clone.no_task_id": lambda path: Step(("rm", os.fspath(path))).then("git", "taskctx", "status"),
    "clone.no_ledger": lambda: taskctx("init", "TASK-1", *TITLE),
    "clone.which_task": lambda: taskctx("push", "REMOTE", "--with-snapshots", "--task", "ID"),
    "clone.which_remote": lambda: taskctx("fetch", "REMOTE", why="`git remote -v` lists them"),
    "clone.whose_records": lambda revision: taskctx("adopt", revision, "--task", "TASK-1"),
    # Each side of a fork: the hash of a record, and what that side is.
    "clone.forked": lambda sides: tuple(
        taskctx("resolve-drift", "--note", "WHY", "--holds", sha[:12], why=why) for sha, why in sides
    ),
    "clone.outside_scope": lambda paths: taskctx(
        *("restore", "--agent", "init"),
        *(word for path in paths for word in ("--paths", f":/{os.fsdecode(unquote(path))}")),
        why="undoes them",
    ),
    "clone.captured": lambda task: taskctx("get", "--task", task),
    "clone.rebuild": lambda: taskctx("rebuild"),
    "clone.no_evidence": lambda ids: taskctx("evidence", "list", why=f"known: {', '.join(ids) or 'none'}"),
    "clone.too_much_evidence": lambda: taskctx("evidence", "list", why="put several files into one"),
    "clone.type": lambda words: taskctx(*words),
    "clone.help_on": lambda verb: taskctx(verb, "-h"),
    "clone.sweep_with_age": lambda: taskctx("sweep", "--ttl", "7d"),
    # Beginning a task
    "clone.commit_policy": lambda names, again: Step(
        ("git", "taskctx", "purge"),
        "to work by it",
        after=(*_commit_policy(*names).commands, ("git", "taskctx", *again)),
    ),
    "clone.not_in_list": lambda ids, name: taskctx(
        "init", ids[0], "--task-file", os.fsdecode(unquote(name)), why="or another one of them"
    ),
    "clone.put_in_file": lambda task: taskctx("init", task, "--task-file", "FILE", why="put it into a task file"),
    "clone.name_agents": lambda task: taskctx("init", task, "--agents", "A,B,C"),
    # Proofs
    "proof.none_there": lambda remote: taskctx("push", remote, why="in the clone where the task was done"),
    "proof.not_enough_there": lambda remote: taskctx(
        "push",
        remote,
        why="in the clone where the task was done: what is there is not enough; or it was committed outside a task, "
        "and nobody validated it",
    ),
    "proof.on_a_fork": lambda fork, home: (
        taskctx("fetch", fork)
        .then("git", "taskctx", "push", home)
        .because("a maintainer takes the fork's records over; unsigned ones prove nothing from there")
    ),
    "proof.does_not_answer": lambda remote: Step(
        ("git", "ls-remote", remote, NOTES_REF), f"what git says about it; may this job read {shown(remote)}?"
    ),
    "proof.cannot_fetch": lambda remote, wanted, tag: Step(
        ("git", "fetch", remote, wanted),
        "what git says about it" + (f"; there is a tag of that name: tags/{tag}" if tag else ""),
    ),
    "proof.not_a_range": lambda start, end, job=False: taskctx(
        "verify", *(("--ci",) if job else ()), f"{start or 'HEAD'}..{end or 'HEAD'}"
    ),
    "proof.name_a_range": lambda: taskctx("verify", "--ci", "BASE..HEAD", why="name the commits"),
    "proof.no_notes": lambda: taskctx("fetch"),
    "proof.none_of_task": lambda: taskctx(
        "fetch", why="the records of others; a task that is not committed yet has none"
    ),
    "proof.several_tasks": lambda commits: tuple(
        taskctx("report", one.commit[:12], why=one.task or "") for one in commits
    ),
    "proof.other_task": lambda task: taskctx("report", "--task", task),
    # Pipelines
    "run.begins": lambda pipeline=None: taskctx("run", *([pipeline] if pipeline else ())),
    "run.goes_on": lambda: taskctx("run", "--resume"),
    "run.looks": lambda stages: tuple(taskctx("run", "--log", one, why="what it printed") for one in stages),
    "run.going_on": lambda: taskctx("status"),
    "run.approves": lambda stage: (
        taskctx("run", "--reject", stage, "--finding", "what is wrong", why="or approve it:"),
        taskctx("run", "--approve", stage),
    ),
    "run.planned": lambda: taskctx("run", "--dry-run"),
    "run.committed": lambda: _TAKE_POLICY,
    "run.corrected": lambda: (
        _commit_policy(".taskctx.toml", message="Correct the pipeline").because("once it is corrected"),
        _TAKE_POLICY,
        taskctx("run", "--dry-run").instead("where a program was missing, and is there now"),
    ),
    "run.none": lambda: (
        taskctx("help", "pipelines", why="write one, then:"),
        _commit_policy(".taskctx.toml", message="Add a pipeline"),
        _TAKE_POLICY,
    ),
    "run.keys": lambda: taskctx("help", "pipelines"),
    "run.changed": lambda ignore=(): (
        (
            # The empty line ends a last one that has no end.
            Step(("printf", "%s\\n", "", *ignore, Shell(">>.gitignore")), "a check may write what git ignores"),
            taskctx("resolve-drift", "--accept", "--note", "ignore what checks write"),
        )
        if ignore
        else taskctx(
            "verify", why='what to put back; a check may write what git ignores, or anything with tree = "own"'
        )
    ),
    "run.collides": lambda: Step(
        ("git", "grep", "--untracked", "-n", "^<<<<<<< "), "solve these in the worktree, then:"
    ),
    "run.solved": lambda owner: taskctx("snapshot", "--agent", owner, why="once it is right, then:"),
    "run.on_cluster": lambda: taskctx("run", "--executor", "dask://HOST:PORT"),
    # git's hooks
    "hooks.no_such_hook": lambda: taskctx("hook", "pre-commit"),
    "hooks.no_line_of_its_own": lambda remote: taskctx("fetch", remote, why="brings the ledger when it is typed"),
    "hooks.no_program_runs": lambda: Step(
        ("env", f"TMPDIR={Path('~/.cache').expanduser()}", "git", "taskctx", "doctor"),
        "a folder on a file system that lets programs run",
    ),
    "hooks.install": _install,
    "hooks.install_anew": lambda: taskctx("uninstall").then("git", "taskctx", "install"),
    "hooks.instead_of": lambda program: Step((program, "uninstall", "-t", "post-rewrite")).then(
        "git", "taskctx", "install"
    ),
    "hooks.husky_first": lambda: (Step(("npx", "husky"), "sets husky up in this worktree"), taskctx("install")),
    "hooks.off": lambda own: Step(("git", "config", *(() if own else ("--global",)), "--unset", "core.hooksPath")),
    "hooks.not_executable": lambda path: Step(("chmod", "+x", os.fspath(path))),
    "hooks.old_prek": lambda: Step(("prek", "self", "update"), "or as it was installed"),
    "hooks.twice": lambda: taskctx("uninstall", why="the configuration for all repositories stays"),
    "hooks.no_folder_there": lambda top: Step(("git", "-C", os.fspath(top), "taskctx", "doctor")),
    "hooks.variable": lambda name: Step(("unset", name)),
    "hooks.old_git": lambda: Step(("git", "--version")),
    "hooks.not_on_path": lambda folder: Step(("export", Shell(f"PATH={shell_words([os.fspath(folder)])}:$PATH"))),
    "hooks.does_not_run": lambda program: Step((program, "--version")),
    "hooks.several": lambda: Step(("type", "-a", "git-taskctx"), "remove all but one"),
    "hooks.setting": lambda words: Step(("git", "config", *words)),
    "hooks.own_notes": lambda variable: Step(
        ("unset", "GIT_NOTES_REF") if variable else ("git", "config", "--unset", "core.notesRef")
    ),
    "hooks.left_of_remote": lambda folder: Step(
        ("sh", "-c", f"git for-each-ref --format='delete %(refname)' {folder} | git update-ref --stdin"), "removes them"
    ),
    "hooks.unset": lambda key, value=None, remote=None: Step(
        ("git", "config", *(("--unset", key) if value is None else ("--unset-all", key, f"^{re.escape(value)}$"))),
        f"git taskctx install --notes {remote} brings them without that" if remote is not None else "",
    ),
    "hooks.notes_of": lambda remote: taskctx("install", "--notes", remote),
    "hooks.sweep": lambda: taskctx("sweep"),
    # Settings
    "setting.wrong": _unset,
    "setting.every_key": lambda: taskctx("help", why="CONFIGURATION lists every key"),
    "setting.commit_policy": lambda name: Step(
        ("git", "commit", "--", name), "policy is read as it is committed, not as it lies in the worktree"
    ),
}
"""By the kind of situation; the arguments are its facts."""
