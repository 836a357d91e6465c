"""Scopes: they own registrations, tasks and child scopes, and undo them, last first."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    overload,
)

from dsh_llm._domain_errors import NotWiredError
from dsh_llm._errors import HarnessError
from dsh_llm._groups import GroupError
from dsh_llm._kernel._dispatch import descend, require_sync, tell, wait_for
from dsh_llm._kernel._events import Check, Disposer, Gather, Next, Signal, Waterfall
from dsh_llm._kernel._hub import Hub
from dsh_llm._kernel._scope import Cleanup, Scope
from dsh_llm._kernel._starter import Pending

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Plugin(Protocol):
    """A callable that registers things in the scope it is given; it may be `async def`.

    Whatever it raises undoes its scope, and goes to the caller of `use` (or of `start`, when it
    is async).
    """

    def __call__(self, ctx: "Context", /) -> Awaitable[None] | None: ...


class Context:
    """A scope of the plugin kernel.

    Listeners and services are seen by the whole tree of scopes; each is owned by the scope that
    registered it and goes with it. Not for several threads: use it from the event loop's.
    """

    def __init__(self, *, _parent: "Context | None" = None, label: str = "root") -> None:
        """Make the root of a new tree; `scope()` makes children."""
        self.label = label
        self._hub: Hub = _parent._hub if _parent else Hub()
        self._scope = Scope(label, _parent._scope if _parent else None)

    @property
    def disposed(self) -> bool:
        """Whether the scope has been closed, or is being closed."""
        return self._scope.disposed

    # -- registering -------------------------------------------------------------------------

    @overload
    def on(
        self, event: Signal[P], listener: Callable[P, None], *, first: bool = ...
    ) -> Disposer: ...
    @overload
    def on(
        self, event: Check[P], listener: Callable[P, None], *, first: bool = ...
    ) -> Disposer: ...
    @overload
    def on(
        self, event: Gather[P], listener: Callable[P, Awaitable[None]], *, first: bool = ...
    ) -> Disposer: ...
    @overload
    def on(
        self,
        event: Waterfall[P, R],
        listener: Callable[Concatenate[Next[P, R], P], R],
        *,
        first: bool = ...,
    ) -> Disposer: ...
    def on(self, event: Any, listener: Callable[..., Any], *, first: bool = False) -> Disposer:
        """Call *listener* at every dispatch of *event* from now on; `first` jumps the queue.

        A dispatch that is going on keeps the listeners that it began with.

        Raises:
            HarnessError: `DISPOSED` on a closed scope; `INVALID_LISTENER` for an async listener of
                a signal or a check, which nobody would await.
        """
        self._scope.require_open()
        if isinstance(event, (Signal, Check)):
            require_sync(event.name, listener)
        return self.own(self._hub.add(event, listener, first=first))

    def provide(self, kind: type[T], service: T) -> Disposer:
        """Make *service* the tree's one implementation of *kind*.

        Raises:
            HarnessError: `DUPLICATE_SERVICE` when there is one; `DISPOSED` on a closed scope.
        """
        self._scope.require_open()
        services = self._hub.services
        if kind in services:
            text = f"service {kind.__name__!r} is provided already"
            raise HarnessError(text, "DUPLICATE_SERVICE")
        services[kind] = service

        def withdraw() -> None:
            del services[kind]

        return self.own(withdraw)

    def get(self, kind: type[T]) -> T:
        """Return the tree's *kind*.

        Raises:
            NotWiredError: `NO_SERVICE` when nobody provides it.
        """
        if kind not in self._hub.services:
            raise NotWiredError(kind.__name__)
        return cast("T", self._hub.services[kind])

    def own(self, cleanup: Cleanup) -> Disposer:
        """Run *cleanup* when the scope closes, or when the returned disposer is called first.

        An async clean-up is awaited by `aclose`; its early disposer starts it as a task, which
        `aclose` awaits too. What a plain one raises comes out of its early disposer.

        Raises:
            HarnessError: `DISPOSED` on a closed scope.
        """
        return self._scope.own(cleanup)

    def scope(self, label: str = "scope") -> "Context":
        """Make a child scope; closing this one closes it first.

        Raises:
            HarnessError: `DISPOSED` on a closed scope.
        """
        return Context(_parent=self, label=label)

    def spawn(self, work: Coroutine[Any, Any, None], label: str = "task") -> "asyncio.Task[None]":
        """Run *work* as a task of this scope: cancelled and awaited on close.

        What it raises is contained and reported.

        Raises:
            HarnessError: `DISPOSED` on a closed scope, `NO_EVENT_LOOP` outside of a running loop;
                *work* is closed then.
        """
        return self._scope.spawn(work, label)

    def use(self, plugin: Plugin) -> "Context":
        """Run *plugin* in a scope of its own, and return that scope; options by `partial`.

        An async plugin runs when the tree is started (`start`, `async with`, the first run).

        Raises:
            HarnessError: `INVALID_PLUGIN` when it returns anything but `None` or an awaitable.
            Exception: Whatever the plugin raises; its registrations are undone before.
        """
        child = self.scope(_name_of(plugin))
        try:
            work = plugin(child)
            if work is not None:
                child._start_later(work)
        except BaseException:
            rest = child._scope.undo()
            if rest is not None:
                self._scope.track(rest)
            raise
        return child

    def _start_later(self, work: object) -> None:
        if not isinstance(work, Awaitable):
            text = f"plugin {self.label!r} returned a {type(work).__name__}"
            raise HarnessError(f"{text}, which nobody can await", "INVALID_PLUGIN")
        pending = Pending(cast("Awaitable[None]", work), self._scope.begin)
        self._scope.own(lambda: self._hub.starter.drop(pending))
        self._hub.starter.add(pending)

    # -- dispatching -------------------------------------------------------------------------

    def emit(self, event: Signal[P], *args: P.args, **kwargs: P.kwargs) -> tuple[Exception, ...]:
        """Tell every listener; return what they raised, which is reported already."""
        listeners = self._hub.listeners.get(event)
        return tell(event.name, listeners, args, kwargs) if listeners else ()

    def check(self, event: Check[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Ask every listener in turn; the first that raises vetoes, and its error comes out."""
        for listener in self._hub.listeners.get(event, ()):
            listener(*args, **kwargs)

    async def gather(self, event: Gather[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Start every listener and await all of them.

        Cancelling it cancels them and waits until they have stopped.

        Raises:
            GroupError: `GATHER_FAILED` with every failure.
        """
        listeners = self._hub.listeners.get(event)
        errors = await wait_for(event.name, listeners, args, kwargs) if listeners else ()
        if errors:
            raise GroupError(f"listeners of {event.name} failed", "GATHER_FAILED", errors)

    def waterfall(
        self, event: Waterfall[P, R], core: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Go through the layers around *core*, the first registered outermost."""
        layers = self._hub.listeners.get(event, ())
        return descend(layers, 0, core, args, kwargs)

    # -- starting and closing ----------------------------------------------------------------

    async def start(self) -> None:
        """Await the async plugins of the tree that wait for it, in the order of `use`.

        Call it again after further `use`. A call that meets another one waits for that first.

        Raises:
            HarnessError: `DISPOSED` when a plugin's scope was closed while it started.
            Exception: Whatever such a plugin raises; its scope is closed before.
        """
        await self._hub.starter.run()

    async def aclose(self) -> None:
        """Undo everything that the scope owns, last first, and wait until it has stopped.

        Every clean-up runs, whatever others raise. Calling it again waits for the same closing. A
        cancellation is passed on when the closing is done. Called from inside (by a clean-up or a
        task of the scope or its children) it does not wait: the closing waits for the caller.

        Raises:
            GroupError: `CLOSE_FAILED` with every failure.
        """
        await self._scope.aclose()

    async def __aenter__(self) -> Self:
        """Start the async plugins; when one fails, close before its error comes out."""
        try:
            await self.start()
        except BaseException:
            await self._scope.close_quietly()
            raise
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Close; an error of the body comes before one of the closing, which is then reported."""
        if error is None:
            await self.aclose()
        else:
            await self._scope.close_quietly()


def _name_of(plugin: Plugin) -> str:
    made_of = getattr(plugin, "func", plugin)
    return str(getattr(made_of, "__name__", type(made_of).__name__))
