"""How listeners are called: to tell, to wait for, and to go through."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from dsh_llm._errors import HarnessError
from dsh_llm._kernel._reports import containable, report
from dsh_llm._kernel._tasks import await_all

Args: TypeAlias = tuple[Any, ...]
Named: TypeAlias = dict[str, Any]
Listeners: TypeAlias = Sequence[Callable[..., Any]]


def tell(event: str, listeners: Listeners, args: Args, named: Named) -> tuple[Exception, ...]:
    """Call all of *listeners*; return what they raised, which is reported."""
    failures: list[Exception] = []
    for listener in listeners:
        try:
            listener(*args, **named)
        except BaseException as error:  # noqa: BLE001  # Why: a signal contains whatever a listener raises
            failures.append(containable(error))
            report(event, error)
    return tuple(failures)


async def wait_for(event: str, listeners: Listeners, args: Args, named: Named) -> list[Exception]:
    """Start all of *listeners*, await all, return what failed."""
    work: list[Callable[[], Awaitable[Any]]] = [partial(one, *args, **named) for one in listeners]
    return await await_all(work, event)


def descend(
    layers: Listeners, depth: int, core: Callable[..., Any], args: Args, named: Named
) -> Any:
    """Go through *layers* from *depth* on, then *core*."""
    if depth == len(layers):
        return core(*args, **named)

    def proceed(*changed: Any, **renamed: Any) -> Any:
        # Why: position by depth, not a shared cursor, so that a retry runs the inner layers again.
        again = (changed, renamed) if changed or renamed else (args, named)
        return descend(layers, depth + 1, core, *again)

    return layers[depth](proceed, *args, **named)


def require_sync(event: str, listener: Callable[..., Any]) -> None:
    """Refuse an async *listener*: nobody would await it.

    Raises:
        HarnessError: `INVALID_LISTENER`.
    """
    from inspect import iscoroutinefunction

    called = getattr(type(listener), "__call__", None)  # noqa: B004  # Why: the method itself is looked at
    if iscoroutinefunction(listener) or iscoroutinefunction(called):
        raise HarnessError(f"a listener of {event} must be a plain function", "INVALID_LISTENER")
