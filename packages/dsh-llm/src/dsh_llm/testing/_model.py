"""A model that answers from a script."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias, cast

from dsh_llm._abort import AbortSignal, Interruptible
from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm._errors import LlmError
from dsh_llm._messages import Block, ModelRequest, TextBlock, TokenUsage, ToolCallBlock


class Say(NamedTuple):
    """An entry: answer with a text."""

    text: str


class Call(NamedTuple):
    """An entry: call one tool; `id` is made by the model when it is empty."""

    name: str
    arguments: str
    id: str = ""


class Hang(NamedTuple):
    """An entry: stream *text*, then wait until aborted or cancelled."""

    text: str


Entry: TypeAlias = "Say | Call | Hang | BaseException | Sequence[Say | Call | StreamChunk]"
ScriptEntry: TypeAlias = "Entry | Callable[[ModelRequest], Entry]"
"""What a model call does: an entry, or a function of the request that gives one."""


def say(text: str) -> Say:
    """Answer with *text*, in a delta for each word."""
    return Say(text)


def call(name: str, /, _raw: str | None = None, _id: str = "", **arguments: Any) -> Call:
    """Call the tool *name* with *arguments*; `_raw` gives the argument text as it is."""
    text = json.dumps(arguments, ensure_ascii=False) if _raw is None else _raw
    return Call(name, text, _id)


def hang(text: str = "partial") -> Hang:
    """Stream *text*, then wait until the request is aborted or cancelled."""
    return Hang(text)


def chunks_of(
    parts: Iterable[Say | Call], usage: TokenUsage | None = None
) -> tuple[StreamChunk, ...]:
    """Return the whole stream of an answer made of *parts*, as a good adapter gives it."""
    blocks = [_block(part, n) for n, part in enumerate(parts)]
    chunks = [chunk for n, block in enumerate(blocks) for chunk in _block_chunks(n, block)]
    called = any(isinstance(block, ToolCallBlock) for block in blocks)
    end = FinishChunk(FinishReason("tool-calls" if called else "stop"))
    return (*chunks, UsageChunk(usage or _usage(blocks)), end)


class ScriptedModel:
    """An adapter that plays *script*: one entry a model call.

    Entries: `say`, `call`, a list of them for parallel calls, an exception to raise, `hang`, raw
    chunks, or a function of the request that returns one of these. Call ids are unique
    (`call_1`, `call_2`, ...). `requests` has every request. An exhausted script raises `LlmError`
    (`SCRIPT_EXHAUSTED`).
    """

    def __init__(self, script: Iterable[ScriptEntry], *, model: str = "scripted") -> None:
        """Keep a copy of *script*; *model* is the name to register it under."""
        self.model = model
        self.requests: list[ModelRequest] = []
        self._script = list(script)
        self._ids = count(1)

    @property
    def remaining(self) -> int:
        """How many entries nobody has asked for yet."""
        return len(self._script)

    def assert_consumed(self) -> None:
        """Raise `AssertionError` when entries are left."""
        assert not self._script, f"{len(self._script)} script entries were never played"  # noqa: S101  # Why: an assertion is what it is for

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamChunk]:
        """Play the next entry."""
        self.requests.append(request)
        entry = self._next(request)
        if isinstance(entry, BaseException):
            raise entry
        if isinstance(entry, Hang):
            async for chunk in _hanging(entry, request):
                yield chunk
        else:
            for chunk in self._chunks(entry):
                yield chunk

    def _next(self, request: ModelRequest) -> Entry:
        if not self._script:
            raise LlmError("the script is exhausted", "SCRIPT_EXHAUSTED")
        entry = self._script.pop(0)
        return entry(request) if callable(entry) else entry

    def _chunks(self, entry: Say | Call | Sequence[Any]) -> Iterable[StreamChunk]:
        if isinstance(entry, (Say, Call)):
            return chunks_of([self._named(entry)])
        if all(isinstance(part, (Say, Call)) for part in entry):
            return chunks_of([self._named(part) for part in entry])
        return cast("Sequence[StreamChunk]", entry)

    def _named(self, part: Say | Call) -> Say | Call:
        if isinstance(part, Call) and not part.id:
            return part._replace(id=f"call_{next(self._ids)}")
        return part


async def _hanging(entry: Hang, request: ModelRequest) -> AsyncIterator[StreamChunk]:
    import asyncio

    yield BlockStart(0, "text")
    yield TextDelta(0, entry.text)
    async with Interruptible(request.signal or AbortSignal()):
        await asyncio.get_running_loop().create_future()


def _block(part: Say | Call, n: int) -> Block:
    if isinstance(part, Say):
        return TextBlock(part.text)
    return ToolCallBlock(part.id or f"call_{n + 1}", part.name, part.arguments)


def _block_chunks(index: int, block: Block) -> Iterable[StreamChunk]:
    yield BlockStart(index, block.type)
    if isinstance(block, TextBlock):
        for word in _words(block.text):
            yield TextDelta(index, word)
    if isinstance(block, ToolCallBlock):
        half = len(block.arguments) // 2
        yield ToolCallDelta(index, block.id, block.name, block.arguments[:half])
        yield ToolCallDelta(index, block.id, None, block.arguments[half:])
    yield BlockEnd(index, block)


def _words(text: str) -> list[str]:
    head, *rest = text.split(" ")
    return [head, *(f" {word}" for word in rest)]


def _usage(blocks: Sequence[Block]) -> TokenUsage:
    return TokenUsage(input_tokens=10, output_tokens=max(1, len(blocks)))
