"""The loopback server for code without an event loop, and for other processes."""

import asyncio
import json
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from dsh_llm.testing._server import LoopbackServer, Reply


def sse(*events: object, done: bool = True) -> bytes:
    """Return *events* as the body of an event stream, each as JSON; `[DONE]` comes last."""
    parts = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*parts, "data: [DONE]\n\n" if done else ""]).encode()


@contextmanager
def serving(replies: Iterable[Reply]) -> Generator[LoopbackServer, None, None]:
    """Serve *replies* from a thread with an event loop of its own, until the block is left."""
    server = LoopbackServer(replies)
    ready = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        async with server:
            stop.append((asyncio.get_running_loop(), asyncio.Event()))
            ready.set()
            await stop[0][1].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="loopback server")
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop, event = stop[0]
        loop.call_soon_threadsafe(event.set)
        thread.join()
