"""Copies of an error inside one process: the same causes, alive."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar, cast

from dsh_llm._crossing._classes import blank, os_fields, slots

E = TypeVar("E", bound=BaseException)


def twin_of(error: E, state: dict[str, Any]) -> E:
    """Return an error of the same class with *state*, linked to the same causes."""
    twin: E = blank(type(error))
    twin.args = error.args
    twin.__dict__.update(state)
    for name, value in (slots(error) | os_fields(error)).items():
        setattr(twin, name, value)
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


def _deep(value: Any, memo: dict[int, Any]) -> Any:
    return _each(value, lambda item: _deep_item(item, memo))


def _deep_item(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001  # Why: a lock or a socket in the context must not stop the copy
        return value


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    # Why: one item that cannot be copied must not take the whole context with it.
    if type(value) is dict:
        items = cast("dict[Any, Any]", value).items()
        return {change(key): change(item) for key, item in items}
    if type(value) in {list, tuple}:
        return type(value)(change(item) for item in value)
    return change(value)
