"""How the OpenAI adapter reads answers: the shapes that compatible servers really send."""

import asyncio
import json
import random
from contextlib import aclosing
from typing import Any, NamedTuple

import pytest
from dsh_llm import (
    Block,
    BlockAssembler,
    BlockEnd,
    FinishChunk,
    FinishReason,
    Llm,
    Message,
    ModelRequest,
    ReasoningBlock,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
)
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import LoopbackServer, Reply
from hypothesis import given, settings
from hypothesis import strategies as st

REQUEST = ModelRequest("m", [Message("user", (TextBlock("hi"),))])


class Outcome(NamedTuple):
    """A stream that was read to its end."""

    chunks: tuple[StreamChunk, ...]
    blocks: tuple[Block, ...]
    usage: TokenUsage | None
    finish: FinishReason

    @property
    def calls(self) -> list[ToolCallBlock]:
        """The tool calls."""
        return [block for block in self.blocks if isinstance(block, ToolCallBlock)]

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return Message("assistant", self.blocks).text


def read(body: str | bytes, *, seed: int = 0, content_type: str = "text/event-stream") -> Outcome:
    """Serve *body*, cut at random bytes, and read it through `Llm.stream`."""
    return asyncio.run(_read(body.encode() if isinstance(body, str) else body, seed, content_type))


async def _read(body: bytes, seed: int, content_type: str) -> Outcome:
    reply = Reply(200, {"content-type": content_type}, _cut(body, seed))
    async with LoopbackServer([reply]) as server:
        adapter = OpenAIAdapter("m", base_url=server.url, api_key="k")
        async with aclosing(adapter):
            llm = Llm()
            llm.register("m", adapter)
            chunks = tuple([chunk async for chunk in llm.stream(REQUEST)])
    return _outcome(chunks)


def _outcome(chunks: tuple[StreamChunk, ...]) -> Outcome:
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    last = chunks[-1]
    assert isinstance(last, FinishChunk)
    assert sum(isinstance(chunk, FinishChunk) for chunk in chunks) == 1
    blocks = () if last.reason.failed else assembler.blocks()
    return Outcome(chunks, blocks, assembler.usage, last.reason)


def _cut(body: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)  # noqa: S311  # Why: the cuts must be the same in every run
    places = sorted(chance.randrange(len(body) + 1) for _ in range(12))
    return [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]


def sse(*events: Any, done: bool = True) -> str:
    """Return *events* as the body of a stream."""
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event with one delta."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: int | str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event with one part of a tool call; `name` and `arguments` are its function's."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    entry = {"function": function, **fields} | ({} if index is None else {"index": index})
    return delta(tool_calls=[entry])


STOP = delta("stop")


def test_text_comes_live_and_the_ends_come_last() -> None:
    """A block ends only when the whole answer is there."""
    outcome = read(
        sse(delta(role="assistant", content=""), delta(content="Hel"), delta(content="lo"), STOP)
    )
    kinds = [chunk.type for chunk in outcome.chunks]
    assert kinds == ["block-start", "text-delta", "text-delta", "block-end", "finish"]
    assert outcome.text == "Hello"
    assert outcome.finish.kind == "stop"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_block_of_its_own(key: str) -> None:
    """Both usual keys are read, and empty strings open no block."""
    outcome = read(
        sse(delta(**{key: "", "content": ""}), delta(**{key: "hm"}), delta(content="a"), STOP)
    )
    assert outcome.blocks == (ReasoningBlock("hm"), TextBlock("a"))


def test_reasoning_in_details_or_in_parts_of_the_content_is_reasoning() -> None:
    """Text parts stay text, wherever the thinking stands."""
    details = delta(
        reasoning_details=[{"type": "reasoning.text", "text": "hm"}, {"signature": "x"}]
    )
    parts = delta(
        content=[
            {"type": "thinking", "thinking": [{"type": "text", "text": " so"}]},
            {"type": "thinking", "thinking": "!"},
            {"type": "text", "text": "yes"},
            ", sir",
            7,
        ]
    )
    assert read(sse(details, parts, STOP)).blocks == (
        ReasoningBlock("hm so!"),
        TextBlock("yes, sir"),
    )


def test_a_refusal_is_text_and_a_parsed_content_is_its_json() -> None:
    """What the model says is shown, in whichever field it says it."""
    assert read(sse(delta(refusal="I can't."), STOP)).text == "I can't."
    assert read(sse(delta(content={"a": "é"}), STOP)).text == '{"a": "é"}'


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("STOP", "stop"),
        ("length", "max-tokens"),
        ("model_length", "max-tokens"),
    ],
)
def test_finish_reasons_are_mapped(reason: str, kind: str) -> None:
    """Known words of any case have their meaning."""
    assert read(sse(delta(content="a"), delta(reason))).finish.kind == kind


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("content_filter", "CONTENT_FILTER"),
        ("insufficient_system_resource", "INSUFFICIENT_SYSTEM_RESOURCE"),
        ("wat / ever", "WAT_EVER"),
        ("!", "UNKNOWN"),
    ],
)
def test_any_other_finish_reason_is_an_error_with_its_name_as_the_code(
    reason: str, code: str
) -> None:
    """A filtered or broken-off answer is not taken for a good one, but its usage counts."""
    outcome = read(sse(delta(content="a"), delta(reason) | {"usage": {"prompt_tokens": 3}}))
    assert (outcome.finish.kind, outcome.finish.code) == ("error", code)
    assert outcome.finish.message == f"model stopped: {reason}"
    assert outcome.usage == TokenUsage(3, 0)
    assert not any(isinstance(chunk, BlockEnd) for chunk in outcome.chunks)


def test_calls_count_more_than_the_finish_reason() -> None:
    """`stop` beside a call is `tool-calls`; `length` stays what it is."""
    part = call(0, id="a1", name="probe", arguments="{}")
    assert read(sse(part, STOP)).finish.kind == "tool-calls"
    cut = call(0, id="a1", name="probe", arguments='{"path": "n')
    assert read(sse(cut, delta("length"))).finish.kind == "max-tokens"


def test_announced_calls_that_never_came_are_a_malformed_response() -> None:
    """The preamble is not passed off as the answer."""
    outcome = read(sse(delta(content="I'll read it first."), delta("tool_calls", tool_calls=[])))
    assert outcome.finish.code == "MALFORMED_RESPONSE"
    assert outcome.finish.error is not None
    assert outcome.finish.error.retryable is True


def test_only_the_first_choice_counts() -> None:
    """Others are passed over."""
    other = {"choices": [{"index": 1, "delta": {"content": "B"}}, {"delta": {"content": "A"}}]}
    assert read(sse(other, STOP)).text == "A"


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([{"prompt_tokens": 5, "completion_tokens": 1}], TokenUsage(5, 1)),
        ([{"prompt_tokens": None, "completion_tokens": None}], None),
        ([{"prompt_tokens": 7}, {"prompt_tokens": None, "completion_tokens": 2}], TokenUsage(7, 2)),
        ([{"completion_tokens": 2.0, "prompt_tokens": "x"}], TokenUsage(0, 2)),
        ([{"prompt_tokens": True, "completion_tokens": -1}, "none"], None),
        (
            [
                {
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "prompt_tokens_details": {"cached_tokens": 6, "cache_write_tokens": 1},
                }
            ],
            TokenUsage(3, 4, 6, 1),
        ),
        (
            [{"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 8}],
            TokenUsage(2, 4, 8),
        ),
        (
            [{"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 163}}],
            TokenUsage(7, 0, 163),
        ),
        (
            [
                {
                    "prompt_tokens": 1,
                    "completion_tokens": 9,
                    "completion_tokens_details": {"reasoning_tokens": 5},
                }
            ],
            TokenUsage(1, 9, None, None, 5),
        ),
    ],
)
def test_usage_counts_are_disjoint_and_the_last_known_ones_win(
    usages: list[Any], expected: TokenUsage | None
) -> None:
    """A count that nobody reported is `None`, not 0."""
    events: list[Any] = [{"choices": [], "usage": usage} for usage in usages]
    assert read(sse(delta(content="a"), STOP, *events)).usage == expected


def test_usage_inside_a_choice_or_an_extension_is_found() -> None:
    """Two providers put it there."""
    inside = {"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 4}}]}
    assert read(sse(delta(content="a"), inside, STOP)).usage == TokenUsage(4, 0)
    extension = STOP | {"x_groq": {"usage": {"prompt_tokens": 2, "completion_tokens": 1}}}
    assert read(sse(delta(content="a"), extension)).usage == TokenUsage(2, 1)


def test_either_end_will_do_but_not_none() -> None:
    """A stream without finish reason and without end marker was cut off."""
    assert read(sse(delta(content="a"))).finish.kind == "stop"
    assert read(sse(call(0, id="a1", name="probe", arguments="{}"))).finish.kind == "tool-calls"
    assert read(sse(delta(content="a"), STOP, done=False)).text == "a"
    cut = read(sse(delta(content="The answer is"), done=False))
    assert cut.finish.code == "STREAM_CLOSED"
    assert TextDelta(0, "The answer is") in cut.chunks


def test_nothing_after_the_end_marker_counts() -> None:
    """Neither text nor an error."""
    body = sse(delta(content="a"), STOP) + sse(delta(content="b"), {"error": "late"})
    assert read(body).text == "a"


def test_an_answer_of_nothing_is_an_empty_response() -> None:
    """Whether the model said nothing or the server sent nothing."""
    for body in (sse(STOP), "", " \r\n", "\ufeff"):
        assert read(body).finish.code == "EMPTY_RESPONSE"


WHOLE = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/event-stream", "application/octet-stream"]
)
def test_one_json_document_is_read_as_a_whole_answer(content_type: str) -> None:
    """Whatever its content type says, and whatever blanks come first."""
    body = "\ufeff\n   " + json.dumps(
        WHOLE | {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}, indent=2
    )
    outcome = read(body, content_type=content_type)
    assert (outcome.text, outcome.usage, outcome.finish.kind) == ("hi", TokenUsage(1, 2), "stop")


def test_the_calls_of_a_whole_answer_are_one_each_by_position() -> None:
    """Missing, repeated or odd indices do not matter there, nor does a missing finish reason."""
    entries: list[Any] = [
        {"index": 0, "id": f"a{n}", "function": {"name": "probe", "arguments": "{}"}}
        for n in (1, 2)
    ]
    document = {
        "choices": [{"message": {"content": None, "tool_calls": entries}, "delta": {"content": ""}}]
    }
    outcome = read(json.dumps(document))
    assert outcome.calls == [ToolCallBlock(f"a{n}", "probe", "{}") for n in (1, 2)]
    assert outcome.finish.kind == "tool-calls"


def test_an_event_may_have_a_finish_reason_or_nothing_at_all() -> None:
    """Providers send their own events between the answer's."""
    bare = {"choices": [{"index": 0, "finish_reason": "stop"}]}
    foreign: list[Any] = [
        {},
        {"choices": None},
        {"choices": [], "prompt_filter_results": []},
        {"type": "ping"},
    ]
    assert read(sse(*foreign, delta(content="a"), bare, done=False)).text == "a"


def test_a_stream_whose_events_carry_messages_is_read_too() -> None:
    """The delta counts when there are both."""
    both = {"choices": [{"index": 0, "message": {"content": "ab"}, "delta": {"content": "b"}}]}
    alone = {"choices": [{"index": 0, "message": {"content": "a"}}]}
    assert read(sse(alone, both, STOP)).text == "ab"


def test_framing_does_not_matter() -> None:
    """Comments, CRLF and CR, no space, several data lines, other fields, no last blank line."""
    crlf = (
        ': warm\r\n\r\nretry: 5\r\nid: 1\r\ndata:{"choices":[{"index":0,\r\n'
        'data: "delta":{"content":"hi"}}]}\r\n\r\n'
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\ndata:[DONE]'
    )
    for seed in range(5):
        assert read(crlf, seed=seed).text == "hi"
    assert read(crlf.replace("\r\n", "\r")).text == "hi"
    assert read("\ufeff" + crlf.replace("\r\n", "\n"), content_type="text/plain").text == "hi"


def test_only_cr_and_lf_end_a_line() -> None:
    """Unicode's other line separators are data, and so is any character cut in two."""
    text = "a\u2028b\u0085c\u2029d\x0b\x0ce \U0001f600 é"
    body = "data: " + json.dumps(delta(content=text), ensure_ascii=False) + "\n\n" + sse(STOP)
    assert {read(body, seed=seed).text for seed in range(5)} == {text}


def test_a_surrogate_pair_cut_in_two_is_joined_and_a_lone_half_replaced() -> None:
    """What comes out can be written to a log."""
    halves = [delta(content="a\ud83d"), delta(content="\ude00b"), delta(content="c\ud83d")]
    outcome = read(sse(*halves, STOP))
    assert outcome.text == "a\U0001f600bc\ufffd"
    deltas = [chunk.text for chunk in outcome.chunks if isinstance(chunk, TextDelta)]
    assert "".join(deltas) == outcome.text


def _called(index: int, part: str) -> dict[str, Any]:
    return call(index, id=f"id{index}", name=f"tool{index}", arguments=part)


def _said(key: str, text: str) -> dict[str, Any]:
    return delta(**{key: text})


PIECES = st.sampled_from(["", "{}", '{"a": 1}', "[", "é"])
EVENTS = st.lists(
    st.one_of(
        st.builds(_said, st.sampled_from(["content", "reasoning"]), st.text(max_size=8)),
        st.builds(_called, st.integers(0, 3), PIECES),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=15)
@given(EVENTS, st.integers(0, 2**32), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_chunks_do_not_depend_on_where_the_bytes_are_cut(
    events: list[Any], seed: int, end: str
) -> None:
    """Nor on the line ends; and the deltas always add up to the blocks."""
    body = sse(*events, delta("length")).replace("\n", end)
    outcome = read(body, seed=seed)
    assert outcome.chunks == read(body, seed=seed + 1).chunks
    assembler = BlockAssembler()
    for chunk in outcome.chunks:
        if not isinstance(chunk, BlockEnd):
            assembler.push(chunk)
    assert assembler.blocks() == outcome.blocks
