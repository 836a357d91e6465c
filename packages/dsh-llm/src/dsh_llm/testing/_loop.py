"""An event loop whose time jumps: an hour of sleep takes no time, a deadlock is an error."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from dsh_llm._errors import HarnessError

T = TypeVar("T")


class DeadlockError(HarnessError, RuntimeError):
    """In virtual time nothing is ready and no timer is set. Code `DEADLOCK`.

    Who acts: whoever wrote the test, or what it waits for.
    """

    def __init__(self) -> None:
        """Say so."""
        super().__init__("deadlock: nothing is ready and no timer is set", "DEADLOCK")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: when nothing is ready it reports how long the loop would have slept."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise DeadlockError
        self.slept += 0.0 if ready else max(0.0, timeout or 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time. Threads and subprocesses look like a deadlock to it."""

    def __init__(self) -> None:
        """Start at 0 seconds."""
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the seconds that have been slept."""
        return self._jumping.slept


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* on a `VirtualLoop`, as `asyncio.run` would."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
