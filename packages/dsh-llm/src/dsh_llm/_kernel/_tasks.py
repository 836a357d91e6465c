"""Tasks that are never left alone: what is cancelled is awaited, what fails is told."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from dsh_llm._errors import HarnessError
from dsh_llm._kernel._reports import containable, report

if TYPE_CHECKING:
    import asyncio


async def await_all(work: Sequence[Callable[[], Awaitable[Any]]], label: str) -> list[Exception]:
    """Start all of *work*, await all of it, return what failed.

    A cancellation cancels what runs, waits until that has stopped, and then passes on; what fails
    meanwhile is reported.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(_call(one), name=label) for one in work]
    cancelled = await _settled(tasks, cancel=True)
    if cancelled is not None:
        _report_failed(tasks)
        raise cancelled
    return [error for task in tasks if (error := _failure(task)) is not None]


async def joined(task: "asyncio.Task[None]", *, cancel: bool) -> None:
    """Wait for *task* and raise what it raised.

    A cancellation passes on when the task has ended, with *cancel* told to it at once.
    """
    cancelled = await _settled([task], cancel=cancel)
    if cancelled is not None:
        _report_failed([task])
        raise cancelled
    error = _failure(task)
    if error is not None:
        raise error


def stopping(task: "asyncio.Task[None]") -> Awaitable[None]:
    """Cancel *task* now, and return what waits until it has ended."""
    task.cancel()
    return _ended(task)


async def contained(work: Awaitable[None], label: str) -> None:
    """Await *work* that nobody waits for; what it raises is reported."""
    import asyncio

    try:
        await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        report(label, error)
    except Exception as error:  # noqa: BLE001  # Why: nobody awaits it, so its failure is reported here
        report(label, error)


async def in_turn(work: Sequence[Awaitable[None]], label: str) -> None:
    """Await one after another; failures are reported."""
    for one in work:
        await contained(one, label)


def close_unused(work: Awaitable[None]) -> None:
    """Close *work* if it is a coroutine that never began, or has ended; else leave it alone."""
    close = getattr(work, "close", None)
    if close is not None:
        close()


def has_loop() -> bool:
    """Tell whether an event loop is running here."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _call(one: Callable[[], Awaitable[Any]]) -> None:
    await one()


async def _ended(task: "asyncio.Task[None]") -> None:
    import asyncio

    await asyncio.wait([task])


async def _settled(
    tasks: "Collection[asyncio.Task[None]]", *, cancel: bool
) -> "asyncio.CancelledError | None":
    import asyncio

    cancelled: asyncio.CancelledError | None = None
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            cancelled = error
            for task in tasks if cancel else ():
                task.cancel()
    return cancelled


def _report_failed(tasks: "Collection[asyncio.Task[None]]") -> None:
    for task in tasks:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            report(f"cancelled {task.get_name()}", error)


def _failure(task: "asyncio.Task[None]") -> Exception | None:
    if task.cancelled():
        return HarnessError("the work was cancelled", "ABORTED")
    error = task.exception()
    return None if error is None else containable(error)
