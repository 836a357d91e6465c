"""What a scope owns, and how that is undone: last first, every piece, waiting for each."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dsh_llm._errors import HarnessError
from dsh_llm._groups import GroupError
from dsh_llm._kernel._events import Disposer
from dsh_llm._kernel._reports import containable, report
from dsh_llm._kernel._tasks import close_unused, contained, has_loop, in_turn, joined, stopping

if TYPE_CHECKING:
    import asyncio

Cleanup: TypeAlias = Callable[[], Awaitable[None] | None]

Scopes: TypeAlias = "frozenset[Scope]"

_inside: ContextVar[Scopes] = ContextVar("dsh_inside", default=frozenset())
"""The scopes whose closing waits for the code that runs here."""


class Scope:
    """The owning half of a `Context`: clean-ups, tasks and child scopes, in their order."""

    def __init__(self, label: str, parent: "Scope | None") -> None:
        self.label = label
        self.disposed = False
        self._parent = parent
        self._owned: dict[object, _Owned] = {}
        self._closing: asyncio.Task[None] | None = None
        if parent is not None:
            parent.require_open()
            parent._owned[self] = _Owned(self.aclose, self.undo)

    def require_open(self) -> None:
        """Raise `HarnessError` (`DISPOSED`) on a closed scope."""
        if self.disposed:
            raise HarnessError(f"scope {self.label!r} is disposed", "DISPOSED")

    def own(self, cleanup: Cleanup) -> Disposer:
        """Own *cleanup*; the disposer runs it early, once."""
        self.require_open()
        key = object()
        self._owned[key] = _Owned(cleanup, cleanup)
        return lambda: self._dispose(key)

    def spawn(self, work: Coroutine[Any, Any, None], label: str) -> "asyncio.Task[None]":
        """Own a task that does *work*; what it raises is reported."""
        if self.disposed or not has_loop():
            work.close()
            self.require_open()
            raise HarnessError(f"no event loop to run {label!r} on", "NO_EVENT_LOOP")
        task = self._task(contained(work, label), label, of=work)
        self._keep(task, lambda: stopping(task))
        return task

    def track(self, pending: Awaitable[None]) -> None:
        """Own what has begun to end: it runs now, or without a loop when the scope closes."""
        if not has_loop():
            self._owned[object()] = _Owned(lambda: pending, lambda: pending)
            return
        label = f"clean-up in {self.label}"
        task = self._task(contained(pending, label), label, of=pending)
        self._keep(task, lambda: joined(task, cancel=False))

    async def begin(self, work: Awaitable[None]) -> None:
        """Do *work* as a task that closing the scope stops; close the scope when it fails."""
        label = f"starting {self.label}"
        task = self._task(_awaited(work), label, of=work, around=_inside.get())
        self._keep(task, lambda: stopping(task))
        try:
            await joined(task, cancel=True)
        except BaseException as error:
            await self.close_quietly()
            if task.cancelled() and isinstance(error, HarnessError):
                text = f"scope {self.label!r} was closed while it started"
                raise HarnessError(text, "DISPOSED") from error
            raise

    async def aclose(self) -> None:
        """Close, or wait for the closing that goes on; from inside, do not wait."""
        from_inside = any(self in scope._lineage() for scope in _inside.get())
        if self._closing is None:
            self.disposed = True
            around = frozenset[Scope]() if from_inside else _inside.get()
            self._closing = self._task(self._close(), f"closing {self.label}", around=around)
        if from_inside:
            self._closing.add_done_callback(_report_failed)
        else:
            await joined(self._closing, cancel=False)

    async def close_quietly(self) -> None:
        """Close; a failure is only reported, because another error is on its way."""
        try:
            await self.aclose()
        except GroupError as error:
            report(f"closing {self.label}", error)

    def undo(self) -> Awaitable[None] | None:
        """Undo at once what needs no waiting; return what does, if anything."""
        self.disposed = True
        rest: list[Awaitable[None]] = []
        while self._owned:
            try:
                pending = self._pop().undo()
            except Exception as error:  # noqa: BLE001  # Why: another error is on its way, this one is reported
                report(f"undoing {self.label}", error)
            else:
                rest.extend(() if pending is None else (pending,))
        self._leave()
        return in_turn(rest, f"undoing {self.label}") if rest else None

    async def _close(self) -> None:
        errors: list[Exception] = []
        while self._owned:
            try:
                pending = self._pop().close()
                if pending is not None:
                    await pending
            except BaseException as error:  # noqa: BLE001  # Why: one clean-up must not stop the others
                errors.append(containable(error))
        self._leave()
        if errors:
            raise GroupError(f"closing {self.label} failed", "CLOSE_FAILED", errors)

    def _pop(self) -> "_Owned":
        return self._owned.popitem()[1]

    def _leave(self) -> None:
        if self._parent is not None:
            self._parent._owned.pop(self, None)

    def _dispose(self, key: object) -> None:
        owned = self._owned.pop(key, None)
        pending = owned.close() if owned is not None else None
        if pending is not None:
            self.track(pending)

    def _keep(self, task: "asyncio.Task[None]", stop: Cleanup) -> None:
        self._owned[task] = _Owned(stop, stop)
        task.add_done_callback(lambda _: self._owned.pop(task, None))

    def _task(
        self,
        work: Coroutine[Any, Any, None],
        label: str,
        *,
        of: Awaitable[None] | None = None,
        around: Scopes = frozenset(),
    ) -> "asyncio.Task[None]":
        import asyncio

        context = copy_context()
        context.run(_inside.set, around | {self})
        task = asyncio.get_running_loop().create_task(work, name=label, context=context)
        if of is not None:
            # Why: a task that is cancelled before its first step never comes to await *of*.
            task.add_done_callback(lambda _: close_unused(of))
        return task

    def _lineage(self) -> "Iterator[Scope]":
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope._parent


class _Owned(NamedTuple):
    close: Cleanup
    """How closing ends it."""
    undo: Cleanup
    """How it is ended where nothing can be waited for."""


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _report_failed(closing: "asyncio.Task[None]") -> None:
    error = None if closing.cancelled() else closing.exception()
    if error is not None:
        report(closing.get_name(), error)
