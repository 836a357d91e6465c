"""The model service: adapters by model name, one bounded stream, whole answers."""

from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import AsyncExitStack
from typing import Final

from dsh_llm._assembler import BlockAssembler
from dsh_llm._boundary import LlmAdapter, bounded
from dsh_llm._chunks import GenerateResult, StreamChunk
from dsh_llm._errors import HarnessError, LlmError
from dsh_llm._kernel import Context, Disposer, Signal, Waterfall
from dsh_llm._messages import Block, ModelRequest
from dsh_llm._terminal import error_of, failure

LLM_STREAM: Final[Waterfall[[ModelRequest], AsyncIterator[StreamChunk]]] = Waterfall("llm/stream")
"""Around every stream; a layer may change the request, also its model, or the chunks."""

LLM_GENERATE: Final[Waterfall[[ModelRequest], Awaitable[GenerateResult]]] = Waterfall(
    "llm/generate"
)
"""Around `Llm.generate` only; its core goes through `llm/stream`."""

ADAPTER_CHANGE: Final[Signal[[]]] = Signal("llm/adapter-change")
"""The set of registered models has changed."""


class Llm:
    """Finds the adapter of a model, and turns whatever it does into a legal stream."""

    def __init__(self, ctx: Context | None = None) -> None:
        """Use *ctx*'s events, or a context of its own."""
        self.ctx = ctx or Context(label="llm")
        self._adapters: dict[str, LlmAdapter] = {}

    def register(self, models: str | Iterable[str], adapter: LlmAdapter) -> Disposer:
        """Serve *models* (one name or several) with *adapter*: all of them or none.

        The returned disposer takes exactly this registration back.

        Raises:
            LlmError: `DUPLICATE_ADAPTER` when one of the names is taken.
        """
        names = dict.fromkeys([models] if isinstance(models, str) else models)
        for name in names:
            if name in self._adapters:
                text = f'an adapter for model "{name}" is already registered'
                raise LlmError(text, "DUPLICATE_ADAPTER", context={"model": name})
        dispose = self.ctx.own(lambda: self._remove(names))
        self._adapters |= dict.fromkeys(names, adapter)
        self.ctx.emit(ADAPTER_CHANGE)
        return dispose

    def models(self) -> tuple[str, ...]:
        """Return the registered names, in the order of registration."""
        return tuple(self._adapters)

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamChunk]:
        """Stream the model's answer, through `llm/stream`.

        Whatever the adapter does, there is exactly one terminal chunk, the last; a failed one
        carries the error (`NO_ADAPTER` for an unknown model among them). What a plugin's layer
        raises comes out as it is. Close the iterator when you leave early.
        """
        return self.ctx.waterfall(LLM_STREAM, self._core, request)

    async def stream_blocks(self, request: ModelRequest) -> AsyncIterator[Block]:
        """Yield each block as soon as it and all before it are complete.

        Raises:
            HarnessError: The model's failure, after the blocks that came before it.
        """
        assembler = BlockAssembler()
        async with AsyncExitStack() as stack:
            async for chunk in _closed_by(stack, self.stream(request)):
                assembler.push(chunk)
                for block in assembler.flush_ready():
                    yield block
        _require_success(assembler)
        for block in assembler.flush_remaining():
            yield block

    async def generate(self, request: ModelRequest) -> GenerateResult:
        """Return the whole answer, through `llm/generate`.

        Raises:
            HarnessError: The model's failure.
        """
        return await self.ctx.waterfall(LLM_GENERATE, self._generate, request)

    async def _generate(self, request: ModelRequest) -> GenerateResult:
        assembler = BlockAssembler()
        async for chunk in self.stream(request):
            assembler.push(chunk)
        _require_success(assembler)
        return assembler.result()

    def _core(self, request: ModelRequest) -> AsyncIterator[StreamChunk]:
        adapter = self._adapters.get(request.model)
        if adapter is None:
            return _one(failure(_no_adapter(request.model)))
        return bounded(adapter, request)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            del self._adapters[name]
        self.ctx.emit(ADAPTER_CHANGE)


async def _one(chunk: StreamChunk) -> AsyncIterator[StreamChunk]:
    yield chunk


def _no_adapter(model: str) -> HarnessError:
    text = f'no adapter registered for model "{model}"'
    return LlmError(text, "NO_ADAPTER", context={"model": model})


def _closed_by(
    stack: AsyncExitStack, chunks: AsyncIterator[StreamChunk]
) -> AsyncIterator[StreamChunk]:
    # Why: a layer may return an iterator that has no aclose.
    close = getattr(chunks, "aclose", None)
    if close is not None:
        stack.push_async_callback(close)
    return chunks


def _require_success(assembler: BlockAssembler) -> None:
    if assembler.finish.failed:
        raise error_of(assembler.finish)
