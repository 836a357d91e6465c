"""Stopping on request: the signal is heard at every await and never mistaken for a cancellation."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from dsh_llm import AbortController, AbortSignal, HarnessError, Interruptible, aborted_error


async def forever() -> None:
    """Wait for something that never comes."""
    await asyncio.get_running_loop().create_future()


async def settle() -> None:
    """Let everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def clean() -> None:
    """Fail when a cancellation is left over on the current task."""
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await settle()


def test_a_signal_fires_once() -> None:
    """The first reason counts, and an empty one is a reason too."""
    controller = AbortController()
    assert not controller.signal.aborted
    controller.signal.raise_if_aborted()
    controller.abort("")
    controller.abort("later")
    assert controller.signal.aborted
    assert controller.signal.reason == ""
    with pytest.raises(HarnessError) as caught:
        controller.signal.raise_if_aborted()
    assert (caught.value.code, caught.value.context) == ("ABORTED", {"reason": ""})


def test_every_listener_is_told_once() -> None:
    """In the order of registration; one that comes late is told at once."""
    controller, seen = AbortController(), list[str]()
    controller.signal.on_abort(lambda: seen.append("a"))
    controller.signal.on_abort(lambda: seen.append("b"))
    controller.abort()
    controller.abort()
    dispose = controller.signal.on_abort(lambda: seen.append("late"))
    dispose()
    assert seen == ["a", "b", "late"]


def test_a_disposer_takes_back_its_own_registration_only() -> None:
    """The same listener registered twice is two registrations, and disposing twice is one."""
    controller, seen = AbortController(), list[int]()

    def listener() -> None:
        seen.append(1)

    dispose = controller.signal.on_abort(listener)
    controller.signal.on_abort(listener)
    dispose()
    dispose()
    controller.abort()
    assert seen == [1]


def test_a_listener_that_is_disposed_by_another_is_not_told() -> None:
    """Also in the middle of the firing."""
    controller, seen = AbortController(), list[int]()
    disposers: list[Callable[[], None]] = []

    def dispose_the_other() -> None:
        disposers[0]()

    controller.signal.on_abort(dispose_the_other)
    disposers.append(controller.signal.on_abort(lambda: seen.append(1)))
    controller.abort()
    assert seen == []


def test_a_raising_listener_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """Its error is reported to the `dsh` logger, and the one who aborts does not get it."""
    controller, seen = AbortController(), list[int]()

    def broken() -> None:
        raise ValueError("broken")

    controller.signal.on_abort(broken)
    controller.signal.on_abort(lambda: seen.append(1))
    controller.abort()
    assert seen == [1]
    assert [record.name for record in caplog.records] == ["dsh"]


def test_an_abort_from_outside_ends_the_body() -> None:
    """The body's await is cancelled, its clean-up runs, and `ABORTED` comes out."""

    async def main() -> None:
        controller, seen = AbortController(), list[str]()
        asyncio.get_running_loop().call_soon(controller.abort, "enough")

        async def body() -> None:
            async with Interruptible(controller.signal):
                try:
                    await forever()
                finally:
                    await asyncio.sleep(0)
                    seen.append("cleaned up")

        with pytest.raises(HarnessError) as caught:
            await body()
        assert (caught.value.code, str(caught.value)) == ("ABORTED", "enough")
        assert isinstance(caught.value.cause, asyncio.CancelledError)
        assert seen == ["cleaned up"]
        await clean()

    asyncio.run(main())


def test_a_signal_that_has_fired_lets_nothing_begin() -> None:
    """`async with` raises before the body."""

    async def main() -> None:
        controller = AbortController()
        controller.abort("too late")
        with pytest.raises(HarnessError, match="too late"):
            async with Interruptible(controller.signal):
                pytest.fail("the body began")
        await clean()

    asyncio.run(main())


def test_an_abort_by_the_body_itself_leaves_nothing_behind() -> None:
    """A body that aborts and does not await keeps what it did, and nobody is cancelled later."""

    async def main() -> None:
        controller, done = AbortController(), list[int]()
        async with Interruptible(controller.signal):
            controller.abort()
            done.append(1)
        assert done == [1]
        await clean()

    asyncio.run(main())


def test_an_abort_by_the_body_itself_is_heard_at_its_next_await() -> None:
    """The body goes no further than that."""

    async def main() -> None:
        controller = AbortController()

        async def body() -> None:
            async with Interruptible(controller.signal):
                controller.abort()
                await asyncio.sleep(0)
                pytest.fail("the body went on")

        with pytest.raises(HarnessError):
            await body()
        await clean()

    asyncio.run(main())


def test_a_body_that_swallows_the_cancellation_keeps_what_it_did() -> None:
    """It has finished all the same; the signal tells that it was aborted."""

    async def main() -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_soon(controller.abort)
        async with Interruptible(controller.signal):
            try:
                await forever()
            except asyncio.CancelledError:
                await settle()
        assert controller.signal.aborted
        await clean()

    asyncio.run(main())


def test_an_error_of_the_body_comes_out_as_it_is() -> None:
    """Also when it is the answer to the abort."""

    async def main() -> None:
        controller = AbortController()

        async def body(first: Callable[[], None]) -> None:
            async with Interruptible(controller.signal):
                first()
                raise ValueError("own")

        for first in (lambda: None, controller.abort):
            with pytest.raises(ValueError, match="own"):
                await body(first)
        await clean()

    asyncio.run(main())


def test_a_cancelled_error_of_the_bodys_own_is_an_abort_only_after_one() -> None:
    """Without the signal it passes as it is."""

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            async with Interruptible(AbortSignal()):
                raise asyncio.CancelledError
        await clean()

    asyncio.run(main())


@pytest.mark.parametrize("abort_first", [True, False])
def test_a_cancellation_from_outside_wins(abort_first: bool) -> None:  # noqa: FBT001  # Why: a parameter of the test
    """Whichever came first: who cancels a task gets a cancelled task."""

    async def main() -> None:
        controller = AbortController()

        async def work() -> None:
            async with Interruptible(controller.signal):
                await forever()

        task = asyncio.create_task(work())
        await settle()
        actions = [controller.abort, task.cancel]
        for action in actions if abort_first else reversed(actions):
            action()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


def test_a_cancellation_without_an_abort_passes() -> None:
    """It is not ours."""

    async def main() -> None:
        async def work() -> None:
            async with Interruptible(AbortSignal()):
                await forever()

        task = asyncio.create_task(work())
        await settle()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


@pytest.mark.parametrize("which", ["inner", "outer", "both"])
def test_nested_signals_end_their_own_body(which: str) -> None:
    """The inner body ends by either; the outer goes on when only the inner was aborted."""

    async def main() -> list[str]:
        outer, inner, seen = AbortController(), AbortController(), list[str]()
        fired = {"inner": [inner], "outer": [outer], "both": [inner, outer]}[which]
        for controller in fired:
            asyncio.get_running_loop().call_soon(controller.abort)
        try:
            async with Interruptible(outer.signal):
                try:
                    async with Interruptible(inner.signal):
                        await forever()
                except HarnessError:
                    seen.append("inner")
                await settle()
                seen.append("went on")
        except HarnessError:
            seen.append("outer")
        await clean()
        return seen

    assert (
        asyncio.run(main())
        == {
            "inner": ["inner", "went on"],
            "outer": ["outer"],
            "both": ["outer"],
        }[which]
    )


def test_a_deadline_around_it_is_still_a_deadline() -> None:
    """`asyncio.timeout` outside raises `TimeoutError`, an abort inside it does not."""

    async def main() -> None:
        controller = AbortController()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0), Interruptible(controller.signal):
                await forever()
        asyncio.get_running_loop().call_soon(controller.abort)
        with pytest.raises(HarnessError):
            async with asyncio.timeout(60), Interruptible(controller.signal):
                await forever()
        await clean()

    asyncio.run(main())


def test_it_can_be_entered_again() -> None:
    """Each time it watches anew."""

    async def main() -> None:
        controller = AbortController()
        watch = Interruptible(controller.signal)
        async with watch:
            await settle()
        async with watch:
            await settle()
        controller.abort()
        await clean()

    asyncio.run(main())


def test_it_needs_a_task() -> None:
    """Outside of one there is nothing to interrupt."""
    loop = asyncio.new_event_loop()
    errors: list[BaseException] = []

    def enter() -> None:
        coroutine = Interruptible(AbortSignal()).__aenter__()
        try:
            coroutine.send(None)
        except HarnessError as error:
            errors.append(error)
        loop.stop()

    loop.call_soon(enter)
    loop.run_forever()
    loop.close()
    assert [getattr(error, "code", "") for error in errors] == ["NO_EVENT_LOOP"]


def test_the_error_of_an_abort_has_its_reason() -> None:
    """It can be made where the signal is not at hand."""
    error = aborted_error("enough")
    assert (error.code, error.message, error.code_num) == ("ABORTED", "enough", 11004)


def test_reports_go_to_the_dsh_logger_alone(caplog: pytest.LogCaptureFixture) -> None:
    """So that a host can find and silence them."""
    signal = AbortController()

    def broken() -> None:
        raise ValueError("broken")

    signal.signal.on_abort(broken)
    with caplog.at_level(logging.ERROR, "dsh"):
        signal.abort()
    (record,) = caplog.records
    assert record.getMessage() == "contained failure in abort"
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "broken"
