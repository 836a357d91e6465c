"""Stopping a turn: heard at every await, the log closed, and the agent ready for the next."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from dsh_agent import AGENT_CONTINUE, AGENT_REQUEST, AGENT_STEP_RESULT, Agent
from dsh_llm import (
    AGENT_STATUS,
    LLM_STREAM,
    SESSION_EVENT,
    SESSION_FLUSH,
    FinishChunk,
    FinishReason,
    HarnessError,
    LlmError,
    LogEvent,
    LogSession,
    ModelRequest,
    StreamChunk,
    TextDelta,
    Waterfall,
)
from dsh_llm.testing import ScriptedModel, call, hang, run_virtual, say
from dsh_tools import TOOLS_EXECUTE, ToolContext, define_tool

MakeAgent = Callable[..., Agent]
Seen = Callable[[Agent, str], Awaitable[LogEvent]]


class Stuck:
    """Whatever hangs here can be seen to hang, and to be cleaned up when it is stopped."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.cleaned = False

    async def hang(self, *_: Any) -> Any:
        self.entered.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.cleaned = True


def reasons(agent: Agent) -> list[Any]:
    """Return how the turns ended."""
    return [event.data["reason"] for event in agent.session.events if event.type == "turn/end"]


def types(agent: Agent) -> list[str]:
    """Return the types of the rows, without the chunks."""
    return [event.type for event in agent.session.events if event.type != "assistant/chunk"]


def results(agent: Agent) -> list[Any]:
    """Return the data of the results."""
    return [event.data for event in agent.session.events if event.type == "tool/result"]


async def aborted(agent: Agent, stuck: Stuck, reason: str = "user says no") -> None:
    """Run, abort when it is stuck, and see that it ended as it should, and that it runs again."""
    running = asyncio.create_task(agent.run("go"))
    await stuck.entered.wait()
    agent.abort(reason)
    with pytest.raises(HarnessError) as caught:
        await running
    assert (caught.value.code, str(caught.value)) == ("ABORTED", reason)
    assert (stuck.cleaned, agent.status) == (True, "idle")
    assert reasons(agent)[0] == {
        "kind": "aborted",
        "name": "HarnessError",
        "code": "ABORTED",
        "message": reason,
        "number": 11004,
    }
    assert "error" not in types(agent)
    assert (await agent.run("again")).text == "again"


# -- at every await ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["partial", ""])
def test_while_the_model_hangs(make_agent: MakeAgent, seen: Seen, text: str) -> None:
    """LOOP-007, LOOP-035: in mid-stream the partial answer is dropped; its chunks stay."""
    agent = make_agent([hang(text), say("again")])

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await seen(agent, "assistant/chunk")
        assert agent.status == "running"
        agent.abort()
        with pytest.raises(HarnessError, match=r"^aborted$"):
            await running
        assert (await agent.run("again")).text == "again"

    run_virtual(main())

    assert reasons(agent)[0]["message"] == "aborted"
    assert types(agent).count("assistant/message") == 1


LAYERS: list[Waterfall[..., Any]] = [AGENT_REQUEST, LLM_STREAM, AGENT_STEP_RESULT, AGENT_CONTINUE]


@pytest.mark.parametrize("event", LAYERS, ids=lambda event: event.name)
def test_while_a_layer_hangs(make_agent: MakeAgent, event: Waterfall[..., Any]) -> None:
    """A plugin's layer around any part of the loop is cancelled, and its clean-up awaited."""
    stuck = Stuck()

    async def hanging(*_: Any) -> Any:
        yield await stuck.hang()

    script = [say("again")] if event in {AGENT_REQUEST, LLM_STREAM} else [say("x"), say("again")]
    agent = make_agent(script)
    dispose = agent.ctx.on(event, hanging if event is LLM_STREAM else stuck.hang)

    async def main() -> None:
        agent.ctx.on(SESSION_EVENT, lambda _, row: dispose() if row.type == "turn/end" else None)
        await aborted(agent, stuck)

    run_virtual(main())


def test_while_a_layer_around_a_tool_hangs(make_agent: MakeAgent) -> None:
    """An approval that nobody gives is stopped like the tool itself, which never ran."""
    stuck = Stuck()
    ran: list[str] = []

    @define_tool
    async def ping() -> None:
        ran.append("ping")

    agent = make_agent([call("ping"), say("again")], tools=[ping])
    agent.ctx.on(TOOLS_EXECUTE, stuck.hang)

    run_virtual(aborted(agent, stuck))

    (result,) = results(agent)
    assert result["error"]["code"] in {"ABORTED", "ABORTED_BEFORE_DISPATCH"}
    assert ran == []


def test_while_a_tool_hangs(make_agent: MakeAgent) -> None:
    """The tool is cancelled and awaited; its result says so, and that it may have had an effect."""
    stuck = Stuck()
    tool = define_tool(stuck.hang, name="hang", parameters={})
    agent = make_agent([[call("hang"), call("hang")], say("again")], tools=[tool])

    run_virtual(aborted(agent, stuck))

    first, second = results(agent)
    assert (first["error"]["code"], first["failure"]["effect"]) == ("ABORTED", "unknown")
    assert (second["error"]["code"], second["failure"]["effect"]) == (
        "ABORTED_BEFORE_DISPATCH",
        "none",
    )
    assert types(agent).count("tool/call") == 1


def test_while_several_tools_hang(make_agent: MakeAgent) -> None:
    """All of them are stopped, those that had finished keep their results, the order is kept."""
    stuck = Stuck()

    @define_tool(concurrency_safe=True)
    async def fine() -> str:
        return "fine"

    tool = define_tool(stuck.hang, name="hang", parameters={}, concurrency_safe=True)
    script = [call("hang"), call("fine"), call("hang")]
    agent = make_agent([script, say("again")], tools=[tool, fine])

    run_virtual(aborted(agent, stuck))

    assert [one["call_id"] for one in results(agent)] == ["call_1", "call_2", "call_3"]
    assert [one["is_error"] for one in results(agent)] == [True, False, True]


def test_while_a_thread_works(make_agent: MakeAgent) -> None:
    """A sync tool is left behind at once, and what it returns later is dropped."""
    release = threading.Event()
    entered: list[Callable[[], object]] = []

    @define_tool
    def block() -> str:
        entered[0]()
        release.wait()
        return "late"

    agent = make_agent([call("block"), say("again")], tools=[block])

    async def main() -> None:
        working = asyncio.Event()
        loop = asyncio.get_running_loop()
        entered.append(lambda: loop.call_soon_threadsafe(working.set))
        running = asyncio.create_task(agent.run("go"))
        await working.wait()
        agent.abort()
        with pytest.raises(HarnessError):
            await running
        release.set()
        assert (await agent.run("again")).text == "again"
        await agent.aclose()

    asyncio.run(main())

    (result,) = results(agent)
    assert (result["error"]["code"], result["failure"]["effect"]) == ("ABORTED", "unknown")


@pytest.mark.parametrize(
    "kind",
    [
        *("turn/start", "user/message", "step/start", "usage", "assistant/message"),
        *("tool/call", "tool/result", "step/end"),
    ],
)
def test_between_two_awaits(make_agent: MakeAgent, kind: str) -> None:
    """An abort from a listener, wherever it is, is heard: no further request, no further call."""
    ran: list[int] = []

    @define_tool
    async def note(number: int) -> None:
        ran.append(number)

    model = ScriptedModel([[call("note", number=1), call("note", number=2)], say("again")])
    agent = make_agent(model, tools=[note])
    fired: list[str] = []

    def fire(_session: LogSession, event: LogEvent) -> None:
        if event.type == kind and not fired:
            fired.append(kind)
            agent.abort("now")

    agent.ctx.on(SESSION_EVENT, fire)

    async def main() -> None:
        with pytest.raises(HarnessError, match=r"^now$"):
            await agent.run("go")
        assert len(model.requests) <= 1
        assert ran in ([], [1], [1, 2])
        assert (await agent.run("again")).text in {"again", ""}

    run_virtual(main())

    assert reasons(agent)[0]["kind"] == "aborted"


def test_as_soon_as_it_is_said_to_run(make_agent: MakeAgent) -> None:
    """An abort by a listener of the status is heard: the turn is closed without any request."""
    model = ScriptedModel([say("again")])
    agent = make_agent(model)
    left = ["running"]

    def fire(_agent: object, status: str) -> None:
        if status in left:
            left.clear()
            agent.abort("at once")

    agent.ctx.on(AGENT_STATUS, fire)

    async def main() -> None:
        with pytest.raises(HarnessError, match=r"^at once$"):
            await agent.run("go")
        assert model.requests == []
        assert (await agent.run("again")).text == "again"

    run_virtual(main())


def test_from_inside_a_tool(make_agent: MakeAgent) -> None:
    """LOOP-046: the aborting tool's own result is in the log, the next tool never runs."""
    ran: list[str] = []

    @define_tool
    async def stop(context: ToolContext) -> str:
        ran.append("stop")
        assert isinstance(context.agent, Agent)
        context.agent.abort("user interrupt")
        return "done"

    @define_tool
    async def never() -> None:
        ran.append("never")

    model = ScriptedModel([[call("stop"), call("never")], say("again")])
    agent = make_agent(model, tools=[stop, never])

    async def main() -> None:
        with pytest.raises(HarnessError, match=r"^user interrupt$"):
            await agent.run("go")

    run_virtual(main())

    assert (ran, len(model.requests)) == (["stop"], 1)
    assert [one["is_error"] for one in results(agent)] == [False, True]
    assert reasons(agent)[0]["message"] == "user interrupt"


def test_from_the_decision_to_stop(make_agent: MakeAgent) -> None:
    """An abort after the last answer is heard too: the turn is aborted, not completed."""
    agent = make_agent([say("x"), say("again")])
    left = ["abort"]

    async def stop(*_: Any) -> bool:
        if left:
            agent.abort(left.pop())
        return False

    agent.ctx.on(AGENT_CONTINUE, stop)

    async def main() -> None:
        with pytest.raises(HarnessError, match=r"^abort$"):
            await agent.run("go")
        assert (await agent.run("again")).text == "again"

    run_virtual(main())

    assert [reason["kind"] for reason in reasons(agent)] == ["aborted", "completed"]


# -- what it is not ------------------------------------------------------------------------------


def test_aborting_an_idle_agent_does_nothing(make_agent: MakeAgent) -> None:
    """There is no turn to stop, and the next one is not affected."""
    agent = make_agent([say("x")])
    agent.abort()

    assert run_virtual(agent.run("go")).text == "x"
    agent.abort()
    assert len(reasons(agent)) == 1


def test_the_first_reason_counts(make_agent: MakeAgent, seen: Seen) -> None:
    """A second abort of the same turn changes nothing."""
    agent = make_agent([hang()])

    async def main() -> None:
        agent.send("go")
        await seen(agent, "assistant/chunk")
        agent.abort("first")
        agent.abort("second")
        await agent.wait_idle()

    run_virtual(main())

    assert reasons(agent)[0]["message"] == "first"


def test_a_turn_that_is_over_cannot_be_aborted(make_agent: MakeAgent) -> None:
    """An abort while the log is flushed leaves the result as it is."""
    agent = make_agent([say("x")])

    async def late(_session: LogSession) -> None:
        agent.abort("too late")

    agent.ctx.on(SESSION_FLUSH, late)

    assert run_virtual(agent.run("go")).text == "x"


@pytest.mark.parametrize("error", [None, LlmError("stopped by the server", "ABORTED")])
def test_an_abort_of_the_provider_is_its_failure(make_agent: MakeAgent, error: Any) -> None:
    """LOOP-067: `aborted` that nobody here asked for is an error, coded `ABORTED`."""
    end = FinishChunk(
        FinishReason("aborted", "stopped by the server" if error else None, None, error)
    )
    agent = make_agent([[TextDelta(0, "x"), end]])

    with pytest.raises(LlmError) as caught:
        run_virtual(agent.run("go"))

    assert caught.value.code == "ABORTED"
    assert error is None or caught.value is error
    assert (reasons(agent)[0]["kind"], reasons(agent)[0]["name"]) == ("error", "LlmError")
    assert types(agent).count("error") == 1


def test_a_failure_while_stopping_is_not_hidden(make_agent: MakeAgent) -> None:
    """What a layer raises in its clean-up is the turn's failure, even though it was aborted."""
    entered = asyncio.Event()

    async def careless(*_: Any) -> Any:
        try:
            entered.set()
            await asyncio.get_running_loop().create_future()
        finally:
            raise ValueError("clean-up")

    agent = make_agent([])
    agent.ctx.on(AGENT_REQUEST, careless)

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await entered.wait()
        agent.abort()
        with pytest.raises(ValueError, match="clean-up"):
            await running

    run_virtual(main())

    assert reasons(agent)[0]["kind"] == "error"


def test_something_that_was_cancelled_by_somebody_else_is_a_failure(make_agent: MakeAgent) -> None:
    """A layer that lets a `CancelledError` of its own through ends its turn, not the agent."""

    async def cancelled(*_: Any) -> Any:
        task = asyncio.get_running_loop().create_future()
        task.cancel()
        await task

    agent = make_agent([say("x"), say("queued")])
    dispose = agent.ctx.on(AGENT_REQUEST, cancelled)

    async def main() -> None:
        runs = [asyncio.create_task(agent.run(text)) for text in ("one", "two")]
        agent.ctx.on(SESSION_EVENT, lambda _, e: dispose() if e.type == "turn/end" else None)
        with pytest.raises(HarnessError, match="was cancelled") as caught:
            await runs[0]
        assert caught.value.code == "ABORTED"
        assert (await runs[1]).text == "x"

    run_virtual(main())

    assert [reason["kind"] for reason in reasons(agent)] == ["error", "completed"]


def test_the_stream_is_closed_when_a_turn_stops(make_agent: MakeAgent, seen: Seen) -> None:
    """The adapter's clean-up has run when `run` returns."""
    closed: list[str] = []

    async def watched(proceed: Any, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
        try:
            async for chunk in proceed():
                yield chunk
        finally:
            closed.append("closed")

    agent = make_agent([hang()])
    agent.ctx.on(LLM_STREAM, watched)

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await seen(agent, "assistant/chunk")
        agent.abort()
        with pytest.raises(HarnessError):
            await running
        assert closed == ["closed"]

    run_virtual(main())
