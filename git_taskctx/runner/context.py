"""Execution contexts: a child for every exec, closed when it ends, whatever way it ends.

Nothing here relies on a variable of the thread or of the task of asyncio: who needs a parent asks for `ctx.parent`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeVar

from git_taskctx.runner.faults import Cancelled, ContextClosed

T = TypeVar("T")
_CANCELLED = (Cancelled, asyncio.CancelledError, concurrent.futures.CancelledError, KeyboardInterrupt)


class Ended(NamedTuple):
    """How an exec ended: what every callback of `on_close` gets."""

    state: Literal["ok", "failed", "cancelled"]
    error: BaseException | None = None


def _ended(error: BaseException | None) -> Ended:
    if error is None:
        return Ended("ok")
    return Ended("cancelled" if isinstance(error, _CANCELLED) else "failed", error)


class Extension:
    """Something that wraps every exec; the first of several is the outermost."""

    def wrap_exec(self, next: Callable[[], Any], target: Callable[..., Any], ctx: ExecutionContext) -> Any:
        """Return what the exec returns: `next()`, or something else without a call of it.

        target: what is executed. ctx: the child. In `aexec`, `next()` returns what is to be awaited, and so may this.
        """
        return next()


class ExecutionContext:
    """One execution: its input, tags and data, its parent, and what is to be done when it ends."""

    __slots__ = (
        "_callbacks", "_data", "_extensions", "_idle", "_lock", "_open", "_running", "_task", "_thread",
        "input", "name", "parent", "tags",
    )  # fmt: skip

    def __init__(
        self,
        *,
        input: Any = None,
        tags: Iterable[Any] = (),
        name: str | None = None,
        extensions: Iterable[Extension] = (),
        parent: ExecutionContext | None = None,
    ) -> None:
        self.parent = parent
        self.input = input
        self.name = name
        self.tags: tuple[Any, ...] = (*tags, *(parent.tags if parent else ()))
        """Nearest first: those of the exec, of the context, of its parents."""
        self._extensions: tuple[Extension, ...] = parent._extensions if parent else tuple(extensions)
        self._data: dict[Any, Any] | None = None
        self._callbacks: dict[object, Callable[[Ended], Any]] = {}
        self._running: set[ExecutionContext] = set()
        self._idle: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._open = True
        self._thread = threading.get_ident()
        self._task: asyncio.Task[Any] | None = None

    @property
    def data(self) -> dict[Any, Any]:
        """The context's own data, made when it is first asked for; stays readable when the context is closed."""
        if self._data is None:
            with self._lock:
                self._data = {} if self._data is None else self._data
        return self._data

    def seek(self, key: Any, default: Any = None) -> Any:
        """Return the data of a key, of this context or of the nearest parent that has it."""
        for ctx in self._chain():
            if ctx._data is not None and key in ctx._data:
                return ctx._data[key]
        return default

    def _chain(self) -> Iterator[ExecutionContext]:
        ctx: ExecutionContext | None = self
        while ctx is not None:
            yield ctx
            ctx = ctx.parent

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, or is about to."""
        return not self._open

    def on_close(self, callback: Callable[[Ended], Any]) -> Callable[[], None]:
        """Run the callback when the context ends, the last registered first; returns what takes it off again.

        Raises: ContextClosed.
        """
        key = object()
        with self._lock:
            self._require_open()
            self._callbacks[key] = callback
        return lambda: self._take_off(key)

    def _take_off(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def _require_open(self) -> None:
        if not self._open:
            raise ContextClosed(f"the execution context{f' of {self.name}' if self.name else ''} is closed")

    def exec(
        self,
        fn: Callable[[ExecutionContext], T],
        input: Any = None,
        tags: Iterable[Any] = (),
        name: str | None = None,
    ) -> T:
        """Return `fn(child)`; the child is closed by then.

        What fn raises is never hidden: a callback's error is a note of it. Where fn returned, a callback's error fails
        the exec. Raises: ContextClosed.
        """
        result: T = self.run_child(self._child(fn, input, tags, name), fn)
        return result

    async def aexec(
        self,
        fn: Callable[[ExecutionContext], Awaitable[T]],
        input: Any = None,
        tags: Iterable[Any] = (),
        name: str | None = None,
    ) -> T:
        """Do what `exec` does, for a coroutine function; who cancels it, cancels its children first."""
        result: T = await self.arun_child(self._child(fn, input, tags, name), fn)
        return result

    def _child(self, fn: Callable[..., Any], given: Any, tags: Iterable[Any], name: str | None) -> ExecutionContext:
        return ExecutionContext(input=given, tags=tags, name=name or getattr(fn, "__name__", None), parent=self)

    def run_child(self, child: ExecutionContext, fn: Callable[[Any], Any]) -> Any:
        """Do what `exec` does, in a child made by the caller."""
        self._admit(child)
        try:
            try:
                result = _synchronous(child._wrapped(fn)(), fn)
            except BaseException as error:
                child._finish(_ended(error))
                raise
            child._finish(_ended(None))
            return result
        finally:
            self._release(child)

    async def arun_child(self, child: ExecutionContext, fn: Callable[[Any], Any]) -> Any:
        """Do what `aexec` does, in a child made by the caller."""
        child._task = asyncio.current_task()
        self._admit(child)
        try:
            try:
                result = child._wrapped(fn)()
                if inspect.isawaitable(result):
                    result = await result
            except BaseException as error:
                await child._afinish(_ended(error))
                raise
            await child._afinish(_ended(None))
            return result
        finally:
            self._release(child)

    def _wrapped(self, fn: Callable[[Any], Any]) -> Callable[[], Any]:
        call: Callable[[], Any] = partial(fn, self)
        for extension in reversed(self._extensions):
            call = partial(extension.wrap_exec, call, fn, self)
        return call

    def _admit(self, child: ExecutionContext) -> None:
        with self._lock:
            self._require_open()
            self._running.add(child)

    def _release(self, child: ExecutionContext) -> None:
        with self._lock:
            self._running.discard(child)
            idle, self._idle = (self._idle, []) if not self._running else ([], self._idle)
        for wake in idle:
            wake()

    def close(self, error: BaseException | None = None) -> None:
        """Close the children, waiting for those that run, then this; a second time does nothing.

        error: what ended it, for the callbacks. Raises: what a callback raised; RuntimeError inside one of its execs.
        """
        if any(child._thread == threading.get_ident() for child in self._descendants()):
            raise RuntimeError("a context cannot be closed inside one of its own execs; with asyncio, use aclose")
        self._finish(_ended(error))

    async def aclose(self, error: BaseException | None = None) -> None:
        """Do what `close` does, without blocking the loop."""
        if any(child._task is asyncio.current_task() for child in self._descendants()):
            raise RuntimeError("a context cannot be closed inside one of its own execs")
        await self._afinish(_ended(error))

    def _descendants(self) -> Iterator[ExecutionContext]:
        """Yield what runs below."""
        with self._lock:
            running = list(self._running)
        for child in running:
            yield child
            yield from child._descendants()

    def _finish(self, ended: Ended) -> None:
        if not self._shut():
            return
        errors: list[BaseException] = []
        if any(child._task and child._thread == threading.get_ident() for child in self._descendants()):
            errors.append(RuntimeError("coroutines of a sync exec still run in its own thread: use aexec"))
        else:
            idle = threading.Event()
            if self._wake_when_idle(idle.set):
                idle.wait()
        while callback := self._next_callback():
            try:
                _synchronous(callback(ended), callback)
            except BaseException as error:
                errors.append(error)
        _raise(ended, errors)

    async def _afinish(self, ended: Ended) -> None:
        if not self._shut():
            return
        errors: list[BaseException] = []
        cancels = ended.state == "cancelled"
        while True:
            if cancels:
                for child in self._descendants():
                    if child._task is not None and child._task is not asyncio.current_task():
                        child._task.get_loop().call_soon_threadsafe(child._task.cancel)
            cancels = False
            loop = asyncio.get_running_loop()
            idle = loop.create_future()
            if not self._wake_when_idle(partial(loop.call_soon_threadsafe, _resolve, idle)):
                break
            try:
                await idle
            except asyncio.CancelledError as error:
                errors.append(error)
                cancels = True
        while callback := self._next_callback():
            try:
                result = callback(ended)
                if inspect.isawaitable(result):
                    await result
            except BaseException as error:
                errors.append(error)
        _raise(ended, errors)

    def _shut(self) -> bool:
        with self._lock:
            was_open, self._open = self._open, False
        return was_open

    def _wake_when_idle(self, wake: Callable[[], object]) -> bool:
        """Return whether any child still runs; then it is called when none does."""
        with self._lock:
            if self._running:
                self._idle.append(wake)
            return bool(self._running)

    def _next_callback(self) -> Callable[[Ended], Any] | None:
        with self._lock:
            return self._callbacks.popitem()[1] if self._callbacks else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._finish(_ended(error))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._afinish(_ended(error))


def _synchronous(result: Any, fn: object) -> Any:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError(f"{fn!r}, or an extension, is a coroutine function: use aexec")
    return result


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _raise(ended: Ended, errors: list[BaseException]) -> None:
    """Raise the first error of the callbacks where the body has none; the others are notes of it, or of the body's."""
    if not errors:
        return
    shown = ended.error if ended.error is not None else errors.pop(0)
    for error in errors:
        if error is not shown:
            shown.add_note(f"and when it was closed: {type(error).__name__}: {error}")
    if ended.error is None:
        raise shown
