"""What a legal stream is: takes an adapter's chunks and gives out the legal ones, mended."""

import os
from collections import Counter, deque
from typing import Final, TypeAlias

from dsh_llm._abort import AbortSignal
from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm._errors import LlmError
from dsh_llm._messages import ReasoningBlock, TextBlock, ToolCallBlock
from dsh_llm._structure import is_chunk
from dsh_llm._terminal import failed, failure
from dsh_llm._text import text_of


class Grammar:
    """Takes an adapter's chunks and gives out the legal ones, mended, in their order.

    A chunk waits until its block may be named: a tool call until its id and name are known, a
    block that deltas cannot build until its end. What comes later waits behind it, so that blocks
    keep the model's order. A missing id is made, one that repeats within the answer is made
    unique; an earlier answer's id may come again. What comes for a closed block is dropped.
    """

    def __init__(self) -> None:
        """Begin a stream."""
        self.finished = False
        self._ids: set[str] = set()
        self._repeats: Counter[str] = Counter()
        self._blocks: dict[int, _Block] = {}
        self._waiting: deque[_Waiting] = deque()

    def accept(self, chunk: StreamChunk) -> list[StreamChunk]:
        """Return the chunks that may go out now.

        Raises:
            LlmError: `MALFORMED_RESPONSE` for what no chunk may be, `EMPTY_RESPONSE` for a
                completion without any content; go on with `fail`.
        """
        if not is_chunk(chunk):
            raise _malformed(f"not a stream chunk: {text_of(chunk):.120}")
        match chunk:
            case FinishChunk():
                return self._finish(chunk.reason)
            case UsageChunk():
                self._waiting.append(chunk)
            case BlockEnd():
                self._end(chunk)
            case BlockStart():
                self._start(chunk)
            case _:
                self._delta(chunk)
        return self._ready()

    def fail(self, error: BaseException, signal: AbortSignal | None = None) -> list[StreamChunk]:
        """Return what may still go out, and the terminal chunk of *error*."""
        self.finished = True
        return [*self._rest(), failure(error, signal)]

    def _start(self, chunk: BlockStart) -> None:
        if chunk.index not in self._blocks:
            self._blocks[chunk.index] = _Block(chunk.block_type)
            self._waiting.append(chunk)

    def _delta(self, chunk: TextDelta | ReasoningDelta | ToolCallDelta) -> None:
        kind = chunk.type.removesuffix("-delta")
        block = self._block(chunk.index, kind)
        if block.closed:
            return
        if block.kind != kind:
            raise _malformed(f"block {chunk.index} is {block.kind!r} and got a {chunk.type}")
        if isinstance(chunk, ToolCallDelta):
            self._name(block, chunk.id, chunk.name)
        else:
            block.substance = block.substance or bool(chunk.text)
        self._waiting.append(chunk)

    def _end(self, chunk: BlockEnd) -> None:
        given = chunk.block
        block = self._block(chunk.index, given.type)
        if block.closed:
            return
        if isinstance(given, ToolCallBlock):
            self._name(block, given.id, given.name)
            self._complete_call(block)
            given = ToolCallBlock(block.id, block.name, given.arguments)
        textual = isinstance(given, (TextBlock, ReasoningBlock))
        block.substance = bool(given.text) if textual else True
        block.closed = True
        self._waiting.append(BlockEnd(chunk.index, given))

    def _finish(self, reason: FinishReason) -> list[StreamChunk]:
        self.finished = True
        if reason.failed:
            return [*self._rest(), failed(reason)]
        for block in self._blocks.values():
            if not block.closed:
                self._settle(block, cut=reason.kind == "max-tokens")
        substance = any(block.substance for block in self._blocks.values())
        if reason.kind in _COMPLETE and not substance:
            raise LlmError("the model answered with nothing", "EMPTY_RESPONSE")
        return [*self._rest(), FinishChunk(reason)]

    def _block(self, index: int, kind: str) -> "_Block":
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block(kind)
        return block

    def _name(self, block: "_Block", call_id: str | None, name: str | None) -> None:
        block.substance = True
        block.id = block.id or (self._unique(call_id) if call_id else "")
        block.name = name or block.name

    def _settle(self, block: "_Block", *, cut: bool) -> None:
        # Why: an answer that was cut short may end in half a block, which is then left out.
        if block.kind == "tool-call":
            if block.name or not cut:
                self._complete_call(block)
        elif block.kind not in _TEXTUAL and not cut:
            raise _malformed(f"a block of type {block.kind!r} never ended")

    def _complete_call(self, block: "_Block") -> None:
        if not block.name:
            raise _malformed("the model called a tool without a name")
        block.id = block.id or self._unique("")

    def _unique(self, given: str) -> str:
        wanted = given or f"call_{os.urandom(8).hex()}"
        unique = wanted
        while unique in self._ids:
            # Why: counted, since thousands of calls with one id must not each try every number.
            self._repeats[wanted] += 1
            unique = f"{wanted}-{self._repeats[wanted] + 1}"
        self._ids.add(unique)
        return unique

    def _ready(self) -> list[StreamChunk]:
        out: list[StreamChunk] = []
        while self._waiting and self._may_go(self._waiting[0]):
            out.append(self._named(self._waiting.popleft()))
        return out

    def _rest(self) -> list[StreamChunk]:
        rest = [self._named(chunk) for chunk in self._waiting if self._may_go(chunk)]
        self._waiting.clear()
        return rest

    def _may_go(self, chunk: "_Waiting") -> bool:
        return isinstance(chunk, UsageChunk) or self._blocks[chunk.index].known

    def _named(self, chunk: "_Waiting") -> StreamChunk:
        if isinstance(chunk, ToolCallDelta):
            return chunk._replace(id=self._blocks[chunk.index].id)
        return chunk


class _Block:
    __slots__ = ("closed", "id", "kind", "name", "substance")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.id = ""
        self.name = ""
        self.closed = False
        self.substance = False

    @property
    def known(self) -> bool:
        named = self.kind == "tool-call" and bool(self.id and self.name)
        return named or self.closed or self.kind in _TEXTUAL


_Waiting: TypeAlias = (
    BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk
)
_TEXTUAL: Final = frozenset({"text", "reasoning"})
_COMPLETE: Final = frozenset({"stop", "tool-calls"})


def _malformed(text: str) -> LlmError:
    return LlmError(text, "MALFORMED_RESPONSE")
