"""The rows of a session's log, and the shapes around them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast, overload

from dsh_llm import FrozenDict, HarnessError, freeze_json, thaw_json

T_co = TypeVar("T_co", covariant=True)

FORMAT_VERSION: Final = 1
"""Version of the log's format, in the header of every stored log."""


class SessionEvent(NamedTuple):
    """One row of the log. `data` is JSON that nobody can change; `time` is epoch milliseconds."""

    seq: int
    time: int
    type: str
    data: FrozenDict
    ignorable: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the row as plain JSON values, which the caller may change."""
        row = {"seq": self.seq, "time": self.time, "type": self.type, "data": thaw_json(self.data)}
        return row | {"ignorable": True} if self.ignorable else row


class EventDataError(HarnessError, ValueError):
    """A row is not what a log can hold; names its type, and where the fault is.

    Codes: `INVALID_EVENT` (an append with data that is not JSON), `INVALID_ROW` (a stored row).
    """


class View(Sequence[T_co]):
    """The first *length* items of a list that only grows: no copy, and no way to change it."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Sequence[T_co], length: int | None = None) -> None:
        """Look at *items*; without *length* the view grows with them."""
        self._items = items
        self._length = length

    def __len__(self) -> int:
        return len(self._items) if self._length is None else self._length

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(index, slice):
            return tuple(self._items[n] for n in range(*index.indices(len(self))))
        if self._length is None:
            return self._items[index]
        return self._items[range(self._length)[index]]

    def __iter__(self) -> Iterator[T_co]:
        return (self._items[n] for n in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)  # pyright: ignore[reportUnknownArgumentType]  # Why: any sequence of equal items is equal

    __hash__ = None  # type: ignore[assignment]  # Why: a view grows, so it has no stable hash

    def __repr__(self) -> str:
        return f"View({list(self)!r})"


def event_from_row(row: Mapping[str, Any]) -> SessionEvent:
    """Return the event that a stored *row* describes.

    Raises:
        EventDataError: `INVALID_ROW` when a key is missing or has a wrong type.
    """
    seq, time, kind = row.get("seq"), row.get("time"), row.get("type")
    data: object = row.get("data")
    if type(seq) is not int or type(time) is not int or not isinstance(kind, str):
        text = f"seq, time or type is missing or of a wrong kind: {row!r:.200}"
        raise EventDataError(text, "INVALID_ROW")
    if not isinstance(data, Mapping):
        raise EventDataError(f"row {seq} ({kind}) has no data object", "INVALID_ROW")
    frozen = freeze_json(cast("object", data))
    return SessionEvent(seq, time, kind, frozen, row.get("ignorable") is True)


def row_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one row of a log.

    The types of dsh have their data spelled out; what plugins append under other types has a free
    `data` object. Imports pydantic.
    """
    from dsh_agent._schema import build_row_schema

    return build_row_schema()
