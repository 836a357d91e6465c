"""Scopes: what they own, who sees it, and that it goes with them, last first."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from dsh_llm import Check, Context, Gather, HarnessError, Signal, Waterfall

CHANGED: Signal[[]] = Signal("test/changed")
COMMIT: Check[[]] = Check("test/commit")
FLUSH: Gather[[]] = Gather("test/flush")
ROUND: Waterfall[[], int] = Waterfall("test/round")


class Clock:
    """A service."""


async def forever() -> None:
    """Wait for something that never comes."""
    await asyncio.get_running_loop().create_future()


async def settle() -> None:
    """Let everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


def writes(log: list[str], name: str, error: BaseException | None = None) -> Callable[[], None]:
    """Return a clean-up that writes its name and perhaps raises."""

    def cleanup() -> None:
        log.append(name)
        if error is not None:
            raise error

    return cleanup


def writes_later(
    log: list[str], name: str, error: BaseException | None = None
) -> Callable[[], Awaitable[None]]:
    """Return an async clean-up that writes when it begins and ends, and perhaps raises."""

    async def cleanup() -> None:
        log.append(f"{name} begins")
        await settle()
        log.append(f"{name} ends")
        if error is not None:
            raise error

    return cleanup


# -- owning ------------------------------------------------------------------------------------


def test_closing_undoes_everything_last_first() -> None:
    """Listeners, services, clean-ups and child scopes go in the reverse order of their coming."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        ctx.own(writes(log, "first"))
        child = ctx.scope("child")
        child.own(writes(log, "child 1"))
        child.own(writes_later(log, "child 2"))
        ctx.own(writes(log, "last"))
        ctx.on(CHANGED, writes(log, "told"))
        ctx.provide(Clock, Clock())
        await ctx.aclose()
        assert child.disposed
        ctx.emit(CHANGED)
        with pytest.raises(HarnessError):
            ctx.get(Clock)
        return log

    assert asyncio.run(main()) == ["last", "child 2 begins", "child 2 ends", "child 1", "first"]


def test_a_disposer_works_once() -> None:
    """What was disposed early is not undone again, by anybody."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        dispose = ctx.own(writes(log, "a"))
        dispose()
        dispose()
        await ctx.aclose()
        dispose()
        return log

    assert asyncio.run(main()) == ["a"]


def test_a_disposer_of_a_plain_cleanup_raises_what_it_raises() -> None:
    """Who disposes early hears of the failure, and closing does not repeat it."""

    async def main() -> None:
        ctx = Context()
        dispose = ctx.own(writes([], "a", ValueError("broken")))
        with pytest.raises(ValueError, match="broken"):
            dispose()
        await ctx.aclose()

    asyncio.run(main())


def test_an_async_cleanup_that_is_disposed_early_is_awaited_by_closing() -> None:
    """It starts at once."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        dispose = ctx.own(writes_later(log, "a"))
        dispose()
        await asyncio.sleep(0)
        log.append("meanwhile")
        await ctx.aclose()
        return log

    assert asyncio.run(main()) == ["a begins", "meanwhile", "a ends"]


def test_an_async_cleanup_that_is_disposed_early_reports_its_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody awaits it by name, so the log of the process gets it."""

    async def main() -> None:
        ctx = Context(label="main")
        ctx.own(writes_later([], "a", ValueError("broken")))()
        await settle()
        await settle()
        await ctx.aclose()

    asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "contained failure in clean-up in main"
    ]


def test_an_async_cleanup_that_is_disposed_without_a_loop_waits_for_closing() -> None:
    """Nothing can run it yet, and it is not lost."""
    log: list[str] = []
    ctx = Context()
    ctx.own(writes_later(log, "a"))()
    assert log == []
    asyncio.run(ctx.aclose())
    assert log == ["a begins", "a ends"]


def test_a_closed_child_leaves_its_parent() -> None:
    """Listeners are the tree's, and go with the scope that registered them."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        child = ctx.scope()
        child.on(CHANGED, writes(log, "child"))
        ctx.emit(CHANGED)
        await child.aclose()
        ctx.emit(CHANGED)
        assert (child.disposed, ctx.disposed) == (True, False)
        await ctx.aclose()
        return log

    assert asyncio.run(main()) == ["child"]


def test_the_tree_shares_events_and_services() -> None:
    """A child's service is seen by all, and there is one of each type."""
    ctx = Context()
    clock = Clock()
    dispose = ctx.scope().provide(Clock, clock)
    assert ctx.get(Clock) is clock
    assert ctx.scope().get(Clock) is clock
    with pytest.raises(HarnessError, match="'Clock'") as caught:
        ctx.provide(Clock, Clock())
    assert caught.value.code == "DUPLICATE_SERVICE"
    dispose()
    dispose()
    with pytest.raises(HarnessError, match="'Clock'") as caught:
        ctx.get(Clock)
    assert caught.value.code == "NO_SERVICE"
    ctx.provide(Clock, clock)
    dispose()
    assert ctx.get(Clock) is clock


def test_a_closed_scope_refuses_everything_new() -> None:
    """`DISPOSED`, by name; dispatching still works, for those who are left."""

    async def main() -> None:
        ctx = Context(label="mine")
        await ctx.aclose()
        attempts: list[Callable[[], object]] = [
            lambda: ctx.on(CHANGED, lambda: None),
            lambda: ctx.provide(Clock, Clock()),
            lambda: ctx.own(lambda: None),
            ctx.scope,
            lambda: ctx.spawn(forever()),
            lambda: ctx.use(lambda _ctx: None),
        ]
        for attempt in attempts:
            with pytest.raises(HarnessError, match="'mine' is disposed") as caught:
                attempt()
            assert caught.value.code == "DISPOSED"
        assert ctx.emit(CHANGED) == ()
        ctx.check(COMMIT)
        await ctx.gather(FLUSH)
        assert ctx.waterfall(ROUND, lambda: 1) == 1

    asyncio.run(main())


# -- tasks -------------------------------------------------------------------------------------


def test_a_spawned_task_is_cancelled_and_awaited() -> None:
    """Its clean-up has run when closing returns."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()

        async def work() -> None:
            try:
                await forever()
            finally:
                await settle()
                log.append("stopped")

        task = ctx.spawn(work(), "worker")
        assert task.get_name() == "worker"
        await settle()
        await ctx.aclose()
        assert task.done()
        return log

    assert asyncio.run(main()) == ["stopped"]


def test_a_spawned_task_reports_its_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Closing is not the place to hear of it: it may be long ago."""

    async def main() -> None:
        ctx = Context()

        async def broken() -> None:
            raise ValueError("broken")

        async def cancelled() -> None:
            raise asyncio.CancelledError

        ctx.spawn(broken(), "broken")
        ctx.spawn(cancelled(), "cancelled")
        await settle()
        await ctx.aclose()

    asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "contained failure in broken",
        "contained failure in cancelled",
    ]


def test_a_task_that_has_ended_is_no_longer_owned() -> None:
    """A scope that spawns for days does not grow; closing has nothing to wait for."""

    async def main() -> None:
        ctx = Context()
        tasks = [ctx.spawn(settle()) for _ in range(3)]
        await asyncio.wait(tasks)
        closing = asyncio.create_task(ctx.aclose())
        for _ in range(4):
            await asyncio.sleep(0)
        assert closing.done()

    asyncio.run(main())


def test_a_task_needs_a_running_loop() -> None:
    """Without one the error is coded, and the work is closed, not leaked."""
    work = forever()
    with pytest.raises(HarnessError) as caught:
        Context().spawn(work)
    assert caught.value.code == "NO_EVENT_LOOP"
    with pytest.raises(RuntimeError, match="cannot reuse"):
        work.send(None)
