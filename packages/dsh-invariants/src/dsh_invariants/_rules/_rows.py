"""Rules on single rows and on their numbering."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dsh_llm import LogEvent

from dsh_invariants._counter import Counter
from dsh_invariants._examples import K1, answer, call, result, rows, step, turn
from dsh_invariants._fields import (
    CALL,
    CHUNK,
    CONTEXT,
    ERROR,
    MESSAGE,
    RESULT,
    STEERING,
    STEP_END,
    STEP_START,
    TURN_END,
    TURN_START,
    USAGE,
    USER,
    mapping,
    number,
    string,
)
from dsh_invariants._rule import LogRule, StagedState


class _Contiguous(StagedState):
    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = Counter(-1)

    def look(self, event: LogEvent) -> Iterable[str]:
        if not self._count.fits(event.seq):
            return (f"seq is {event.seq}, expected {self._count.expected}",)
        return ()

    def take(self, event: LogEvent) -> None:
        self._count.take(event.seq)


class _Increasing(StagedState):
    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = -1

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.seq <= self._last:
            return (f"seq is {event.seq}, after {self._last}",)
        return ()

    def take(self, event: LogEvent) -> None:
        self._last = event.seq


class _TimeIsWhole(StagedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        if type(event.time) is not int:
            return (f"time is {event.time!r:.80}, not whole milliseconds",)
        return ()


class _FieldsPresent(StagedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        fields = _FIELDS.get(event.type, ())
        if all(holds(event.data, key) for key, holds, _ in fields):
            return ()
        return [
            f"{event.type} has no {what} {key!r}"
            for key, holds, what in fields
            if not holds(event.data, key)
        ]


class _ErrorsAreCoded(StagedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        for error, keys in _errors(event):
            for key in keys:
                if not string(error, key):
                    yield f"{event.type} has an error without a {key}"


def _errors(event: LogEvent) -> Iterable[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Return the error that *event* records, if any, and the keys that it has to have."""
    data = event.data
    if event.type == ERROR:
        return ((data, ("name", "code")),)
    if event.type == RESULT and data.get("error") is not None:
        return ((mapping(data, "error"), ("name", "code")),)
    reason = mapping(data, "reason")
    if event.type == TURN_END and reason.get("kind") == "error":
        return ((reason, ("code",)),)
    return ()


def _has_number(data: Mapping[str, Any], key: str) -> bool:
    return number(data, key) is not None


def _has_string(data: Mapping[str, Any], key: str) -> bool:
    return bool(string(data, key))


def _has_kind(data: Mapping[str, Any], key: str) -> bool:
    return string(mapping(data, key), "type") is not None


def _has_array(data: Mapping[str, Any], key: str) -> bool:
    return isinstance(data.get(key), (list, tuple))


_Field = tuple[str, Callable[[Mapping[str, Any], str], bool], str]
_TURN: Final[_Field] = ("turn", _has_number, "number")
_STEP: Final[_Field] = ("step", _has_number, "number")
_CALL_ID: Final[_Field] = ("call_id", _has_string, "string")
_CONTENT: Final[_Field] = ("content", _has_array, "array")

_FIELDS: Final[Mapping[str, tuple[_Field, ...]]] = {
    TURN_START: (_TURN,),
    TURN_END: (_TURN,),
    STEP_START: (_TURN, _STEP),
    STEP_END: (_TURN, _STEP),
    USER: (_TURN, _CONTENT),
    STEERING: (_TURN, _CONTENT),
    CONTEXT: (_CONTENT,),
    CHUNK: (_TURN, _STEP, ("chunk", _has_kind, "object with a type in")),
    MESSAGE: (_TURN, _STEP, _CONTENT),
    CALL: (_TURN, _STEP, _CALL_ID),
    RESULT: (_TURN, _STEP, _CALL_ID, _CONTENT),
    USAGE: (_TURN, _STEP),
    ERROR: (_TURN, _STEP),
}

_GOOD: Final = rows(*turn(1, step(1, answer())))
_NAMELESS: Final = answer(calls=[K1]), [call("k1"), result("k1", {"code": "ENOENT"})]

SEQ_CONTIGUOUS: Final = LogRule(
    "INV-SEQ-001",
    "Rows are numbered from 0 without a gap.",
    _Contiguous,
    example=(_GOOD[0], *({**row, "seq": row["seq"] + 1} for row in _GOOD[1:])),
)
SEQ_INCREASING: Final = LogRule(
    "INV-SEQ-002",
    "The number of a row is greater than that of the row before.",
    _Increasing,
    example=(_GOOD[0], {**_GOOD[1], "seq": 0}, *_GOOD[2:]),
)
TIME_WHOLE: Final = LogRule(
    "INV-TIME-001",
    "The time of a row is a whole number of milliseconds; it may step backwards.",
    _TimeIsWhole,
    example=({**_GOOD[0], "time": 1.5}, *_GOOD[1:]),
)
FIELDS_PRESENT: Final = LogRule(
    "INV-DATA-001",
    "A row of a known type has the fields that say where it belongs.",
    _FieldsPresent,
    frozenset(_FIELDS),
    rows(("context/message", {"content": "no array"})),
)
ERRORS_CODED: Final = LogRule(
    "INV-ERROR-001",
    "A recorded error has a name and a code; a turn that ends in one has its code.",
    _ErrorsAreCoded,
    frozenset({ERROR, RESULT, TURN_END}),
    rows(*turn(1, step(1, *_NAMELESS))),
)
