"""Execution contexts: parents, data, input, tags, clean-up, extensions; sync and async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from git_taskctx.runner import Cancelled, ContextClosed, Ended, ExecutionContext, Extension


def run_both(body: Callable[[ExecutionContext], Any], *, extensions: tuple[Extension, ...] = ()) -> list[Any]:
    """Execute a function with `exec` and with `aexec`; return what each gave, or raised."""

    async def coroutine(ctx: ExecutionContext) -> Any:
        return body(ctx)

    async def use() -> Any:
        async with ExecutionContext(extensions=extensions) as root:
            return await root.aexec(coroutine)

    def sync() -> Any:
        with ExecutionContext(extensions=extensions) as root:
            return root.exec(body)

    found = []
    for call in (sync, lambda: asyncio.run(use())):
        try:
            found.append(call())
        except Exception as error:
            found.append(error)
    return found


def test_parent_chain() -> None:
    """The root has no parent; a child's is the context that executed it; a grandchild's is the child."""
    with ExecutionContext() as root:
        assert root.parent is None
        assert root.exec(lambda child: child.parent) is root
        assert root.exec(lambda child: child.exec(lambda below: (below.parent is child, below.parent.parent))) == (
            True,
            root,
        )


def test_each_exec_has_data_of_its_own() -> None:
    """A child neither sees nor changes its parent's data; two execs share none."""
    with ExecutionContext() as root:
        root.data["key"] = "root"

        def body(child: ExecutionContext) -> bool:
            seen = "key" in child.data
            child.data["key"] = "child"
            return seen

        assert [root.exec(body), root.exec(body)] == [False, False]
        assert root.data == {"key": "root"}


def test_data_is_made_when_it_is_asked_for() -> None:
    """No context has a data mapping before somebody looks; `seek` and the end of an exec make none either."""
    with ExecutionContext() as root:
        kept: list[ExecutionContext] = []
        root.exec(lambda child: (kept.append(child), child.seek("x")))
        assert (root._data, kept[0]._data) == (None, None)
        assert kept[0].data is kept[0].data
        assert kept[0]._data == {}


def test_input_is_isolated() -> None:
    """The root's input is None, and each exec has the one that it was given."""
    with ExecutionContext() as root:
        assert [root.exec(lambda child: child.input, input=word) for word in ("a", "b")] == ["a", "b"]
        assert root.exec(lambda child: child.exec(lambda below: below.input), input="a") is None
        assert root.input is None


def test_concurrent_execs_share_nothing() -> None:
    """Sixteen execs of one context that all run at the same moment have their own input and data."""
    gate = threading.Barrier(16)
    found: list[tuple[int, int, bool]] = []
    with ExecutionContext() as root:

        def body(child: ExecutionContext) -> None:
            child.data["n"] = child.input
            gate.wait()
            found.append((child.input, child.data["n"], child.parent is root))

        threads = [threading.Thread(target=root.exec, args=(body, n)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [(n, n, True) for n in range(16)]


def test_concurrent_coroutines_share_nothing() -> None:
    """The same for `aexec`: each goes on when all have begun."""

    async def use() -> list[Any]:
        gate = asyncio.Event()
        begun = 0

        async def body(child: ExecutionContext) -> Any:
            nonlocal begun
            child.data["n"] = child.input
            begun += 1
            if begun == 3:
                gate.set()
            await gate.wait()
            return child.input, child.data["n"]

        async with ExecutionContext() as root:
            return await asyncio.gather(*(root.aexec(body, n) for n in range(3)))

    assert asyncio.run(use()) == [(0, 0), (1, 1), (2, 2)]


def test_tags_come_nearest_first() -> None:
    """Those of the exec, then those of the context, then those of its parents."""
    with ExecutionContext(tags=["root"]) as root:
        assert root.exec(lambda child: child.exec(lambda below: below.tags, tags=["below", "b2"]), tags=["child"]) == (
            "below",
            "b2",
            "child",
            "root",
        )


def test_seek_looks_up_the_parents() -> None:
    """The nearest context that has the key answers, also when its value is None; else the default."""
    with ExecutionContext() as root:
        root.data.update(a="root", b="root")

        def body(child: ExecutionContext) -> Any:
            child.data["a"] = None
            return child.exec(lambda below: (below.seek("a", 1), below.seek("b"), below.seek("c", "none")))

        assert root.exec(body) == (None, "root", "none")


def test_cleanups_run_when_the_exec_ends() -> None:
    """The child's run before exec returns; the root's when it is closed."""
    events: list[str] = []
    root = ExecutionContext()
    root.on_close(lambda _: events.append("root"))
    root.exec(lambda child: child.on_close(lambda _: events.append("child")))
    events.append("after exec")
    root.close()
    assert events == ["child", "after exec", "root"]


def test_nested_cleanups_run_inside_out_and_in_reverse() -> None:
    """The grandchild's first; of one context the last registered first."""
    events: list[str] = []

    def body(child: ExecutionContext) -> None:
        child.on_close(lambda _: events.append("child 1"))
        child.on_close(lambda _: events.append("child 2"))
        child.exec(lambda below: below.on_close(lambda _: events.append("below")))
        events.append("after below")

    with ExecutionContext() as root:
        root.exec(body)
    assert events == ["below", "after below", "child 2", "child 1"]


def test_closing_twice_does_nothing() -> None:
    """The callbacks run at the first close alone: of the root, and of a child that closes itself."""
    calls: list[str] = []
    root = ExecutionContext()
    root.on_close(lambda _: calls.append("root"))

    def body(child: ExecutionContext) -> None:
        child.on_close(lambda _: calls.append("child"))
        child.close()
        child.close()
        assert calls == ["child"]

    root.exec(body)
    assert calls == ["child"]
    root.close()
    root.close()
    assert calls == ["child", "root"]


def test_a_callback_can_be_taken_off() -> None:
    """What `on_close` returns takes off that one registration, also of the same function, and may be called twice."""
    calls: list[Ended] = []
    with ExecutionContext() as root:
        off = root.on_close(calls.append)
        root.on_close(calls.append)
        off()
        off()
    assert len(calls) == 1


def test_a_closed_context_refuses() -> None:
    """`exec`, `aexec` and `on_close` raise ContextClosed."""
    kept: list[ExecutionContext] = []
    with ExecutionContext() as root:
        root.exec(kept.append)
        for call in (
            lambda: kept[0].exec(lambda _: None),
            lambda: kept[0].on_close(lambda _: None),
            lambda: asyncio.run(kept[0].aexec(kept.append)),  # type: ignore[arg-type]
        ):
            with pytest.raises(ContextClosed, match="is closed"):
                call()


def test_data_and_parent_stay_readable() -> None:
    """Of a closed context, also where data was never looked at before."""
    kept: list[ExecutionContext] = []
    with ExecutionContext() as root:
        root.exec(lambda child: (kept.append(child), child.data.update(key="value")))
        root.exec(kept.append)
    assert kept[0].data == {"key": "value"}
    assert kept[1].data == {}
    assert [ctx.parent for ctx in kept] == [root, root]


@pytest.mark.parametrize(("error", "state"), [
    (None, "ok"), (ValueError("x"), "failed"), (Cancelled("x"), "cancelled"), (KeyboardInterrupt(), "cancelled"),
    (StopIteration("x"), "failed"), (SystemExit(1), "failed"),
])  # fmt: skip
def test_callbacks_get_the_outcome(error: BaseException | None, state: str) -> None:
    """ok; failed with the error; cancelled. What the body raised arrives at the caller as it is."""
    ends: list[Ended] = []

    def body(child: ExecutionContext) -> None:
        child.on_close(ends.append)
        if error is not None:
            raise error

    with ExecutionContext() as root:
        if error is None:
            root.exec(body)
        else:
            with pytest.raises(type(error)) as caught:
                root.exec(body)
            assert caught.value is error
    assert ends == [Ended(state, error)]  # type: ignore[arg-type]


def fails(message: str) -> Callable[[Ended], None]:
    """Return a callback that raises."""

    def callback(_: Ended) -> None:
        raise OSError(message)

    return callback


def test_all_callbacks_run_even_if_one_raises() -> None:
    """A body that succeeded fails with the first error of a callback; the second is a note of it."""
    ran: list[str] = []

    def body(child: ExecutionContext) -> str:
        child.on_close(lambda _: ran.append("last"))
        child.on_close(fails("two"))
        child.on_close(lambda _: ran.append("middle"))
        child.on_close(fails("one"))
        return "fine"

    for error in run_both(body):
        assert isinstance(error, OSError)
        assert str(error) == "one"
        assert error.__notes__ == ["and when it was closed: OSError: two"]
    assert ran == ["middle", "last"] * 2


def test_the_error_of_the_body_is_never_hidden() -> None:
    """What a callback raises then is a note of the body's own error."""

    def body(child: ExecutionContext) -> None:
        child.on_close(fails("in close"))
        raise ValueError("in body")

    for error in run_both(body):
        assert isinstance(error, ValueError)
        assert error.__notes__ == ["and when it was closed: OSError: in close"]


def test_close_waits_for_children_that_run() -> None:
    """A context with an exec in another thread is closed when that has ended, and admits no other meanwhile."""
    events: list[str] = []
    inside, go_on = threading.Event(), threading.Event()
    root = ExecutionContext()
    root.on_close(lambda _: events.append("root"))

    def body(child: ExecutionContext) -> None:
        child.on_close(lambda _: events.append("child"))
        inside.set()
        go_on.wait()
        events.append("body")

    worker = threading.Thread(target=root.exec, args=(body,))
    worker.start()
    inside.wait()
    closer = threading.Thread(target=root.close)
    closer.start()
    while not root.is_closed:
        pass
    with pytest.raises(ContextClosed):
        root.exec(lambda _: None)
    assert events == []
    go_on.set()
    worker.join()
    closer.join()
    assert events == ["body", "child", "root"]


def test_a_context_cannot_be_closed_inside_its_own_exec() -> None:
    """It would wait for itself: one clear error instead, at any depth, sync and async."""
    with ExecutionContext() as root:
        with pytest.raises(RuntimeError, match="inside one of its"):
            root.exec(lambda child: child.exec(lambda _: root.close()))
        assert not root.is_closed

    async def use() -> None:
        async with ExecutionContext() as above:

            async def body(_: ExecutionContext) -> None:
                await above.aclose()

            await above.aexec(body)

    with pytest.raises(RuntimeError, match="inside one of its"):
        asyncio.run(use())


class Recording(Extension):
    """Writes down what it wraps, by a name."""

    def __init__(self, name: str, events: list[str]) -> None:
        self.name, self.events = name, events

    def wrap_exec(self, next: Callable[[], Any], target: Any, ctx: ExecutionContext) -> Any:
        """Record before and after."""
        self.events.append(f"{self.name} in")
        ctx.on_close(lambda ended: self.events.append(f"{self.name} {ended.state}"))
        return next()


def test_an_extension_gets_the_child() -> None:
    """It sees the child, whose parent has what it left there: spans nest without a variable of the thread."""
    seen: list[tuple[ExecutionContext, Any]] = []

    class Spans(Extension):
        def wrap_exec(self, next: Callable[[], Any], target: Any, ctx: ExecutionContext) -> Any:
            seen.append((ctx, target))
            above = ctx.parent.data.get("span") if ctx.parent else None
            ctx.data["span"] = (len(seen), above)
            return next()

    def inner(_: ExecutionContext) -> None:
        pass

    with ExecutionContext(extensions=[Spans()]) as root:

        def outer(child: ExecutionContext) -> None:
            child.exec(inner)

        root.exec(outer)
    (first, target), (second, below) = seen
    assert (first.parent, second.parent) == (root, first)
    assert (target, below) == (outer, inner)
    assert (first.data["span"], second.data["span"]) == ((1, None), (2, (1, None)))


def test_the_first_extension_is_the_outermost() -> None:
    """In the order of registration, around sync and async execs alike."""
    events: list[str] = []
    both = (Recording("a", events), Recording("b", events))
    assert run_both(lambda _: events.append("body"), extensions=both) == [None, None]
    assert events == ["a in", "b in", "body", "b ok", "a ok"] * 2


def test_an_extension_may_answer_itself() -> None:
    """Without a call of `next` the body does not run, and the exec returns what the extension returned."""

    class Cached(Extension):
        def wrap_exec(self, next: Callable[[], Any], target: Any, ctx: ExecutionContext) -> Any:
            return "cached"

    ran: list[str] = []
    assert run_both(lambda _: ran.append("body"), extensions=(Cached(),)) == ["cached", "cached"]
    assert ran == []


def test_an_extension_that_raises_fails_the_exec() -> None:
    """The child is closed all the same, and what was registered on it runs."""
    events: list[str] = []

    class Broken(Extension):
        def wrap_exec(self, next: Callable[[], Any], target: Any, ctx: ExecutionContext) -> Any:
            ctx.on_close(lambda ended: events.append(f"{ended.state} {ended.error}"))
            raise OSError("broken")

    found = run_both(lambda _: None, extensions=(Recording("a", events), Broken()))
    assert [str(error) for error in found] == ["broken", "broken"]
    assert events == ["a in", "failed broken", "a failed"] * 2


def test_a_coroutine_function_needs_aexec() -> None:
    """`exec` of a coroutine function, and a coroutine callback of a sync exec, is one clear error."""

    async def coroutine(_: Any) -> None:
        pass

    with ExecutionContext() as root:
        with pytest.raises(TypeError, match="use aexec"):
            root.exec(coroutine)
        with pytest.raises(TypeError, match="use aexec"):
            root.exec(lambda child: child.on_close(coroutine) and None)


def test_coroutine_callbacks_are_awaited() -> None:
    """In reverse order, with the others."""
    events: list[str] = []

    async def use() -> None:
        async with ExecutionContext() as root:

            async def body(child: ExecutionContext) -> None:
                async def late(_: Ended) -> None:
                    await asyncio.sleep(0)
                    events.append("coroutine")

                child.on_close(lambda _: events.append("function"))
                child.on_close(late)

            await root.aexec(body)

    asyncio.run(use())
    assert events == ["coroutine", "function"]


def test_cancelling_reaches_the_children_first() -> None:
    """A cancelled `aexec` cancels the execs that run below it in tasks of their own, and ends after them."""
    events: list[str] = []

    async def use() -> None:
        begun = asyncio.Event()

        async def below(ctx: ExecutionContext) -> None:
            ctx.on_close(lambda ended: events.append(f"below {ended.state}"))
            begun.set()
            await asyncio.Event().wait()

        async def body(child: ExecutionContext) -> None:
            child.on_close(lambda ended: events.append(f"child {ended.state}"))
            child.data["task"] = asyncio.ensure_future(child.aexec(below))
            await asyncio.Event().wait()

        async with ExecutionContext() as root:
            running = asyncio.ensure_future(root.aexec(body))
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            events.append("after")

    asyncio.run(use())
    assert events == ["below cancelled", "child cancelled", "after"]


def test_an_aexec_waits_for_the_execs_below_it() -> None:
    """One that returned while a task of its own still executes ends after that one."""
    events: list[str] = []

    async def use() -> None:
        go_on = asyncio.Event()

        async def below(ctx: ExecutionContext) -> None:
            await go_on.wait()
            events.append("below")

        async def body(child: ExecutionContext) -> asyncio.Task[None]:
            child.on_close(lambda _: events.append("child"))
            started = asyncio.ensure_future(child.aexec(below))
            await asyncio.sleep(0)
            asyncio.get_running_loop().call_soon(go_on.set)
            return started

        async with ExecutionContext() as root:
            await (await root.aexec(body))

    asyncio.run(use())
    assert events == ["below", "child"]
