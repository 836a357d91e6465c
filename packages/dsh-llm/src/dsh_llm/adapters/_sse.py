"""Server-sent events from bytes, wherever the bytes are cut."""

import re
from typing import Final, NamedTuple

# Why: only these end a line. U+2028, U+0085 and their kind are data.
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")

_FIELDS: Final = frozenset({"", "data", "event", "id", "retry"})  # "" is a comment


class SseEvent(NamedTuple):
    """One event: its name, empty when it has none, and its data lines joined by newlines."""

    name: str
    data: str


class SseDecoder:
    """Decode an event stream piece by piece; the result does not depend on the pieces.

    Comments, unknown fields, ids and retry times are passed over; an event without data is none.
    Bytes that are not UTF-8 become U+FFFD. `recognised` is true once a line was one of an event
    stream at all.
    """

    def __init__(self) -> None:
        """Stand at the beginning of a stream."""
        self._line = bytearray()
        self._after_cr = False
        self.recognised = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Take the next bytes; return the events that they complete."""
        return [event for line in self._lines(piece) if (event := self._take(line)) is not None]

    def finish(self) -> list[SseEvent]:
        """Return the last event, when no blank line has ended it."""
        ends = (self._take(bytes(self._line)), self._take(b""))
        self._line.clear()
        return [event for event in ends if event is not None]

    def _lines(self, piece: bytes) -> list[bytes]:
        # Why: a line feed may come one piece later than its carriage return.
        rest = piece[1:] if self._after_cr and piece.startswith(b"\n") else piece
        self._after_cr = piece.endswith(b"\r") or (self._after_cr and not piece)
        head, *more = _LINE_END.split(rest)
        self._line += head
        if not more:
            return []
        lines = [bytes(self._line), *more[:-1]]
        self._line = bytearray(more[-1])
        return lines

    def _take(self, line: bytes) -> SseEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.decode("utf-8", "replace").partition(":")
        self.recognised = self.recognised or field in _FIELDS
        if field == "data":
            self._data.append(value.removeprefix(" "))
        elif field == "event":
            self._name = value.removeprefix(" ")
        return None

    def _dispatch(self) -> SseEvent | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        return SseEvent(name, "\n".join(data)) if data else None
