"""What fails ends its step, coded, with the log closed; the error comes out of `run` as it is."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from dsh_agent import (
    AGENT_CONTINUE,
    AGENT_REQUEST,
    AGENT_STEP_RESULT,
    Agent,
    EventDataError,
    OpenedLog,
    SessionEvent,
    StorageError,
)
from dsh_invariants import InvariantError, check_log
from dsh_llm import (
    AGENT_STATUS,
    CLOSING_TYPES,
    LLM_STREAM,
    SESSION_APPEND,
    SESSION_EVENT,
    SESSION_FLUSH,
    FinishChunk,
    FinishReason,
    GroupError,
    HarnessError,
    LlmError,
    LogEvent,
    LogSession,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    Waterfall,
)
from dsh_llm.testing import ScriptedModel, call, run_virtual, say
from dsh_tools import define_tool

MakeAgent = Callable[..., Agent]


@define_tool
async def ping() -> str:
    """Answer."""
    return "pong"


def types(agent: Agent) -> list[str]:
    """Return the types of the rows, without the chunks."""
    return [event.type for event in agent.session.events if event.type != "assistant/chunk"]


def reasons(agent: Agent) -> list[Any]:
    """Return how the turns ended."""
    return [event.data["reason"] for event in agent.session.events if event.type == "turn/end"]


def errors(agent: Agent) -> list[Any]:
    """Return the data of the error rows."""
    return [event.data for event in agent.session.events if event.type == "error"]


def failing(agent: Agent, kind: type[BaseException] = HarnessError) -> Any:
    """Run, return what it raises, and see that the agent can run again."""
    with pytest.raises(kind) as caught:
        run_virtual(agent.run("go"))
    assert agent.status == "idle"
    return caught.value


# -- the model -----------------------------------------------------------------------------------


def test_the_adapters_own_error_comes_out_of_run(make_agent: MakeAgent) -> None:
    """LOOP-038: class, status, cause: the very object; the log has its code, number and chain."""
    error = LlmError("who are you?", "AUTH", 401, request_id="r-1", cause=OSError(5, "I/O"))
    agent = make_agent([error, say("ok")])

    assert failing(agent, LlmError) is error
    assert types(agent)[2:] == ["step/start", "step/end", "error", "turn/end"]
    (logged,) = errors(agent)
    assert (logged["turn"], logged["step"]) == (1, 1)
    assert (logged["name"], logged["code"], logged["number"]) == ("LlmError", "AUTH", 5002)
    assert [link["code"] for link in logged["chain"]] == ["EIO"]
    assert reasons(agent)[0] == {
        "kind": "error",
        "name": "LlmError",
        "code": "AUTH",
        "number": 5002,
        "message": "who are you?",
    }
    assert run_virtual(agent.run("again")).text == "ok"


FAILURES: list[tuple[Any, str]] = [
    (ValueError("a bug"), "UNKNOWN"),
    (TimeoutError(), "TIMEOUT"),
    (ConnectionResetError(104, "reset"), "TRANSPORT"),
    ([FinishChunk(FinishReason("stop"))], "EMPTY_RESPONSE"),
    ([TextDelta(0, "cut")], "STREAM_CLOSED"),
    (["no chunk"], "MALFORMED_RESPONSE"),
    ([ToolCallDelta(0, "k1", "", "{}"), FinishChunk(FinishReason("stop"))], "MALFORMED_RESPONSE"),
    ([FinishChunk(FinishReason("error", "provider 401", "AUTH"))], "AUTH"),
    ([FinishChunk(FinishReason("error", "no code"))], "UNKNOWN"),
]


@pytest.mark.parametrize(("entry", "code"), FAILURES, ids=lambda value: str(value)[:30])
def test_every_failure_of_a_model_has_a_code(make_agent: MakeAgent, entry: Any, code: str) -> None:
    """LOOP-066, LOOP-068: whatever an adapter does wrong; no message and no usage is logged."""
    agent = make_agent([entry, say("ok")])

    assert failing(agent, LlmError).code == code
    assert (reasons(agent)[0]["kind"], reasons(agent)[0]["code"]) == ("error", code)
    assert not {"assistant/message", "usage"} & set(types(agent))
    assert run_virtual(agent.run("again")).text == "ok"


def test_an_agent_without_a_model_says_what_to_do(make_agent: MakeAgent) -> None:
    """LOOP-056: `NO_MODEL` names the agent and the way to give it one."""
    error = failing(make_agent(None, session_id="s-1"))

    assert error.code == "NO_MODEL"
    assert "'s-1'" in str(error)
    assert "agent/request" in str(error)


def test_a_model_that_nobody_serves(make_agent: MakeAgent) -> None:
    """A name that a plugin puts in and nobody registered is `NO_ADAPTER`."""

    async def route(proceed: Any, agent: Any, request: Any) -> Any:
        return await proceed(agent, request._replace(model="missing"))

    agent = make_agent([])
    agent.ctx.on(AGENT_REQUEST, route)

    assert failing(agent).code == "NO_ADAPTER"


def test_an_unknown_name_of_a_model_is_refused_at_once() -> None:
    """A name that leads nowhere fails when the agent is made, and nothing stays locked."""
    from dsh_agent import MemoryStore

    store = MemoryStore()
    with pytest.raises(LlmError) as caught:
        Agent("no-such-provider:model", store=store, session_id="s")

    assert caught.value.code == "UNKNOWN_MODEL"
    store.open("s", 0).writer.close()


# -- plugins -------------------------------------------------------------------------------------


class Odd(Exception):  # noqa: N818  # Why: it is no error of anybody we know
    """An exception of a plugin's own."""


LAYERS: list[Waterfall[..., Any]] = [AGENT_REQUEST, LLM_STREAM, AGENT_STEP_RESULT, AGENT_CONTINUE]


@pytest.mark.parametrize("event", LAYERS, ids=lambda event: event.name)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LlmError("slow down", "RATE_LIMIT"), "RATE_LIMIT"),
        (FileNotFoundError(2, "No such file"), "ENOENT"),
        (Odd("x"), "UNKNOWN"),
    ],
)
def test_a_layer_that_raises_ends_its_step(
    make_agent: MakeAgent, event: Waterfall[..., Any], error: Exception, code: str
) -> None:
    """LOOP-013, LOOP-014, LOOP-051: the error is coded in the log, and comes out as it is."""

    def broken(*_: Any) -> Any:
        raise error

    agent = make_agent([say("one"), say("two")])
    dispose = agent.ctx.on(event, broken)

    assert failing(agent, type(error)) is error
    assert (reasons(agent)[0]["kind"], reasons(agent)[0]["code"]) == ("error", code)
    assert [row["code"] for row in errors(agent)] == [code]
    dispose()
    assert run_virtual(agent.run("again")).turn == 2


@pytest.mark.parametrize("event", LAYERS[:1] + LAYERS[2:], ids=lambda event: event.name)
def test_a_layer_that_returns_nonsense_ends_its_step(
    make_agent: MakeAgent, event: Waterfall[..., Any]
) -> None:
    """A plugin's bug is a failure of the turn, whatever it is."""

    async def nonsense(*_: Any) -> Any:
        return object() if event is not AGENT_CONTINUE else await asyncio.sleep(0, "no bool")

    agent = make_agent([say("one"), say("two")], max_steps=2)
    agent.ctx.on(event, nonsense)
    with pytest.raises(Exception, match=r"object|no answer after 2 steps"):
        run_virtual(agent.run("go"))

    assert reasons(agent)[0]["kind"] == "error"


@pytest.mark.parametrize("kind", ["turn/start", "user/message", "step/start", "usage", "step/end"])
def test_a_listener_that_raises_ends_nothing(
    make_agent: MakeAgent, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """LOOP-008, LOOP-009, LOOP-012 overruled: signals contain what their listeners raise."""

    def broken(_session: LogSession, event: LogEvent) -> None:
        if event.type == kind:
            raise Odd("listener")

    agent = make_agent([say("ok")])
    agent.ctx.on(SESSION_EVENT, broken)

    assert run_virtual(agent.run("go")).text == "ok"
    assert "contained failure in session/event" in caplog.text


def test_a_status_listener_that_raises_ends_nothing(
    make_agent: MakeAgent, caplog: pytest.LogCaptureFixture
) -> None:
    """LOOP-054: not even the driver: the agent goes on, and closes."""

    def broken(_agent: object, status: str) -> None:
        raise Odd(status)

    agent = make_agent([say("one"), say("two")])
    agent.ctx.on(AGENT_STATUS, broken)

    async def main() -> None:
        await agent.run("go")
        assert (await agent.run("again")).text == "two"
        await agent.aclose()

    run_virtual(main())

    assert agent.status == "disposed"
    assert "agent/status" in caplog.text


def test_a_flush_that_fails_does_not_change_how_the_turn_ended(make_agent: MakeAgent) -> None:
    """LOOP-037, LOOP-052: it is waited for; `run` raises its failure, the log says completed."""
    order: list[str] = []

    async def slow(_session: LogSession) -> None:
        await asyncio.sleep(3600)
        order.append("flushed")
        if order == ["flushed"]:
            raise OSError("disk full")

    agent = make_agent([say("one"), say("two")])
    agent.ctx.on(SESSION_FLUSH, slow)
    agent.ctx.on(AGENT_STATUS, lambda _, status: order.append(status) if status == "idle" else None)

    with pytest.raises(GroupError, match="disk full"):
        run_virtual(agent.run("go"))

    assert order == ["flushed", "idle"]
    assert reasons(agent) == [{"kind": "completed"}]
    assert run_virtual(agent.run("again")).text == "two"


# -- checks --------------------------------------------------------------------------------------


def refuse(agent: Agent, kind: str, error: Exception, *, times: int = 1) -> None:
    """Have a check veto the first rows of a type."""
    left = [error] * times

    def check(_session: LogSession, event: LogEvent) -> None:
        if event.type == kind and left:
            raise left.pop()

    agent.ctx.on(SESSION_APPEND, check)


OPENING = ["user/message", "step/start", "assistant/chunk", "usage", "assistant/message"]


@pytest.mark.parametrize("kind", OPENING)
@pytest.mark.parametrize("error", [Odd("no"), InvariantError("INV-X-001", "wrong")])
def test_a_vetoed_row_fails_its_turn(make_agent: MakeAgent, kind: str, error: Exception) -> None:
    """The row is not there, everything that was opened is closed, and `run` raises the veto."""
    agent = make_agent([say("one"), say("two")])
    refuse(agent, kind, error)

    assert failing(agent, type(error)) is error
    assert types(agent)[-2:] == ["error", "turn/end"]
    assert run_virtual(agent.run("again")).turn == 2


@pytest.mark.parametrize("kind", sorted(CLOSING_TYPES - {"error"}))
@pytest.mark.parametrize("error", [Odd("no"), InvariantError("INV-X-001", "wrong")])
def test_a_vetoed_closing_row_is_there_and_the_veto_is_raised(
    make_agent: MakeAgent, kind: str, error: Exception
) -> None:
    """The turn ends as if nothing were; then `run` raises what a check had to say."""
    agent = make_agent([call("ping"), say("one"), say("two")], tools=[ping])
    refuse(agent, kind, error)

    assert failing(agent, type(error)) is error
    assert reasons(agent) == [{"kind": "completed"}]
    assert run_virtual(agent.run("again")).turn == 2


@pytest.mark.parametrize("waited", [True, False])
def test_a_turn_that_may_not_begin_has_failed(make_agent: MakeAgent, *, waited: bool) -> None:
    """A vetoed `turn/start` leaves no row; whoever waits gets the veto, else `aclose` raises it."""
    agent = make_agent([say("ok")])
    refuse(agent, "turn/start", Odd("no"))

    async def main() -> None:
        if waited:
            with pytest.raises(Odd):
                await agent.run("go")
        else:
            agent.send("go")
            await agent.wait_idle()
        assert agent.session.seq == 0
        if waited:
            assert (await agent.run("again")).turn == 1
        else:
            with pytest.raises(Odd):
                await agent.aclose()

    run_virtual(main())


def test_a_violation_comes_before_other_failures(make_agent: MakeAgent) -> None:
    """Of several failures `run` raises the broken invariant; the others are in its notes."""
    violation = InvariantError("INV-X-001", "wrong")
    agent = make_agent([LlmError("no", "AUTH")])
    refuse(agent, "step/end", Odd("first kept"))
    refuse(agent, "turn/end", violation)

    assert failing(agent) is violation
    assert violation.__notes__ == ["also: LlmError: no", "also: Odd: first kept"]


def test_a_violation_that_only_an_observer_saw_is_raised(make_agent: MakeAgent) -> None:
    """From a signal, it ends nothing; `run` raises it once, when the log is closed."""
    violation = InvariantError("INV-X-001", "wrong")

    def look(_agent: object, status: str) -> None:
        if status == "running":
            raise violation

    agent = make_agent([say("one"), say("two")])
    dispose = agent.ctx.on(AGENT_STATUS, look)

    assert failing(agent) is violation
    dispose()
    assert reasons(agent) == [{"kind": "completed"}]
    assert run_virtual(agent.run("again")).text == "two"


def test_a_violation_that_no_run_has_raised_is_raised_by_aclose(make_agent: MakeAgent) -> None:
    """What is met outside of a run is not lost."""
    violation = InvariantError("INV-X-001", "wrong")

    def look(_agent: object, status: str) -> None:
        if status == "disposed":
            raise violation

    agent = make_agent([])
    agent.ctx.on(AGENT_STATUS, look)

    with pytest.raises(InvariantError) as caught:
        run_virtual(agent.aclose())
    assert caught.value is violation


# -- the store -----------------------------------------------------------------------------------


class FlakyStore:
    """Keeps rows until it is told to refuse those of some types."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.rows: list[SessionEvent] = []
        self.flushes = 0

    def open(self, session_id: str, created: int) -> OpenedLog:  # noqa: ARG002  # Why: the seam
        return OpenedLog((), self)

    def append(self, event: SessionEvent) -> None:
        if event.type in self.refused:
            raise StorageError(f"no room for {event.type}", "STORAGE_QUOTA_EXCEEDED")
        self.rows.append(event)

    def flush(self) -> None:
        self.flushes += 1

    def close(self) -> None:
        return


@pytest.mark.parametrize("kind", [*OPENING, "turn/start", "tool/call"])
def test_a_row_that_cannot_be_stored_fails_its_turn(make_agent: MakeAgent, kind: str) -> None:
    """`run` raises the store's error; memory and store have the same, whole log."""
    store = FlakyStore(kind)
    agent = make_agent([call("ping"), say("ok"), say("ok")], tools=[ping], store=store)

    assert failing(agent, StorageError).code == "STORAGE_QUOTA_EXCEEDED"
    store.refused.clear()
    run_virtual(agent.run("again"))

    assert store.rows == list(agent.session.events)
    assert store.flushes == 2


@pytest.mark.parametrize("kind", sorted(CLOSING_TYPES - {"error"}))
def test_a_closing_row_that_cannot_be_stored_is_stored_later(
    make_agent: MakeAgent, kind: str
) -> None:
    """The log in memory is closed, no later row overtakes the refused one, and `run` raises."""
    store = FlakyStore(kind)
    agent = make_agent([call("ping"), say("ok"), say("ok"), say("ok")], tools=[ping], store=store)

    assert failing(agent, StorageError).code == "STORAGE_QUOTA_EXCEEDED"
    assert check_log(agent.session.to_rows()) == []
    assert store.rows == list(agent.session.events)[: len(store.rows)]
    store.refused.clear()
    run_virtual(agent.run("again"))

    assert store.rows == list(agent.session.events)


# -- data that no log can hold -------------------------------------------------------------------


def test_an_error_that_no_log_can_hold_still_ends_its_turn(make_agent: MakeAgent) -> None:
    """A hostile error is recorded as far as it goes."""

    class Hostile(Exception):  # noqa: N818  # Why: it is what it is called
        def __str__(self) -> str:
            raise RuntimeError("no text")

    error = HarnessError("x", "A", cause=Hostile())
    error.code = ["no", {"code"}]  # pyright: ignore[reportAttributeAccessIssue]  # Why: what a careless plugin does
    agent = make_agent([say("x"), say("ok")])

    async def broken(*_: Any) -> Any:
        raise error

    dispose = agent.ctx.on(AGENT_STEP_RESULT, broken)

    assert failing(agent) is error
    dispose()
    assert errors(agent)[0]["code"] == "UNKNOWN"
    assert run_virtual(agent.run("again")).text == "ok"


def test_a_message_that_no_log_can_hold_fails_its_step(make_agent: MakeAgent) -> None:
    """A block with a value that is not JSON is refused by the log, with the place."""
    bad = TextDelta(0, b"bytes")  # pyright: ignore[reportArgumentType]  # Why: what a careless adapter does
    agent = make_agent([])

    async def stream(*_: Any) -> AsyncIterator[StreamChunk]:
        yield bad
        yield FinishChunk(FinishReason("stop"))

    agent.ctx.on(LLM_STREAM, stream)

    error = failing(agent)
    assert error.code in {"NOT_JSON", "INVALID_EVENT"}
    assert not isinstance(error, EventDataError) or "assistant/chunk" in str(error)


def test_a_clock_that_breaks_leaves_nobody_waiting(make_agent: MakeAgent) -> None:
    """When not even the turn's end can be logged, `run` raises; the next turn may not begin."""
    times = [1, 2, 3, 4]
    agent = make_agent([say("x")], clock=times.pop, checked=False)

    with pytest.raises(IndexError):
        run_virtual(agent.run("go"))
    assert agent.status == "idle"
    times += [1] * 20
    with pytest.raises(InvariantError, match="still open"):
        run_virtual(agent.run("again"))

    assert types(agent) == ["turn/start", "user/message", "step/start"]


def test_models_and_scripts_can_be_shared(make_agent: MakeAgent) -> None:
    """One adapter serves several turns; an exhausted script is a failure like any other."""
    model = ScriptedModel([say("x")])
    agent = make_agent(model)
    run_virtual(agent.run("go"))

    assert failing(agent, LlmError).code == "SCRIPT_EXHAUSTED"
