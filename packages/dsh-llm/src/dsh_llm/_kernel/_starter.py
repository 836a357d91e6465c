"""The line of async plugins that wait to be started, one after another."""

from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from dsh_llm._kernel._tasks import close_unused

if TYPE_CHECKING:
    import asyncio

_running: ContextVar["Starter | None"] = ContextVar("dsh_starter", default=None)


class Pending(NamedTuple):
    """A plugin's coroutine, and how its scope begins it."""

    work: Awaitable[None]
    begin: Callable[[Awaitable[None]], Awaitable[None]]


class Starter:
    """Starts what waits, in order; whoever comes meanwhile waits until it has started."""

    __slots__ = ("_busy", "_line")

    def __init__(self) -> None:
        self._line: deque[Pending] = deque()
        self._busy: asyncio.Event | None = None

    def add(self, pending: Pending) -> None:
        """Put *pending* at the end."""
        self._line.append(pending)

    def drop(self, pending: Pending) -> None:
        """Forget *pending* if it still waits; a coroutine that never began is closed."""
        if pending in self._line:
            self._line.remove(pending)
            close_unused(pending.work)

    async def run(self) -> None:
        """Start everything that waits; raise what a plugin raises, and leave the rest waiting."""
        import asyncio

        if _running.get() is self:
            # Why: a plugin that starts what it uses must not wait for itself.
            await self._run_all()
            return
        while self._busy is not None:
            await self._busy.wait()
        busy = self._busy = asyncio.Event()
        token = _running.set(self)
        try:
            await self._run_all()
        finally:
            _running.reset(token)
            self._busy = None
            busy.set()

    async def _run_all(self) -> None:
        while self._line:
            pending = self._line.popleft()
            await pending.begin(pending.work)
