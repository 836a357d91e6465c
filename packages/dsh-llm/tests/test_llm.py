"""The model service; the ids are those of the reference's conformance list."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Any

import pytest
from dsh_llm import (
    ADAPTER_CHANGE,
    LLM_GENERATE,
    LLM_STREAM,
    BlockEnd,
    Context,
    FinishChunk,
    FinishReason,
    GenerateResult,
    HarnessError,
    Llm,
    LlmError,
    Message,
    ModelRequest,
    Next,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    UsageChunk,
)
from dsh_llm.testing import ScriptedModel, call, say

STOP = FinishChunk(FinishReason("stop"))
HI: list[StreamChunk] = [TextDelta(0, "hi"), UsageChunk(TokenUsage(1, 2)), STOP]
REQUEST = ModelRequest("m", (Message("user", (TextBlock("hello"),)),))

StreamNext = Next[[ModelRequest], AsyncIterator[StreamChunk]]


def service(*script: Any) -> Llm:
    """Return a service with a scripted model `m`."""
    llm = Llm()
    llm.register("m", ScriptedModel(script))
    return llm


async def collected(stream: AsyncIterator[Any]) -> list[Any]:
    """Return all that *stream* yields."""
    return [item async for item in stream]


def test_llm_025_a_registered_adapter_streams_and_generates() -> None:
    """LLM-025: the chunks as they are, and the block that was never closed."""

    async def main() -> None:
        llm = service(HI, HI)
        assert await collected(llm.stream(REQUEST)) == HI
        assert await llm.generate(REQUEST) == GenerateResult(
            Message("assistant", (TextBlock("hi"),)), FinishReason("stop"), TokenUsage(1, 2)
        )

    asyncio.run(main())


def test_llm_026_an_unknown_model_has_no_adapter() -> None:
    """LLM-026: `generate` raises it, `stream` ends in it."""

    async def main() -> None:
        llm = Llm()
        with pytest.raises(LlmError, match='no adapter registered for model "m"') as caught:
            await llm.generate(REQUEST)
        assert (caught.value.code, caught.value.code_num) == ("NO_ADAPTER", 5001)
        (end,) = await collected(llm.stream(REQUEST))
        assert end.reason.code == "NO_ADAPTER"

    asyncio.run(main())


def test_llm_027_a_plugins_adapter_goes_with_its_scope() -> None:
    """LLM-027: the plugin owns the registration's disposer."""

    async def main() -> None:
        llm = Llm()

        def plugin(ctx: Context) -> None:
            ctx.own(llm.register(["a", "b"], ScriptedModel([])))

        scope = llm.ctx.use(plugin)
        assert llm.models() == ("a", "b")
        await scope.aclose()
        assert llm.models() == ()

    asyncio.run(main())


def test_llm_028_a_layer_may_change_the_chunks() -> None:
    """LLM-028: it sees every stream, also that of `generate`."""

    async def main() -> None:
        llm = service(HI, HI)

        async def layer(proceed: StreamNext, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
            yield TextDelta(0, "oh, ")
            async for chunk in proceed():
                yield chunk

        llm.ctx.on(LLM_STREAM, layer)
        assert await collected(llm.stream(REQUEST)) == [TextDelta(0, "oh, "), *HI]
        assert (await llm.generate(REQUEST)).message.text == "oh, hi"

    asyncio.run(main())


def test_llm_029_a_layer_may_change_the_result() -> None:
    """LLM-029: around `generate` only."""

    async def main() -> None:
        llm = service(HI, HI)

        async def layer(
            proceed: Next[[ModelRequest], Awaitable[GenerateResult]], _request: ModelRequest
        ) -> GenerateResult:
            return (await proceed())._replace(finish=FinishReason("max-tokens"))

        llm.ctx.on(LLM_GENERATE, layer)
        result = await llm.generate(REQUEST)
        assert (result.finish.kind, result.message.text) == ("max-tokens", "hi")
        assert (await collected(llm.stream(REQUEST)))[-1] == STOP

    asyncio.run(main())


def test_llm_033_a_change_of_models_is_told_when_it_is_visible() -> None:
    """LLM-033: after registering and after disposing, once each."""
    llm, seen = Llm(), list[tuple[str, ...]]()
    llm.ctx.on(ADAPTER_CHANGE, lambda: seen.append(llm.models()))
    dispose = llm.register("m1", ScriptedModel([]))
    dispose()
    dispose()
    assert seen == [("m1",), ()]


def test_llm_034_a_model_has_one_adapter() -> None:
    """LLM-034: the second is refused, and with it every other name of its list."""
    llm = Llm()
    llm.register(["m", "n", "m"], ScriptedModel([]))
    with pytest.raises(LlmError, match='model "n" is already registered') as caught:
        llm.register(["x", "n"], ScriptedModel([]))
    assert caught.value.code == "DUPLICATE_ADAPTER"
    assert caught.value.context == {"model": "n"}
    assert llm.models() == ("m", "n")


def test_a_disposer_takes_back_its_own_registration_only() -> None:
    """A name that was given away meanwhile stays."""
    llm, model = Llm(), ScriptedModel([])
    first = llm.register("m", model)
    first()
    llm.register("m", model)
    first()
    assert llm.models() == ("m",)


def test_a_listener_that_fails_does_not_break_the_registration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A signal changes nothing: the adapter is there, the disposer is returned."""

    def broken() -> None:
        raise ValueError("broken")

    llm = Llm()
    llm.ctx.on(ADAPTER_CHANGE, broken)
    dispose = llm.register("m", ScriptedModel([]))
    assert llm.models() == ("m",)
    dispose()
    assert llm.models() == ()
    assert len(caplog.records) == 2


def test_it_uses_the_context_it_is_given() -> None:
    """Closing that context takes all models away, and refuses new ones."""

    async def main() -> None:
        ctx = Context()
        llm = Llm(ctx)
        llm.register("m", ScriptedModel([]))
        await ctx.aclose()
        assert llm.models() == ()
        with pytest.raises(HarnessError) as caught:
            llm.register("m", ScriptedModel([]))
        assert caught.value.code == "DISPOSED"
        assert llm.models() == ()

    asyncio.run(main())


def test_a_layer_may_change_the_request_also_its_model() -> None:
    """The adapter is looked up when the innermost layer has spoken."""

    async def main() -> None:
        llm = service()
        other = ScriptedModel([say("other")])
        llm.register("other", other)
        llm.ctx.on(LLM_STREAM, lambda proceed, request: proceed(request._replace(model="other")))
        assert (await llm.generate(REQUEST)).message.text == "other"
        assert other.requests == [REQUEST._replace(model="other")]

    asyncio.run(main())


def test_what_a_layer_raises_comes_out_as_it_is() -> None:
    """It is the host's own failure, not the model's."""

    async def main() -> None:
        llm = service(HI)

        def layer(_next: StreamNext, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
            raise ValueError("own")

        llm.ctx.on(LLM_STREAM, layer)
        with pytest.raises(ValueError, match="own"):
            llm.stream(REQUEST)
        with pytest.raises(ValueError, match="own"):
            await llm.generate(REQUEST)

    asyncio.run(main())


def test_a_failed_stream_raises_the_models_own_error() -> None:
    """From `generate` and from `stream_blocks`, there after the blocks that were complete."""

    async def main() -> None:
        error = LlmError("slow down", "RATE_LIMIT", 429, retry_after=2.0)
        end = FinishChunk(FinishReason("error", error=error))
        block = TextBlock("a")
        llm = service(error, [BlockEnd(0, block), TextDelta(1, "b"), end])
        with pytest.raises(LlmError) as caught:
            await llm.generate(REQUEST)
        assert caught.value is error
        blocks = llm.stream_blocks(REQUEST)
        assert await anext(blocks) == block
        with pytest.raises(LlmError) as caught:
            await anext(blocks)
        assert caught.value is error

    asyncio.run(main())


def test_a_failure_that_a_layer_makes_up_is_raised_too() -> None:
    """A failed finish without an error is no success."""

    async def main() -> None:
        llm = Llm()

        async def layer(_next: StreamNext, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
            yield FinishChunk(FinishReason("error", "refused", "CONTENT_FILTER"))

        llm.ctx.on(LLM_STREAM, layer)
        with pytest.raises(LlmError, match="refused") as caught:
            await llm.generate(REQUEST)
        assert caught.value.code == "CONTENT_FILTER"

    asyncio.run(main())


def test_stream_blocks_gives_the_blocks_of_generate() -> None:
    """Each when it and all before it are complete, and the open ones at the end."""

    async def main() -> None:
        entry = [say("a b"), call("f", x=1), call("g")]
        blocks = await collected(service(entry).stream_blocks(REQUEST))
        assert tuple(blocks) == (await service(entry).generate(REQUEST)).message.content
        assert blocks == [
            TextBlock("a b"),
            ToolCallBlock("call_1", "f", '{"x": 1}'),
            ToolCallBlock("call_2", "g", "{}"),
        ]
        assert await collected(service(HI).stream_blocks(REQUEST)) == [TextBlock("hi")]

    asyncio.run(main())


def test_leaving_the_blocks_early_closes_the_adapter() -> None:
    """The stream inside is closed with the iterator."""

    async def main() -> None:
        closed: list[str] = []

        class Adapter:
            async def stream(self, _request: ModelRequest) -> AsyncIterator[StreamChunk]:
                try:
                    yield BlockEnd(0, TextBlock("a"))
                    yield STOP
                finally:
                    closed.append("adapter")

        llm = Llm()
        llm.register("m", Adapter())
        blocks: Any = llm.stream_blocks(REQUEST)
        async with aclosing(blocks):
            assert await anext(blocks) == TextBlock("a")
        assert closed == ["adapter"]

    asyncio.run(main())


def test_an_iterator_of_a_layer_need_not_be_closable() -> None:
    """Any async iterator will do."""

    class Bare:
        def __init__(self) -> None:
            self.chunks = iter(HI)

        def __aiter__(self) -> "Bare":
            return self

        async def __anext__(self) -> StreamChunk:
            for chunk in self.chunks:
                return chunk
            raise StopAsyncIteration

    async def main() -> None:
        llm = service()
        llm.ctx.on(LLM_STREAM, lambda _next, _request: Bare())
        assert await collected(llm.stream_blocks(REQUEST)) == [TextBlock("hi")]

    asyncio.run(main())
