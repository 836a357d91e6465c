"""The assembler under any stream, legal or not: LLM-018 to LLM-024 of the reference's list."""

from dsh_llm import (
    Block,
    BlockAssembler,
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    Message,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from hypothesis import given
from hypothesis import strategies as st

indices = st.integers(0, 4)
short = st.text("ab{}", max_size=3)
ids = st.none() | st.sampled_from(["", "c1", "c2"])
kinds = st.sampled_from(["text", "reasoning", "tool-call"])
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, short),
    st.builds(ReasoningBlock, short),
    st.builds(ToolCallBlock, short, short, short),
)
finishes = st.sampled_from(["stop", "tool-calls", "max-tokens", "error", "x"]).map(FinishReason)
chunks: st.SearchStrategy[StreamChunk] = st.one_of(
    st.builds(BlockStart, indices, kinds),
    st.builds(TextDelta, indices, short),
    st.builds(ReasoningDelta, indices, short),
    st.builds(ToolCallDelta, indices, ids, ids, short),
    st.builds(BlockEnd, indices, blocks),
    st.builds(UsageChunk, st.builds(TokenUsage, st.integers(0, 9), st.integers(0, 9))),
    st.builds(FinishChunk, finishes),
)
streams = st.lists(chunks, max_size=30)


def one_shot(stream: list[StreamChunk]) -> BlockAssembler:
    """Return an assembler that has seen all of *stream*."""
    assembler = BlockAssembler()
    for chunk in stream:
        assembler.push(chunk)
    return assembler


@given(streams)
def test_llm_018_streaming_gives_the_blocks_of_one_shot(stream: list[StreamChunk]) -> None:
    """LLM-018: all that was flushed, in order, is `blocks()`."""
    assembler, flushed = BlockAssembler(), list[Block]()
    for chunk in stream:
        assembler.push(chunk)
        flushed.extend(assembler.flush_ready())
    flushed.extend(assembler.flush_remaining())
    assert tuple(flushed) == one_shot(stream).blocks()
    assert assembler.flush_remaining() == ()


@given(streams)
def test_llm_019_what_was_flushed_is_never_taken_back(stream: list[StreamChunk]) -> None:
    """LLM-019: at every moment it is the beginning of the final `blocks()`."""
    assembler, flushed, final = BlockAssembler(), list[Block](), one_shot(stream).blocks()
    for chunk in stream:
        assembler.push(chunk)
        flushed.extend(assembler.flush_ready())
        assert tuple(flushed) == final[: len(flushed)]


@given(streams)
def test_llm_020_there_are_as_many_blocks_as_indices(stream: list[StreamChunk]) -> None:
    """LLM-020: each index is one block, so memory is bounded by the indices seen."""
    seen = {chunk.index for chunk in stream if not isinstance(chunk, (UsageChunk, FinishChunk))}
    assert len(one_shot(stream).blocks()) == len(seen)


@given(streams)
def test_llm_021_asking_changes_nothing(stream: list[StreamChunk]) -> None:
    """LLM-021: `blocks()` twice is equal, and the message has the same."""
    assembler = one_shot(stream)
    first = assembler.blocks()
    assert assembler.blocks() == first
    assert assembler.message() == Message("assistant", first)


@given(streams)
def test_llm_022_building_never_fails(stream: list[StreamChunk]) -> None:
    """LLM-022: kinds that deltas can build always give blocks of a known kind."""
    tags = {block.type for block in one_shot(stream).blocks()}
    assert tags <= {"text", "reasoning", "tool-call", "tool-result", "image"}


@given(streams)
def test_llm_023_the_last_finish_wins(stream: list[StreamChunk]) -> None:
    """LLM-023: without one it is `stop`."""
    reasons = [chunk.reason for chunk in stream if isinstance(chunk, FinishChunk)]
    assert one_shot(stream).finish == (reasons[-1] if reasons else FinishReason("stop"))


@given(streams)
def test_llm_024_every_consumer_sees_the_same_ending(stream: list[StreamChunk]) -> None:
    """LLM-024: flushing on the way changes neither usage nor finish."""
    assembler = BlockAssembler()
    for chunk in stream:
        assembler.push(chunk)
        assembler.flush_ready()
    whole = one_shot(stream)
    assert (assembler.usage, assembler.finish) == (whole.usage, whole.finish)
    assert assembler.result() == whole.result()
