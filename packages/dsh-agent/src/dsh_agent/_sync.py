"""An event loop for callers that have none: kept between calls, so that connections live."""

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

from dsh_llm import HarnessError

T = TypeVar("T")


class SyncRunner:
    """Runs coroutines one at a time on a loop of its own, made when it is first needed."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, work: Coroutine[Any, Any, T], *, busy: bool) -> T:
        """Run *work* to its end; Ctrl-C cancels it and is raised when it has stopped.

        Raises:
            HarnessError: `SYNC_IN_ASYNC` inside a running event loop, and when *busy* says that
                another one is at work.
        """
        _require_free(work, busy=busy)
        # Why: the runner would go on using the context of the first call.
        return self._started().run(work, context=copy_context())

    def finish(self, work: Coroutine[Any, Any, None], *, busy: bool) -> None:
        """Run *work*, the last, and end the loop, whatever it raises; raises as `run`."""
        _require_free(work, busy=busy)
        with self._started() as runner:
            self._runner = None
            runner.run(work, context=copy_context())

    def _started(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner


def _require_free(work: Coroutine[Any, Any, Any], *, busy: bool) -> None:
    if busy or _inside_loop():
        work.close()
        raise HarnessError("use `await` inside an event loop", "SYNC_IN_ASYNC")


def _inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
