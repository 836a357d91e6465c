"""Plugins: used in a scope of their own, undone when they fail, started in order."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from dsh_llm import Context, HarnessError, Signal

CHANGED: Signal[[]] = Signal("test/changed")


async def forever() -> None:
    """Wait for something that never comes."""
    await asyncio.get_running_loop().create_future()


async def settle() -> None:
    """Let everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


def writer(log: list[str], word: str) -> Callable[[], None]:
    """Return a function that writes *word*."""
    return lambda: log.append(word)


def listening(ctx: Context, log: list[str], word: str = "told") -> None:
    """Be a plugin with options."""
    ctx.on(CHANGED, writer(log, word))
    ctx.own(writer(log, f"{word} undone"))


# -- plain plugins -----------------------------------------------------------------------------


def test_a_plugin_registers_in_a_scope_of_its_own() -> None:
    """Options come by `partial`; closing the scope that `use` returned takes it all back."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        scope = ctx.use(partial(listening, log=log, word="x"))
        assert scope.label == "listening"
        ctx.emit(CHANGED)
        await scope.aclose()
        ctx.emit(CHANGED)
        await ctx.aclose()
        return log

    assert asyncio.run(main()) == ["x", "x undone"]


def test_a_plugin_can_be_any_callable() -> None:
    """An object is named by its class."""

    class Plug:
        def __call__(self, ctx: Context) -> None:
            ctx.own(lambda: None)

    assert Context().use(Plug()).label == "Plug"


def test_a_plugin_that_raises_is_undone_at_once() -> None:
    """Listeners, child scopes and plugins inside it are gone; its error comes out."""
    log: list[str] = []
    ctx = Context()

    def inner(ctx: Context) -> None:
        listening(ctx, log, "inner")

    def broken(ctx: Context) -> None:
        listening(ctx, log, "outer")
        ctx.use(inner)
        ctx.scope().on(CHANGED, writer(log, "child"))
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        ctx.use(broken)
    ctx.emit(CHANGED)
    assert log == ["inner undone", "outer undone"]


def test_undoing_goes_on_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A clean-up that raises is reported; the plugin's own error is the one that comes out."""
    log: list[str] = []

    def worse() -> None:
        raise OSError("worse")

    def broken(ctx: Context) -> None:
        ctx.own(writer(log, "undone"))
        ctx.own(worse)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        Context().use(broken)
    assert log == ["undone"]
    assert [record.getMessage() for record in caplog.records] == [
        "contained failure in undoing broken"
    ]


def test_tasks_and_async_cleanups_of_a_failed_plugin_are_awaited() -> None:
    """They begin to stop at once, last first, and closing the parent waits for them."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def cleanup() -> None:
            await settle()
            log.append("cleaned up")

        tasks: list[asyncio.Task[None]] = []

        def broken(ctx: Context) -> None:
            ctx.own(cleanup)
            tasks.append(ctx.scope().spawn(forever()))
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            ctx.use(broken)
        assert tasks[0].cancelling()
        await ctx.aclose()
        assert tasks[0].done()
        return log

    assert asyncio.run(main()) == ["cleaned up"]


def test_without_a_loop_the_async_cleanups_of_a_failed_plugin_wait_for_closing() -> None:
    """What is not async is undone at once all the same."""
    log: list[str] = []
    ctx = Context()

    async def cleanup() -> None:
        log.append("cleaned up")

    def broken(ctx: Context) -> None:
        listening(ctx, log)
        ctx.own(cleanup)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        ctx.use(broken)
    assert log == ["told undone"]
    asyncio.run(ctx.aclose())
    assert log == ["told undone", "cleaned up"]


def test_what_a_plugin_returns_must_be_awaitable() -> None:
    """A plugin that returns a disposer is a mistake, told and undone."""
    log: list[str] = []
    ctx = Context()
    plugin: Callable[[Context], Awaitable[None] | None] = lambda ctx: ctx.on(  # noqa: E731  # Why: the mistake  # type: ignore[assignment]  # Why: the mistake
        CHANGED, writer(log, "told")
    )
    with pytest.raises(HarnessError, match="returned a function") as caught:
        ctx.use(plugin)
    assert caught.value.code == "INVALID_PLUGIN"
    ctx.emit(CHANGED)
    assert log == []


# -- async plugins -----------------------------------------------------------------------------


def test_async_plugins_start_in_order_when_the_tree_starts() -> None:
    """Each is awaited before the next; starting again starts only what is new."""

    async def main() -> list[str]:
        log: list[str] = []

        def plugin(name: str) -> Callable[[Context], Awaitable[None]]:
            async def plugin(ctx: Context) -> None:
                log.append(f"{name} starts")
                await settle()
                listening(ctx, log, name)
                log.append(f"{name} started")

            return plugin

        ctx = Context()
        ctx.use(plugin("a"))
        ctx.scope().use(plugin("b"))
        assert log == []
        async with ctx:
            ctx.use(plugin("c"))
            await ctx.scope().start()
            await ctx.start()
        return log

    assert asyncio.run(main()) == [
        *("a starts", "a started", "b starts", "b started", "c starts", "c started"),
        *("c undone", "b undone", "a undone"),
    ]


def test_an_async_plugin_that_fails_is_undone() -> None:
    """Its error goes to whoever starts; the others can still be started."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def broken(ctx: Context) -> None:
            listening(ctx, log, "broken")
            await settle()
            raise ValueError("broken")

        async def good(ctx: Context) -> None:
            listening(ctx, log, "good")

        scope = ctx.use(broken)
        ctx.use(good)
        with pytest.raises(ValueError, match="broken"):
            await ctx.start()
        assert scope.disposed
        await ctx.start()
        ctx.emit(CHANGED)
        return log

    assert asyncio.run(main()) == ["broken undone", "good"]


def test_a_start_that_fails_in_async_with_closes_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody else could; a failure of the closing is reported."""
    log: list[str] = []

    async def broken(ctx: Context) -> None:
        def worse() -> None:
            raise OSError("worse")

        ctx.own(worse)
        raise ValueError("broken")

    async def main() -> None:
        ctx = Context()
        listening(ctx, log)
        ctx.use(broken)
        async with ctx:
            pytest.fail("the body began")

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(main())
    assert log == ["told undone"]
    assert [record.getMessage() for record in caplog.records] == [
        "contained failure in closing broken"
    ]


def test_a_plugin_that_never_started_is_forgotten_on_close() -> None:
    """Its coroutine is closed, and starting later does nothing."""

    async def main() -> None:
        ctx = Context()

        async def never(_ctx: Context) -> None:
            raise AssertionError

        scope = ctx.use(never)
        await scope.aclose()
        await ctx.start()
        ctx.use(never)
        await ctx.aclose()

    asyncio.run(main())


def test_a_future_is_awaited_like_a_coroutine() -> None:
    """Whatever can be awaited may be returned; on close there is nothing to take back from it."""

    async def main() -> None:
        ctx = Context()
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
        ctx.use(lambda _ctx: future)
        await ctx.start()
        assert future.done()
        ctx.use(lambda _ctx: asyncio.get_running_loop().create_future())
        await ctx.aclose()

    asyncio.run(main())


def test_two_starts_at_once_start_each_plugin_once() -> None:
    """The second returns when the first has started them."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def plugin(_ctx: Context) -> None:
            log.append("starts")
            await settle()
            log.append("started")

        ctx.use(plugin)

        async def run(name: str) -> None:
            await ctx.start()
            log.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(run("one"))
            group.create_task(run("two"))
        return log

    assert asyncio.run(main()) == ["starts", "started", "one", "two"]


def test_a_plugin_may_start_what_it_uses() -> None:
    """It does not wait for itself."""

    async def main() -> list[str]:
        log: list[str] = []

        async def inner(_ctx: Context) -> None:
            log.append("inner")

        async def outer(ctx: Context) -> None:
            ctx.use(inner)
            await ctx.start()
            log.append("outer")

        async with Context() as ctx:
            ctx.use(outer)
            await ctx.start()
        return log

    assert asyncio.run(main()) == ["inner", "outer"]


def test_a_start_that_is_cancelled_stops_the_plugin() -> None:
    """And undoes it, before the cancellation passes on."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def slow(ctx: Context) -> None:
            listening(ctx, log)
            try:
                await forever()
            finally:
                log.append("stopped")

        ctx.use(slow)
        task = asyncio.create_task(ctx.start())
        await settle()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        return log

    assert asyncio.run(main()) == ["stopped", "told undone"]


def test_closing_the_scope_of_a_starting_plugin_stops_it() -> None:
    """Whoever was starting it hears that the scope was closed."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def slow(_ctx: Context) -> None:
            try:
                await forever()
            finally:
                log.append("stopped")

        ctx.use(slow)
        task = asyncio.create_task(ctx.start())
        await settle()
        await ctx.aclose()
        assert log == ["stopped"]
        with pytest.raises(HarnessError, match="'slow' was closed while it started") as caught:
            await task
        assert caught.value.code == "DISPOSED"
        return log

    asyncio.run(main())


def test_a_plugin_may_close_its_own_scope() -> None:
    """It has changed its mind; it goes to its end and is not half there."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def shy(ctx: Context) -> None:
            listening(ctx, log)
            await ctx.aclose()

        scope = ctx.use(shy)
        await ctx.start()
        await scope.aclose()
        ctx.emit(CHANGED)
        return log

    assert asyncio.run(main()) == ["told undone"]
