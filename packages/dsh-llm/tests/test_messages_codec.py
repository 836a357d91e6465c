"""Messages and their JSON form: what is written is read back, and what is foreign survives."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from dsh_llm import (
    Block,
    BlockEnd,
    BlockStart,
    CallerTypeError,
    FinishChunk,
    FinishReason,
    FrozenDict,
    HarnessError,
    ImageBlock,
    JsonValueError,
    LlmError,
    Message,
    MessageSource,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    ToolResultBlock,
    UnknownBlock,
    UnreachableError,
    UsageChunk,
    block_from_json,
    block_to_json,
    blocks_from_json,
    blocks_to_json,
    chunk_to_json,
    finish_to_json,
    freeze_json,
    source_to_json,
    text_blocks,
    usage_from_json,
    usage_to_json,
)
from hypothesis import given
from hypothesis import strategies as st

caches = st.sampled_from([None, "ephemeral"])
scalars = st.none() | st.booleans() | st.integers() | st.text()
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
objects = st.dictionaries(st.text(), json_values)
unknown: st.SearchStrategy[Block] = objects.map(
    lambda data: UnknownBlock(freeze_json({**data, "type": "video"}))
)
flat: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, st.text(), caches),
    st.builds(ReasoningBlock, st.text()),
    st.builds(ToolCallBlock, st.text(), st.text(), st.text()),
    st.builds(ImageBlock, st.text(), st.none() | st.text(), caches),
    unknown,
)
blocks: st.SearchStrategy[Block] = st.recursive(
    flat,
    lambda inner: st.builds(
        ToolResultBlock, st.text(), st.lists(inner).map(tuple), st.booleans(), caches
    ),
    max_leaves=5,
)
KEYS = [
    "id",
    "name",
    "arguments",
    "text",
    "cache",
    "call_id",
    "content",
    "is_error",
    "url",
    "mime_type",
    "other",
]
TAGS = ["text", "reasoning", "tool-call", "tool-result", "image", "unknown", "x"]
almost_blocks: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.sampled_from(TAGS) | json_values},
    optional=dict.fromkeys(KEYS, json_values),
)
counts = st.integers(min_value=0)
usages = st.builds(
    TokenUsage, counts, counts, st.none() | counts, st.none() | counts, st.none() | counts
)


@given(blocks)
def test_a_block_comes_back_as_it_was(block: Block) -> None:
    """Written as JSON text and read again it is equal, whatever its kind."""
    assert block_from_json(json.loads(json.dumps(block_to_json(block)))) == block


@given(st.lists(blocks, max_size=3))
def test_many_blocks_come_back_as_they_were(many: list[Block]) -> None:
    """A message's content survives as a whole, frozen or not."""
    assert blocks_from_json(blocks_to_json(many)) == tuple(many)
    assert blocks_from_json(freeze_json(blocks_to_json(many))) == tuple(many)


@given(almost_blocks)
def test_what_is_no_known_block_is_carried_through_untouched(data: dict[str, Any]) -> None:
    """Nothing raises, and an unknown or malformed object is written again as it was read."""
    block = block_from_json(data)
    if isinstance(block, UnknownBlock):
        assert block_to_json(block) == freeze_json(data)
    else:
        written = block_to_json(block)
        assert block_from_json(written) == block
        assert {key: data[key] for key in data if key in written} == {
            key: written[key] for key in data if key in written
        }


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": None},
        {"type": ["text"]},
        {"type": "video", "url": "http://a/b"},
        {"type": "unknown"},
        {"type": "text"},
        {"type": "text", "text": 1},
        {"type": "text", "text": "a", "cache": "forever"},
        {"type": "reasoning", "text": None},
        {"type": "tool-call", "id": "1", "name": "f"},
        {"type": "tool-call", "id": "1", "name": "f", "arguments": {}},
        {"type": "tool-result", "call_id": "1"},
        {"type": "tool-result", "call_id": "1", "content": "text"},
        {"type": "tool-result", "call_id": "1", "content": ["text"]},
        {"type": "tool-result", "call_id": "1", "content": [], "is_error": 1},
        {"type": "image", "url": "u", "mime_type": 1},
    ],
)
def test_a_malformed_block_is_kept_whole(data: dict[str, Any]) -> None:
    """A missing or wrong field makes it an unknown block that still has everything."""
    assert block_from_json(data) == UnknownBlock(freeze_json(data))


def test_a_field_that_a_known_kind_does_not_have_is_left_out() -> None:
    """A later version's addition does not make a text unreadable."""
    data = {"type": "text", "text": "a", "annotations": [1]}
    assert block_from_json(data) == TextBlock("a")


def test_a_malformed_block_inside_a_result_is_kept_there() -> None:
    """Only the inner block is unknown."""
    data = {"type": "tool-result", "call_id": "1", "content": [{"type": "text"}]}
    inner = UnknownBlock(FrozenDict({"type": "text"}))
    assert block_from_json(data) == ToolResultBlock("1", (inner,))


def test_what_is_not_json_is_refused() -> None:
    """A block for the log must be JSON."""
    with pytest.raises(JsonValueError):
        block_from_json({"type": "x", "value": float("nan")})


@pytest.mark.parametrize("items", [None, "text", 1, {}, {"type": "text", "text": "a"}])
def test_what_is_no_array_has_no_blocks(items: object) -> None:
    """A missing or malformed content is empty."""
    assert blocks_from_json(items) == ()


def test_what_is_no_object_in_an_array_is_left_out() -> None:
    """The rest is read."""
    assert blocks_from_json([1, {"type": "text", "text": "a"}, None]) == (TextBlock("a"),)


def test_the_tag_comes_first() -> None:
    """People read the log."""
    for block in (TextBlock("a"), ToolResultBlock("1", (TextBlock("a"),))):
        assert next(iter(block_to_json(block))) == "type"


@given(usages)
def test_usage_comes_back_as_it_was(usage: TokenUsage) -> None:
    """Every count survives, and what was not reported stays so."""
    assert usage_from_json(usage_to_json(usage)) == usage
    assert None not in usage_to_json(usage).values()


@given(st.dictionaries(st.sampled_from(TokenUsage._fields), json_values))
def test_malformed_counts_are_not_counted(data: Mapping[str, Any]) -> None:
    """A wrong required count is 0, a wrong optional one is unknown; nothing raises."""
    usage = usage_from_json(data)
    good = {k: v for k, v in data.items() if type(v) is int and v >= 0}
    assert usage == TokenUsage(**{"input_tokens": 0, "output_tokens": 0} | good)


@given(usages, usages)
def test_usage_adds_up(one: TokenUsage, other: TokenUsage) -> None:
    """Figure by figure, in any order; unknown and unknown stays unknown."""
    total = one.plus(other)
    assert total == other.plus(one)
    assert total.input_tokens == one.input_tokens + other.input_tokens
    if one.reasoning_tokens is None:
        assert total.reasoning_tokens == other.reasoning_tokens


def test_a_source_is_its_kind_and_name() -> None:
    """A name that is not there is not written."""
    assert source_to_json(MessageSource()) == {"kind": "user"}
    assert source_to_json(MessageSource("plugin", "x")) == {"kind": "plugin", "name": "x"}


def test_a_finish_keeps_what_the_error_says() -> None:
    """Name, status, request id and delay are data; the error itself is not."""
    error = LlmError("slow down", "RATE_LIMIT", 429, request_id="r", retry_after=2.0)
    assert finish_to_json(FinishReason("error", error.message, error.code, error)) == {
        "kind": "error",
        "message": "slow down",
        "code": "RATE_LIMIT",
        "name": "LlmError",
        "status": 429,
        "request_id": "r",
        "retry_after": 2.0,
    }
    plain = HarnessError("stop", "ABORTED")
    assert finish_to_json(FinishReason("aborted", "stop", "ABORTED", plain)) == {
        "kind": "aborted",
        "message": "stop",
        "code": "ABORTED",
        "name": "HarnessError",
    }
    assert finish_to_json(FinishReason("stop")) == {"kind": "stop"}


def test_a_finish_never_spoils_the_log() -> None:
    """What a foreign adapter puts on its error and JSON does not have is left out."""
    error = LlmError("a", "A", object(), retry_after=float("inf"))  # type: ignore[arg-type]  # Why: a careless adapter
    chunk = FinishChunk(FinishReason("error", "a", "A", error))
    assert "status" not in chunk_to_json(chunk)["reason"]
    assert "retry_after" not in chunk_to_json(chunk)["reason"]


@pytest.mark.parametrize(
    ("chunk", "data"),
    [
        (BlockStart(0, "text"), {"type": "block-start", "index": 0, "block_type": "text"}),
        (TextDelta(0, "a"), {"type": "text-delta", "index": 0, "text": "a"}),
        (ReasoningDelta(1, ""), {"type": "reasoning-delta", "index": 1, "text": ""}),
        (
            ToolCallDelta(2, "c", None, "{"),
            {"type": "tool-call-delta", "index": 2, "id": "c", "arguments_delta": "{"},
        ),
        (
            BlockEnd(0, ToolResultBlock("c", (TextBlock("a"),))),
            {
                "type": "block-end",
                "index": 0,
                "block": {
                    "type": "tool-result",
                    "call_id": "c",
                    "content": ({"type": "text", "text": "a"},),
                    "is_error": False,
                },
            },
        ),
        (
            UsageChunk(TokenUsage(1, 2, 3)),
            {
                "type": "usage",
                "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3},
            },
        ),
        (FinishChunk(FinishReason("stop")), {"type": "finish", "reason": {"kind": "stop"}}),
    ],
    ids=lambda value: getattr(value, "type", ""),
)
def test_a_chunk_is_written_as_an_immutable_object(
    chunk: StreamChunk, data: dict[str, Any]
) -> None:
    """Each kind has its fields, without those that are not there."""
    assert chunk_to_json(chunk) == data
    assert type(chunk_to_json(chunk)) is FrozenDict


def test_what_is_no_chunk_is_not_written() -> None:
    """The set of chunks is closed."""
    with pytest.raises(UnreachableError, match="unreachable variant in chunk_to_json"):
        chunk_to_json("rogue")  # type: ignore[arg-type]  # Why: what no chunk is


def test_blocks_of_different_kinds_are_never_equal() -> None:
    """Equal fields do not make a text a thought."""
    assert TextBlock("a") != ReasoningBlock("a")
    assert TextDelta(0, "a") != ReasoningDelta(0, "a")


def test_a_message_gives_its_text_and_its_calls() -> None:
    """Texts are joined without a separator, calls keep the model's order."""
    one, two = ToolCallBlock("1", "f", "{}"), ToolCallBlock("2", "g", "{}")
    message = Message("assistant", (TextBlock("a"), one, ReasoningBlock("x"), TextBlock("b"), two))
    assert message.text == "ab"
    assert message.tool_calls == (one, two)


def test_content_may_be_given_short() -> None:
    """A string is one text block, a block is itself, a sequence is a tuple."""
    block = TextBlock("a")
    assert text_blocks("a") == (block,)
    assert text_blocks(block) == (block,)
    assert text_blocks([block, block]) == (block, block)
    assert text_blocks(()) == ()


@pytest.mark.parametrize("content", [b"bytes", None, 5, ["text"], [None], {"type": "text"}])
def test_content_that_is_neither_text_nor_blocks_is_refused(content: Any) -> None:
    """The caller's mistake has a code, and is a TypeError for old code."""
    with pytest.raises(CallerTypeError) as caught:
        text_blocks(content)

    assert caught.value.code == "VALIDATION_TYPE_MISMATCH"
    assert isinstance(caught.value, TypeError)
