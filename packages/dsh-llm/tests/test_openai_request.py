"""What the OpenAI adapter sends: our vocabulary on the wire of chat completions."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from dsh_llm import (
    Block,
    FrozenDict,
    ImageBlock,
    LlmError,
    Message,
    ModelRequest,
    ReasoningBlock,
    StreamChunk,
    TextBlock,
    ToolCallBlock,
    ToolCallDelta,
    ToolResultBlock,
    ToolSchema,
    UnknownBlock,
)
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import LoopbackServer, Reply

GOOD = b'{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}'


async def exchange(
    request: ModelRequest, reply: bytes, options: dict[str, Any]
) -> tuple[Any, dict[str, str], list[StreamChunk]]:
    """Send *request* to a server that answers *reply*; return its body, its headers, the chunks."""
    async with LoopbackServer([Reply(pieces=(reply,))]) as server:
        url = f"{server.url}/v1"
        adapter = OpenAIAdapter("wire-name", base_url=url, api_key="key-123456", **options)
        async with aclosing(adapter):
            chunks = [chunk async for chunk in adapter.stream(request)]
    received = server.received[0]
    assert received.path == "/v1/chat/completions"
    return json.loads(received.body), dict(received.headers), chunks


def sent(*messages: Message, reply: bytes = GOOD, options: Any = None, **fields: Any) -> Any:
    """Return the JSON body of the request for *messages*."""
    request = ModelRequest("m", messages, **fields)
    return asyncio.run(exchange(request, reply, options or {}))[0]


def wire(role: Any, *content: Block) -> Any:
    """Return how one message with *content* is sent."""
    return sent(Message(role, content))["messages"]


def user(text: str) -> Message:
    """Return a user message."""
    return Message("user", (TextBlock(text),))


def test_a_plain_request_has_the_model_the_messages_and_asks_for_a_stream_with_usage() -> None:
    """Nothing is sent that was not asked for."""
    assert sent(user("hi")) == {
        "model": "wire-name",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_system_prompt_comes_first_and_options_go_under_their_wire_names() -> None:
    """Temperature, length limit and stop words reach the server."""
    body = sent(user("hi"), system="Be brief.", temperature=0.5, max_tokens=7, stop=("END",))
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.5, 7, ["END"])


def test_a_system_message_in_the_history_stays_where_it_is() -> None:
    """Its text is sent as a system message of its own."""
    body = sent(user("a"), Message("system", (TextBlock("b"), TextBlock("c"))))
    assert body["messages"][1] == {"role": "system", "content": "bc"}


def test_a_tool_is_wrapped_as_a_function_and_strict_is_sent_only_when_given() -> None:
    """A tool that says nothing about strictness leaves it to the server."""
    schema = FrozenDict({"type": "object", "properties": {}, "required": ["a"]})
    tools = (ToolSchema("one", "First.", schema), ToolSchema("two", "Second.", schema, strict=True))
    one, two = sent(user("hi"), tools=tools)["tools"]
    assert one == {
        "type": "function",
        "function": {
            "name": "one",
            "description": "First.",
            "parameters": schema | {"required": ["a"]},
        },
    }
    assert two["function"]["strict"] is True


def test_user_text_is_one_string_and_an_empty_message_is_still_sent() -> None:
    """Blocks are joined without a separator."""
    assert wire("user", TextBlock("a"), TextBlock("b")) == [{"role": "user", "content": "ab"}]
    assert wire("user") == [{"role": "user", "content": ""}]


def test_images_are_sent_as_parts_in_their_place() -> None:
    """With an image the whole message is sent in parts."""
    (message,) = wire("user", TextBlock("see"), ImageBlock("data:image/png;base64,AA"))
    assert message["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
    ]


def test_tool_results_are_messages_of_their_own_before_the_text_beside_them() -> None:
    """The wire refuses anything between a call and its result."""
    result = ToolResultBlock("c1", (TextBlock("4"), TextBlock("2")))
    empty = ToolResultBlock("c2", (), is_error=True)
    assert wire("user", TextBlock("go on"), result, empty) == [
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "tool", "tool_call_id": "c2", "content": "(no output)"},
        {"role": "user", "content": "go on"},
    ]
    assert [each["role"] for each in wire("user", result)] == ["tool"]


def test_what_the_wire_cannot_show_is_named_in_its_place() -> None:
    """Neither an image in a tool's result nor a block of a later version vanishes silently."""
    image = ToolResultBlock("c1", (ImageBlock("http://host/a.png"),))
    assert wire("user", image)[0]["content"] == "[image not shown]"
    later = UnknownBlock(FrozenDict({"type": "audio"}))
    assert wire("user", TextBlock("a "), later)[0]["content"] == "a [audio not shown]"


def test_an_assistant_message_without_text_or_calls_is_left_out() -> None:
    """An interrupted thought in the history does not make later requests illegal."""
    body = sent(user("a"), Message("assistant", (ReasoningBlock("hm"),)), user("b"))
    assert [each["role"] for each in body["messages"]] == ["user", "user"]


def test_reasoning_goes_back_only_with_the_calls_that_it_led_to() -> None:
    """A thinking model wants it there and nowhere else."""
    call = ToolCallBlock("c1", "probe", '{"x": 1}')
    (with_call,) = wire("assistant", ReasoningBlock("pl"), ReasoningBlock("an"), call)
    assert with_call == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "plan",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "probe", "arguments": '{"x": 1}'},
            }
        ],
    }
    assert wire("assistant", ReasoningBlock("plan"), TextBlock("done")) == [
        {"role": "assistant", "content": "done"}
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"x": 1}', {"x": 1}),
        ("", {}),
        ("  ", {}),
        ('{"path": "n.txt", "con', {"malformed_arguments": '{"path": "n.txt", "con'}),
        ("[1]", {"malformed_arguments": "[1]"}),
        ('{"x": NaN}', {"malformed_arguments": '{"x": NaN}'}),
        ("[" * 100_000, {"malformed_arguments": "[" * 100_000}),
    ],
)
def test_old_arguments_are_always_sent_as_a_json_object(raw: str, expected: object) -> None:
    """A server parses them again; a broken call in the history must not break the session."""
    (message,) = wire("assistant", ToolCallBlock("c1", "probe", raw))
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == expected


def test_a_lone_surrogate_in_the_history_is_replaced_and_a_pair_is_joined() -> None:
    """What cannot be UTF-8 must not fail every later request."""
    assert wire("user", TextBlock("a\ud800b"))[0]["content"] == "a\ufffdb"
    assert wire("user", TextBlock("\ud83d\ude00"))[0]["content"] == "\U0001f600"


def test_tool_names_that_the_wire_refuses_are_mapped_there_and_back() -> None:
    """Dots, slashes, spaces and length do not matter, and no two tools become one."""
    schema = FrozenDict({})
    own = ["files.read", "files_read", "files/read", "x" * 80, "", "Ünicode"]
    tools = tuple(ToolSchema(name, "", schema) for name in own)
    history = Message("assistant", (ToolCallBlock("c0", "gone.tool", "{}"),))
    called = b'{"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"NAME"}}]}}]}'
    request = ModelRequest("m", [history], tools=tools)

    async def main() -> None:
        body, _, _ = await exchange(request, GOOD, {})
        wired = [tool["function"]["name"] for tool in body["tools"]]
        assert wired[1] == "files_read"
        assert len(set(wired)) == len(own)
        assert all(
            name.isascii()
            and len(name) <= 64
            and name.replace("_", "a").replace("-", "a").isalnum()
            for name in wired
        )
        assert body["messages"][0]["tool_calls"][0]["function"]["name"] == "gone_tool"
        for name, legal in zip(own, wired, strict=True):
            reply = b"data: " + called.replace(b"NAME", legal.encode()) + b"\n\ndata: [DONE]\n\n"
            _, _, chunks = await exchange(request, reply, {})
            deltas = [chunk for chunk in chunks if isinstance(chunk, ToolCallDelta)]
            assert deltas[0].name == (name or None)

    asyncio.run(main())


def test_a_prefill_is_refused_even_when_it_is_empty() -> None:
    """It is never silently dropped."""
    with pytest.raises(LlmError) as raised:
        sent(user("hi"), prefill=())
    assert raised.value.code == "UNSUPPORTED"


def test_what_is_not_json_is_an_invalid_request() -> None:
    """Nothing is sent."""
    for value in (float("nan"), {1}):
        with pytest.raises(LlmError) as raised:
            sent(user("hi"), options={"extra_body": {"a": value}})
        assert raised.value.code == "INVALID_REQUEST"


def test_extra_body_is_laid_over_the_request_and_none_takes_a_key_out() -> None:
    """A server's own knobs are the adapter's, not the vocabulary's."""
    extra = {"reasoning_effort": "high", "stream_options": None}
    body = sent(user("hi"), options={"extra_body": extra})
    assert body["reasoning_effort"] == "high"
    assert "stream_options" not in body


def test_extra_headers_and_the_key_are_sent() -> None:
    """The key travels in the authorization header only."""
    options = {"extra_headers": {"X-Title": "demo"}}
    body, headers, _ = asyncio.run(exchange(ModelRequest("m", [user("hi")]), GOOD, options))
    assert headers["x-title"] == "demo"
    assert headers["authorization"] == "Bearer key-123456"
    assert "key-123456" not in json.dumps(body)
