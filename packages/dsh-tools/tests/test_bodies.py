"""Bodies at work: in the loop, in threads; aborted, cancelled, abandoned; never hanging."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from dsh_llm import AbortController, FrozenDict, HarnessError
from dsh_llm.testing import run_virtual
from dsh_tools import ToolContext, ToolErrorInfo, ToolExecutionResult, ToolRegistry, define_tool

DEADLINE = 10.0
"""Seconds after which a test that hangs gives up; nothing here takes that long."""


def execute(body: Callable[..., Any], **options: Any) -> ToolExecutionResult:
    """Run one call of a tool made from *body*."""
    tool = define_tool(body, name="probe")
    return asyncio.run(ToolRegistry([tool]).execute("probe", "", **options))


def text_of(result: ToolExecutionResult) -> str:
    """Return the one text of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


# -- where a body runs -------------------------------------------------------------------------

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def test_a_sync_body_runs_in_a_thread_with_the_context_variables() -> None:
    """It sees them, and what it sets stays with it."""

    def body() -> str:
        seen = VARIABLE.get()
        VARIABLE.set("changed")
        return f"{seen}:{threading.current_thread() is threading.main_thread()}"

    async def main() -> ToolExecutionResult:
        VARIABLE.set("set")
        result = await ToolRegistry([define_tool(body)]).execute("body", "")
        assert VARIABLE.get() == "set"
        return result

    assert text_of(asyncio.run(main())) == "set:False"


def test_a_sync_body_does_not_block_the_loop() -> None:
    """The loop turns while the body waits for it; two bodies overlap."""

    async def main() -> list[str]:
        both = threading.Barrier(2)

        @define_tool
        def meet() -> str:
            both.wait(DEADLINE)
            return "met"

        registry = ToolRegistry([meet])
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(registry.execute("meet", "")) for _ in range(2)]
        return [text_of(call.result()) for call in calls]

    assert asyncio.run(main()) == ["met", "met"]


def test_an_async_body_runs_in_the_loop() -> None:
    """In the caller's own task, so that an hour of waiting takes no time in a virtual loop."""

    async def body() -> str:
        await asyncio.sleep(3600)
        return threading.current_thread().name

    tool = define_tool(body)
    assert text_of(run_virtual(ToolRegistry([tool]).execute("body", ""))) == "MainThread"


async def looked_up(name: str = "z") -> str:
    """Find something."""
    return f"found {name}"


class Finder:
    """An object whose call is async."""

    async def __call__(self) -> str:
        """Find something."""
        return threading.current_thread().name


def test_whatever_can_be_awaited_after_the_call_is_awaited() -> None:
    """A plain wrapper of an async function, a partial of one, an object with an async call."""

    @functools.wraps(looked_up)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return looked_up(*args, **kwargs)

    assert text_of(execute(wrapper)) == "found z"
    assert text_of(execute(functools.partial(looked_up, name="q"))) == "found q"
    assert text_of(execute(Finder())) == "MainThread"


# -- what a body raises ------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("in_thread", [True, False])
def test_what_is_no_exception_leaves(error: type[BaseException], in_thread: bool) -> None:  # noqa: FBT001  # Why: a parametrized value
    """From a thread as well: it is carried to the calling task."""

    def sync_body() -> None:
        raise error

    async def async_body() -> None:
        raise error

    with pytest.raises(error):
        execute(sync_body if in_thread else async_body)


def test_stop_iteration_does_not_hang() -> None:
    """It cannot travel through a future; its name is told."""

    def body() -> object:
        return next(iter([]))

    async def async_body() -> object:
        return next(iter([]))

    async def main() -> list[str]:
        registry = ToolRegistry([define_tool(body), define_tool(async_body)])
        async with asyncio.timeout(DEADLINE):
            names = ("body", "async_body")
            return [text_of(await registry.execute(name, "")) for name in names]

    first, second = asyncio.run(main())
    assert first == "Error: StopIteration"
    assert "StopIteration" in second


def test_a_tool_that_cancels_itself_has_failed() -> None:
    """Nobody asked for it: an error result, whether in the loop or in a thread."""

    async def async_body() -> None:
        raise asyncio.CancelledError

    def body() -> None:
        raise asyncio.CancelledError

    signal = AbortController().signal
    for each in (async_body, body):
        for options in ({}, {"signal": signal}):
            result = execute(each, **options)
            assert result.error == ToolErrorInfo("HarnessError", "TOOL_CANCELLED")
            assert text_of(result) == "Error: the tool cancelled itself"


# -- abort -------------------------------------------------------------------------------------


def test_a_signal_that_has_fired_stops_the_call_before_the_body() -> None:
    """Nothing was done, and that is said."""
    controller = AbortController()
    controller.abort("enough")
    ran: list[str] = []

    def body() -> None:
        ran.append("body")

    result = execute(body, signal=controller.signal)
    assert result.error == ToolErrorInfo("HarnessError", "ABORTED_BEFORE_DISPATCH")
    assert text_of(result) == "Error: aborted before the tool ran: enough"
    assert result.failure is not None
    assert result.failure["effect"] == "none"
    assert ran == []


def aborting(body: Callable[..., Any]) -> tuple[ToolExecutionResult, list[str]]:
    """Run an async body that waits, and abort it as soon as it does."""
    heard: list[str] = []
    controller = AbortController()
    tool = define_tool(functools.partial(body, heard), name="probe")

    async def main() -> ToolExecutionResult:
        asyncio.get_running_loop().call_later(1, controller.abort, "enough")
        return await ToolRegistry([tool]).execute("probe", "", signal=controller.signal)

    return run_virtual(main()), heard


def test_an_abort_cancels_an_async_body_and_waits_for_its_end() -> None:
    """Its clean-up runs before the result is there; whether it did anything is unknown."""

    async def body(heard: list[str]) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(1)
            heard.append("cleaned up")

    result, heard = aborting(body)
    assert (result.error, text_of(result)) == (("HarnessError", "ABORTED"), "Error: enough")
    assert isinstance(result.failure, FrozenDict)
    assert result.failure["effect"] == "unknown"
    assert heard == ["cleaned up"]


def test_work_that_finishes_despite_the_abort_is_kept() -> None:
    """A body that took the cancellation and had a result all the same."""

    async def body(heard: list[str]) -> str:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            heard.append("heard")
        return "done"

    result, heard = aborting(body)
    assert (text_of(result), result.is_error, heard) == ("done", False, ["heard"])


def test_a_failure_of_the_body_wins_over_the_abort() -> None:
    """What went wrong in the end says more than that it was stopped."""

    async def body(heard: list[str]) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            heard.append("closing")
            raise OSError(28, "disk full")

    result, _ = aborting(body)
    assert result.error == ToolErrorInfo("SystemCallError", "ENOSPC")


def test_a_coded_failure_keeps_its_own_effect() -> None:
    """A signal that has not fired changes nothing."""

    async def body() -> None:
        raise HarnessError("no", "NO", effect="done")

    result = execute(body, signal=AbortController().signal)
    assert result.error == ToolErrorInfo("HarnessError", "NO")
    assert result.failure is not None
    assert result.failure["effect"] == "done"


def test_an_abort_that_its_own_body_fires_is_heard() -> None:
    """The next call of the same task is not hit by it."""
    controller = AbortController()

    async def body(ctx: ToolContext) -> str:
        controller.abort()
        return str(ctx.signal is controller.signal)

    async def main() -> list[str]:
        registry = ToolRegistry([define_tool(body)])
        first = await registry.execute("body", "", signal=controller.signal)
        second = await registry.execute("body", "")
        return [text_of(first), text_of(second)]

    assert run_virtual(main()) == ["True", "False"]


def test_a_cancellation_from_outside_passes_through() -> None:
    """With a signal and without; the body's clean-up has run by then."""
    heard: list[str] = []

    async def body() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            heard.append("cleaned up")

    async def main(options: dict[str, Any]) -> None:
        work = ToolRegistry([define_tool(body)]).execute("body", "", **options)
        async with asyncio.timeout(1):
            await work

    for options in ({}, {"signal": AbortController().signal}):
        with pytest.raises(TimeoutError):
            run_virtual(main(options))
    assert heard == ["cleaned up", "cleaned up"]


# -- threads that are left behind --------------------------------------------------------------


class Stuck:
    """A body that waits until the test lets go, and says when it has begun."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.loop = asyncio.get_running_loop()
        self.begun = asyncio.Event()

    def __call__(self) -> str:
        """Wait."""
        self.loop.call_soon_threadsafe(self.begun.set)
        self.gate.wait(DEADLINE)
        return "late"


def test_an_aborted_thread_is_left_behind_and_its_result_dropped() -> None:
    """The call ends at once; what the thread still does is unknown. Closing waits and reports."""

    async def main() -> None:
        stuck, controller = Stuck(), AbortController()
        registry = ToolRegistry([define_tool(stuck, name="stuck")])
        call = asyncio.ensure_future(registry.execute("stuck", "", signal=controller.signal))
        await stuck.begun.wait()
        controller.abort("enough")
        result = await call
        assert result.error == ToolErrorInfo("HarnessError", "ABORTED")
        assert result.failure is not None
        assert result.failure["effect"] == "unknown"
        assert await registry.aclose(0) == ("stuck",)
        stuck.gate.set()
        assert await registry.aclose(DEADLINE) == ()
        assert await registry.aclose(0) == ()

    asyncio.run(main())


def test_a_cancelled_call_leaves_its_thread_behind() -> None:
    """With a signal that has not fired, and without one; finished threads are forgotten."""

    async def main() -> None:
        registry = ToolRegistry()
        for signal in (None, AbortController().signal):
            stuck = Stuck()
            dispose = registry.register(define_tool(stuck, name="stuck"))
            call = asyncio.ensure_future(registry.execute("stuck", "", signal=signal))
            await stuck.begun.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            dispose()
            stuck.gate.set()
        assert await registry.aclose(DEADLINE) == ()

    asyncio.run(main())


def test_a_thread_that_had_finished_is_kept_when_the_abort_comes() -> None:
    """Its outcome was only on its way: work that is done is not thrown away."""

    async def main() -> ToolExecutionResult:
        loop, controller = asyncio.get_running_loop(), AbortController()

        def abort_after(thread: threading.Thread) -> None:
            thread.join(DEADLINE)
            controller.abort()

        def body() -> str:
            loop.call_soon_threadsafe(abort_after, threading.current_thread())
            return "done"

        registry = ToolRegistry([define_tool(body)])
        return await registry.execute("body", "", signal=controller.signal)

    result = asyncio.run(main())
    assert (text_of(result), result.is_error) == ("done", False)


def test_a_thread_may_outlive_its_loop() -> None:
    """It is a daemon; nobody is disturbed when it ends at last."""
    held: list[Stuck] = []
    threads: list[threading.Thread] = []

    async def main() -> None:
        stuck = Stuck()
        held.append(stuck)
        call = asyncio.ensure_future(
            ToolRegistry([define_tool(stuck, name="stuck")]).execute("stuck", "")
        )
        await stuck.begun.wait()
        threads.extend(each for each in threading.enumerate() if each.name == "dsh-tool-stuck")
        call.cancel()

    asyncio.run(main())
    (thread,) = threads
    assert thread.daemon
    held[0].gate.set()
    thread.join(DEADLINE)
    assert not thread.is_alive()
