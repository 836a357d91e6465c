"""A turn: its rows in order, its requests, its steps, and what ends it well."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from dsh_agent import (
    AGENT_CONTINUE,
    AGENT_REQUEST,
    AGENT_STEP_RESULT,
    Agent,
    AgentHandle,
    RunResult,
    Session,
    derive_messages,
)
from dsh_llm import (
    AGENT_STATUS,
    LLM_STREAM,
    BlockEnd,
    BlockStart,
    Context,
    FinishChunk,
    FinishReason,
    HarnessError,
    ImageBlock,
    Llm,
    LlmError,
    Message,
    MessageSource,
    ModelRequest,
    Next,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm.testing import ScriptedModel, call, chunks_of, run_virtual, say
from dsh_tools import define_tool

MakeAgent = Callable[..., Agent]


@define_tool
async def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


def types(agent: Agent) -> list[str]:
    """Return the types of the rows, without the chunks."""
    return [event.type for event in agent.session.events if event.type != "assistant/chunk"]


def reasons(agent: Agent) -> list[Any]:
    """Return how the turns ended."""
    return [event.data["reason"] for event in agent.session.events if event.type == "turn/end"]


def last_text(request: ModelRequest) -> str:
    """Return the text of a request's last message."""
    return request.messages[-1].text


def test_a_simple_turn(make_agent: MakeAgent) -> None:
    """LOOP-025: the input comes inside the turn, usage before the message, ends in their order."""
    agent = make_agent([say("Hello.")])

    answer = run_virtual(agent.run("hi"))

    assert types(agent) == [
        "turn/start",
        "user/message",
        "step/start",
        "usage",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert answer == RunResult("Hello.", TokenUsage(10, 1), 1, 1, "completed")
    assert [message.role for message in agent.session.derive_messages()] == ["user", "assistant"]
    assert reasons(agent) == [{"kind": "completed"}]


def test_a_tool_round_trip(make_agent: MakeAgent) -> None:
    """LOOP-026: the second request has the result; call and result are in the log."""
    model = ScriptedModel([[say("Let me see."), call("double", number=21)], say("42")])
    agent = make_agent(model, tools=[double])

    answer = run_virtual(agent.run("twice 21"))

    assert types(agent)[2:10] == [
        "step/start",
        "usage",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "step/start",
        "usage",
    ]
    rows = {event.type: event.data for event in agent.session.events}
    assert rows["tool/call"] == {
        "turn": 1,
        "step": 1,
        "call_id": "call_1",
        "name": "double",
        "arguments": '{"number": 21}',
    }
    assert rows["tool/result"] == {
        "turn": 1,
        "step": 1,
        "call_id": "call_1",
        "content": ({"type": "text", "text": "42"},),
        "is_error": False,
    }
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "user"]
    assert (answer.text, answer.steps, answer.usage) == ("42", 2, TokenUsage(20, 3))


def test_a_request_says_who_the_agent_is(make_agent: MakeAgent) -> None:
    """LOOP-027: system text and tools are in the request when there are some."""
    model, bare = ScriptedModel([say("x")]), ScriptedModel([say("x")])
    run_virtual(make_agent(model, tools=[double], system="Be brief.").run("hi"))
    run_virtual(make_agent(bare).run("hi"))

    assert model.requests[0].system == "Be brief."
    assert [tool.name for tool in model.requests[0].tools] == ["double"]
    assert (bare.requests[0].system, bare.requests[0].tools) == (None, ())


def test_every_chunk_is_in_the_log(make_agent: MakeAgent) -> None:
    """LOOP-028: usage and finish are chunks like any other, and the deltas give the text."""
    agent = make_agent([say("a b c")])
    run_virtual(agent.run("hi"))

    chunks = [e.data["chunk"] for e in agent.session.events if e.type == "assistant/chunk"]
    assert [chunk["type"] for chunk in chunks] == [
        "block-start",
        "text-delta",
        "text-delta",
        "text-delta",
        "block-end",
        "usage",
        "finish",
    ]
    assert "".join(chunk.get("text", "") for chunk in chunks) == "a b c"


def test_all_kinds_of_content_go_in(make_agent: MakeAgent) -> None:
    """Input is a text, a block or several blocks, with the source that is given."""
    model = ScriptedModel([say("x")] * 3)
    agent = make_agent(model)
    image = ImageBlock("https://example.org/x.png")

    async def main() -> None:
        await agent.run("text")
        await agent.run(image)
        await agent.run([TextBlock("look"), image], source=MessageSource("plugin", "eye"))

    run_virtual(main())

    assert [m.content for m in model.requests[-1].messages if m.role == "user"] == [
        (TextBlock("text"),),
        (image,),
        (TextBlock("look"), image),
    ]
    sources = [e.data["source"] for e in agent.session.events if e.type == "user/message"]
    assert sources == [{"kind": "user"}, {"kind": "user"}, {"kind": "plugin", "name": "eye"}]


def test_the_usage_of_a_turn_is_that_of_its_steps(make_agent: MakeAgent) -> None:
    """What the model reports is added up; a step without usage has no row."""
    counted = chunks_of([call("double")._replace(id="k1")], TokenUsage(5, 2, cache_read_tokens=3))
    silent = (TextDelta(0, "done"), FinishChunk(FinishReason("stop")))
    agent = make_agent([counted, silent], tools=[double])

    answer = run_virtual(agent.run("hi"))

    assert answer.usage == TokenUsage(5, 2, cache_read_tokens=3)
    assert types(agent).count("usage") == 1


def test_a_turn_goes_on_as_long_as_a_plugin_wants(make_agent: MakeAgent) -> None:
    """LOOP-032: `agent/continue` can ask for further steps."""
    model = ScriptedModel([say("1"), say("2"), say("3")])
    agent = make_agent(model)

    async def thrice(_next: object, _agent: AgentHandle, owed: bool) -> bool:  # noqa: FBT001  # Why: the waterfall's shape
        assert owed is False
        return len(model.requests) < 3

    agent.ctx.on(AGENT_CONTINUE, thrice)

    answer = run_virtual(agent.run("hi"))

    assert (answer.text, answer.steps, types(agent).count("step/end")) == ("3", 3, 3)


def test_a_plugin_can_stop_a_turn_that_owes_an_answer(make_agent: MakeAgent) -> None:
    """LOOP-033: vetoed despite a tool call, the turn ends with the call answered."""
    agent = make_agent([call("double", number=1)], tools=[double])

    async def stop(_next: object, _agent: AgentHandle, owed: bool) -> bool:  # noqa: FBT001  # Why: the waterfall's shape
        assert owed is True
        return False

    agent.ctx.on(AGENT_CONTINUE, stop)

    answer = run_virtual(agent.run("hi"))

    assert (answer.text, answer.steps, answer.reason) == ("", 1, "completed")
    assert "tool/result" in types(agent)


async def with_model(
    proceed: Next[[AgentHandle, ModelRequest], Any], agent: AgentHandle, request: ModelRequest
) -> ModelRequest:
    """Send to the other model."""
    return await proceed(agent, request._replace(model="other"))


def test_a_plugin_can_change_the_request(make_agent: MakeAgent) -> None:
    """LOOP-034, LOOP-057: what `agent/request` returns is sent, also if there was no model."""
    other = ScriptedModel([say("from the other")] * 2, model="other")

    def route(ctx: Context) -> None:
        ctx.on(AGENT_REQUEST, with_model)

    async def run(agent: Agent) -> RunResult:
        agent.ctx.own(agent.ctx.get(Llm).register("other", other))
        return await agent.run("hi")

    models: list[Any] = [[], None]
    for model in models:
        agent = make_agent(model, plugins=[route])
        assert run_virtual(run(agent)).text == "from the other"
    assert len(other.requests) == 2


def test_a_plugin_can_change_the_message_before_it_counts(make_agent: MakeAgent) -> None:
    """LOOP-045: what `agent/step-result` returns is logged, derived and acted on."""
    ran: list[int] = []

    @define_tool
    async def note(number: int) -> None:
        ran.append(number)

    agent = make_agent([say("secret"), say("end")], tools=[note])

    async def rewrite(proceed: Any, of: AgentHandle, message: Message) -> Message:
        if message.text == "end":
            return await proceed()
        changed = (TextBlock("public"), ToolCallBlock("injected", "note", '{"number": 7}'))
        return await proceed(of, Message("assistant", changed))

    agent.ctx.on(AGENT_STEP_RESULT, rewrite)
    run_virtual(agent.run("hi"))

    assert ran == [7]
    (called,) = [e.data for e in agent.session.events if e.type == "tool/call"]
    assert called["call_id"] == "injected"
    assert [message.text for message in agent.session.derive_messages()] == [
        "hi",
        "public",
        "",
        "end",
    ]


@pytest.mark.parametrize(
    "calls",
    [
        [ToolCallBlock("k", "double", "{}"), ToolCallBlock("k", "double", "{}")],
        [ToolCallBlock("", "double", "{}")],
        [ToolCallBlock("k", "", "{}")],
    ],
    ids=["repeated", "no id", "no name"],
)
def test_a_plugin_cannot_make_calls_that_no_result_could_answer(
    make_agent: MakeAgent, calls: Sequence[ToolCallBlock]
) -> None:
    """Ids that are empty or repeated, and empty names, never reach the log."""
    agent = make_agent([say("x")], tools=[double])

    async def rewrite(_next: object, _of: AgentHandle, _message: Message) -> Message:
        return Message("assistant", tuple(calls))

    agent.ctx.on(AGENT_STEP_RESULT, rewrite)

    with pytest.raises(LlmError) as caught:
        run_virtual(agent.run("hi"))

    assert caught.value.code == "MALFORMED_RESPONSE"
    assert "assistant/message" not in types(agent)


def test_a_turn_has_a_bounded_number_of_steps(make_agent: MakeAgent) -> None:
    """After `max_steps` the turn ends with `AGENT_LOOP_ERROR`, and the agent can run again."""
    model = ScriptedModel([call("double", number=1), call("double", number=2), say("fine")])
    agent = make_agent(model, tools=[double], max_steps=2)

    with pytest.raises(HarnessError) as caught:
        run_virtual(agent.run("hi"))

    assert (caught.value.code, caught.value.context) == ("AGENT_LOOP_ERROR", {"max_steps": 2})
    assert reasons(agent)[0]["number"] == 11005
    assert len(model.requests) == 2
    assert run_virtual(agent.run("again")).text == "fine"


@pytest.mark.parametrize("max_steps", [0, -1])
def test_a_turn_needs_a_step(max_steps: int) -> None:
    """`max_steps` below 1 is refused when the agent is made."""
    with pytest.raises(HarnessError) as caught:
        Agent(max_steps=max_steps)

    assert caught.value.code == "VALIDATION_INVALID_INPUT"


def test_an_answer_that_was_cut_ends_the_turn(make_agent: MakeAgent) -> None:
    """`max-tokens`: its calls are dropped, none runs, and the turn says why it ended."""
    cut = (
        BlockStart(0, "text"),
        BlockEnd(0, TextBlock("I will")),
        ToolCallDelta(1, "k1", "double", '{"num'),
        UsageChunk(TokenUsage(1, 1)),
        FinishChunk(FinishReason("max-tokens")),
    )
    model = ScriptedModel([cut, say("next")])
    agent = make_agent(model, tools=[double])

    answer = run_virtual(agent.run("hi"))

    assert answer == RunResult("I will", TokenUsage(1, 1), 1, 1, "max-tokens")
    assert reasons(agent) == [{"kind": "max-tokens"}]
    assert "tool/call" not in types(agent)
    run_virtual(agent.run("again"))
    assert model.requests[1].messages[1].content == (TextBlock("I will"),)


def test_a_cut_answer_ends_the_turn_whatever_is_wanted(make_agent: MakeAgent) -> None:
    """Neither a plugin nor steering makes another step of it; the steering starts the next turn."""
    cut = (TextDelta(0, "I will"), FinishChunk(FinishReason("max-tokens")))
    agent = make_agent([cut, say("next"), say("last")])

    async def more(_next: object, handle: AgentHandle, _owed: bool) -> bool:  # noqa: FBT001  # Why: the waterfall's shape
        if agent.session.turn == 1:
            handle.steer("go on")
        return agent.session.turn == 1

    agent.ctx.on(AGENT_CONTINUE, more)

    async def main() -> None:
        assert (await agent.run("hi")).reason == "max-tokens"
        await agent.wait_idle()

    run_virtual(main())

    assert [reason["kind"] for reason in reasons(agent)] == ["max-tokens", "completed"]


def test_a_cut_answer_without_text_leaves_no_empty_message(make_agent: MakeAgent) -> None:
    """An answer of which nothing is left is logged, and is in no later request."""
    cut = (ToolCallDelta(0, "k1", "double", "{"), FinishChunk(FinishReason("max-tokens")))
    model = ScriptedModel([cut, say("x")])
    agent = make_agent(model, tools=[double])

    assert run_virtual(agent.run("hi")).text == ""
    run_virtual(agent.run("again"))

    assert [message.text for message in model.requests[1].messages] == ["hi", "again"]


def test_an_unknown_finish_is_a_success(make_agent: MakeAgent) -> None:
    """The set of finish reasons is open."""
    stream = (TextDelta(0, "hm"), FinishChunk(FinishReason("sensitive")))

    assert run_virtual(make_agent([stream]).run("hi")).text == "hm"


def test_a_layer_that_swallows_the_end_of_a_stream(make_agent: MakeAgent) -> None:
    """LLM plugins may not lose the terminal chunk: `STREAM_CLOSED`; closing needs no aclose."""

    class Endless:
        def __init__(self) -> None:
            self.left = [TextDelta(0, "a")]

        def __aiter__(self) -> "Endless":
            return self

        async def __anext__(self) -> TextDelta:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    agent = make_agent([])
    agent.ctx.on(LLM_STREAM, lambda _next, _request: Endless())

    with pytest.raises(LlmError) as caught:
        run_virtual(agent.run("hi"))

    assert caught.value.code == "STREAM_CLOSED"


def test_turns_are_counted_on(make_agent: MakeAgent) -> None:
    """LOOP-043: each run has the next number, its step counts from 1, and all texts are kept."""
    model = ScriptedModel([say("x")] * 4)
    agent = make_agent(model)

    async def main() -> list[int]:
        return [(await agent.run(str(n))).turn for n in range(4)]

    assert run_virtual(main()) == [1, 2, 3, 4]
    assert [last_text(request) for request in model.requests] == list("0123")


def test_statuses_are_announced_once(make_agent: MakeAgent) -> None:
    """LOOP-006: running, then idle; never the same twice."""
    told: list[str] = []
    agent = make_agent([say("x")])
    agent.ctx.on(AGENT_STATUS, lambda _, status: told.append(status))

    run_virtual(agent.run("hi"))

    assert told == ["running", "idle"]
    assert agent.status == "idle"


def test_a_finished_log_is_the_conversation(make_agent: MakeAgent) -> None:
    """LOOP-041: feeding the log to a new session gives the same rows and the same history."""
    agent = make_agent([[call("double", number=1), call("nope")], say("x")], tools=[double])
    run_virtual(agent.run("hi"))
    copied = Session("copy")
    for event in agent.session.events:
        copied.append(event.type, event.data)

    assert copied.derive_messages() == agent.session.derive_messages()
    assert derive_messages(agent.session.events) == copied.derive_messages()


def test_requests_share_one_history(make_agent: MakeAgent) -> None:
    """A request's messages stay as they were sent, while later requests have more."""
    model = ScriptedModel([call("double", number=1), say("a"), say("b")])
    agent = make_agent(model, tools=[double])

    async def main() -> None:
        await agent.run("hi")
        await agent.run("ho")

    asyncio.run(main())

    assert [len(request.messages) for request in model.requests] == [1, 3, 5]
    assert list(model.requests[2].messages[:3]) == list(model.requests[1].messages)
