"""Execution contexts: a child for every exec, closed when it ends, whatever way it ends.

Sync and async are one algorithm: the sync calls drive its coroutine, which then never waits. Nothing relies on a
variable of the thread or of the task of asyncio: who needs a parent asks for `ctx.parent`.
"""

from __future__ import annotations

import concurrent.futures
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar

from git_taskctx.runner.faults import Cancelled, ContextClosed

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


def cancellations() -> tuple[type[BaseException], ...]:
    """Return the errors that cancel an exec; that of asyncio where it is loaded, which takes longer than all else."""
    loaded = sys.modules.get("asyncio")
    return Cancelled, concurrent.futures.CancelledError, *((loaded.CancelledError,) if loaded is not None else ())


class Ended(NamedTuple):
    """How an exec ended: what every callback of `on_close` gets."""

    state: Literal["ok", "failed", "cancelled"]
    error: BaseException | None = None


class Extension:
    """Something that wraps every exec; the first of several is the outermost."""

    def wrap_exec(self, next: Callable[[], Any], target: Callable[..., Any], ctx: ExecutionContext) -> Any:
        """Return what the exec returns: `next()`, or something else without a call of it.

        target: what is executed. ctx: the child. In `aexec`, `next()` returns what is to be awaited, and so may this.
        """
        return next()


class ExecutionContext:
    """One execution: its input, tags and data, its parent, and what is to be done when it ends."""

    def __init__(
        self,
        *,
        input: Any = None,
        tags: Iterable[Any] = (),
        name: str | None = None,
        extensions: Iterable[Extension] = (),
        parent: ExecutionContext | None = None,
    ) -> None:
        self.parent, self.input, self.name = parent, input, name
        self.tags: tuple[Any, ...] = (*tags, *(parent.tags if parent else ()))
        """Nearest first: those of the exec, of the context, of its parents."""
        self._extensions: tuple[Extension, ...] = parent._extensions if parent else tuple(extensions)
        self._data: dict[Any, Any] | None = None
        self._callbacks: dict[object, Callable[[Ended], Any]] = {}
        self._running: set[ExecutionContext] = set()
        self._wake: list[Callable[[], object]] = []
        """Called when nothing runs below any more."""
        self._lock = threading.Lock()
        self._open = True
        self._thread = threading.get_ident()
        self._task: asyncio.Task[Any] | None = None

    @property
    def data(self) -> dict[Any, Any]:
        """The context's own data, made when it is first asked for; stays readable when the context is closed."""
        with self._lock:
            self._data = {} if self._data is None else self._data
        return self._data

    def seek(self, key: Any, default: Any = None) -> Any:
        """Return the data of a key, of this context or of the nearest parent that has it."""
        ctx: ExecutionContext | None = self
        while ctx is not None:
            if ctx._data is not None and key in ctx._data:
                return ctx._data[key]
            ctx = ctx.parent
        return default

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
        return lambda: self._callbacks.pop(key, None) and None

    def _require_open(self) -> None:
        if not self._open:
            raise ContextClosed(f"the execution context{f' of {self.name}' if self.name else ''} is closed")

    def exec(
        self, fn: Callable[[ExecutionContext], T], input: Any = None, tags: Iterable[Any] = (), name: str | None = None
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
        return _given(*_driven(self._run(child, fn, is_async=False)))

    async def arun_child(self, child: ExecutionContext, fn: Callable[[Any], Any]) -> Any:
        """Do what `aexec` does, in a child made by the caller."""
        import asyncio

        child._task = asyncio.current_task()
        return _given(*await self._run(child, fn, is_async=True))

    async def _run(
        self, child: ExecutionContext, fn: Callable[[Any], Any], *, is_async: bool
    ) -> tuple[Any, BaseException | None]:
        """Return the result and the error; raised in here, StopIteration would become a RuntimeError."""
        with self._lock:
            self._require_open()
            self._running.add(child)
        result, error = None, None
        try:
            call: Callable[[], Any] = partial(fn, child)
            for extension in reversed(self._extensions):
                call = partial(extension.wrap_exec, call, fn, child)
            result = call()
            if not is_async:
                _refuse_coroutine(result, fn)
            elif inspect.isawaitable(result):
                result = await result
        except BaseException as caught:
            error = caught
        error = await child._end(error, is_async=is_async)
        with self._lock:
            self._running.discard(child)
            wake, self._wake = (self._wake, []) if not self._running else ([], self._wake)
        for call in wake:
            call()
        return result, error

    async def _end(self, error: BaseException | None, *, is_async: bool) -> BaseException | None:
        """Wait for what runs below, then run the callbacks. Returns: the error of the whole."""
        with self._lock:
            was_open, self._open = self._open, False
        if not was_open:
            return error
        is_cancelled = isinstance(error, (*cancellations(), KeyboardInterrupt))
        ended = Ended("ok" if error is None else "cancelled" if is_cancelled else "failed", error)
        errors = [] if error is None else [error]
        errors += await self._awaited(cancels=ended.state == "cancelled") if is_async else self._waited()
        while callback := self._next_callback():
            try:
                result = callback(ended)
                if not is_async:
                    _refuse_coroutine(result, callback)
                elif inspect.isawaitable(result):
                    await result
            except BaseException as caught:
                errors.append(caught)
        for other in errors[1:]:
            errors[0].add_note(f"and when it was closed: {type(other).__name__}: {other}")
        return errors[0] if errors else None

    def _next_callback(self) -> Callable[[Ended], Any] | None:
        with self._lock:
            return self._callbacks.popitem()[1] if self._callbacks else None

    def _is_busy(self, wake: Callable[[], object]) -> bool:
        """Return whether anything runs below; `wake` is called when nothing does any more."""
        with self._lock:
            if self._running:
                self._wake.append(wake)
            return bool(self._running)

    def _waited(self) -> list[BaseException]:
        if not self._running:
            return []
        if any(child._task and child._thread == threading.get_ident() for child in self._below()):
            return [RuntimeError("coroutines of a sync exec still run in its own thread: use aexec")]
        idle = threading.Event()
        if self._is_busy(idle.set):
            idle.wait()
        return []

    async def _awaited(self, *, cancels: bool) -> list[BaseException]:
        import asyncio

        errors: list[BaseException] = []
        while self._running:
            for child in self._below() if cancels else ():
                if child._task is not None and child._task is not asyncio.current_task():
                    child._task.get_loop().call_soon_threadsafe(child._task.cancel)
            loop, idle = asyncio.get_running_loop(), asyncio.Event()
            if not self._is_busy(partial(loop.call_soon_threadsafe, idle.set)):
                break
            try:
                cancels = False
                await idle.wait()
            except asyncio.CancelledError as error:
                errors.append(error)
                cancels = True
        return errors

    def _below(self) -> Iterator[ExecutionContext]:
        """Yield what runs below, at any depth."""
        with self._lock:
            running = list(self._running)
        for child in running:
            yield child
            yield from child._below()

    def close(self, error: BaseException | None = None) -> None:
        """Close the children, waiting for those that run, then this; a second time does nothing.

        error: what ended it, for the callbacks. Raises: what a callback raised; RuntimeError inside one of its execs.
        """
        if any(child._thread == threading.get_ident() for child in self._below()):
            raise RuntimeError("a context cannot be closed inside one of its own execs; with asyncio, use aclose")
        self.__exit__(None, error)

    async def aclose(self, error: BaseException | None = None) -> None:
        """Do what `close` does, without blocking the loop."""
        import asyncio

        if any(child._task is asyncio.current_task() for child in self._below()):
            raise RuntimeError("a context cannot be closed inside one of its own execs")
        await self.__aexit__(None, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object = None) -> None:
        raised = _driven(self._end(error, is_async=False))
        _given(None, raised if raised is not error else None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, at: object = None) -> None:
        raised = await self._end(error, is_async=True)
        _given(None, raised if raised is not error else None)


def _refuse_coroutine(result: object, fn: object) -> None:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError(f"{fn!r}, or an extension, is a coroutine function: use aexec")


def _driven(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("a sync exec has waited")


def _given(result: Any, error: BaseException | None) -> Any:
    try:
        if error is not None:
            raise error
        return result
    finally:
        del error  # an error and the frame that holds it keep each other
