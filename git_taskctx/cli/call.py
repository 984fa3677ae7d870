"""What every verb gets from its surroundings, and how its answer leaves.

Only this module reads the environment, the current folder or the terminal.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from git_taskctx.cli.answer import Answer
from git_taskctx.errors import BadConfig, Fatal, Refused, TaskctxError
from git_taskctx.model.values import dataclass, field
from git_taskctx.shell import shell_word
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from git_taskctx.cli.options import Verb
    from git_taskctx.config import Config
    from git_taskctx.context.caller import Caller
    from git_taskctx.context.session import Session
    from git_taskctx.git.repository import Repository
    from git_taskctx.model.oids import CommitOid
    from git_taskctx.model.progress import Progress
    from git_taskctx.report.progress import Bar


OF_THE_TASK = frozenset({"compare-qa", "diff", "evidence", "get", "list", "log", "report", "status"})
"""Verbs that answer for the main worktree when called in a stage's own tree."""
IN_ANY_TREE = frozenset({None, "agent-hook", "config", "doctor", "fingerprint", "hook"})
"""Verbs that treat such a tree like any other."""


@dataclass
class Call:
    """One run of one verb."""

    task: str | None = None
    context_id: str | None = None
    format: str = "text"
    actor: str | None = None
    agent: str | None = None
    verb: str | None = None
    force_secrets: bool = False
    deep: bool = False
    bare: str | None = None
    """What the verb does without a worktree: `reads`, `writes`; None where it needs one."""
    folder: Path = field(default_factory=lambda: current_folder())
    answer: Answer | None = None
    """The verb's answer, written after typer returns, as typer handles pipes in its own way."""
    settings: dict[str, str | None] = field(default_factory=dict)
    """git's configuration as far as read; the last of a key wins."""
    _repository: Repository | None = None
    _bar: Bar | None = None

    @property
    def repository(self) -> Repository:
        """The repository of the current folder."""
        if self._repository is None:
            from git_taskctx.git.repository import open_repository

            self._repository = open_repository(self.folder, {**os.environ}, bare=self.bare is not None)
            self._leave_stage()
            if self.bare == "writes" and not self._repository.has_worktree and not self._repository.is_bare:
                self.require_worktree()
        return self._repository

    def _leave_stage(self) -> None:
        """In a stage's own tree, answer for the main worktree. Raises: Refused."""
        here = self._repository
        if here is None or self.verb in IN_ANY_TREE or not os.path.lexists(here.private_dir / "stage"):
            return
        from git_taskctx.pipeline.here import owner_of_tree

        owner = owner_of_tree(here.git_dir)
        if owner is None:
            return
        if self.verb not in OF_THE_TASK:
            raise Refused(str(owner), hint=f"git -C {shell_word(owner.top)} taskctx status")
        here.close()
        from git_taskctx.git.ahead import PLACES
        from git_taskctx.git.repository import open_repository

        self.folder = Path(owner.top)
        environ = {name: value for name, value in os.environ.items() if name not in PLACES}
        self._repository = open_repository(self.folder, environ, bare=self.bare is not None)

    def require_worktree(self, hint: str = "run it inside the worktree of a repository") -> None:
        """Refuse to go on without a worktree, where a verb needs none for something else. Raises: Fatal."""
        if not self.repository.has_worktree:
            raise Fatal("there is no worktree here", hint=hint)

    def caller(self, *, named: bool = True) -> Caller:
        """Return the caller; with `named` false it ignores the task that is named."""
        from git_taskctx.context.caller import Caller
        from git_taskctx.model.oids import check_task_id
        from git_taskctx.store import Store

        task = (self.task or os.environ.get("GIT_TASKCTX_TASK") or None) if named else None
        return Caller(
            repository=self.repository,
            store=Store(self.repository),
            actor=self.find_actor()[0],
            clock=lambda: now(),
            task=check_task_id(task) if task else None,
            context_id=self.context_id,
            force_secrets=self.force_secrets,
            deep=self.deep,
            on_progress=self._show_progress,
            program=program if (program := Path(sys.argv[0])).name == "git-taskctx" else None,
        )

    def open(self, *, write: bool) -> AbstractContextManager[Session]:
        """Open the task's context, after recording new commits. Raises: as `open_task`."""
        from git_taskctx.commits.seal import open_task

        return open_task(self.caller(), write=write)

    def _show_progress(self, progress: Progress) -> None:
        if self._bar is None:
            if 0 <= progress.total <= progress.done or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
                return
            from git_taskctx.report.progress import Bar

            self._bar = Bar(sys.stderr, colour=use_colour(sys.stderr))
        self._bar.show(progress)

    def config(self, commit: CommitOid | None) -> Config:
        """Return the configuration in force, with the policy committed in `commit`."""
        from git_taskctx.config import load_config
        from git_taskctx.limits import PYPROJECT_LIMIT

        repository = self.repository
        try:
            return load_config(
                taskctx_toml=repository.find_blob(commit, ".taskctx.toml"),
                pyproject=repository.find_blob(commit, "pyproject.toml", limit=PYPROJECT_LIMIT),
                committed_name=f".taskctx.toml at {commit[:12]}" if commit else ".taskctx.toml",
                personal=[one for one in repository.settings if one[0].startswith("taskctx.")],
            )
        except BadConfig as error:
            for name in self.uncommitted_policy(commit):
                if error.message.startswith(f"{name} at "):
                    raise BadConfig(error.message, Situation("setting.commit_policy", name=name)) from error
            raise

    def uncommitted_policy(self, commit: CommitOid | None) -> tuple[str, ...]:
        """Return the policy files that differ in the worktree from `commit`, which counts.

        Empty unless `commit` is HEAD's: only a commit made here could change it.
        """
        from git_taskctx.config import POLICY_FILES, differs
        from git_taskctx.files import read_plain
        from git_taskctx.limits import PYPROJECT_LIMIT

        found = []
        if not self.repository.has_worktree or commit != self.repository.head().commit:
            return ()
        for name in POLICY_FILES:
            with contextlib.suppress(TaskctxError):
                committed = self.repository.find_blob(commit, name, limit=PYPROJECT_LIMIT)
                if differs(name, committed, read_plain(self.repository.toplevel / name, limit=PYPROJECT_LIMIT)):
                    found.append(name)
        return tuple(found)

    def from_top(self, pattern: str) -> str:
        """Return a pattern from the current folder as one from the top of the worktree (`:/`)."""
        if pattern.startswith(":/"):
            return pattern.removeprefix(":/")
        prefix = os.path.relpath(self.folder.resolve(), self.repository.toplevel.resolve())
        return os.path.normpath(os.path.join(prefix, pattern))  # noqa: PTH118 - the pattern is no path yet

    def find_actor(self) -> tuple[str, str]:
        """Return the actor, and the option, variable or setting that names it."""
        for name, origin in self._names():
            text = (name or "").strip()
            if text:
                return text[:200].encode("utf-8", "replace").decode(), origin
        return "unknown", "default"

    def _names(self) -> Iterator[tuple[str | None, str]]:
        yield self.actor, "--actor"
        yield os.environ.get("GIT_TASKCTX_ACTOR"), "GIT_TASKCTX_ACTOR"
        names = {key: (value, origin) for key, value, origin in self.repository.settings}
        yield names.get("taskctx.actor", (None, ""))
        yield os.environ.get("GIT_AUTHOR_NAME"), "GIT_AUTHOR_NAME"
        yield names.get("user.name", (None, ""))
        yield os.environ.get("USER"), "USER"

    def close(self) -> None:
        """End what the call started."""
        if self._bar is not None:
            self._bar.close()
        if self._repository is not None:
            read = self._repository.__dict__.get("settings", ())
            self.settings = {key: value for key, value, _ in read}
            self._repository.close()


def now() -> datetime:
    """Read the clock."""
    from datetime import UTC, datetime

    return datetime.now(UTC)


def current_folder() -> Path:
    """Return the current folder. Raises: Fatal when it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        raise Fatal("the current folder is gone", hint="cd /") from error


def perform(verb: Verb, call: Call, values: Mapping[str, Any]) -> None:
    """Run a verb with its parameters; common options go into the call."""
    own, call.bare, call.agent, call.verb = dict(values), verb.bare, values.get("agent"), verb.name
    for name in verb.common:
        value = own.pop(name, None)
        if value:
            setattr(call, name, value)
    try:
        call.answer = verb.function(call, **own)
    except TaskctxError as error:
        if error.situation is not None:
            from git_taskctx.report.advice import advise

            advise(error)
        if call.actor is not None and error.hint:
            from git_taskctx.cli.acting import keep_actor

            error.hint = keep_actor(error.hint, call.actor, call.agent)
        raise
    finally:
        call.close()


def finish(call: Call) -> int:
    """Write a call's answer and return its exit code. Raises: Fatal when it cannot be written."""
    if call.answer is None:
        return 0
    name = call.answer.paged if call.format == "text" else ""
    try:
        if name and sys.stdout.isatty():
            from git_taskctx.cli.pager import paged

            with paged(name, call.settings):
                emit(call.answer, call)
        else:
            emit(call.answer, call)
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up(sys.stdout)
        raise Fatal(f"cannot write the answer: {(error.strerror or str(error)).lower()}", hint="df -h") from error
    return call.answer.code


def begin(values: Mapping[str, Any], folder: str | None) -> Call:
    """Return the call for what comes before the verb, in the folder that `-C` names. Raises: Fatal."""
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise Fatal(f"cannot change to '{folder}': {(error.strerror or '').lower()}") from error
    given = {name: value for name, value in values.items() if value}
    return Call(folder=current_folder(), **given)


def emit(answer: Answer, call: Call) -> None:
    """Write an answer: data to stdout, the rest to stderr, with the actor in commands."""
    form, wish = call.format, wished_colour(call.settings, answer.paged)
    if answer.raw is not None and form != "json":
        colour = use_colour(sys.stdout, wish)
        if answer.screen is not None and (colour or is_screen(sys.stdout)):
            from git_taskctx.report.colours import palette_of

            sys.stdout.writelines(answer.screen(palette_of(call.settings) if colour else {}))
            sys.stdout.flush()
        else:
            for piece in (answer.raw,) if isinstance(answer.raw, bytes) else answer.raw:
                write_bytes(piece)
        form = "raw"
    if form == "json":
        from git_taskctx.report.machine import error_object, render_json

        error = None
        if answer.code:
            code = {3: "could-not-tell", 75: "try-again"}.get(answer.code, "no")
            error = error_object(code, answer.reason or "", "\n".join(answer.hints) or None, answer.paths)
        write_text(render_json(answer.data, error=error))
    from git_taskctx.report.document import Document

    for writer, stream in ((answer.text if form == "text" else None, sys.stdout), (answer.notes, sys.stderr)):
        if writer is not None:
            document = Document()
            writer(document)
            if call.actor is not None:
                from git_taskctx.cli.acting import keep_actors

                keep_actors(document, call.actor, call.agent)
            try:
                document.write(stream, colour=use_colour(stream, wish), width=find_width(stream))
                stream.flush()
            except OSError:
                give_up(stream)
                if stream is sys.stdout:
                    raise


def give_up(stream: Any) -> None:
    """Discard what a closed stream cannot take, also at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_text(text: str) -> None:
    """Write text to stdout as UTF-8, whatever the locale is."""
    write_bytes(text.encode("utf-8", "surrogateescape"))


def write_bytes(data: bytes) -> None:
    """Write to stdout: unchanged to a pipe or file, with control characters made visible to a screen."""
    if is_screen(sys.stdout):
        from git_taskctx.report.document import printable

        data = printable(data.decode("utf-8", "backslashreplace")).encode("utf-8")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def is_screen(stream: Any) -> bool:
    """Return whether a person reads a stream: on a terminal, or through git's pager."""
    return bool(stream.isatty()) or os.environ.get("GIT_PAGER_IN_USE") == "true"


def use_colour(stream: Any, wish: str = "auto") -> bool:
    """Return whether a stream gets colour: by NO_COLOR and FORCE_COLOR, git's configuration, then TERM."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or wish == "always":
        return True
    return wish != "never" and is_screen(stream) and os.environ.get("TERM") != "dumb"


def wished_colour(settings: Mapping[str, str | None], paged: str) -> str:
    """Return `always`, `never` or `auto` (git-config(1)): `color.diff` for paged output, and `color.ui`."""
    off = ("false", "no", "off", "0", "never")
    if os.environ.get("GIT_PAGER_IN_USE") == "true" and (settings.get("color.pager") or "true").lower() in off:
        return "never"
    wish = (paged and settings.get("color.diff")) or settings.get("color.ui") or "auto"
    return "never" if wish.lower() in off else "always" if wish.lower() == "always" else "auto"


def can_draw() -> bool:
    """Return whether more than ASCII can be shown: we write UTF-8, and locale(7) says who reads it."""
    named = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    return "utf8" in named.lower().replace("-", "")


def find_width(stream: Any) -> int | None:
    """Return a terminal's columns; None for another stream."""
    if not is_screen(stream):
        return None
    import shutil

    return shutil.get_terminal_size().columns


def shared(path: str) -> bytes:
    """Return a file of the package."""
    from importlib import resources

    return resources.files("git_taskctx").joinpath("share", *path.split("/")).read_bytes()
