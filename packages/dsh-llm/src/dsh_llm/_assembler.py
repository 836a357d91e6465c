"""Blocks from chunks: one assembler for every consumer of a stream."""

from typing import Any, NoReturn

from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    GenerateResult,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm._errors import HarnessError
from dsh_llm._messages import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
)
from dsh_llm._text import text_of


class UnreachableError(HarnessError, AssertionError):
    """A closed set has met a member that it does not have: a fault of ours. Code `UNREACHABLE`."""


def unreachable(value: object, context: str = "") -> NoReturn:
    """Fail on a member that a closed set does not have, naming *context* and the value."""
    where = f" in {context}" if context else ""
    raise UnreachableError(f"unreachable variant{where}: {_rendered(value)}", "UNREACHABLE")


class _Partial:
    __slots__ = ("arguments", "block", "id", "kind", "name", "text")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.text: list[str] = []
        self.arguments: list[str] = []
        self.id: str | None = None
        self.name = ""
        self.block: Block | None = None


class BlockAssembler:
    """Gather a stream's chunks into blocks, tolerant of every order that providers use.

    Indices keep the order in which they were first seen. The first `block-end` of an index wins
    over its deltas and over whatever comes later. An empty id or name never replaces a known one.
    """

    def __init__(self) -> None:
        """Start with nothing: no blocks, no usage, finish `stop`."""
        self._partials: dict[int, _Partial] = {}
        self._order: list[int] = []
        self._cursor = 0
        self.usage: TokenUsage | None = None
        self.finish = FinishReason("stop")

    def push(self, chunk: StreamChunk) -> Block | None:
        """Take one chunk; return the block that it closed, if any.

        Raises:
            UnreachableError: `UNREACHABLE` for something that is no chunk.
        """
        match chunk:
            case TextDelta():
                self._add_text(chunk.index, "text", chunk.text)
            case ReasoningDelta():
                self._add_text(chunk.index, "reasoning", chunk.text)
            case ToolCallDelta():
                self._add_call(chunk)
            case BlockStart():
                self._partial(chunk.index, chunk.block_type)
            case BlockEnd():
                return self._close(chunk)
            case UsageChunk():
                self.usage = chunk.usage
            case FinishChunk():
                self.finish = chunk.reason
            case _:
                unreachable(chunk, "BlockAssembler.push")
        return None

    def blocks(self) -> tuple[Block, ...]:
        """Return every block so far, the open ones built from their deltas.

        Raises:
            HarnessError: `INCOMPLETE_BLOCK` for an open block that deltas cannot build.
        """
        return tuple(self._build(index) for index in self._order)

    def flush_ready(self) -> tuple[Block, ...]:
        """Return the closed blocks that come next in order, each once; stop at an open one."""
        ready: list[Block] = []
        while self._cursor < len(self._order):
            block = self._partials[self._order[self._cursor]].block
            if block is None:
                break
            ready.append(block)
            self._cursor += 1
        return tuple(ready)

    def flush_remaining(self) -> tuple[Block, ...]:
        """Return what `flush_ready` has not returned yet, building open blocks; then nothing."""
        rest = tuple(self._build(index) for index in self._order[self._cursor :])
        self._cursor = len(self._order)
        return rest

    def message(self) -> Message:
        """Return the blocks as an assistant message."""
        return Message("assistant", self.blocks())

    def result(self) -> GenerateResult:
        """Return message, finish and usage."""
        return GenerateResult(self.message(), self.finish, self.usage)

    def _partial(self, index: int, kind: str) -> _Partial:
        partial = self._partials.get(index)
        if partial is None:
            partial = self._partials[index] = _Partial(kind)
            self._order.append(index)
        return partial

    def _add_text(self, index: int, kind: str, text: str) -> None:
        partial = self._partial(index, kind)
        if partial.block is None:
            partial.text.append(text)

    def _add_call(self, chunk: ToolCallDelta) -> None:
        partial = self._partial(chunk.index, "tool-call")
        if partial.block is not None:
            return
        if chunk.id or (partial.id is None and chunk.id is not None):
            partial.id = chunk.id
        partial.name = chunk.name or partial.name
        partial.arguments.append(chunk.arguments_delta)

    def _close(self, chunk: BlockEnd) -> Block | None:
        partial = self._partial(chunk.index, chunk.block.type)
        if partial.block is not None:
            return None
        partial.block = chunk.block
        return chunk.block

    def _build(self, index: int) -> Block:
        partial = self._partials[index]
        if partial.block is not None:
            return partial.block
        match partial.kind:
            case "text":
                return TextBlock("".join(partial.text))
            case "reasoning":
                return ReasoningBlock("".join(partial.text))
            case "tool-call":
                call_id = f"call-{index}" if partial.id is None else partial.id
                return ToolCallBlock(call_id, partial.name, "".join(partial.arguments))
            case kind:
                text = f'cannot assemble incomplete block of type "{kind}"'
                raise HarnessError(text, "INCOMPLETE_BLOCK", context={"index": index})


def _rendered(value: Any) -> str:
    import json

    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except Exception:  # noqa: BLE001  # Why: the rogue may be any object, cyclic or hostile
        return text_of(value)
