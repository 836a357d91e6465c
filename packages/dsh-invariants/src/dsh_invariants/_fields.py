"""Reading rows without trusting them: a field that is missing or mistyped reads as `None`."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeGuard, cast

from dsh_llm import LogEvent

TURN_START: Final = "turn/start"
TURN_END: Final = "turn/end"
STEP_START: Final = "step/start"
STEP_END: Final = "step/end"
USER: Final = "user/message"
STEERING: Final = "steering/message"
CONTEXT: Final = "context/message"
CHUNK: Final = "assistant/chunk"
MESSAGE: Final = "assistant/message"
CALL: Final = "tool/call"
RESULT: Final = "tool/result"
USAGE: Final = "usage"
ERROR: Final = "error"
RETRY: Final = "llm/retry"

BOUNDARIES: Final = frozenset({TURN_START, TURN_END, STEP_START, STEP_END})
"""Rows that open or close a turn or a step."""

UNNAMED: Final = -1
"""Number of a turn or step that is open, but whose row did not say which it is."""


def number(data: Mapping[str, Any], key: str) -> int | None:
    """Return the integer at *key*; a bool is none."""
    value = data.get(key)
    return value if type(value) is int else None


def string(data: Mapping[str, Any], key: str) -> str | None:
    """Return the string at *key*."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object at *key*, an empty one if there is none."""
    value = data.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, (dict, Mapping)) else {}


def chunk_kind(event: LogEvent) -> str | None:
    """Return the kind of chunk that an `assistant/chunk` row holds."""
    return string(mapping(event.data, "chunk"), "type")


def blocks(data: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the content blocks of *kind*, in order."""
    content = data.get("content")
    if not isinstance(content, (list, tuple)):
        return []
    items = cast("Iterable[object]", content)
    return [item for item in items if _is_object(item) and item.get("type") == kind]


def _is_object(item: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(item, (dict, Mapping))


def agrees(open_number: int, named: int | None) -> bool:
    """Tell whether a row that names *named* may mean the open one.

    A missing number is reported once, as such; it is not a wrong number too.
    """
    return named is None or open_number in (named, UNNAMED)


def shown(value: int | None) -> str:
    """Return *value* as messages show it."""
    return "none" if value is None else str(value)


class Position(NamedTuple):
    """What is open: a turn, a step, or `None`."""

    turn: int | None = None
    step: int | None = None

    def after(self, event: LogEvent) -> "Position":
        """Return the position after a boundary row, also after one that breaks a rule."""
        data = event.data
        if event.type == TURN_START:
            return Position(_named(data, "turn"), self.step)
        if event.type == TURN_END:
            return Position()
        if event.type == STEP_END:
            return Position(self.turn)
        # Why: a step outside of any turn means that the turn's own start is missing.
        turn = _named(data, "turn") if self.turn is None else self.turn
        return Position(turn, _named(data, "step"))


def _named(data: Mapping[str, Any], key: str) -> int:
    value = number(data, key)
    return UNNAMED if value is None else value
