"""What all scopes of one tree share: listeners, services, and the line of starting plugins."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dsh_llm._kernel._starter import Starter

Listener = Callable[..., Any]


class Hub:
    """Listener lists are replaced, never changed: a dispatch keeps the list that it began with."""

    __slots__ = ("listeners", "services", "starter")

    def __init__(self) -> None:
        self.listeners: dict[object, tuple[Listener, ...]] = {}
        self.services: dict[type, object] = {}
        self.starter = Starter()

    def add(self, event: object, listener: Listener, *, first: bool) -> Callable[[], None]:
        """Add *listener* and return what removes just this registration."""
        # Why: one listener may be registered twice, and each disposer removes only its own.
        entry = partial(listener)
        have = self.listeners.get(event, ())
        self.listeners[event] = (entry, *have) if first else (*have, entry)
        return lambda: self._remove(event, entry)

    def _remove(self, event: object, entry: Listener) -> None:
        left = tuple(one for one in self.listeners.get(event, ()) if one is not entry)
        if left:
            self.listeners[event] = left
        else:
            self.listeners.pop(event, None)
