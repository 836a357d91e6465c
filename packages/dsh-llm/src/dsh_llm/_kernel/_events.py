"""Typed event constants: their class says how they are dispatched and who hears a failure."""

from collections.abc import Callable
from typing import Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Disposer: TypeAlias = Callable[[], None]
"""Undoes one registration; calling it again does nothing."""


class _Event:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """Name the event; two constants are two events, even with one name."""
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Signal(_Event, Generic[P]):
    """Announces what has happened: all listeners run, what they raise never reaches the sender."""

    __slots__ = ()


class Check(_Event, Generic[P]):
    """Asks before a commit: the first listener that raises vetoes it."""

    __slots__ = ()


class Gather(_Event, Generic[P]):
    """Waits for work: all listeners are started, all are awaited, failures come as one error."""

    __slots__ = ()


class Waterfall(_Event, Generic[P, R]):
    """Goes through layers around a core; each decides whether and with what to call `next`."""

    __slots__ = ()


class Next(Protocol[P, R_co]):
    """The rest of a waterfall, as a layer sees it.

    Without arguments it passes on what the layer got, with arguments it replaces all of them. It
    may be called again: the inner layers and the core then run again.
    """

    @overload
    def __call__(self) -> R_co: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
