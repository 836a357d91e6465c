"""The OpenAI adapter on the network: what breaks, what is waited for, what is left behind."""

import asyncio
import pickle
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
from dsh_llm import (
    AbortController,
    FinishReason,
    HarnessError,
    Llm,
    LlmError,
    Message,
    ModelRequest,
    StreamChunk,
    TextBlock,
    TextDelta,
)
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import LoopbackServer, Reply

REQUEST = ModelRequest("m", [Message("user", (TextBlock("hi"),))])
KEY = "sk-secret-0123456789"
TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"
GOOD = Reply(pieces=(TEXT, STOP, DONE))


def at(url: str, **options: Any) -> OpenAIAdapter:
    """Return an adapter for the server at *url*."""
    return OpenAIAdapter("m", base_url=url, api_key=KEY, **options)


async def ending(chunks: AsyncIterator[StreamChunk]) -> tuple[str, FinishReason]:
    """Read *chunks* to their end; return the text that came live, and the end."""
    said = ""
    async for chunk in chunks:
        said += chunk.text if isinstance(chunk, TextDelta) else ""
        if chunk.type == "finish":
            return said, chunk.reason
    raise AssertionError("no terminal chunk")


def run(replies: Iterable[Reply], times: int = 1, **options: Any) -> list[tuple[str, FinishReason]]:
    """Make *times* calls to a server with *replies*."""

    async def main() -> list[tuple[str, FinishReason]]:
        async with (
            LoopbackServer(replies) as server,
            aclosing(at(server.url, **options)) as adapter,
        ):
            llm = Llm()
            llm.register("m", adapter)
            return [await ending(llm.stream(REQUEST)) for _ in range(times)]

    return asyncio.run(main())


def test_a_server_that_is_down_is_a_transport_error_with_the_inmost_reason() -> None:
    """The address is named, without the password that it may have."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    async def main() -> LlmError:
        async with aclosing(at(f"http://user:pass-word@127.0.0.1:{port}/v1")) as adapter:
            assert repr(adapter) == f"OpenAIAdapter('m', base_url='http://127.0.0.1:{port}')"
            with pytest.raises(LlmError) as raised:
                await ending(adapter.stream(REQUEST))
        return raised.value

    error = asyncio.run(main())
    assert error.code == "TRANSPORT"
    assert f"http://127.0.0.1:{port}" in error.message
    assert "111" in error.message
    assert "pass-word" not in error.message
    assert isinstance(error.cause, OSError)


@pytest.mark.parametrize("pieces", [(TEXT,), (TEXT, TEXT[:20]), ()])
def test_a_connection_that_breaks_in_mid_stream_is_a_transport_error(
    pieces: tuple[bytes, ...],
) -> None:
    """What was said before came live, and the key is in nothing that the error carries."""
    ((said, reason),) = run([Reply(pieces=pieces, cut=True)])
    assert said == ("hi" if pieces else "")
    assert (reason.kind, reason.code) == ("error", "TRANSPORT")
    assert reason.error is not None
    assert reason.error.cause is not None
    assert KEY.encode() not in pickle.dumps(reason.error)


def test_a_connection_that_breaks_after_the_models_own_end_loses_nothing() -> None:
    """The answer was complete; nor is a server waited for that never hangs up."""
    assert run([Reply(pieces=(TEXT, STOP), cut=True)]) == [("hi", FinishReason("stop"))]
    assert run([Reply(pieces=(TEXT, STOP), hold=True)], idle_timeout=0.05) == [
        ("hi", FinishReason("stop"))
    ]
    assert run([Reply(pieces=(TEXT, STOP, DONE), hold=True)]) == [("hi", FinishReason("stop"))]
    assert run([Reply(pieces=(TEXT, STOP, DONE), cut=True)]) == [("hi", FinishReason("stop"))]


def test_silence_in_mid_stream_is_a_timeout() -> None:
    """The limit counts from the last byte, comments too."""
    ((said, reason),) = run(
        [Reply(pieces=(TEXT, b": still here\n\n"), hold=True)], idle_timeout=0.05
    )
    assert (said, reason.code) == ("hi", "TIMEOUT")
    assert reason.message is not None
    assert "within 0.05 s" in reason.message


def test_the_idle_limit_does_not_count_the_consumers_own_time() -> None:
    """A consumer may take as long as it likes between two chunks."""

    async def main() -> None:
        async with (
            LoopbackServer([GOOD]) as server,
            aclosing(at(server.url, idle_timeout=0.05)) as adapter,
        ):
            chunks = adapter.stream(REQUEST)
            first = await anext(chunks)
            loop = asyncio.get_running_loop()
            slow = loop.create_future()
            loop.call_later(0.1, slow.set_result, None)
            await slow
            assert first.type == "block-start"
            assert await ending(chunks) == ("hi", FinishReason("stop"))

    asyncio.run(main())


def test_a_server_that_never_begins_to_answer_is_a_timeout() -> None:
    """It takes the connection and says nothing."""

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            async with aclosing(at(url, timeout=0.05)) as adapter:
                with pytest.raises(LlmError) as raised:
                    await ending(adapter.stream(REQUEST))
        assert raised.value.code == "TIMEOUT"
        assert raised.value.message == f"no response from {url} within 0.05 s"

    asyncio.run(main())


def _refusing(error: Exception) -> httpx2.AsyncClient:
    def handle(_request: httpx2.Request) -> httpx2.Response:
        raise error

    return httpx2.AsyncClient(transport=httpx2.MockTransport(handle))


def test_the_http_clients_own_timeouts_are_timeouts_and_foreign_ones_are_not_ours() -> None:
    """A `TimeoutError` that somebody else raised is not relabelled."""

    async def main() -> None:
        for error, code in ((httpx2.ConnectTimeout("slow"), "TIMEOUT"), (TimeoutError("x"), None)):
            async with _refusing(error) as client:
                adapter = at("http://server.test", http_client=client)
                with pytest.raises((LlmError, TimeoutError)) as raised:
                    await ending(adapter.stream(REQUEST))
                assert getattr(raised.value, "code", None) == code

    asyncio.run(main())


class _Breaking(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield TEXT
        raise TimeoutError("not ours")


def test_a_foreign_timeout_while_reading_is_not_relabelled() -> None:
    """Only the adapter's own limit is its `TIMEOUT`."""

    async def main() -> None:
        def handle(_request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, stream=_Breaking())

        async with httpx2.AsyncClient(transport=httpx2.MockTransport(handle)) as client:
            adapter = at("http://server.test", http_client=client)
            with pytest.raises(TimeoutError, match="not ours"):
                await ending(adapter.stream(REQUEST))

    asyncio.run(main())


def test_a_given_client_is_left_open() -> None:
    """Who made it closes it."""

    async def main() -> None:
        async with LoopbackServer([GOOD]) as server, httpx2.AsyncClient() as client:
            adapter = at(server.url, http_client=client)
            assert (await ending(adapter.stream(REQUEST)))[0] == "hi"
            await adapter.aclose()
            assert not client.is_closed

    asyncio.run(main())


def test_a_response_without_end_is_bounded() -> None:
    """Memory does not grow with what a hostile server sends."""
    ((_, reason),) = run([Reply(pieces=(b"data: ", b"x" * 2000), hold=True)], max_response=1000)
    assert reason.code == "MALFORMED_RESPONSE"
    assert reason.message == "the response is larger than 1000 bytes"


def test_leaving_the_stream_closes_the_connection() -> None:
    """The server sees it, and need not go on."""

    async def main() -> None:
        async with (
            LoopbackServer([Reply(pieces=(TEXT,), hold=True)]) as server,
            aclosing(at(server.url)) as adapter,
        ):
            chunks = adapter.stream(REQUEST)
            await anext(chunks)
            await chunks.aclose()
            await asyncio.wait_for(server.left.wait(), 5)

    asyncio.run(main())


def test_cancelling_the_task_that_waits_closes_the_connection() -> None:
    """The cancellation passes through."""

    async def main() -> None:
        async with (
            LoopbackServer([Reply(pieces=(TEXT,), hold=True)]) as server,
            aclosing(at(server.url)) as adapter,
        ):
            begun = asyncio.Event()

            async def consume() -> None:
                async for _ in adapter.stream(REQUEST):
                    begun.set()

            task = asyncio.create_task(consume())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.left.wait(), 5)

    asyncio.run(main())


def test_an_abort_in_mid_stream_ends_it_aborted_and_closes_the_connection() -> None:
    """The reason is the one that was given."""

    async def main() -> None:
        stop = AbortController()
        async with (
            LoopbackServer([Reply(pieces=(TEXT,), hold=True)]) as server,
            aclosing(at(server.url)) as adapter,
        ):
            llm = Llm()
            llm.register("m", adapter)
            reason = None
            async for chunk in llm.stream(REQUEST._replace(signal=stop.signal)):
                if chunk.type == "text-delta":
                    stop.abort("enough")
                reason = chunk.reason if chunk.type == "finish" else None
            assert reason is not None
            assert (reason.kind, reason.message) == ("aborted", "enough")
            await asyncio.wait_for(server.left.wait(), 5)

    asyncio.run(main())


def test_one_connection_serves_many_calls() -> None:
    """Also after an end marker, after a whole answer, and after an error."""

    async def main() -> None:
        whole = Reply(pieces=(b'{"choices":[{"message":{"content":"hi"}}]}',))
        async with (
            LoopbackServer([GOOD, whole, Reply(429), GOOD]) as server,
            aclosing(at(server.url)) as adapter,
        ):
            llm = Llm()
            llm.register("m", adapter)
            said = [(await ending(llm.stream(REQUEST)))[0] for _ in range(4)]
            assert said == ["hi", "hi", "", "hi"]
            assert server.connections == 1

    asyncio.run(main())


def test_an_adapter_works_in_one_loop_after_another_and_after_closing() -> None:
    """Connections belong to the loop that opened them."""
    adapters: list[OpenAIAdapter] = []

    async def main() -> None:
        async with LoopbackServer([GOOD, GOOD]) as server:
            adapter = at(server.url)
            adapters.append(adapter)
            for _ in range(2):
                assert (await ending(adapter.stream(REQUEST)))[0] == "hi"
                await adapter.aclose()
            assert server.connections == 2

    asyncio.run(main())

    async def later() -> None:
        (adapter,) = adapters
        with pytest.raises(LlmError):
            await ending(adapter.stream(REQUEST))

    asyncio.run(later())
    asyncio.run(adapters[0].aclose())


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host", "http://", "not a url"])
def test_a_base_url_that_is_none_is_refused_at_once(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(HarnessError) as raised:
        at(url)
    assert raised.value.code == "INVALID_BASE_URL"
