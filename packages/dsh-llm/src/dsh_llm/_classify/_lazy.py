"""A value that is worked out when it is first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801  # Why: it is used as a decorator
    """Like `functools.cached_property`, without its lock, which costs more than most values."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        """Give what *work* returns for the instance."""
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, holder: None, kind: object = ...) -> Self: ...
    @overload
    def __get__(self, holder: object, kind: object = ...) -> T: ...
    def __get__(self, holder: object, kind: object = None) -> Self | T:
        """Work it out and keep it in the instance, which is asked before this from then on."""
        if holder is None:
            return self
        value = holder.__dict__[self._name] = self._work(holder)
        return value
