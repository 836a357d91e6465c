"""How an error is copied, and how it crosses to another process: as data, whatever it holds."""

import copy
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

from dsh_llm._text import described

E = TypeVar("E", bound=BaseException)


class _Parcel(NamedTuple):
    """A value on its way: its pickle, and its text for when that cannot be opened."""

    data: bytes
    text: str


def twin_of(error: E, state: dict[str, Any]) -> E:
    """Return an error of the same class with *state*, linked to the same causes."""
    twin = type(error).__new__(type(error))
    twin.args = error.args
    twin.__dict__.update(state)
    _set_os_fields(twin, _os_fields(error))
    twin.__cause__ = error.__cause__
    twin.__context__ = error.__context__
    twin.__suppress_context__ = error.__suppress_context__
    return twin


def deep_twin_of(error: E, memo: dict[int, Any], live: str) -> E:
    """Return a deep copy of *error*; attribute *live* and what nothing can copy stay shared."""
    twin = memo[id(error)] = twin_of(error, {})
    for key, value in error.__dict__.items():
        twin.__dict__[key] = value if key == live else _deep(value, memo)
    return twin


def pack(error: BaseException, name: str, state: dict[str, Any]) -> tuple[Any, ...]:
    """Return what `__reduce__` returns: the nearest class that the far side can find, and data."""
    packed = {key: _each(value, _close) for key, value in state.items()}
    return (unpack, (_findable(type(error)), name, error.args, packed, _os_fields(error)))


def unpack(
    kind: type[BaseException],
    name: str,
    args: tuple[Any, ...],
    packed: dict[str, Any],
    os_fields: dict[str, Any],
) -> BaseException:
    """Build the error on the far side; a value that cannot be rebuilt there becomes its text."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update({key: _each(value, _open) for key, value in packed.items()})
    _set_os_fields(error, os_fields)
    if name != kind.__name__:
        error.__dict__["_carried_name"] = name
    return error


def _deep(value: Any, memo: dict[int, Any]) -> Any:
    return _each(value, lambda item: _deep_item(item, memo))


def _deep_item(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001  # Why: a lock or a socket in the context must not stop the copy
        return value


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    # Why: one item that cannot cross must not take the whole context with it.
    if type(value) is dict:
        items = cast("dict[Any, Any]", value).items()
        return {change(key): change(item) for key, item in items}
    if type(value) in {list, tuple}:
        return type(value)(change(item) for item in value)
    return change(value)


def _close(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    import pickle

    try:
        return _Parcel(pickle.dumps(value), described(value))
    except Exception:  # noqa: BLE001  # Why: any failure to cross means "send its text instead"
        return _Parcel(b"", described(value))


def _open(value: Any) -> Any:
    if type(value) is not _Parcel:
        return value
    import pickle

    try:
        return pickle.loads(value.data)  # noqa: S301  # Why: it came inside a pickle that is being loaded
    except Exception:  # noqa: BLE001  # Why: the class may be missing here; the text tells what it was
        return value.text


def _findable(kind: type[BaseException]) -> type[BaseException]:
    own = (one for one in kind.__mro__ if getattr(one, "__harness_error__", False))
    return next(one for one in own if _found(one) is one)


def _found(kind: type) -> object:
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found


def _os_fields(error: BaseException) -> dict[str, Any]:
    # Why: OSError keeps these outside __dict__.
    if not isinstance(error, OSError):
        return {}
    return {name: getattr(error, name) for name in _OS_FIELDS}


def _set_os_fields(error: BaseException, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(error, name, value)


_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None)})
_OS_FIELDS: Final = ("errno", "strerror", "filename", "filename2")
