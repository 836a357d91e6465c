"""A loopback HTTP server that answers with given bytes, split where it is told, or breaks off."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Self


class Reply(NamedTuple):
    """What the server answers to one request.

    `pieces` are sent one after another, each flushed. With `cut` the connection breaks off after
    them instead of ending properly; with `hold` it stays open and silent until the client leaves.
    """

    status: int = 200
    headers: Mapping[str, str] = {}
    pieces: Sequence[bytes] = ()
    cut: bool = False
    hold: bool = False


class Received(NamedTuple):
    """A request as the server read it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class LoopbackServer:
    """`async with LoopbackServer(replies) as server:` listens on 127.0.0.1.

    *replies* are played in order, or computed from the request. `url` is the base to give to a
    client, `received` has every request, `connections` counts those that were made (a client may
    use one again), `left` is set when a client leaves a held one. Leaving closes all connections
    and waits for them.
    """

    def __init__(self, replies: Iterable[Reply] | Callable[[Received], Reply]) -> None:
        """Play *replies*; an exhausted list answers 500."""
        self._answer = replies if callable(replies) else _playing(list(replies))
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.received: list[Received] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.url = ""

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Stop listening and end every connection."""
        assert self._server is not None  # noqa: S101  # Invariant: __aenter__ came first
        self._server.close()
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether another may follow on the connection."""
        request = await _read(reader)
        self.received.append(request)
        reply = self._answer(request)
        await _write(writer, reply)
        if reply.hold:
            with suppress(ConnectionError):
                await reader.read()
            self.left.set()
        return not (reply.cut or reply.hold)


def _playing(replies: list[Reply]) -> Callable[[Received], Reply]:
    return lambda _: replies.pop(0) if replies else Reply(500, {}, (b"no reply is left",))


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    headers = {"transfer-encoding": "chunked", **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} -", *(f"{name}: {text}" for name, text in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    for piece in reply.pieces:
        if piece:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
    if not (reply.cut or reply.hold):
        writer.write(b"0\r\n\r\n")
        await writer.drain()
