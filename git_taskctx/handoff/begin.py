"""Begin a context: capture the task once, record the worktree as it is."""

from __future__ import annotations

import os
import secrets as randomness
from collections.abc import Callable, Iterator
from pathlib import Path

from git_taskctx.commits.seal import open_current
from git_taskctx.config import POLICY_FILES, Config, differs
from git_taskctx.context.caller import TEXT_LIMIT, Caller, check_records
from git_taskctx.context.gather import Captured, Given, Ground, capture_file, capture_words, committed_in, other_agents
from git_taskctx.context.guard import refuse_task
from git_taskctx.context.roles import context_files
from git_taskctx.context.session import commands_of, signer_of, size_warning
from git_taskctx.context.staleness import read_task_file_bytes
from git_taskctx.errors import BadData, Fatal
from git_taskctx.files import read_plain
from git_taskctx.git.changes import compare_trees
from git_taskctx.git.quoting import quote
from git_taskctx.git.refs import RefMove
from git_taskctx.git.worktree import Reading, read_worktree
from git_taskctx.handoff.snapshot import keep_new_content
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import append_records
from git_taskctx.ledger.entry import anchor_of, on_anchors
from git_taskctx.ledger.kept import TASK_FILE, add_kept
from git_taskctx.ledger.refs import context_ref_name, keep_commits, refs_of, snapshots_folder
from git_taskctx.limits import PYPROJECT_LIMIT, TEXT_FILE
from git_taskctx.model.context import SCHEMA_VERSION, Audit, Context, GitState, TaskSnapshot
from git_taskctx.model.export import LISTED
from git_taskctx.model.oids import BlobOid, CommitOid, TreeOid, check_task_id
from git_taskctx.model.payloads import Init
from git_taskctx.model.policy import Policy
from git_taskctx.model.record import Record, draft_record, link
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation
from git_taskctx.store import CONTEXT


@dataclass(frozen=True)
class InitRequest:
    """The options of `init`."""

    task: str
    title: str | None = None
    description: str | None = None
    criteria: tuple[str, ...] = ()
    task_file: str | None = None
    """Path as the user gave it, relative to `folder`."""
    folder: Path = Path()
    base_commit: str | None = None
    agents: tuple[str, ...] | None = None
    any_status: bool = False

    def words(self) -> tuple[str, ...]:
        given = (
            ("--title", self.title),
            ("--description", self.description),
            ("--task-file", self.task_file),
            ("--base-commit", self.base_commit),
            ("--agents", ",".join(self.agents or ())),
        )
        options = [word for name, value in given if value for word in (name, value)]
        options += [word for text in self.criteria for word in ("--criterion", text)]
        return ("init", self.task, *options, *(("--any-status",) if self.any_status else ()))


@dataclass(frozen=True)
class BegunContext:
    context: Context
    dirty: tuple[str, ...]
    """Paths that differed from HEAD: no agent's work."""
    warnings: tuple[str, ...]
    uncommitted: tuple[str, ...] = ()
    """Policy files that differ in the worktree from the base commit's, which count."""


def begin(caller: Caller, request: InitRequest, load: Callable[[CommitOid | None], Config]) -> BegunContext:
    """Begin a context: capture the task, record the worktree, make it active. `load` reads a commit's configuration.

    Raises: Fatal when a context is active, or the task file is missing; BadData, BadConfig for unreadable files;
    Refused by the gates of a task file, or for a secret.
    """
    check_task_id(request.task)
    repository, store = caller.repository, caller.store
    _end_committed(caller)
    _require_no_active(caller)
    with store.locked():
        _require_no_active(caller)
        head = repository.head()
        base = repository.resolve_commit(request.base_commit) if request.base_commit else head.commit
        config = load(base)
        agents = _agents(request, config.policy)
        with read_worktree(repository, keep=False, hold=True) as reading:
            captured = _capture(request, Ground(config.policy, base, reading, committed_in(config)))
            keep_new_content(caller, config.policy.secrets, reading, since=caller.repository.tree_of(head.commit))
            dirty = compare_trees(reading.repository, repository.tree_of(head.commit), reading.tree)
            now, context_id = caller.now(), randomness.token_hex(8)
            payload = Init(
                agents=agents,
                anchor=anchor_of(repository, context_id),
                branch=head.branch,
                capture=captured.capture,
                commands=commands_of(captured.immutable),
            )
            draft = draft_record(
                payload, caller.origin, time=now, context=context_id, task=request.task, seq=1, agent=agents[0],
                actor=caller.actor, base=base, tree=reading.tree, commit=head.commit,
            )  # fmt: skip
            context = _new_context(caller, config.policy, draft, captured, head.branch)
            names = tuple(quote(change.path) for change in dirty)
            state = replace(context.git, dirty=names[:LISTED], dirty_count=len(names))
            context = replace(context, pipelines=config.pipelines, git=state)
            uncommitted = tuple(_uncommitted_policy(caller, base, reading))
        refuse_task(caller, config.policy.secrets, context.immutable, captured.path, captured.data)
        check_records(caller, [draft])
        apart = [
            f"{name} as it is in the worktree does not count: policy is read from the base commit"
            for name in uncommitted
        ]
        apart += filter(None, [other_agents(config, agents)])
        warnings = (*config.warnings, *apart, *captured.warnings, *size_warning(context), *caller.forced)
        (first,) = link([replace(draft, context_sha=context.sha)], None, signer_of(repository, config.policy))
        _write_first(caller, context, first, captured.data)
        store.write(request.task, context_files(context, fold([draft])))
        store.activate(request.task, context_id, caller.program)
    return BegunContext(context, names, warnings, uncommitted)


def _end_committed(caller: Caller) -> None:
    """Seal the previous task if its validated tree has been committed."""
    caller.store.check()
    if caller.store.active() is not None:
        with open_current(replace(caller, task=None, context_id=None)):
            pass


def _require_no_active(caller: Caller) -> None:
    store = caller.store
    store.check()
    active = store.active() or store.marker()
    if active is not None:
        raise Fatal(f"{active} is active in this worktree", Situation("clone.one_active", repository=caller.repository))


def _agents(request: InitRequest, policy: Policy) -> tuple[str, ...]:
    agents = request.agents or policy.agents
    unknown = [name for name in policy.chain.may_edit or () if name not in agents]
    if unknown and request.agents is None:
        raise Fatal(
            f"chain.may_edit names {unknown[0]!r}, which is not an agent",
            Situation("clone.name_agents", task=request.task),
        )
    return agents


def _capture(request: InitRequest, ground: Ground) -> Captured:
    """Read the task from its file or from the command line."""
    given = _given(request)
    try:
        return _capture_found(request, ground, given)
    except BadData as error:
        if error.hint is None and error.situation is None:
            error.situation = Situation("clone.begin_with_title", task=request.task, named=bool(request.task_file))
        raise


def _capture_found(request: InitRequest, ground: Ground, given: Given) -> Captured:
    policy = ground.policy
    found = _find_task_file(request, policy, ground.reading)
    if found is None:
        if request.title is None:
            roots = " or ".join(f"{root}/" for root in policy.task.roots)
            raise Fatal(
                f"no task file {request.task}*.task.yaml under {roots}",
                Situation("clone.begin_with_title", task=request.task),
            )
        return capture_words(given.over(TaskSnapshot(title="", description=""), {})[0], ground)
    path, data = found
    again, any_status = request.words(), request.any_status
    return capture_file(path, data, ground, task=request.task, any_status=any_status, again=again, given=given)


def _given(request: InitRequest) -> Given:
    """Return the normalized texts of the command line. Raises: Fatal where one is too long."""
    from git_taskctx.capture.normalize import normalize_multiline
    from git_taskctx.capture.taskfile import MAX_TASK_TEXT, clean_text

    title, description = request.title, request.description
    if title is not None:
        title = _bounded(request, "title", " ".join(title.split()), TEXT_LIMIT)
    if description is not None:
        clean = normalize_multiline(description) if description.strip() else ""
        description = _bounded(request, "description", clean, MAX_TASK_TEXT)
    criteria = (clean_text(text) for text in request.criteria if text.strip())
    return Given(title, description, tuple(_bounded(request, "criterion", one, MAX_TASK_TEXT) for one in criteria))


def _bounded(request: InitRequest, name: str, text: str, limit: int) -> str:
    size = len(text.encode("utf-8", "surrogateescape"))
    if size > limit:
        raise Fatal(
            f"the {name} has {size} bytes, more than {limit}", Situation("clone.put_in_file", task=request.task)
        )
    return text


def _find_task_file(request: InitRequest, policy: Policy, reading: Reading) -> tuple[str, bytes] | None:
    from git_taskctx.capture.lookup import find_task_file
    from git_taskctx.capture.taskfile import holds_task

    repository = reading.repository
    if request.task_file is not None:
        given = request.folder / request.task_file
        try:
            data = read_plain(given.resolve(), limit=TEXT_FILE)
        except BadData as error:
            raise BadData(f"{error.message}: a task file of that size is not read") from error
        if data is None:
            raise Fatal(f"there is no file '{request.task_file}'", hint="--task-file PATH, from the current folder")
        top = repository.toplevel.resolve()
        inside = given.resolve()
        return (quote(os.fsencode(inside.relative_to(top))) if inside.is_relative_to(top) else os.fspath(inside), data)
    listed = reading.git.run("ls-tree", "-r", "-z", "--name-only", reading.tree, "--", *policy.task.roots).out

    def holds(path: str) -> bool:
        try:
            data = read_task_file_bytes(repository, path)
        except BadData:
            if request.title is None:
                raise
            return False  # a list too large to be read is no reason against a task that was named
        return data is not None and holds_task(data, name=path, task=request.task)

    path = find_task_file(request.task, map(os.fsdecode, listed.split(b"\0")[:-1]), policy.task.roots, holds=holds)
    if path is None:
        return None
    data = read_task_file_bytes(repository, path)
    if data is None:
        raise Fatal(f"{path} went away while it was read", hint="run the same command again")
    return path, data


def _uncommitted_policy(caller: Caller, base: CommitOid | None, reading: Reading) -> Iterator[str]:
    """Yield the policy files whose committed text, which is in force, is not the worktree's."""
    for name in POLICY_FILES:
        found = reading.objects.find(f"{reading.tree}:{name}", limit=PYPROJECT_LIMIT)
        now = found.data if found and found.whole else None
        if differs(name, caller.repository.find_blob(base, name, limit=PYPROJECT_LIMIT), now):
            yield name


def _new_context(caller: Caller, policy: Policy, draft: Record, captured: Captured, branch: str | None) -> Context:
    chain = fold([draft])
    sha = caller.repository.objects.hash("blob", captured.data) if captured.data is not None else None
    return Context(
        version=SCHEMA_VERSION,
        task_id=draft.task,
        context_id=draft.context,
        created_at=draft.time,
        created_by=caller.actor,
        git=GitState(
            head=chain.base,
            branch=branch,
            parent=chain.parent,
            init_tree=chain.init_tree,
            task_file=captured.path,
            task_file_sha=BlobOid(sha) if sha else None,
        ),
        agents=chain.agents,
        policy=policy,
        immutable=captured.immutable,
        coordination=chain.coordination({}),
        audit=Audit(caller.actor, draft.time, caller.actor, 1, draft.commit),
    )


def _write_first(caller: Caller, context: Context, record: Record, task_data: bytes | None) -> None:
    repository, context_id = caller.repository, context.context_id
    contents = {CONTEXT: context.to_bytes()}
    kept = {**contents, **({TASK_FILE: task_data} if task_data is not None else {})}
    tree = add_kept(repository, None, kept, previous=None, records=[record])
    base = record.base or TreeOid(repository.objects.add("tree", b""))
    append_records(
        repository,
        refs_of(repository, context_id),
        {**on_anchors(repository, context_id, [record]), base: [record.to_line()]},
        [
            RefMove(f"{snapshots_folder(context_id)}/init/1", context.git.init_tree, None),
            *keep_commits(repository, context_id, (), (record.base, record.commit)),
            RefMove(context_ref_name(context_id), tree, None),
        ],
        context_id=context_id,
        tip=None,
        reason=f"{context.task_id}: begun",
    )
