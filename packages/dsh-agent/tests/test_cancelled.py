"""A caller that is cancelled: its turn is stopped first, and nobody else's."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_agent import Agent
from dsh_llm import HarnessError, LogEvent
from dsh_llm.testing import call, hang, run_virtual, say
from dsh_tools import define_tool

MakeAgent = Callable[..., Agent]
Seen = Callable[[Agent, str], Awaitable[LogEvent]]


def reasons(agent: Agent) -> list[Any]:
    """Return how the turns ended."""
    return [event.data["reason"] for event in agent.session.events if event.type == "turn/end"]


def test_cancelling_run_stops_the_turn_first(make_agent: MakeAgent, seen: Seen) -> None:
    """The cancellation arrives when the log is closed, and the agent can run again."""
    agent = make_agent([hang(), say("again")])

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await seen(agent, "assistant/chunk")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert agent.session.events[-1].type == "turn/end"
        assert (await agent.run("again")).text == "again"

    run_virtual(main())

    assert reasons(agent)[0]["message"] == "cancelled"


def test_a_timeout_around_run_is_a_cancellation(make_agent: MakeAgent) -> None:
    """`asyncio.timeout` works as with any other coroutine."""
    agent = make_agent([hang(), say("again")])

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await agent.run("go")
        await agent.run("again")

    run_virtual(main())

    assert [reason["kind"] for reason in reasons(agent)] == ["aborted", "completed"]


def test_a_run_that_is_cancelled_in_the_queue_has_no_turn(
    make_agent: MakeAgent, seen: Seen
) -> None:
    """What has not begun is taken back; the turn before it goes on."""
    agent = make_agent([hang(), say("x")])

    async def main() -> None:
        first = asyncio.create_task(agent.run("one"))
        await seen(agent, "assistant/chunk")
        second = asyncio.create_task(agent.run("two"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert agent.status == "running"
        agent.abort()
        with pytest.raises(HarnessError):
            await first
        await agent.wait_idle()

    run_virtual(main())

    assert agent.session.turn == 1


def test_a_run_cancelled_before_anything_began(make_agent: MakeAgent) -> None:
    """The agent stays idle, without a row."""
    agent = make_agent([say("x")])

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await agent.wait_idle()

    run_virtual(main())

    assert (agent.session.seq, agent.status) == (0, "idle")


def test_a_cancelled_driver_waits_for_the_tools_that_it_stops(
    make_agent: MakeAgent, seen: Seen
) -> None:
    """Whoever cancels the driver's task gets calls that run together stopped, and cleaned up."""
    cleaned: list[str] = []

    @define_tool(concurrency_safe=True)
    async def wait(name: str) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(5)
            cleaned.append(name)

    script = [call("wait", name="a"), call("wait", name="b")]
    agent = make_agent([script, say("again")], tools=[wait], session_id="s")

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await seen(agent, "tool/call")
        await asyncio.sleep(1)
        (driver,) = (task for task in asyncio.all_tasks() if task.get_name() == "dsh s")
        driver.cancel()
        with pytest.raises(HarnessError) as caught:
            await running
        assert (caught.value.code, cleaned) == ("ABORTED", ["a", "b"])
        assert (await agent.run("again")).text == "again"

    run_virtual(main())


def test_the_end_of_the_loop_closes_the_log(make_agent: MakeAgent, seen: Seen) -> None:
    """When `asyncio.run` ends with an agent at work, its turn is closed as aborted."""
    gate: list[asyncio.Future[None]] = []

    @define_tool(concurrency_safe=True)
    async def wait() -> None:
        gate.append(asyncio.get_running_loop().create_future())
        await gate[-1]

    for entry in (hang(), call("wait"), [call("wait"), call("wait")]):
        agent = make_agent([entry, say("again")], tools=[wait])

        async def main(agent: Agent = agent) -> None:
            agent.send("go")
            await seen(agent, "assistant/chunk")
            for _ in range(20):
                await asyncio.sleep(0)

        asyncio.run(main())

        assert reasons(agent)[0]["kind"] == "aborted"
        assert run_virtual(agent.run("again")).text == "again"
