"""What is sent to an agent: batched, steered, injected; in order, and never lost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_agent import AGENT_CONTINUE, Agent, AgentHandle
from dsh_llm import (
    AGENT_STATUS,
    SESSION_APPEND,
    SESSION_EVENT,
    SESSION_FLUSH,
    Context,
    HarnessError,
    JsonValueError,
    LogEvent,
    LogSession,
    MessageSource,
    TextBlock,
    UnknownBlock,
)
from dsh_llm.testing import ScriptedModel, call, hang, run_virtual, say
from dsh_tools import ToolContext, define_tool
from hypothesis import given
from hypothesis import strategies as st

MakeAgent = Callable[..., Agent]
Seen = Callable[[Agent, str], Awaitable[LogEvent]]
INPUTS = {"user/message", "steering/message", "context/message"}


@define_tool
async def steer(text: str, context: ToolContext) -> str:
    """Steer from inside a tool."""
    assert isinstance(context.agent, Agent)
    context.agent.steer(text, source=MessageSource("plugin", "goal"))
    return "steered"


@define_tool
async def inject(text: str, context: ToolContext) -> str:
    """Inject from inside a tool."""
    assert isinstance(context.agent, Agent)
    context.agent.inject(text)
    return "injected"


def inputs(agent: Agent) -> list[tuple[str, str]]:
    """Return the inputs in the log: the first word of their type, and their text."""
    return [
        (event.type.split("/")[0], event.data["content"][0]["text"])
        for event in agent.session.events
        if event.type in INPUTS
    ]


def turns(agent: Agent) -> list[int]:
    """Return the numbers of the turns that began."""
    return [event.data["turn"] for event in agent.session.events if event.type == "turn/start"]


def texts(model: ScriptedModel, request: int) -> list[str]:
    """Return the texts of a request's user messages."""
    return [m.text for m in model.requests[request].messages if m.role == "user"]


def once(kind: str, act: Callable[[], None]) -> Callable[[LogSession, LogEvent], None]:
    """Return a listener that acts at the first event of a type."""
    acted: list[str] = []

    def listen(_session: LogSession, event: LogEvent) -> None:
        if event.type == kind and not acted:
            acted.append(kind)
            act()

    return listen


# -- send and run --------------------------------------------------------------------------------


def test_what_is_sent_in_one_tick_shares_a_turn(make_agent: MakeAgent) -> None:
    """LOOP-042: several sends before anything runs are one turn, in their order."""
    model = ScriptedModel([say("all")])
    agent = make_agent(model)

    async def main() -> None:
        for text in "abc":
            agent.send(text)
        assert agent.status == "idle"
        await agent.wait_idle()

    run_virtual(main())

    assert inputs(agent) == [("user", "a"), ("user", "b"), ("user", "c")]
    assert (turns(agent), texts(model, 0)) == ([1], ["a", "b", "c"])


def test_each_run_has_its_own_turn(make_agent: MakeAgent) -> None:
    """Runs wait for their own turns, in order; what was only sent joins the one before it."""
    agent = make_agent([say("one"), say("two")])

    async def main() -> list[tuple[str, int]]:
        agent.send("first")
        runs = [asyncio.create_task(agent.run(text)) for text in ("second", "third")]
        return [(done.text, done.turn) for done in [await run for run in runs]]

    assert run_virtual(main()) == [("one", 1), ("two", 2)]
    assert inputs(agent) == [("user", "first"), ("user", "second"), ("user", "third")]


def test_what_is_sent_during_a_turn_starts_the_next(make_agent: MakeAgent, seen: Seen) -> None:
    """LOOP-036: turns follow each other without being idle in between."""
    told: list[str] = []
    agent = make_agent([say("one"), say("two")])
    agent.ctx.on(AGENT_STATUS, lambda _, status: told.append(status))

    async def main() -> None:
        agent.send("a")
        await seen(agent, "step/start")
        agent.send("b")
        await agent.wait_idle()

    run_virtual(main())

    assert (turns(agent), told) == ([1, 2], ["running", "idle"])


def test_idle_is_really_idle(make_agent: MakeAgent) -> None:
    """`wait_idle` goes on waiting when a listener of `idle` sends more."""
    agent = make_agent([say("one"), say("two")])
    sent: list[str] = []

    def more(_agent: object, status: str) -> None:
        if status == "idle" and not sent:
            sent.append(status)
            agent.send("b")

    agent.ctx.on(AGENT_STATUS, more)

    async def main() -> None:
        await agent.wait_idle()
        agent.send("a")
        await agent.wait_idle()
        assert agent.status == "idle"

    run_virtual(main())

    assert turns(agent) == [1, 2]


def test_sending_needs_a_loop(make_agent: MakeAgent) -> None:
    """Outside a running loop `send` is refused, and nothing is queued."""
    agent = make_agent([say("x")])

    with pytest.raises(HarnessError) as caught:
        agent.send("lost?")

    assert caught.value.code == "NO_EVENT_LOOP"
    assert agent.run_sync("hi").text == "x"
    agent.close()
    assert inputs(agent) == [("user", "hi")]


def test_input_that_no_log_can_hold_is_refused_to_its_sender(make_agent: MakeAgent) -> None:
    """Blocks that are not JSON do not fail a turn later, they fail `send` now."""
    agent = make_agent([])
    block: Any = TextBlock(b"bytes")  # pyright: ignore[reportArgumentType]  # Why: what a careless caller does

    async def main() -> None:
        for put in (agent.send, agent.steer, agent.inject):
            with pytest.raises(JsonValueError):
                put(block)
        with pytest.raises(JsonValueError):
            await agent.run([block])

    run_virtual(main())

    assert agent.session.seq == 0


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=5))
def test_nothing_that_is_sent_is_lost_or_reordered(groups: list[list[str]]) -> None:
    """LOOP-044: however sends are grouped in time, all of them are in the log, in order."""
    model = ScriptedModel([say("x")] * 20)
    agent = Agent(model)

    async def main() -> None:
        for group in groups:
            for text in group:
                agent.send(text)
            await asyncio.sleep(0)
        await agent.wait_idle()

    run_virtual(main())

    assert [text for _, text in inputs(agent)] == [text for group in groups for text in group]
    assert turns(agent) == list(range(1, len(turns(agent)) + 1))


# -- steering ------------------------------------------------------------------------------------


def test_steering_when_idle_is_sending(make_agent: MakeAgent) -> None:
    """LOOP-004, LOOP-030: an idle agent takes steering as an ordinary message, with its source."""
    model = ScriptedModel([say("x")])
    agent = make_agent(model)

    async def main() -> None:
        agent.steer("go", source=MessageSource("plugin"))
        await agent.wait_idle()

    run_virtual(main())

    assert inputs(agent) == [("user", "go")]
    assert len(model.requests) == 1


def test_steering_from_a_tool_joins_the_next_step(make_agent: MakeAgent) -> None:
    """LOOP-029, LOOP-058: it comes between the steps, and the next request has it."""
    model = ScriptedModel([call("steer", text="hurry"), say("ok")])
    agent = make_agent(model, tools=[steer])
    run_virtual(agent.run("go"))

    types = [e.type for e in agent.session.events]
    second = [n for n, kind in enumerate(types) if kind == "step/start"][1]
    assert types[second - 2 : second + 1] == ["step/end", "steering/message", "step/start"]
    event = agent.session.events[second - 1]
    assert event.data["source"] == {"kind": "plugin", "name": "goal"}
    assert model.requests[1].messages[-1].text == '<steering source="plugin">hurry</steering>'


@pytest.mark.parametrize("kind", ["step/start", "assistant/message", "usage", "step/end"])
def test_steering_in_a_last_step_makes_another(make_agent: MakeAgent, kind: str) -> None:
    """LOOP-047: a turn that would end takes one more step for what came in meanwhile."""
    model = ScriptedModel([say("one"), say("two")])
    agent = make_agent(model)
    agent.ctx.on(SESSION_EVENT, once(kind, lambda: agent.steer("more")))

    answer = run_virtual(agent.run("go"))

    assert (answer.text, answer.steps, turns(agent)) == ("two", 2, [1])
    assert inputs(agent) == [("user", "go"), ("steering", "more")]


def test_steering_outweighs_a_decision_to_stop(make_agent: MakeAgent) -> None:
    """LOOP-048: a plugin that says stop and steers gets a second step, which sees the steering."""
    model = ScriptedModel([say("one"), say("two")])
    agent = make_agent(model)

    async def stop(_next: object, handle: AgentHandle, _owed: bool) -> bool:  # noqa: FBT001  # Why: the waterfall's shape
        if len(model.requests) == 1:
            handle.steer("but")
        return False

    agent.ctx.on(AGENT_CONTINUE, stop)

    assert run_virtual(agent.run("go")).steps == 2
    assert texts(model, 1) == ["go", '<steering source="user">but</steering>']


def test_steering_at_the_end_of_a_turn_starts_the_next(make_agent: MakeAgent) -> None:
    """LOOP-049: after `turn/end` it is a message of the next turn, without an idle in between."""
    told: list[str] = []
    model = ScriptedModel([say("one"), say("two")])
    agent = make_agent(model)
    agent.ctx.on(AGENT_STATUS, lambda _, status: told.append(status))
    agent.ctx.on(SESSION_EVENT, once("turn/end", lambda: agent.steer("late")))

    async def main() -> None:
        await agent.run("go")
        await agent.wait_idle()

    run_virtual(main())

    assert inputs(agent) == [("user", "go"), ("user", "late")]
    assert (turns(agent), told) == ([1, 2], ["running", "idle"])


def test_steering_during_a_flush_starts_the_next_turn(make_agent: MakeAgent) -> None:
    """While a turn that has ended is made durable, steering is not lost either."""
    agent = make_agent([say("one"), say("two")])
    steered: list[str] = []

    async def late(_session: LogSession) -> None:
        if not steered:
            steered.append("late")
            agent.steer("late")

    agent.ctx.on(SESSION_FLUSH, late)

    async def main() -> None:
        await agent.run("go")
        await agent.wait_idle()

    run_virtual(main())

    assert inputs(agent) == [("user", "go"), ("user", "late")]


def test_steering_of_an_aborted_turn_starts_the_next(make_agent: MakeAgent, seen: Seen) -> None:
    """LOOP-050: steer, then abort while the model hangs: a new turn has the steering."""
    model = ScriptedModel([hang(), say("ok")])
    agent = make_agent(model)

    async def main() -> None:
        agent.send("go")
        await seen(agent, "assistant/chunk")
        agent.steer("instead")
        agent.abort()
        await agent.wait_idle()

    run_virtual(main())

    assert inputs(agent) == [("user", "go"), ("user", "instead")]
    assert turns(agent) == [1, 2]


def test_steering_that_a_check_refuses_is_not_lost(make_agent: MakeAgent) -> None:
    """A vetoed steering ends its turn, and is tried again as input of the next."""
    model = ScriptedModel([call("steer", text="hurry"), say("ok")])
    agent = make_agent(model, tools=[steer])

    def refuse(_session: LogSession, event: LogEvent) -> None:
        if event.type == "steering/message":
            raise ValueError("not now")

    agent.ctx.on(SESSION_APPEND, refuse)

    async def main() -> None:
        with pytest.raises(ValueError, match="not now"):
            await agent.run("go")
        await agent.wait_idle()

    run_virtual(main())

    assert inputs(agent) == [("user", "go"), ("user", "hurry")]


# -- context -------------------------------------------------------------------------------------


def test_context_when_idle_asks_for_no_answer(make_agent: MakeAgent) -> None:
    """LOOP-031: it is logged at once, nothing runs, and the next request has it."""
    model = ScriptedModel([say("x")])
    agent = make_agent(model)
    agent.inject("the sun shines", source=MessageSource("plugin"))
    assert (agent.status, inputs(agent)) == ("idle", [("context", "the sun shines")])

    run_virtual(agent.run("go"))

    assert texts(model, 0)[0] == '<context source="plugin">the sun shines</context>'


def test_context_from_a_tool_comes_after_the_results(make_agent: MakeAgent) -> None:
    """Injected amid open calls, it never stands between a call and its result."""
    model = ScriptedModel([[call("inject", text="news"), call("inject", text="more")], say("ok")])
    agent = make_agent(model, tools=[inject])
    run_virtual(agent.run("go"))

    types = [e.type for e in agent.session.events if e.type != "assistant/chunk"]
    assert types[5:13] == [
        "tool/call",
        "tool/result",
        "tool/call",
        "tool/result",
        "step/end",
        "context/message",
        "context/message",
        "step/start",
    ]
    assert inputs(agent)[1:] == [("context", "news"), ("context", "more")]


def test_context_of_a_step_that_fails_is_not_lost(make_agent: MakeAgent, seen: Seen) -> None:
    """Injected while the model hangs and is aborted, it is in the log when the run has ended."""
    model = ScriptedModel([hang(), say("ok")])
    agent = make_agent(model)

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await seen(agent, "assistant/chunk")
        agent.inject("news")
        agent.abort()
        with pytest.raises(HarnessError):
            await running
        assert inputs(agent) == [("user", "go"), ("context", "news")]

    run_virtual(main())


def test_context_between_steps_is_logged_at_once(make_agent: MakeAgent) -> None:
    """Where no step is open, there is nothing to wait for."""
    agent = make_agent([say("x")])

    async def add(proceed: Any, handle: AgentHandle, _owed: bool) -> bool:  # noqa: FBT001  # Why: the waterfall's shape
        handle.inject("between")
        return await proceed()

    agent.ctx.on(AGENT_CONTINUE, add)
    run_virtual(agent.run("go"))

    assert [e.type for e in agent.session.events][-3:] == [
        "step/end",
        "context/message",
        "turn/end",
    ]


def test_context_that_a_check_refuses_is_heard_of(make_agent: MakeAgent) -> None:
    """Held context that is vetoed later does not hide the step's end: `run` raises the veto."""

    def refusing(ctx: Context) -> None:
        def refuse(_session: LogSession, event: LogEvent) -> None:
            if event.type == "context/message":
                raise ValueError("not now")

        ctx.on(SESSION_APPEND, refuse)

    agent = make_agent([call("inject", text="news"), say("ok")], tools=[inject], plugins=[refusing])

    with pytest.raises(ValueError, match="not now"):
        agent.inject("idle")
    with pytest.raises(ValueError, match="not now"):
        run_virtual(agent.run("go"))
    assert agent.session.events[-1].data["reason"] == {"kind": "completed"}


def test_foreign_blocks_go_in_untouched(make_agent: MakeAgent) -> None:
    """A kind of block that this version does not know reaches the model."""
    model = ScriptedModel([say("x")])
    agent = make_agent(model)
    block = UnknownBlock({"type": "audio", "url": "u"})  # pyright: ignore[reportArgumentType]  # Why: a plain dict does as well

    run_virtual(agent.run(block))

    assert model.requests[0].messages[0].content == (block,)
