"""`stream`: the events of one turn, as they are committed."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from dsh_agent import Agent, SessionEvent
from dsh_llm import SESSION_APPEND, SESSION_FLUSH, HarnessError, LlmError, LogEvent, LogSession
from dsh_llm.testing import call, hang, run_virtual, say
from dsh_tools import define_tool

MakeAgent = Callable[..., Agent]
Seen = Callable[[Agent, str], Awaitable[LogEvent]]


async def collect(agent: Agent, text: str, into: list[SessionEvent]) -> None:
    """Stream a turn into a list."""
    async for event in agent.stream(text):
        into.append(event)  # noqa: PERF401  # Why: what came before a failure counts


def test_the_events_of_a_turn_from_start_to_end(make_agent: MakeAgent) -> None:
    """Exactly the rows of the turn, in the log's order, whatever is in the log before."""

    @define_tool
    async def ping() -> str:
        return "pong"

    agent = make_agent([say("before"), call("ping"), say("x y")], tools=[ping])
    events: list[SessionEvent] = []

    async def main() -> None:
        await agent.run("first")
        agent.inject("between")
        await collect(agent, "go", events)

    run_virtual(main())

    assert (events[0].type, events[0].data["turn"], events[-1].type) == (
        "turn/start",
        2,
        "turn/end",
    )
    assert events == list(agent.session.events)[events[0].seq :]


def test_an_event_comes_before_the_next_is_made(make_agent: MakeAgent) -> None:
    """A reader sees chunks while the model still answers."""
    agent = make_agent([hang("first word")])

    async def main() -> None:
        async for event in agent.stream("go"):
            if event.type == "assistant/chunk" and event.data["chunk"].get("text"):
                break
        await agent.wait_idle()

    run_virtual(main())

    assert agent.session.events[-1].data["reason"]["message"] == "cancelled"


def test_a_turn_behind_others_has_only_its_own_events(make_agent: MakeAgent) -> None:
    """Neither the turn before nor the one after it is in the stream."""
    agent = make_agent([say("one"), say("two"), say("three")])
    events: list[SessionEvent] = []

    async def main() -> None:
        first = asyncio.create_task(agent.run("a"))
        await asyncio.sleep(0)
        stream = asyncio.create_task(collect(agent, "b", events))
        await asyncio.sleep(0)
        third = asyncio.create_task(agent.run("c"))
        await asyncio.wait([first, stream, third])
        assert not stream.exception()

    run_virtual(main())

    turns = {event.data["turn"] for event in events if "turn" in event.data}
    assert (turns, events[-1].type) == ({2}, "turn/end")


def test_what_is_logged_after_the_end_is_not_in_the_stream(make_agent: MakeAgent) -> None:
    """Context that a flush injects belongs to no turn."""
    agent = make_agent([say("one")])
    events: list[SessionEvent] = []

    async def late(_session: LogSession) -> None:
        agent.inject("late")

    agent.ctx.on(SESSION_FLUSH, late)
    run_virtual(collect(agent, "go", events))

    assert events[-1].type == "turn/end"
    assert agent.session.events[-1].type == "context/message"


def test_a_failed_turn_raises_after_its_last_event(make_agent: MakeAgent) -> None:
    """The adapter's own error, when `turn/end` has been seen."""
    error = LlmError("no", "AUTH", 401)
    agent = make_agent([error])
    events: list[SessionEvent] = []

    with pytest.raises(LlmError) as caught:
        run_virtual(collect(agent, "go", events))

    assert caught.value is error
    assert [event.type for event in events[-2:]] == ["error", "turn/end"]


def test_leaving_early_stops_the_turn(make_agent: MakeAgent) -> None:
    """`aclose` of the stream returns when the log is closed, and the agent can run again."""
    agent = make_agent([hang(), say("again")])

    async def main() -> None:
        stream = agent.stream("go")
        while (await anext(stream)).type != "assistant/chunk":
            pass
        await stream.aclose()
        assert agent.session.events[-1].type == "turn/end"
        assert (await agent.run("again")).text == "again"

    run_virtual(main())


def test_cancelling_the_reader_stops_the_turn(make_agent: MakeAgent, seen: Seen) -> None:
    """A cancelled task that reads a stream leaves a closed log."""
    agent = make_agent([hang()])
    events: list[SessionEvent] = []

    async def main() -> None:
        reader = asyncio.create_task(collect(agent, "go", events))
        await seen(agent, "assistant/chunk")
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert agent.session.events[-1].type == "turn/end"

    run_virtual(main())


def test_a_stream_whose_turn_may_not_begin(make_agent: MakeAgent) -> None:
    """No event, the veto, and nothing of the next turn."""
    agent = make_agent([say("x")])
    left = ["veto"]

    def refuse(_session: LogSession, event: LogEvent) -> None:
        if event.type == "turn/start" and left:
            raise HarnessError(left.pop(), "NO")

    agent.ctx.on(SESSION_APPEND, refuse)
    events: list[SessionEvent] = []

    async def main() -> None:
        reader = asyncio.create_task(collect(agent, "a", events))
        await asyncio.sleep(0)
        second = asyncio.create_task(agent.run("b"))
        with pytest.raises(HarnessError, match="veto"):
            await reader
        assert (await second).text == "x"

    run_virtual(main())

    assert events == []


def test_other_agents_of_a_harness_are_not_in_the_stream(make_agent: MakeAgent) -> None:
    """Each stream has the events of its own session."""
    from dsh_agent import Harness

    harness = Harness()
    agents = [make_agent([say("x")], harness=harness) for _ in range(2)]
    events: list[list[SessionEvent]] = [[], []]

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for agent, into in zip(agents, events, strict=True):
                group.create_task(collect(agent, "go", into))

    run_virtual(main())

    for agent, into in zip(agents, events, strict=True):
        assert into == list(agent.session.events)
