"""One hook call, from an agent's input to our answer."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from git_taskctx.agents import judge, tools
from git_taskctx.agents.dialects import CUT, DIALECTS, Dialect, Moment, find_moment
from git_taskctx.agents.here import begins_in, find_worktree, is_active, places_of
from git_taskctx.agents.judge import Said, role_of
from git_taskctx.agents.payload import HookPayload, Unreadable
from git_taskctx.context.caller import Caller
from git_taskctx.context.opening import open_session
from git_taskctx.context.session import Session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.ahead import PLACES
from git_taskctx.git.background import Background
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import open_repository
from git_taskctx.model.values import dataclass
from git_taskctx.store import Store


@dataclass(frozen=True)
class Answered:
    document: dict[str, Any] | None = None
    """For stdout, in the agent's format; None is silence, which allows."""
    note: str | None = None
    """One line for stderr."""


def answer(
    event: str,
    agent: str,
    role: str | None,
    sent: HookPayload | Unreadable,
    *,
    folder: str,
    environ: Mapping[str, str],
    clock: Callable[[], datetime],
) -> Answered:
    """Answer one call in the current `folder`. Raises: TaskctxError where the context cannot be read."""
    dialect = DIALECTS[agent]
    moment = find_moment(dialect, event)
    if moment is None:
        return Answered()
    try:
        if isinstance(sent, Unreadable):
            raise sent
        said = Said(role, environ.get("GIT_TASKCTX_AGENT") or None, sent.helper)
        called = _Called(dialect, moment, sent, said, environ, clock)
        return called.write() if moment == "write" else called.other()
    except ValueError as error:  # what does not read, and what can be no path
        found = find_worktree(folder)
        if moment != "write" or found is None or not is_active(*found):
            return Answered(note=str(error))
        reason = f"git taskctx: {error}, so what it would write is unknown"
        return Answered(dialect.deny(dialect.events[moment], reason))


@dataclass(frozen=True)
class _Called:
    """One call with its input."""

    dialect: Dialect
    moment: Moment
    payload: HookPayload
    said: Said
    environ: Mapping[str, str]
    clock: Callable[[], datetime]

    @property
    def event(self) -> str:
        return self.dialect.events[self.moment]

    def write(self) -> Answered:
        """Judge a tool call by the task of each worktree that it names; allow what only may write."""
        payload = self.payload
        if payload.served is None and payload.tool not in self.dialect.writers:
            return Answered()
        named, odd = self._named()
        for (top, _), places in named.items():
            if odd is not None:
                return self._cannot_tell(top, odd)
            reason = self._reason_to_deny(top, places)
            if reason is not None and self._is_sure(places):
                return Answered(self.dialect.deny(self.event, reason))
            if reason is not None:
                return self._remark(reason)
        if payload.served is None and not payload.paths:
            return Answered(note=f"no path in what {payload.tool} was given, so its scope is not judged")
        return Answered()

    def _named(self) -> tuple[dict[tuple[str, str], list[str]], str | None]:
        """Return what is named in each worktree with a task, and why that is incomplete, if so.

        If nothing is named, or not everything is known, the caller's worktree counts too. A server's base for relative
        paths is unknown: the agent's folder, its worktree's top, or a root in the call.
        """
        payload, named, odd = self.payload, dict[tuple[str, str], list[str]](), self.payload.odd
        home = find_worktree(payload.cwd)
        bases = dict.fromkeys([payload.cwd])
        if payload.served is not None:
            bases |= dict.fromkeys([home[0]] if home is not None else [])
            for root in payload.roots:
                try:
                    bases |= dict.fromkeys(places_of(root, payload.cwd))
                except ValueError as error:
                    odd = str(error)
                    _add(named, begins_in(root, payload.cwd))
        for path, base in itertools.product(payload.paths, bases):
            try:
                places = places_of(path, base)
            except ValueError as error:
                odd, places = str(error), []
                _add(named, begins_in(path, base))
            for place in places:
                folder = place if payload.served is not None and os.path.isdir(place) else os.path.dirname(place)  # noqa: PTH112, PTH120
                _add(named, folder, place)
        if payload.roots or not payload.paths or odd is not None:
            for base in bases:
                _add(named, base)
        return named, odd

    def _cannot_tell(self, top: str, odd: str) -> Answered:
        """Deny input that cannot be read completely; allow unknown tools with a remark while writing is allowed."""
        reason = f"git taskctx: {odd}, so what it would write is unknown"
        served = self.payload.served
        if served is None or tools.kind_of(served) == "writes" or self._reason_to_deny(top, []) is not None:
            return Answered(self.dialect.deny(self.event, reason))
        return self._remark(reason)

    def _is_sure(self, places: list[str]) -> bool:
        """Return whether the call writes in this worktree, by its tool's name and a file."""
        served = self.payload.served
        if served is None:
            return True
        about_files = bool(places) or not tools.FILES.isdisjoint(tools.words_of(served))
        return about_files and tools.kind_of(served) == "writes"

    def _remark(self, reason: str) -> Answered:
        """Allow a call with a remark."""
        tool = quote(os.fsencode(self.payload.tool))
        text = f"git taskctx: whether {tool} writes here is unknown; if it does:\n{reason}"
        if self.dialect.remark is None:
            return Answered(note=" ".join(text.split("\n", 2)[:2]))
        return Answered(self.dialect.remark(self.event, text))

    def _reason_to_deny(self, top: str, places: list[str]) -> str | None:
        try:
            with self._open(top) as session:
                if session is None:
                    return None
                return judge.reason_to_deny(session, role_of(self.said, session.chain.agents), top, places)
        except TaskctxError as error:
            return judge.text_of(error)

    def other(self) -> Answered:
        """Give the brief as a session or sub-agent begins, or keep it from stopping."""
        if self.moment in ("stop", "helper-stop") and self.environ.get("GIT_TASKCTX_STAGE"):
            return Answered()  # `run` records the snapshot when the process ends
        found = find_worktree(self.payload.cwd)
        if found is None or not is_active(*found) or (self.moment in ("stop", "helper-stop") and self.payload.again):
            return Answered()
        if self.moment in ("helper", "helper-stop") and judge.is_reader(self.said):
            return Answered()
        try:
            with self._open(found[0], reads=self.moment in ("stop", "helper-stop")) as session:
                if session is None:
                    return Answered()
                role = role_of(self.said, session.chain.agents)
                if self.moment in ("session", "helper"):
                    return Answered(self.dialect.context(self.event, _brief(session, role)))
                reason = judge.reason_to_go_on(session, role)
        except TaskctxError as error:
            if self.moment in ("session", "helper"):
                return Answered(self.dialect.context(self.event, judge.text_of(error)))
            raise
        return Answered(self.dialect.go_on(self.event, reason) if reason is not None else None)

    @contextlib.contextmanager
    def _open(self, top: str, *, reads: bool = False) -> Iterator[Session | None]:
        """Open a worktree's active context; None if it has none, or has just ended. `reads` prefetches the worktree."""
        environ = {name: value for name, value in self.environ.items() if name not in PLACES}
        repository = open_repository(Path(top), environ)
        ahead = Background(lambda: judge.prepare(repository))
        try:
            if reads:
                ahead.start()
            store = Store(repository)
            if store.is_idle:
                yield None
                return
            actor = self.environ.get("GIT_TASKCTX_ACTOR") or "agent-hook"
            caller = Caller(repository, store, actor=actor, clock=self.clock)
            with open_session(caller, write=False) as session:
                ahead.wait()  # or git would be asked once more
                if session.archived or repository.find_commit("HEAD") == session.chain.head:
                    yield None if session.archived else session
                    return
            from git_taskctx.commits.seal import open_task

            with open_task(caller, write=False) as session:  # somebody committed: that goes on record first
                yield None if session.archived else session
        finally:
            ahead.wait()
            repository.close()


def _add(named: dict[tuple[str, str], list[str]], folder: str, *places: str) -> None:
    """Add places, or none, under the worktree of a folder that has a task."""
    found = find_worktree(folder)
    if found is not None and is_active(*found):
        named.setdefault(found, []).extend(places)


def _brief(session: Session, role: str | None) -> str:
    """Return the brief of a session's role, or of the agent at work."""
    from git_taskctx.context.roles import build_export
    from git_taskctx.context.staleness import compare_text
    from git_taskctx.report.brief import render_brief

    chain = session.chain
    acting = role if role in chain.seats else None
    if role is None and chain.at_work:
        acting = chain.owner
    warnings = [*session.warnings, *compare_text(session).warnings]
    if role is not None and acting is None:
        warnings.append(f"{role!r} is not an agent of {session.task} ({', '.join(chain.agents)})")
    text = render_brief(build_export(session.context, chain, acting), warnings)
    if acting is None:
        from git_taskctx.report.advice.chain import next_steps

        text += "\n" + "".join(f"next: {step}\n" for step in next_steps(session))
    if len(text) <= CUT:
        return text
    option = f" --role {acting}" if acting else ""
    return text[:CUT].rsplit("\n", 1)[0] + f"\n… the whole of it: git taskctx get{option} --format md\n"
