"""The boundary at its edges: leaving early, aborting, cancelling, adapters that do not close."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from dsh_llm import (
    AbortController,
    BlockStart,
    FinishChunk,
    FinishReason,
    Llm,
    ModelRequest,
    StreamChunk,
    TextDelta,
)
from dsh_llm.testing import ScriptedModel, hang

STOP = FinishChunk(FinishReason("stop"))
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


async def forever() -> None:
    """Wait for something that never comes."""
    await asyncio.get_running_loop().create_future()


async def settle() -> None:
    """Let everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_consumer_that_leaves_early_closes_the_adapter() -> None:
    """Closing the stream closes what it reads from."""

    async def main() -> None:
        adapter = Adapter(HI, HI, STOP)
        stream: Any = llm(adapter).stream(REQUEST)
        assert await anext(stream) == HI
        assert adapter.closed == 0
        await stream.aclose()
        assert adapter.closed == 1

    asyncio.run(main())


def test_an_adapter_that_fails_to_close_is_only_reported(caplog: pytest.LogCaptureFixture) -> None:
    """The answer is complete; an error or a cancellation of its own changes nothing."""

    class Closing:
        def __init__(self, error: BaseException) -> None:
            self.error = error
            self.script = iter([HI, STOP])

        def stream(self, _request: ModelRequest) -> "Closing":
            return self

        def __aiter__(self) -> "Closing":
            return self

        async def __anext__(self) -> StreamChunk:
            return next(self.script)

        async def aclose(self) -> None:
            raise self.error

    assert played(Closing(ValueError("stuck"))) == [HI, STOP]
    assert played(Closing(asyncio.CancelledError())) == [HI, STOP]
    assert [record.getMessage() for record in caplog.records] == [
        "contained failure in adapter close"
    ] * 2


def test_an_iterator_that_cannot_be_closed_is_left_alone() -> None:
    """`aclose` is no part of an async iterator."""

    class Bare:
        def __init__(self) -> None:
            self.script = iter([HI, STOP])

        def stream(self, _request: ModelRequest) -> "Bare":
            return self

        def __aiter__(self) -> "Bare":
            return self

        async def __anext__(self) -> StreamChunk:
            return next(self.script)

    assert played(Bare()) == [HI, STOP]


def test_an_abort_before_the_request_sends_nothing() -> None:
    """The adapter is never called."""
    controller = AbortController()
    controller.abort("too late")
    model = ScriptedModel([])
    chunks = played(model, REQUEST._replace(signal=controller.signal))
    assert model.requests == []
    assert [chunk.reason.message for chunk in chunks if isinstance(chunk, FinishChunk)] == [
        "too late"
    ]


def test_an_abort_interrupts_the_wait_for_the_model() -> None:
    """What came is seen, the stream ends `aborted`, the adapter is closed, the task is whole."""

    async def main() -> None:
        controller = AbortController()
        model = ScriptedModel([hang("par")])
        seen: list[StreamChunk] = []
        asyncio.get_running_loop().call_later(0, controller.abort, "enough")
        request = REQUEST._replace(signal=controller.signal)
        seen = [chunk async for chunk in llm(model).stream(request)]
        assert seen[:-1] == [BlockStart(0, "text"), TextDelta(0, "par")]
        end = seen[-1]
        assert isinstance(end, FinishChunk)
        assert (end.reason.kind, end.reason.code, end.reason.message) == (
            "aborted",
            "ABORTED",
            "enough",
        )
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await settle()

    asyncio.run(main())


def test_an_abort_between_two_chunks_is_heard_before_the_next() -> None:
    """Also when the consumer aborts, and when the adapter itself does."""
    for who in ("consumer", "adapter"):
        controller = AbortController()

        async def fire(controller: AbortController = controller) -> None:
            controller.abort("enough")

        async def main(
            who: str = who,
            controller: AbortController = controller,
            fire: Callable[[], Any] = fire,
        ) -> list[StreamChunk]:
            script = [HI, fire, HI, HI, STOP] if who == "adapter" else [HI, HI, STOP]
            seen: list[StreamChunk] = []
            request = REQUEST._replace(signal=controller.signal)
            async for chunk in llm(Adapter(*script)).stream(request):
                seen.append(chunk)
                if who == "consumer":
                    controller.abort("enough")
            await settle()
            return seen

        seen = asyncio.run(main())
        assert seen[:-1] == [HI] * (2 if who == "adapter" else 1)
        assert isinstance(seen[-1], FinishChunk)
        assert seen[-1].reason.kind == "aborted"


def test_an_adapter_that_fails_because_of_the_abort_is_aborted() -> None:
    """Its own error is kept as the cause."""

    async def main() -> FinishChunk:
        controller = AbortController()

        async def broken() -> None:
            try:
                await forever()
            except asyncio.CancelledError:
                raise ConnectionError("closed") from None

        asyncio.get_running_loop().call_later(0, controller.abort, "enough")
        stream = llm(Adapter(broken)).stream(REQUEST._replace(signal=controller.signal))
        (end,) = [chunk async for chunk in stream]
        assert isinstance(end, FinishChunk)
        return end

    end = asyncio.run(main())
    assert (end.reason.kind, end.reason.message) == ("aborted", "enough")
    assert end.reason.error is not None
    assert isinstance(end.reason.error.cause, ConnectionError)


@pytest.mark.parametrize("with_signal", [True, False])
def test_a_cancellation_of_the_task_passes_through(with_signal: bool) -> None:  # noqa: FBT001  # Why: a parameter of the test
    """It is no terminal chunk, and the adapter is closed before it comes out."""

    async def main() -> None:
        adapter = Adapter(HI, forever, STOP)
        seen: list[StreamChunk] = []
        signal = AbortController().signal if with_signal else None

        async def consume() -> None:
            async for chunk in llm(adapter).stream(REQUEST._replace(signal=signal)):
                seen.append(chunk)  # noqa: PERF401  # Why: what was seen before the cancellation counts

        task = asyncio.create_task(consume())
        await settle()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert seen == [HI]
        assert adapter.closed == 1

    asyncio.run(main())


def test_a_cancellation_while_the_adapter_closes_passes_through() -> None:
    """Nobody's answer is worth more than a cancellation."""

    async def main() -> None:
        class Slow(Adapter):
            async def stream(self, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
                try:
                    yield HI
                    yield STOP
                finally:
                    await forever()

        async def consume() -> None:
            async for _ in llm(Slow()).stream(REQUEST):
                pass

        task = asyncio.create_task(consume())
        await settle()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


def test_the_end_of_the_process_passes_through() -> None:
    """Ctrl-C in an adapter is not a failed answer."""
    with pytest.raises(KeyboardInterrupt):
        played(Adapter(HI, KeyboardInterrupt()))
