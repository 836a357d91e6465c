"""Threads of our own for bodies that block: daemons, so that nothing has to wait for them."""

import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dsh_llm import AbortSignal

if TYPE_CHECKING:
    import asyncio


class Outcome(NamedTuple):
    """What a body did. Carried as a value: `StopIteration` cannot travel as an exception."""

    value: Any = None
    error: BaseException | None = None


class Threads:
    """Runs each body in a thread, and remembers the threads that it had to leave behind."""

    def __init__(self) -> None:
        """Start with none."""
        self._left: list[_Job] = []

    async def run(self, name: str, body: Callable[[], Any], signal: AbortSignal | None) -> Outcome:
        """Run *body* in a thread with a copy of the context variables.

        A cancellation leaves the thread behind and drops its late outcome; but what *signal*
        stops is kept if it was finished already.
        """
        import asyncio

        job = _Job(name, body, asyncio.get_running_loop())
        try:
            return await job.finished
        except asyncio.CancelledError:
            if job.outcome is not None and signal is not None and signal.aborted:
                return job.outcome
            self._left = [one for one in self._left if one.thread.is_alive()]
            self._left.append(job)
            raise

    async def join(self, grace: float) -> tuple[str, ...]:
        """Wait up to *grace* seconds for what was left behind; return the names of what runs on."""
        left, self._left = self._left, []
        if any(job.thread.is_alive() for job in left):
            await self.run("join", lambda: _join([job.thread for job in left], grace), None)
        self._left += [job for job in left if job.thread.is_alive()]
        return tuple(job.name for job in self._left)


class _Job:
    def __init__(
        self, name: str, body: Callable[[], Any], loop: "asyncio.AbstractEventLoop"
    ) -> None:
        self.name = name
        self.outcome: Outcome | None = None
        self.finished: asyncio.Future[Outcome] = loop.create_future()
        self._loop = loop
        work = partial(contextvars.copy_context().run, partial(self._work, body))
        self.thread = threading.Thread(target=work, name=f"dsh-tool-{name}", daemon=True)
        self.thread.start()

    def _work(self, body: Callable[[], Any]) -> None:
        try:
            outcome = Outcome(body())
        except BaseException as error:  # noqa: BLE001  # Why: carried to the caller, who raises it
            outcome = Outcome(error=error)
        self.outcome = outcome
        try:
            self._loop.call_soon_threadsafe(self._settle, outcome)
        except RuntimeError:
            # Why: the loop is closed, nobody waits any more.
            return

    def _settle(self, outcome: Outcome) -> None:
        if not self.finished.done():
            self.finished.set_result(outcome)


def _join(threads: list[threading.Thread], grace: float) -> None:
    import time

    deadline = time.monotonic() + grace
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
