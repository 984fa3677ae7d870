"""Checks on a cluster of dask: a worker fetches the tree from a remote, runs the command there, and returns its log.

An attempt is fenced: the scheduler has one token for it, and who does not get the token does not run. So a worker that
was lost never runs a stage twice unseen; what is tried again is another attempt. Agents stay on this machine.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from git_taskctx.errors import Fatal, TaskctxError, Usage
from git_taskctx.files import lock_folder
from git_taskctx.git.process import Git
from git_taskctx.git.remote import fetch_refs, require_remote, url_of
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.limits import CLUSTER_SECONDS, STREAM_END
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import StageRun
from git_taskctx.model.pipeline import Settings, Stage
from git_taskctx.model.values import dataclass
from git_taskctx.pipeline.command import environment, filled, own_variables, placeholders
from git_taskctx.pipeline.here import TreeOwner
from git_taskctx.pipeline.processes import end_marked
from git_taskctx.pipeline.trees import Trees, trees_home
from git_taskctx.runner import Cancelled, CommandFailed, ContextWriter, TaskContext, TimedOut, Waiting, run_command
from git_taskctx.runner.frozen import hash_json
from git_taskctx.situation import Situation

TRIES = 2
"""How often a check is tried again whose worker was lost."""
_TICK = 0.2
"""Seconds between two looks at whether to end."""
_UNDER = "git-taskctx/"
"""What the names of attempts begin with, on the scheduler."""


class WorkerLost(Fatal):
    """A worker was lost, or the scheduler: nobody can say how far the check came."""


@dataclass(frozen=True)
class Order:
    """A check as it is sent to a worker."""

    url: str
    """Where the tree is fetched from; the worker has credentials of its own."""
    ref: str
    tree: TreeOid
    task: str
    mark: str
    """Names the attempt, on the scheduler too."""
    stage_run: StageRun
    stage: Stage
    settings: Settings


@dataclass(frozen=True)
class Ran:
    """What a worker sends back."""

    values: Mapping[str, Any]
    """What the command has in the store, but for the path of its output."""
    ends: Mapping[str, bytes]
    """The end of each stream."""
    failure: tuple[str, str, str, int] | None = None
    """The class of the error, its message, its signature, the code of the command."""


class Cluster:
    """A cluster that is there already, and the remote through which it gets trees. Raises: Usage, Fatal, Refused."""

    def __init__(self, address: str, settings: Settings, repository: Repository) -> None:
        found = re.fullmatch(r"dask://([^/@\s]+:\d+)/?", address)
        if found is None:
            raise Usage(f"{address!r} is not an executor", Situation("run.on_cluster"))
        if settings.remote is None:
            raise Usage("a worker fetches the tree from run.remote, which is not set", Situation("run.keys"))
        self.settings, self.remote = settings, require_remote(repository, settings.remote)
        self.url = url_of(repository.git, self.remote)
        if ":" not in self.url.partition("/")[0]:
            self.url = os.path.normpath(os.path.join(repository.toplevel, self.url))  # noqa: PTH118
        self.refs: dict[TreeOid, str] = {}
        """Trees that are there."""
        try:
            self._dask = _dask()
            self._client = self._dask.Client(f"tcp://{found[1]}", set_as_default=False, timeout=CLUSTER_SECONDS)
        except ImportError as error:
            raise Fatal("dask is not installed", hint='pipx install "git-taskctx[dask]"') from error
        except OSError as error:
            raise Fatal(f"no scheduler answers at {found[1]}", hint="dask scheduler   # and workers, on it") from error

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run(self, order: Order, ctx: TaskContext) -> Ran:
        """Run a check on any worker. Raises: WorkerLost; Waiting where a worker cannot run it; Cancelled."""
        lost = (WorkerLost, self._dask.KilledWorker, self._dask.CancelledError, OSError, TimeoutError)
        name, ended = _UNDER + order.mark, threading.Event()
        token = self._dask.Queue(name, client=self._client)
        try:
            token.put(order.stage_run.attempt)
            future = self._client.submit(run_there, order, key=name, pure=False, retries=0)
            future.add_done_callback(lambda _: ended.set())
            while not ended.wait(_TICK):
                if ctx.is_cancelled:
                    future.cancel()  # what runs there sees that its task is no longer wanted
                ctx.check()
            ran: Ran = future.result()
        except Cancelled:
            raise
        except lost as error:
            raise WorkerLost(f"{ctx.task} was lost with its worker: {str(error) or type(error).__name__}") from error
        except Exception as error:
            raise Waiting(f"no worker can run {ctx.task}: {type(error).__name__}: {error}") from error
        finally:
            if self._client.status == "running":
                token.close()
        if ran.failure is not None and ran.failure[0] not in _RAISED:
            raise Waiting(f"a worker could not run {ctx.task}: {ran.failure[1]}")
        return ran


def _dask() -> Any:
    return importlib.import_module("distributed")  # it has no types


_RAISED: Mapping[str, Callable[..., Exception]] = {
    "CommandFailed": CommandFailed,
    "TimedOut": lambda message, *_: TimedOut(message),
    "Cancelled": lambda message, *_: Cancelled(message),
}


def take(ran: Ran, folder: Path, ctx: TaskContext) -> None:
    """Set what a command sets, with its output in a folder here. Raises: CommandFailed, TimedOut, Cancelled."""
    for name, end in ran.ends.items():
        (folder / name).write_bytes(end)
    for name, value in ran.values.items():
        if name not in ran.ends:
            ctx.outputs.set(name, value, keep=True)
            continue
        identity = {one: value[one] for one in ("size", "sha256")}
        ctx.outputs.set(name, {**value, "path": os.fspath(folder / name)}, keep=True, identity=identity)
        ctx.emit("output", stream=name, text=value["tail"])
    if ran.failure is not None:
        raise _RAISED[ran.failure[0]](*ran.failure[1:])


def run_there(order: Order) -> Ran:
    """Run a check on a worker, where the attempt has not begun on another. Raises: WorkerLost."""
    dask = _dask()
    worker = dask.get_worker()
    key = worker.get_current_task()
    if not dask.Queue(_UNDER + order.mark).get(batch=True):
        raise WorkerLost("the attempt had begun on another one")

    def is_over() -> bool:  # cancelled, or released because whoever asked is gone
        known = worker.state.tasks.get(key)
        return known is None or known.state in ("cancelled", "resumed") or worker.status.name != "running"

    return run_order(order, os.environ, is_over)


def run_order(order: Order, environ: Mapping[str, str], is_over: Callable[[], bool]) -> Ran:
    """Fetch the tree, and run the command in it; nothing of either is left."""
    name = order.stage_run.stage
    ctx = TaskContext(name=name)
    ctx.task, ctx.attempt, ctx.outputs = name, order.stage_run.attempt, ContextWriter(name)
    ctx.asks, ctx.sink = is_over, lambda *_: None
    ctx.logs = Path(tempfile.mkdtemp(prefix="taskctx-"))
    failure = None
    end_marked(f"{order.mark.rsplit('/', 2)[0]}/")  # of an attempt whose worker was killed here
    try:
        _run_in_tree(order, environ, ctx)
    except TaskctxError as error:
        failure = (
            type(error).__name__,
            error.message,
            getattr(error, "signature", ""),
            getattr(error, "command_code", 1),
        )
    except OSError as error:
        failure = ("OSError", f"{order.stage.run[0]}: {(error.strerror or str(error)).lower()}", "", 1)
    finally:
        end_marked(order.mark)
    values = {key.partition(".")[2]: value for key, value in ctx.outputs.drain_writes().items()}
    ends = {name: end_of(Path(value["path"])) for name, value in values.items() if name != "exit_code"}
    shutil.rmtree(ctx.logs)
    return Ran(values, ends, failure)


def _run_in_tree(order: Order, environ: Mapping[str, str], ctx: TaskContext) -> None:
    home, stage_run, limit = trees_home(environ), order.stage_run, order.stage.limit
    clone = home.parent / "clones" / hash_json(order.url)[:16]
    clone.mkdir(parents=True, exist_ok=True)
    held = lock_folder(clone)
    try:
        git = Git(clone, environ)
        git.run("init", "-q", "--template=", *(["--object-format=sha256"] if len(order.tree) > 40 else []))
        fetch_refs(git, order.url, [f"+{order.ref}:{order.ref}"])
    finally:
        os.close(held)
    owner = TreeOwner(os.fspath(clone), order.task, stage_run.stage, stage_run.run)
    repository = open_repository(clone, environ)
    try:
        with Trees(home) as trees:
            own = trees.make(repository, order.tree, owner)
            values = placeholders(order.task, own.top)
            env = environment(environ, order.settings)
            env |= own_variables(order.task, order.stage, order.stage_run, order.mark, own.top)
            for command in order.settings.setup:
                run_command(ctx, filled(command, values), cwd=own.top, env=env, wall=limit.wall)
            run_command(ctx, filled(order.stage.run, values), cwd=own.top, env=env, wall=limit.wall,
                        idle=limit.idle)  # fmt: skip
    finally:
        repository.close()


def end_of(path: Path) -> bytes:
    """Return the end of a file, as much as goes on record."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - STREAM_END))
        return file.read(STREAM_END)
