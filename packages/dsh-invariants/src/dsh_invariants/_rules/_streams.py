"""Rules on a model's stream, and on the message that it became."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dsh_llm import (
    BlockAssembler,
    BlockEnd,
    LogEvent,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    block_from_json,
    blocks_to_json,
)

from dsh_invariants._examples import Entry, answer, finish, rows, step, turn
from dsh_invariants._fields import (
    BOUNDARIES,
    CHUNK,
    MESSAGE,
    RETRY,
    blocks,
    chunk_kind,
    mapping,
    number,
    string,
)
from dsh_invariants._rule import LogRule, StagedState

FAILED: Final = frozenset({"error", "aborted"})
"""Kinds of finish after which there is no message."""


class _FinishIsLast(StagedState):
    __slots__ = ("_finished",)

    def __init__(self) -> None:
        self._finished = False

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type == CHUNK and self._finished:
            return (f"chunk {chunk_kind(event)!r:.80} comes after the stream's finish",)
        return ()

    def take(self, event: LogEvent) -> None:
        if event.type != CHUNK:
            self._finished = False
        elif chunk_kind(event) == "finish":
            self._finished = True


class _BlockEndIsLast(StagedState):
    __slots__ = ("_ended",)

    def __init__(self) -> None:
        self._ended: set[int | None] = set()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != CHUNK or not self._ended:
            return ()
        index = number(mapping(event.data, "chunk"), "index")
        if index is None or index not in self._ended:
            return ()
        return (f"chunk {chunk_kind(event)!r:.80} comes after the end of block {index}",)

    def take(self, event: LogEvent) -> None:
        if event.type != CHUNK:
            self._ended.clear()
        elif chunk_kind(event) == "block-end":
            self._ended.add(number(mapping(event.data, "chunk"), "index"))


class _MessageAfterFinish(StagedState):
    __slots__ = ("_answered", "_finish", "_streaming")

    def __init__(self) -> None:
        self._answered = self._streaming = False
        self._finish: str | None = None

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != MESSAGE:
            return
        if self._answered:
            yield "assistant/message is the second of its step"
        if self._finish in FAILED:
            yield f"assistant/message comes after a stream that ended {self._finish!r}"
        elif self._streaming and self._finish is None:
            yield "assistant/message comes before the finish of its stream"

    def take(self, event: LogEvent) -> None:
        if event.type == CHUNK:
            self._streaming = True
            if chunk_kind(event) == "finish":
                reason = mapping(mapping(event.data, "chunk"), "reason")
                self._finish = string(reason, "kind") or ""
        elif event.type == MESSAGE:
            self._answered = True
        else:
            self._answered = self._answered and event.type == RETRY
            self._streaming, self._finish = False, None


_Substance: TypeAlias = tuple[str, str, Sequence[Mapping[str, Any]]]


class _ChunksMakeMessage(StagedState):
    __slots__ = ("_chunks", "_cut")

    def __init__(self) -> None:
        self._chunks: list[StreamChunk] = []
        self._cut = False

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != MESSAGE or not self._chunks:
            return ()
        assembler = BlockAssembler()
        for chunk in self._chunks:
            assembler.push(chunk)
        streamed = _substance({"content": blocks_to_json(assembler.blocks())})
        logged = _substance(event.data)
        return [
            f"assistant/message has another {what} than its stream"
            for what, one, other in zip(_PARTS, streamed, logged, strict=True)
            if one != other and not (self._cut and what == "list of calls")
        ]

    def take(self, event: LogEvent) -> None:
        if event.type == CHUNK:
            data = mapping(event.data, "chunk")
            read = _READERS.get(chunk_kind(event) or "")
            index = number(data, "index")
            if read is not None and index is not None:
                self._chunks.append(read(index, data))
            self._cut = self._cut or mapping(data, "reason").get("kind") == "max-tokens"
        elif event.type != MESSAGE:
            self._chunks.clear()
            self._cut = False


_PARTS: Final = ("text", "reasoning", "list of calls")


def _substance(data: Mapping[str, Any]) -> _Substance:
    text = "".join(string(block, "text") or "" for block in blocks(data, "text"))
    reasoning = "".join(string(block, "text") or "" for block in blocks(data, "reasoning"))
    calls = [
        {key: block.get(key) for key in ("id", "name", "arguments")}
        for block in blocks(data, "tool-call")
    ]
    return text, reasoning, calls


def _text(index: int, data: Mapping[str, Any]) -> StreamChunk:
    return TextDelta(index, string(data, "text") or "")


def _reasoning(index: int, data: Mapping[str, Any]) -> StreamChunk:
    return ReasoningDelta(index, string(data, "text") or "")


def _call(index: int, data: Mapping[str, Any]) -> StreamChunk:
    delta = string(data, "arguments_delta") or ""
    return ToolCallDelta(index, string(data, "id"), string(data, "name"), delta)


def _end(index: int, data: Mapping[str, Any]) -> StreamChunk:
    return BlockEnd(index, block_from_json(mapping(data, "block")))


_READERS: Final[Mapping[str, Callable[[int, Mapping[str, Any]], StreamChunk]]] = {
    "text-delta": _text,
    "reasoning-delta": _reasoning,
    "tool-call-delta": _call,
    "block-end": _end,
}

_AT: Final = {"turn": 1, "step": 1}
_STREAM: Final = answer()


def _chunk(chunk: Mapping[str, Any]) -> Entry:
    return "assistant/chunk", _AT | {"chunk": chunk}


_LATE: Final = _chunk({"type": "text-delta", "index": 0, "text": "late"})
_USAGE: Final = _chunk({"type": "usage", "usage": {"input_tokens": 1, "output_tokens": 1}})
_BOUNDS: Final = BOUNDARIES | {RETRY, CHUNK}

FINISH_IS_LAST: Final = LogRule(
    "INV-STREAM-001",
    "A stream has one finish, and nothing comes after it.",
    _FinishIsLast,
    _BOUNDS,
    rows(*turn(1, step(1, _STREAM[:-1], [_USAGE], _STREAM[-1:]))),
)
BLOCK_END_IS_LAST: Final = LogRule(
    "INV-STREAM-002",
    "Nothing comes for a block of a stream after its block-end.",
    _BlockEndIsLast,
    _BOUNDS,
    rows(*turn(1, step(1, _STREAM[:2], [_LATE], _STREAM[2:]))),
)
MESSAGE_AFTER_FINISH: Final = LogRule(
    "INV-STREAM-003",
    "A step has at most one assistant/message; it comes after its stream's finish, which did "
    "not fail.",
    _MessageAfterFinish,
    _BOUNDS | {MESSAGE},
    rows(*turn(1, step(1, [_chunk(finish("error")), _STREAM[-1]]))),
)
CHUNKS_MAKE_MESSAGE: Final = LogRule(
    "INV-CHUNK-001",
    "The chunks of a step's last attempt add up to its assistant/message.",
    _ChunksMakeMessage,
    _BOUNDS | {MESSAGE},
    rows(*turn(1, step(1, _STREAM[:-1], [("assistant/message", _AT | {"content": []})]))),
)
