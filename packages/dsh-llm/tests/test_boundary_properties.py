"""The boundary under adapters that do anything at all, at random."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from dsh_llm import (
    AbortController,
    Block,
    BlockAssembler,
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    ImageBlock,
    Llm,
    LlmError,
    ModelRequest,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    chunk_to_json,
)
from hypothesis import example, given
from hypothesis import strategies as st

indices = st.integers(0, 3)
short = st.text("ab{}", max_size=3)
ids = st.none() | st.sampled_from(["", "c1", "c2"])
kinds = st.sampled_from(["text", "reasoning", "tool-call", "image"])
kinds_of_end = st.sampled_from(["stop", "tool-calls", "max-tokens", "error", "aborted", "other"])
reasons = st.tuples(kinds_of_end, st.none() | short, st.none() | short)
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, short),
    st.builds(ReasoningBlock, short),
    st.builds(ToolCallBlock, short, short, short),
    st.builds(ImageBlock, short),
)
legal: st.SearchStrategy[StreamChunk] = st.one_of(
    st.builds(BlockStart, indices, kinds),
    st.builds(TextDelta, indices, short),
    st.builds(ReasoningDelta, indices, short),
    st.builds(ToolCallDelta, indices, ids, ids, short),
    st.builds(BlockEnd, indices, blocks),
    st.builds(UsageChunk, st.builds(TokenUsage, st.integers(0, 9), st.integers(0, 9))),
    reasons.map(lambda fields: FinishChunk(FinishReason(*fields))),
)
junk: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, "text", object(), TextDelta(-1, "a"), BlockEnd(0, None), FinishChunk(None)]  # type: ignore[arg-type]  # Why: junk
)
errors: st.SearchStrategy[BaseException] = st.sampled_from(
    [ValueError("a"), OSError("b"), LlmError("c", "AUTH"), asyncio.CancelledError(), TimeoutError()]
)
pauses = st.just(asyncio.sleep)
scripts = st.lists(legal | legal | legal | junk | errors | pauses, max_size=20)
aborts = st.none() | st.integers(0, 10)


class AnyAdapter:
    """Yields, pauses and raises as its script says."""

    def __init__(self, script: list[Any]) -> None:
        self.script = script
        self.open = 0

    async def stream(self, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
        """Play the script."""
        self.open += 1
        try:
            for item in self.script:
                if isinstance(item, BaseException):
                    raise item
                if item is asyncio.sleep:
                    await asyncio.sleep(0)
                else:
                    yield item
        finally:
            self.open -= 1


def played(script: list[Any], abort_at: int | None) -> list[StreamChunk]:
    """Return what a consumer sees that aborts after so many chunks; nothing is left behind."""

    async def main() -> list[StreamChunk]:
        llm, adapter, controller = Llm(), AnyAdapter(script), AbortController()
        llm.register("m", adapter)
        seen: list[StreamChunk] = []
        async for chunk in llm.stream(ModelRequest("m", (), signal=controller.signal)):
            seen.append(chunk)
            if len(seen) == abort_at:
                controller.abort("enough")
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)
        assert adapter.open == 0
        return seen

    return asyncio.run(main())


@given(scripts, aborts)
@example([], None)
@example([ToolCallDelta(0, "c", None, "{"), BlockEnd(0, TextBlock("a"))], None)
def test_every_stream_is_legal(script: list[Any], abort_at: int | None) -> None:
    """One terminal chunk, the last; blocks can be built; calls are named, once; all is loggable."""
    chunks = played(script, abort_at)
    assert [isinstance(chunk, FinishChunk) for chunk in chunks] == [
        *[False] * (len(chunks) - 1),
        True,
    ]
    end = chunks[-1]
    assert isinstance(end, FinishChunk)
    assert end.reason.failed == (end.reason.error is not None)
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
        assert chunk_to_json(chunk)["type"] == chunk.type
    calls = assembler.message().tool_calls
    assert all(call.id and call.name for call in calls)
    assert len({call.id for call in calls}) == len(calls)
    if end.reason.kind in {"stop", "tool-calls"}:
        assert set(assembler.blocks()) - {TextBlock(""), ReasoningBlock("")}


@given(scripts)
def test_a_legal_adapter_is_not_changed(script: list[Any]) -> None:
    """What passes once passes again unchanged: mending a mended stream does nothing."""
    once = played(script, None)
    end = once[-1]
    assert isinstance(end, FinishChunk)
    if not end.reason.failed:
        assert played(once, None) == once
