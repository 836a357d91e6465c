"""The shipped fakes: they are what tests stand on, so they are tested too."""

import asyncio
from typing import Any

import pytest
from dsh_llm import (
    AbortController,
    BlockAssembler,
    FinishChunk,
    FinishReason,
    HarnessError,
    LlmError,
    ModelRequest,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    UsageChunk,
)
from dsh_llm.testing import (
    FakeClock,
    LoopbackServer,
    Reply,
    ScriptedModel,
    call,
    chunks_of,
    hang,
    run_virtual,
    say,
    serving,
    sse,
)

REQUEST = ModelRequest("scripted", ())


async def stream(model: ScriptedModel, request: ModelRequest = REQUEST) -> list[StreamChunk]:
    """Return one answer's chunks."""
    return [chunk async for chunk in model.stream(request)]


def answer(model: ScriptedModel, request: ModelRequest = REQUEST) -> Any:
    """Return one whole answer."""
    assembler = BlockAssembler()
    for chunk in asyncio.run(stream(model, request)):
        assembler.push(chunk)
    return assembler.result()


# -- the scripted model ------------------------------------------------------------------------


def test_say_answers_with_a_text_word_by_word() -> None:
    """Deltas, the closed block, usage and the finish."""
    chunks = chunks_of([say("one two  three")])
    deltas = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert deltas == ["one", " two", " ", " three"]
    assert chunks[-2:] == (UsageChunk(TokenUsage(10, 1)), FinishChunk(FinishReason("stop")))
    result = answer(ScriptedModel([say("one two  three")]))
    assert result.message.content == (TextBlock("one two  three"),)


def test_call_calls_a_tool_with_json_arguments() -> None:
    """Keywords become JSON text; `_raw` gives the text as it is."""
    result = answer(ScriptedModel([call("f", name="é", n=[1])]))
    assert result.message.content == (ToolCallBlock("call_1", "f", '{"name": "é", "n": [1]}'),)
    assert result.finish.kind == "tool-calls"
    assert (
        answer(ScriptedModel([call("f", "not json")])).message.tool_calls[0].arguments == "not json"
    )


def test_call_ids_are_unique_over_the_whole_script() -> None:
    """Also among parallel calls; a given id is kept."""
    model = ScriptedModel([[call("f"), say("and"), call("g", None, "mine"), call("h")], call("i")])
    ids = [block.id for _ in range(2) for block in answer(model).message.tool_calls]
    assert ids == ["call_1", "mine", "call_2", "call_3"]
    assembler = BlockAssembler()
    for chunk in chunks_of([call("f"), call("g")]):
        assembler.push(chunk)
    assert [block.id for block in assembler.message().tool_calls] == ["call_1", "call_2"]


def test_the_script_is_played_entry_by_entry() -> None:
    """Functions see the request; requests are kept; what is left is told."""
    raw: list[StreamChunk] = [TextDelta(0, "raw")]
    model = ScriptedModel([raw, lambda request: say(request.model), OSError("down")])
    assert model.remaining == 3
    assert asyncio.run(stream(model)) == raw
    with pytest.raises(AssertionError, match="2 script entries were never played"):
        model.assert_consumed()
    assert answer(model, REQUEST._replace(model="x")).message.text == "x"
    with pytest.raises(OSError, match="down"):
        asyncio.run(stream(model))
    model.assert_consumed()
    assert [request.model for request in model.requests] == ["scripted", "x", "scripted"]


def test_an_exhausted_script_is_a_coded_error() -> None:
    """The test asked for more than it said."""
    with pytest.raises(LlmError) as caught:
        asyncio.run(stream(ScriptedModel([])))
    assert caught.value.code == "SCRIPT_EXHAUSTED"


def test_hang_waits_until_it_is_aborted() -> None:
    """It hears the request's signal by itself, and a cancellation as anything does."""

    async def main() -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_later(0, controller.abort, "enough")
        request = REQUEST._replace(signal=controller.signal)
        with pytest.raises(HarnessError, match="enough"):
            await stream(ScriptedModel([hang()]), request)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stream(ScriptedModel([hang("a")])), 0.001)

    asyncio.run(main())


# -- time --------------------------------------------------------------------------------------


def test_a_fake_clock_moves_when_told() -> None:
    """It reads epoch milliseconds."""
    clock = FakeClock(1000)
    assert clock() == 1000
    clock.advance(5)
    assert clock() == 1005
    assert FakeClock()() == FakeClock()()


def test_virtual_time_jumps() -> None:
    """A week passes at once, exactly, and timers fire in their order."""

    async def main() -> list[str]:
        loop, log = asyncio.get_running_loop(), list[str]()
        begin = loop.time()

        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            log.append(f"{name} {loop.time() - begin:.3f}")

        async with asyncio.TaskGroup() as group:
            group.create_task(sleeper("week", 7 * 24 * 3600.0))
            group.create_task(sleeper("second", 1.0))
            group.create_task(sleeper("moment", 0.001))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await loop.create_future()
        return log

    assert run_virtual(main()) == ["moment 0.001", "second 1.000", "week 604800.000"]


def test_virtual_time_finds_a_deadlock() -> None:
    """Nothing is ready and no timer is set: an error instead of a test that hangs."""

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="deadlock"):
        run_virtual(main())


# -- the loopback server -----------------------------------------------------------------------


async def exchanged(server: LoopbackServer, *requests: bytes) -> bytes:
    """Send *requests* on one connection; return what comes back until all are answered."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        answers = b""
        for request in requests:
            writer.write(request)
            await writer.drain()
            try:
                answers += await reader.readuntil(b"0\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                return answers + error.partial
        return answers
    finally:
        writer.close()
        await writer.wait_closed()


POST = b"POST /v1/x HTTP/1.1\r\nX-Test: a: b\r\ncontent-length: 2\r\n\r\n{}"


def test_the_server_plays_its_replies_and_keeps_the_requests() -> None:
    """One after another, on one connection too; then it has none left."""

    async def main() -> None:
        async with LoopbackServer([Reply(200, {"x": "y"}, (b"one", b"", b"two"))]) as server:
            answers = await exchanged(server, POST, POST)
            assert answers.startswith(b"HTTP/1.1 200 ")
            assert b"x: y\r\n" in answers
            assert b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n" in answers
            assert b"HTTP/1.1 500 " in answers
            assert server.connections == 1
            request = server.received[0]
            assert (request.method, request.path, request.body) == ("POST", "/v1/x", b"{}")
            assert request.headers["x-test"] == "a: b"

    asyncio.run(main())


def test_the_server_may_compute_its_replies() -> None:
    """From the request."""

    async def main() -> None:
        async with LoopbackServer(lambda request: Reply(200, {}, (request.body,))) as server:
            assert b"2\r\n{}\r\n" in await exchanged(server, POST)

    asyncio.run(main())


def test_the_server_can_break_off() -> None:
    """A cut reply has no end marker, and the connection is closed."""

    async def main() -> None:
        async with LoopbackServer([Reply(pieces=(b"half",), cut=True)]) as server:
            assert (await exchanged(server, POST)).endswith(b"4\r\nhalf\r\n")

    asyncio.run(main())


def test_the_server_survives_a_client_that_breaks_off() -> None:
    """Half a request is nobody's request, and leaving ends every connection."""

    async def main() -> None:
        async with LoopbackServer([]) as server:
            host, port = server.url.removeprefix("http://").split(":")
            _, half = await asyncio.open_connection(host, int(port))
            half.write(POST[:20])
            half.close()
            await half.wait_closed()
            reader, idle = await asyncio.open_connection(host, int(port))
            idle.write(POST)
            await reader.readuntil(b"0\r\n\r\n")
        assert len(server.received) == 1
        idle.close()
        await idle.wait_closed()

    asyncio.run(main())


def test_the_server_can_run_beside_code_without_a_loop() -> None:
    """In a thread, until the block is left; `sse` makes the body of an event stream."""
    with serving([Reply(pieces=(sse({"n": 1}, "two"), sse(done=False)))]) as server:
        answer = asyncio.run(exchanged(server, POST))
    assert b'data: {"n": 1}\n\ndata: "two"\n\ndata: [DONE]\n\n' in answer
    assert server.connections == 1
