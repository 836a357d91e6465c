"""The boundary: whatever an adapter does, consumers see a legal stream with one terminal chunk."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest
from dsh_llm import (
    BlockAssembler,
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    GroupError,
    HarnessError,
    ImageBlock,
    Llm,
    LlmError,
    Message,
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
)

STOP = FinishChunk(FinishReason("stop"))
CALLS = FinishChunk(FinishReason("tool-calls"))
CUT = FinishChunk(FinishReason("max-tokens"))
HI = TextDelta(0, "hi")
REQUEST = ModelRequest("m", ())


class Adapter:
    """Plays chunks, raising those that are exceptions, and notes when it is closed."""

    def __init__(self, *script: Any) -> None:
        self.script = script
        self.closed = 0

    async def stream(self, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
        """Play the script; a callable in it is called."""
        try:
            for item in self.script:
                if isinstance(item, BaseException):
                    raise item
                if callable(item):
                    await cast("Any", item)()
                else:
                    yield item
        finally:
            self.closed += 1


def llm(adapter: Any) -> Llm:
    """Return a service that knows *adapter* as `m`."""
    service = Llm()
    service.register("m", adapter)
    return service


def played(adapter: Any, request: ModelRequest = REQUEST) -> list[StreamChunk]:
    """Return everything that a consumer sees."""

    async def main() -> list[StreamChunk]:
        return [chunk async for chunk in llm(adapter).stream(request)]

    return asyncio.run(main())


def failed(adapter: Any, request: ModelRequest = REQUEST) -> FinishReason:
    """Return the failure that a stream ends in."""
    chunk = played(adapter, request)[-1]
    assert isinstance(chunk, FinishChunk)
    assert chunk.reason.failed
    assert chunk.reason.error is not None
    assert (chunk.reason.code, chunk.reason.message) == (
        chunk.reason.error.code,
        chunk.reason.error.message,
    )
    return chunk.reason


def blocks(chunks: Sequence[StreamChunk]) -> tuple[Any, ...]:
    """Return the blocks that a consumer builds."""
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler.blocks()


# -- how a stream ends -------------------------------------------------------------------------


def test_a_good_stream_passes_unchanged() -> None:
    """Nothing is added, and the adapter's iterator is closed."""
    call = ToolCallBlock("c", "f", "{}")
    script = (
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "hm"),
        BlockEnd(0, ReasoningBlock("hm")),
        HI._replace(index=1),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "c", "f", "{"),
        ToolCallDelta(2, "c", None, "}"),
        BlockEnd(2, call),
        UsageChunk(TokenUsage(1, 2)),
        CALLS,
    )
    adapter = Adapter(*script)
    assert played(adapter) == list(script)
    assert adapter.closed == 1


class _RaisesAtCall:
    def stream(self, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
        raise LlmError("no", "AUTH", 401)


@pytest.mark.parametrize(
    ("adapter", "before"),
    [
        (_RaisesAtCall(), 0),
        (Adapter(LlmError("no", "AUTH", 401)), 0),
        (Adapter(HI, LlmError("no", "AUTH", 401)), 1),
    ],
    ids=["at the call", "at first", "in the middle"],
)
def test_an_adapter_that_raises_ends_the_stream_with_its_own_error(
    adapter: Any, before: int
) -> None:
    """What came before is seen; the terminal chunk carries the very error."""
    chunks = played(adapter)
    assert len(chunks) == before + 1
    end = chunks[-1]
    assert isinstance(end, FinishChunk)
    assert isinstance(end.reason.error, LlmError)
    assert (end.reason.kind, end.reason.code, end.reason.error.status) == ("error", "AUTH", 401)


@pytest.mark.parametrize(
    ("raised", "code", "kind"),
    [
        (ConnectionResetError("reset"), "TRANSPORT", "error"),
        (TimeoutError(), "TIMEOUT", "error"),
        (RuntimeError("odd"), "UNKNOWN", "error"),
        (StopIteration(), "UNKNOWN", "error"),
        (asyncio.CancelledError(), "ABORTED", "aborted"),
        (HarnessError("stop", "ABORTED"), "ABORTED", "aborted"),
        (ExceptionGroup("many", [ValueError("a")]), "UNKNOWN", "error"),
    ],
)
def test_a_foreign_failure_gets_a_code(raised: BaseException, code: str, kind: str) -> None:
    """The original is the cause, the text is never empty."""
    reason = failed(Adapter(HI, raised))
    assert (reason.code, reason.kind) == (code, kind)
    assert reason.message
    if not isinstance(raised, HarnessError | StopIteration):
        assert isinstance(reason.error, LlmError | GroupError)
        assert reason.error.cause is raised


def test_a_failure_without_a_text_of_its_own_is_named_by_its_class() -> None:
    """Also when its `__str__` raises."""

    class HostileError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert failed(Adapter(HostileError())).message == "<unprintable HostileError>"
    assert failed(Adapter(TimeoutError())).message == "TimeoutError"


def test_an_answer_without_its_end_marker_is_a_broken_stream() -> None:
    """It broke off, however much there was."""
    assert failed(Adapter(HI)).code == "STREAM_CLOSED"
    assert failed(Adapter()).code == "STREAM_CLOSED"


def test_nothing_follows_the_finish() -> None:
    """The adapter is not even asked for more."""
    adapter = Adapter(HI, STOP, TextDelta(0, "more"), STOP, RuntimeError("late"))
    assert played(adapter) == [HI, STOP]
    assert adapter.closed == 1


@pytest.mark.parametrize(
    "end",
    [
        STOP,
        CALLS,
    ],
    ids=lambda chunk: chunk.reason.kind,
)
@pytest.mark.parametrize(
    "script",
    [
        (),
        (TextDelta(0, ""), BlockEnd(1, ReasoningBlock(""))),
        (BlockStart(0, "text"), BlockEnd(0, TextBlock("")), UsageChunk(TokenUsage(1, 0))),
        (HI, BlockEnd(0, TextBlock(""))),
    ],
)
def test_a_completion_without_content_is_a_failure(
    script: tuple[StreamChunk, ...], end: FinishChunk
) -> None:
    """Empty blocks are no content; the usage that came is still seen."""
    chunks = played(Adapter(*script, end))
    assert chunks[:-1] == list(script)
    assert isinstance(chunks[-1], FinishChunk)
    assert chunks[-1].reason.code == "EMPTY_RESPONSE"


@pytest.mark.parametrize(
    "script",
    [
        (HI, STOP),
        (ReasoningDelta(0, "x"), STOP),
        (BlockEnd(0, ImageBlock("u")), STOP),
        (BlockEnd(0, TextBlock(" ")), STOP),
        (CUT,),
    ],
)
def test_any_content_is_enough(script: tuple[StreamChunk, ...]) -> None:
    """And an answer that was cut short may have none."""
    assert played(Adapter(*script)) == list(script)


def test_a_failure_that_the_adapter_finishes_with_gets_an_error() -> None:
    """From its code and message, or from what there is."""
    reason = failed(Adapter(HI, FinishChunk(FinishReason("error", "filtered", "CONTENT_FILTER"))))
    assert (reason.kind, reason.code, reason.message) == ("error", "CONTENT_FILTER", "filtered")
    reason = failed(Adapter(FinishChunk(FinishReason("error"))))
    assert (reason.code, reason.message) == ("UNKNOWN", "the model's stream ended error")
    reason = failed(Adapter(FinishChunk(FinishReason("aborted"))))
    assert (reason.kind, reason.code) == ("aborted", "ABORTED")


def test_a_failure_keeps_the_error_that_the_adapter_gave() -> None:
    """Even one that is no harness error: it becomes the cause."""
    own = LlmError("slow", "RATE_LIMIT", 429)
    assert failed(Adapter(FinishChunk(FinishReason("error", error=own)))).error is own
    foreign: Any = ValueError("odd")
    error = failed(Adapter(FinishChunk(FinishReason("error", "text", "X", foreign)))).error
    assert error is not None
    assert (error.code, error.message, error.cause) == ("X", "text", foreign)


# -- what a chunk may be -----------------------------------------------------------------------

JUNK: list[Any] = [
    None,
    "text",
    {"type": "text-delta", "index": 0, "text": "a"},
    object(),
    TextDelta,
    TextBlock("a"),
    TextDelta(-1, "a"),
    TextDelta(True, "a"),  # noqa: FBT003  # Why: junk
    TextDelta("0", "a"),  # type: ignore[arg-type]  # Why: junk
    TextDelta(0, None),  # type: ignore[arg-type]  # Why: junk
    TextDelta(0, "a", "reasoning-delta"),  # type: ignore[arg-type]  # Why: junk
    ReasoningDelta(0, b"a"),  # type: ignore[arg-type]  # Why: junk
    BlockStart(0, None),  # type: ignore[arg-type]  # Why: junk
    ToolCallDelta(0, 1, "f", ""),  # type: ignore[arg-type]  # Why: junk
    ToolCallDelta(0, "c", "f", {}),  # type: ignore[arg-type]  # Why: junk
    BlockEnd(0, None),  # type: ignore[arg-type]  # Why: junk
    BlockEnd(0, ToolCallBlock("c", "f", {})),  # type: ignore[arg-type]  # Why: junk
    UsageChunk(None),  # type: ignore[arg-type]  # Why: junk
    UsageChunk(TokenUsage(-1, 0)),
    UsageChunk(TokenUsage(1, 0, 0.5)),  # type: ignore[arg-type]  # Why: junk
    FinishChunk(None),  # type: ignore[arg-type]  # Why: junk
    FinishChunk(FinishReason(None)),  # type: ignore[arg-type]  # Why: junk
    FinishChunk(FinishReason("stop", code=5)),  # type: ignore[arg-type]  # Why: junk
]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_what_is_no_chunk_ends_the_stream(junk: Any) -> None:
    """Wrong objects and wrong fields are a malformed response, named in short."""
    script = Adapter(HI, junk) if not callable(junk) else _Returns(HI, junk)
    chunks = played(script)
    assert chunks[0] == HI
    assert len(chunks) == 2
    assert isinstance(chunks[1], FinishChunk)
    assert chunks[1].reason.code == "MALFORMED_RESPONSE"
    assert len(str(chunks[1].reason.message)) < 200


class _Returns(Adapter):
    async def stream(self, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
        for item in self.script:
            yield item


@pytest.mark.parametrize(
    "second",
    [ReasoningDelta(0, "x"), ToolCallDelta(0, "c", "f", "{}")],
)
def test_one_index_is_one_kind(second: StreamChunk) -> None:
    """A delta of another kind would be lost in silence, so it is refused."""
    assert failed(Adapter(HI, second, STOP)).code == "MALFORMED_RESPONSE"


def test_what_comes_for_a_closed_block_is_dropped() -> None:
    """Stragglers, a second start and a second end never reach the log."""
    end = BlockEnd(0, TextBlock("hi"))
    call = BlockEnd(1, ToolCallBlock("c", "f", "{}"))
    late = (HI, BlockStart(0, "image"), BlockEnd(0, TextBlock("x")), ReasoningDelta(0, "x"))
    late_call = (ToolCallDelta(1, "d", "g", "x"), BlockEnd(1, ToolCallBlock("d", "g", "x")))
    assert played(Adapter(HI, end, *late, call, *late_call, CALLS)) == [HI, end, call, CALLS]


def test_a_block_that_deltas_cannot_build_is_seen_whole_or_not_at_all() -> None:
    """Its start waits for its end, and what comes later waits behind it."""
    start, end, text = BlockStart(0, "image"), BlockEnd(0, ImageBlock("u")), TextDelta(1, "a")
    assert played(Adapter(start, text, end, STOP)) == [start, text, end, STOP]
    chunks = played(Adapter(start, text, STOP))
    assert chunks[0] == text
    assert isinstance(chunks[-1], FinishChunk)
    assert chunks[-1].reason.code == "MALFORMED_RESPONSE"
    assert played(Adapter(start, text, CUT)) == [text, CUT]


# -- tool calls --------------------------------------------------------------------------------


def calls(*script: StreamChunk, request: ModelRequest = REQUEST) -> list[ToolCallBlock]:
    """Return the calls that a consumer builds; deltas and blocks agree about the ids."""
    chunks = played(Adapter(*script, CALLS), request)
    assert chunks[-1] == CALLS
    built = [block for block in blocks(chunks) if isinstance(block, ToolCallBlock)]
    given = {chunk.id for chunk in chunks if isinstance(chunk, ToolCallDelta)}
    assert given <= {call.id for call in built}
    assert all(call.id and call.name for call in built)
    assert len({call.id for call in built}) == len(built)
    return built


def test_a_missing_id_is_made_once() -> None:
    """For deltas, for blocks, and for both together."""
    one, two, three = calls(
        ToolCallDelta(0, None, "f", "{"),
        ToolCallDelta(0, "", None, "}"),
        BlockEnd(1, ToolCallBlock("", "g", "{}")),
        ToolCallDelta(2, None, "h", ""),
        BlockEnd(2, ToolCallBlock("", "h", "[]")),
    )
    assert (one.name, one.arguments) == ("f", "{}")
    assert (two.name, three.name, three.arguments) == ("g", "h", "[]")


def test_a_late_id_holds_the_call_back_and_keeps_the_order() -> None:
    """A call is seen when it can be named; the call after it waits behind it."""
    first, second = calls(
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, None, "f", "{"),
        BlockStart(1, "tool-call"),
        ToolCallDelta(1, "b", "g", "{}"),
        ToolCallDelta(0, "a", None, "}"),
    )
    assert (first, second) == (ToolCallBlock("a", "f", "{}"), ToolCallBlock("b", "g", "{}"))


def test_a_repeated_id_is_made_unique() -> None:
    """Within the answer; an id of an earlier answer may come again."""
    ids = [
        call.id
        for call in calls(
            ToolCallDelta(0, "c", "f", "{}"),
            ToolCallDelta(1, "c", "f", "{}"),
            BlockEnd(2, ToolCallBlock("c", "f", "{}")),
            BlockEnd(3, ToolCallBlock("c-2", "f", "{}")),
        )
    ]
    assert ids == ["c", "c-2", "c-3", "c-2-2"]
    earlier = Message("assistant", (ToolCallBlock("c", "f", "{}"), TextBlock("x")))
    (call,) = calls(ToolCallDelta(0, "c", "f"), request=ModelRequest("m", [earlier]))
    assert call.id == "c"


def test_the_id_of_the_deltas_is_the_id_of_the_call() -> None:
    """A block that ends with another id or without a name does not become another call."""
    (call,) = calls(ToolCallDelta(0, "a", "f", "{}"), BlockEnd(0, ToolCallBlock("b", "", "{}")))
    assert call == ToolCallBlock("a", "f", "{}")


@pytest.mark.parametrize(
    "script",
    [
        (ToolCallDelta(0, "c", None, "{}"),),
        (ToolCallDelta(0, "c", "", "{}"), BlockEnd(0, ToolCallBlock("c", "", "{}"))),
        (BlockStart(0, "tool-call"),),
    ],
)
def test_a_call_without_a_name_is_malformed(script: tuple[StreamChunk, ...]) -> None:
    """Nobody can run it, and no chunk of it reaches the log."""
    chunks = played(Adapter(HI._replace(index=9), *script, CALLS))
    assert chunks[0] == HI._replace(index=9)
    assert len(chunks) == 2
    assert isinstance(chunks[1], FinishChunk)
    assert chunks[1].reason.code == "MALFORMED_RESPONSE"


def test_an_answer_that_was_cut_in_a_call_is_no_failure() -> None:
    """A call with a name is kept as far as it came, one without is left out."""
    chunks = played(
        Adapter(
            ToolCallDelta(0, None, "f", '{"a'),
            BlockStart(1, "tool-call"),
            ToolCallDelta(1, "c", None, "{"),
            CUT,
        )
    )
    (call,) = blocks(chunks)
    assert (call.name, call.arguments) == ("f", '{"a')
    assert chunks[-1] == CUT


def test_a_failure_gives_out_what_waited_and_can_be_named() -> None:
    """Text behind an unnamed call is not lost with it."""
    chunks = played(Adapter(ToolCallDelta(0, "c", None, "{"), HI._replace(index=1), OSError("cut")))
    assert chunks[0] == HI._replace(index=1)
    assert isinstance(chunks[1], FinishChunk)
    assert chunks[1].reason.code == "TRANSPORT"
    ended = FinishChunk(FinishReason("error", "a", "A"))
    chunks = played(Adapter(ToolCallDelta(0, "c", None, "{"), HI._replace(index=1), ended))
    assert chunks[0] == HI._replace(index=1)
    assert len(chunks) == 2
