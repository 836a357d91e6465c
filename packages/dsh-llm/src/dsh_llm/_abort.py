"""Stopping on request: a signal that is heard at every await, apart from task cancellation."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dsh_llm._errors import HarnessError
from dsh_llm._kernel import Disposer, report

if TYPE_CHECKING:
    import asyncio


class AbortSignal:
    """The listening end: asked by workers, never fired by them."""

    __slots__ = ("_listeners", "reason")

    def __init__(self) -> None:
        """Make a signal that has not fired; an `AbortController` owns it."""
        self.reason: str | None = None
        self._listeners: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """Whether it has fired; once true, always true."""
        return self.reason is not None

    def raise_if_aborted(self) -> None:
        """Raise `HarnessError` (`ABORTED`) when it has fired."""
        if self.reason is not None:
            raise aborted_error(self.reason)

    def on_abort(self, listener: Callable[[], None]) -> Disposer:
        """Call *listener* once when it fires, at once if it has; return an idempotent disposer.

        What a listener raises is contained and reported.
        """
        key = object()
        self._listeners[key] = listener
        if self.aborted:
            self._tell()
        return lambda: _drop(self._listeners, key)

    def _fire(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
            self._tell()

    def _tell(self) -> None:
        while self._listeners:
            listener = self._listeners.pop(next(iter(self._listeners)))
            try:
                listener()
            except Exception as error:  # noqa: BLE001  # Why: one listener must not keep the others from stopping
                report("abort", error)


class AbortController:
    """The firing end; use it from the event loop's thread."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        """Make a fresh signal."""
        self.signal = AbortSignal()

    def abort(self, reason: str = "aborted") -> None:
        """Fire with *reason*; only the first call counts."""
        self.signal._fire(reason)  # pyright: ignore[reportPrivateUsage]  # Why: the two halves are one object


class Interruptible:
    """`async with Interruptible(signal):` ends the body with `ABORTED` when the signal fires.

    The body's current await gets a `CancelledError`, so its clean-up runs; it is awaited to its
    end, and a body that finishes all the same keeps what it did. A cancellation from outside is
    never taken for ours: it passes on.

    Raises:
        HarnessError: `ABORTED`, from `__aenter__` when the signal has fired already;
            `NO_EVENT_LOOP` outside of a task.
    """

    __slots__ = ("_baseline", "_dispose", "_fired", "_signal", "_task")

    def __init__(self, signal: AbortSignal) -> None:
        """Watch *signal*; nothing happens before `async with`."""
        self._signal = signal

    async def __aenter__(self) -> Self:
        """Start watching, on behalf of the current task."""
        self._signal.raise_if_aborted()
        self._fired = False
        self._task = _current_task()
        self._baseline = self._task.cancelling()
        self._dispose = self._signal.on_abort(self._fire)
        return self

    def _fire(self) -> None:
        self._fired = True
        self._task.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching; turn our own cancellation into `ABORTED`."""
        import asyncio

        self._dispose()
        if not self._fired:
            return
        await _absorb_cancel()
        if self._task.uncancel() > self._baseline:
            raise asyncio.CancelledError
        if isinstance(error, asyncio.CancelledError):
            raise aborted_error(self._signal.reason or "") from error


def aborted_error(reason: str) -> HarnessError:
    """Return the error of a stop that somebody asked for."""
    return HarnessError(reason, "ABORTED", context={"reason": reason})


async def _absorb_cancel() -> None:
    # Why: a signal fired by the body itself leaves a cancellation pending, which uncancel()
    # does not clear before 3.13; it would hit whoever awaits next.
    import asyncio

    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        return


def _current_task() -> "asyncio.Task[Any]":
    import asyncio

    task = asyncio.current_task()
    if task is None:
        raise HarnessError("an abort signal needs a running task", "NO_EVENT_LOOP")
    return task


def _drop(listeners: dict[object, Callable[[], None]], key: object) -> None:
    listeners.pop(key, None)
