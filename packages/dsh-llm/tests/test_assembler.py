"""The assembler, case by case; the ids are those of the reference's conformance list."""

from typing import Any

import pytest
from dsh_llm import (
    BlockAssembler,
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    GenerateResult,
    HarnessError,
    ImageBlock,
    Message,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UnreachableError,
    UsageChunk,
    unreachable,
)


def assembled(*chunks: StreamChunk) -> BlockAssembler:
    """Return an assembler that has taken *chunks*."""
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler


def test_llm_001_three_blocks_of_three_kinds() -> None:
    """LLM-001: reasoning, text from deltas only, a call from two fragments, usage and finish."""
    usage = TokenUsage(3, 4)
    assembler = assembled(
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "let me "),
        ReasoningDelta(0, "see"),
        BlockEnd(0, ReasoningBlock("let me see")),
        TextDelta(1, "hel"),
        TextDelta(1, "lo"),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "c1", "echo", '{"text":'),
        ToolCallDelta(2, "c1", None, '"hi"}'),
        UsageChunk(usage),
        FinishChunk(FinishReason("tool-calls")),
    )
    blocks = (
        ReasoningBlock("let me see"),
        TextBlock("hello"),
        ToolCallBlock("c1", "echo", '{"text":"hi"}'),
    )
    assert assembler.blocks() == blocks
    assert assembler.message() == Message("assistant", blocks)
    assert assembler.result() == GenerateResult(
        Message("assistant", blocks), FinishReason("tool-calls"), usage
    )


def test_llm_002_push_returns_the_block_that_closes() -> None:
    """LLM-002: start and delta return nothing, the end returns the block itself."""
    assembler = BlockAssembler()
    block = TextBlock("a")
    assert assembler.push(BlockStart(0, "text")) is None
    assert assembler.push(TextDelta(0, "a")) is None
    assert assembler.push(BlockEnd(0, block)) is block


def test_llm_003_a_lone_delta_is_a_block() -> None:
    """LLM-003: no start is needed, and the finish is `stop` until told otherwise."""
    assembler = assembled(TextDelta(0, "a"))
    assert assembler.blocks() == (TextBlock("a"),)
    assert assembler.finish == FinishReason("stop")


def test_llm_004_and_009_usage_may_be_missing() -> None:
    """LLM-004, LLM-009: without a usage chunk there is none in the result either."""
    assembler = assembled(TextDelta(0, "a"))
    assert assembler.usage is None
    assert assembler.result().usage is None
    assert assembler.result().finish == FinishReason("stop")


def test_llm_005_an_end_closes_what_start_and_delta_opened() -> None:
    """LLM-005: the same index is the same block."""
    assembler = assembled(BlockStart(0, "text"), TextDelta(0, "a"))
    assert assembler.push(BlockEnd(0, TextBlock("a!"))) == TextBlock("a!")
    assert assembler.blocks() == (TextBlock("a!"),)


def test_llm_006_an_open_image_cannot_be_built() -> None:
    """LLM-006: deltas cannot make an image; the error is coded and names the kind."""
    assembler = assembled(BlockStart(3, "image"))
    with pytest.raises(
        HarnessError, match='cannot assemble incomplete block of type "image"'
    ) as caught:
        assembler.blocks()
    assert caught.value.code == "INCOMPLETE_BLOCK"
    assert caught.value.context == {"index": 3}


def test_llm_008_open_blocks_are_flushed_at_the_end() -> None:
    """LLM-008: two delta-only blocks are not ready, and remain in order."""
    assembler = assembled(TextDelta(0, "a"), ReasoningDelta(1, "b"))
    blocks = assembler.blocks()
    assert assembler.flush_ready() == ()
    assert assembler.flush_remaining() == blocks == (TextBlock("a"), ReasoningBlock("b"))


def test_llm_010_a_second_start_resets_nothing() -> None:
    """LLM-010: the block goes on."""
    chunks = (BlockStart(0, "text"), TextDelta(0, "a"), BlockStart(0, "image"), TextDelta(0, "b"))
    assert assembled(*chunks).blocks() == (TextBlock("ab"),)


def test_llm_011_and_017_a_closed_block_stays_as_it_is() -> None:
    """LLM-011, LLM-017: stragglers change nothing, and a second end returns nothing."""
    call = ToolCallBlock("1", "f", "{}")
    assembler = assembled(BlockEnd(0, call))
    assert assembler.push(ToolCallDelta(0, "2", "g", "x")) is None
    assert assembler.push(TextDelta(0, "x")) is None
    assert assembler.push(BlockEnd(0, TextBlock("x"))) is None
    assert assembler.blocks() == (call,)


def test_llm_012_a_call_without_id_and_name_gets_an_id() -> None:
    """LLM-012: the index makes the id, the name stays empty, the arguments are kept."""
    assembler = assembled(ToolCallDelta(0, None, None, '{"a":1}'))
    assert assembler.blocks() == (ToolCallBlock("call-0", "", '{"a":1}'),)


def test_llm_013_usage_is_in_the_result() -> None:
    """LLM-013: the last one wins, as with the finish."""
    assembler = assembled(
        UsageChunk(TokenUsage(1, 1)),
        UsageChunk(TokenUsage(2, 2)),
        FinishChunk(FinishReason("stop")),
        FinishChunk(FinishReason("max-tokens")),
    )
    assert assembler.result().usage == TokenUsage(2, 2)
    assert assembler.result().finish == FinishReason("max-tokens")


@pytest.mark.parametrize(
    ("value", "context", "text"),
    [
        (
            {"type": "rogue"},
            "test-context",
            'unreachable variant in test-context: {"type":"rogue"}',
        ),
        (None, "", "unreachable variant: null"),
        ("é", "", 'unreachable variant: "é"'),
        ({1}, "", "unreachable variant: {1}"),
    ],
)
def test_llm_014_unreachable_names_context_and_value(
    value: object, context: str, text: str
) -> None:
    """LLM-014: as JSON where that is possible, else as text."""
    with pytest.raises(UnreachableError) as caught:
        unreachable(value, context)
    assert str(caught.value) == text
    assert caught.value.code == "UNREACHABLE"


def test_unreachable_is_total_on_hostile_values() -> None:
    """A cycle, a bottomless value and an object without text still give the coded error."""
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 1
    for _ in range(100_000):
        deep = (deep,)

    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    for value in (cycle, Hostile()):
        with pytest.raises(UnreachableError, match="unreachable variant in x: "):
            unreachable(value, "x")
    with pytest.raises(UnreachableError, match="unreachable variant: <unprintable tuple>"):
        unreachable(deep)


def test_llm_015_what_is_no_chunk_is_refused() -> None:
    """LLM-015: the set is closed."""
    with pytest.raises(UnreachableError, match=r"unreachable variant in BlockAssembler\.push"):
        BlockAssembler().push({"type": "rogue"})  # type: ignore[arg-type]  # Why: what no chunk is


def test_llm_016_the_first_end_wins_for_every_consumer() -> None:
    """LLM-016: streaming or at once, only the first block of an index is seen."""
    chunks = (BlockEnd(0, TextBlock("a")), BlockEnd(0, TextBlock("b")))
    assert assembled(*chunks).blocks() == (TextBlock("a"),)
    streaming = BlockAssembler()
    flushed = [
        block for chunk in chunks if streaming.push(chunk) for block in streaming.flush_ready()
    ]
    assert [*flushed, *streaming.flush_remaining()] == [TextBlock("a")]


def test_order_is_that_of_first_sight() -> None:
    """Neither the numbers nor the ends decide."""
    assembler = assembled(
        BlockStart(5, "text"),
        TextDelta(2, "b"),
        BlockEnd(9, TextBlock("c")),
        BlockEnd(5, TextBlock("a")),
    )
    assert assembler.blocks() == (TextBlock("a"), TextBlock("b"), TextBlock("c"))


def test_flushing_never_skips_an_open_block() -> None:
    """A closed block waits for the open one before it; each comes once."""
    assembler = assembled(TextDelta(0, "a"), BlockEnd(1, TextBlock("b")))
    assert assembler.flush_ready() == ()
    assembler.push(BlockEnd(0, TextBlock("a")))
    assert assembler.flush_ready() == (TextBlock("a"), TextBlock("b"))
    assert assembler.flush_ready() == ()
    assert assembler.flush_remaining() == ()


def test_an_end_outranks_start_and_deltas() -> None:
    """Even its kind may be another, and the block is not copied."""
    image = ImageBlock("http://a/b")
    assembler = assembled(TextDelta(0, "a"), BlockEnd(0, image))
    assert assembler.blocks()[0] is image


def test_an_empty_id_or_name_never_replaces_a_known_one() -> None:
    """Only the first delta of many has them; an empty id that was all there was is kept."""
    known = assembled(ToolCallDelta(0, "1", "f", "{"), ToolCallDelta(0, "", "", "}"))
    assert known.blocks() == (ToolCallBlock("1", "f", "{}"),)
    late = assembled(ToolCallDelta(0, "", None, "{}"), ToolCallDelta(0, "1", "f"))
    assert late.blocks() == (ToolCallBlock("1", "f", "{}"),)
    assert assembled(ToolCallDelta(0, "", "f")).blocks() == (ToolCallBlock("", "f", ""),)


def test_a_delta_of_another_kind_does_not_change_the_block() -> None:
    """What it brings is not shown."""
    assert assembled(TextDelta(0, "a"), ToolCallDelta(0, "1", "f", "{}")).blocks() == (
        TextBlock("a"),
    )
    assert assembled(ToolCallDelta(0, "1", "f", "{}"), TextDelta(0, "a")).blocks() == (
        ToolCallBlock("1", "f", "{}"),
    )
