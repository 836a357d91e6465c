"""The one boundary around adapters: whatever they do, consumers get a legal stream."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

from dsh_llm._abort import Interruptible
from dsh_llm._chunks import StreamChunk
from dsh_llm._errors import LlmError
from dsh_llm._grammar import Grammar
from dsh_llm._kernel import report
from dsh_llm._messages import ModelRequest


class LlmAdapter(Protocol):
    """Translates between dsh and one provider's wire.

    Contract: one attempt a call; usage before finish; exactly one finish, nothing after it;
    argument text as the model produced it; indices in first-seen order, one for all of a block;
    a cancellation is honoured at every await. It may raise, or finish with `error` or `aborted`.
    What it cannot send it refuses with `LlmError` (`UNSUPPORTED`), never drops. Errors carry
    status, request id and retry-after where there are some.
    """

    def stream(self, request: ModelRequest, /) -> AsyncIterator[StreamChunk]:
        """Begin one attempt; the caller closes the iterator, also in the middle."""
        ...


async def bounded(adapter: LlmAdapter, request: ModelRequest) -> AsyncGenerator[StreamChunk, None]:
    """Yield what *adapter* yields, mended, with exactly one terminal chunk at the end.

    The adapter's iterator is closed in every case. A cancellation of the calling task passes
    through; when the request's signal fires, the stream ends `aborted`.
    """
    reader = _Reader(adapter, request)
    grammar = Grammar()
    try:
        while not grammar.finished:
            # Why: no yield inside an except: what a consumer throws in is not the model's.
            for chunk in await reader.pull(grammar):
                yield chunk
    finally:
        await reader.close()


class _Reader:
    """Pulls from the adapter, and lets the abort signal interrupt the pull."""

    def __init__(self, adapter: LlmAdapter, request: ModelRequest) -> None:
        self._adapter = adapter
        self._request = request
        self._iterator: AsyncIterator[StreamChunk] | None = None

    async def pull(self, grammar: Grammar) -> list[StreamChunk]:
        """Return the next legal chunks; any failure is a terminal one."""
        import asyncio

        try:
            return grammar.accept(await self._next())
        except StopAsyncIteration:
            error: BaseException = LlmError(
                "the stream ended without its end marker", "STREAM_CLOSED"
            )
        except asyncio.CancelledError as cancelled:
            if _is_cancelled():
                raise
            error = cancelled
        except Exception as raised:  # noqa: BLE001  # Why: this is where any failure of an adapter becomes data
            error = raised
        return grammar.fail(error, self._request.signal)

    async def _next(self) -> StreamChunk:
        signal = self._request.signal
        if signal is None:
            return await self._advance()
        async with Interruptible(signal):
            return await self._advance()

    async def _advance(self) -> StreamChunk:
        if self._iterator is None:
            self._iterator = aiter(self._adapter.stream(self._request))
        return await anext(self._iterator)

    async def close(self) -> None:
        """Close the adapter's iterator; a failure is only reported, the answer is complete."""
        import asyncio

        close = getattr(self._iterator, "aclose", None)
        if close is None:
            return
        try:
            await close()
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            report("adapter close", error)
        except Exception as error:  # noqa: BLE001  # Why: whatever an adapter's clean-up raises
            report("adapter close", error)


def _is_cancelled() -> bool:
    # Why: an adapter may raise a CancelledError that nobody asked for; only task.cancel() counts.
    import asyncio

    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
