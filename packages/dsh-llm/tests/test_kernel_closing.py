"""Closing a scope: everything is undone whatever fails, and nobody waits for himself."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from dsh_llm import Context, GroupError, Signal

CHANGED: Signal[[]] = Signal("test/changed")


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


def test_closing_reports_every_failure_and_still_does_everything() -> None:
    """One clean-up's failure, of whatever kind, stops no other."""

    async def main() -> None:
        log: list[str] = []
        ctx = Context()
        ctx.own(writes(log, "a"))
        ctx.own(writes(log, "b", ValueError("broken")))
        ctx.scope("child").own(writes_later(log, "c", OSError("gone")))
        ctx.own(writes_later(log, "d", asyncio.CancelledError()))
        with pytest.raises(GroupError) as caught:
            await ctx.aclose()
        assert log == ["d begins", "d ends", "c begins", "c ends", "b", "a"]
        assert caught.value.code == "CLOSE_FAILED"
        assert [str(error) for error in caught.value.errors] == [
            "cancelled from within",
            "closing child failed: OSError: gone",
            "broken",
        ]
        with pytest.raises(GroupError) as again:
            await ctx.aclose()
        assert again.value is caught.value

    asyncio.run(main())


def test_awaiting_a_cancelled_task_in_a_cleanup_does_not_stop_the_closing() -> None:
    """The common `task.cancel(); await task` raises `CancelledError` in the clean-up."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        ctx.own(writes(log, "after"))
        task = asyncio.create_task(forever())

        async def stop() -> None:
            task.cancel()
            await task

        ctx.own(stop)
        with pytest.raises(GroupError):
            await ctx.aclose()
        return log

    assert asyncio.run(main()) == ["after"]


def test_closing_twice_at_once_is_one_closing() -> None:
    """Each caller returns when everything has stopped."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        ctx.own(writes_later(log, "a"))

        async def close(name: str) -> None:
            await ctx.aclose()
            log.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(close("one"))
            group.create_task(close("two"))
        await ctx.aclose()
        return log

    assert asyncio.run(main()) == ["a begins", "a ends", "one", "two"]


def test_a_cancelled_closing_is_finished_first(caplog: pytest.LogCaptureFixture) -> None:
    """The cancellation passes on when all is done; a failure that it hides is reported."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        ctx.own(writes_later(log, "a", ValueError("broken")))
        task = asyncio.create_task(ctx.aclose())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        await asyncio.wait([task])
        assert task.cancelled()
        return log

    assert asyncio.run(main()) == ["a begins", "a ends"]
    assert [record.name for record in caplog.records] == ["dsh"]


def test_closing_from_a_task_of_the_scope_does_not_wait_for_itself() -> None:
    """The task is cancelled like the others; who closes from outside waits for all."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        ctx.own(writes_later(log, "a"))

        async def suicide() -> None:
            await ctx.aclose()
            log.append("not waiting")
            try:
                await forever()
            finally:
                log.append("cancelled")

        ctx.scope().spawn(suicide())
        await settle()
        await ctx.aclose()
        return log

    assert asyncio.run(main()) == ["not waiting", "cancelled", "a begins", "a ends"]


def test_closing_from_a_cleanup_does_not_wait_for_itself() -> None:
    """Neither for its own scope nor for the parent that it brings down."""

    async def main() -> list[str]:
        log: list[str] = []
        ctx = Context()
        child = ctx.scope()

        async def cleanup() -> None:
            await child.aclose()
            await ctx.aclose()
            log.append("cleanup")

        child.own(cleanup)
        ctx.own(writes(log, "parent"))
        await child.aclose()
        log.append("child closed")
        await ctx.aclose()
        return log

    assert sorted(asyncio.run(main())) == ["child closed", "cleanup", "parent"]


def test_two_scopes_that_close_each_other_do_not_wait_for_ever() -> None:
    """The second closing is part of the first, and says so to whoever it calls."""

    async def main() -> list[str]:
        log: list[str] = []
        root = Context()
        one, other = root.scope(), root.scope()
        one.own(other.aclose)
        other.own(one.aclose)
        one.own(writes(log, "one"))
        other.own(writes(log, "other"))
        await one.aclose()
        return log

    assert asyncio.run(main()) == ["one", "other"]


def test_a_closing_that_nobody_waits_for_reports_its_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """From inside nobody can hear it raise."""

    async def main() -> None:
        ctx = Context(label="mine")
        ctx.own(writes([], "a", ValueError("broken")))
        ctx.spawn(ctx.aclose())
        await settle()

    asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "contained failure in closing mine"
    ]


def test_a_loop_that_ends_in_the_middle_of_a_closing_is_no_second_error() -> None:
    """The closing task is cancelled with all others; whoever waits is cancelled too."""
    ctx = Context()
    ctx.own(writes_later([], "a"))
    ctx.own(forever)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().stop)
        await ctx.aclose()

    runner = asyncio.Runner()
    with pytest.raises(RuntimeError, match="Event loop stopped"):
        runner.run(main())
    runner.close()


def test_the_body_of_async_with_comes_first(caplog: pytest.LogCaptureFixture) -> None:
    """Its error is not replaced by one of the closing, which is reported."""

    async def broken(error: Exception | None) -> None:
        async with Context() as ctx:
            ctx.own(writes([], "a", ValueError("closing")))
            if error is not None:
                raise error

    with pytest.raises(OSError, match="body"):
        asyncio.run(broken(OSError("body")))
    assert len(caplog.records) == 1
    with pytest.raises(GroupError, match="closing"):
        asyncio.run(broken(None))
    assert len(caplog.records) == 1


def test_contained_failures_have_their_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """The `dsh` logger gets the exception itself."""
    ctx = Context()
    ctx.on(CHANGED, writes([], "a", ValueError("broken")))
    with caplog.at_level(logging.ERROR, "dsh"):
        ctx.emit(CHANGED)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[2] is not None
