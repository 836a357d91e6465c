"""Fakes for testing rules, observers and plugins without an agent, and small logs to try them on.

`rows`, `turn`, `step`, `answer`, `call` and `result` build logs: entries are pairs of type and
data, `rows(*turn(1, step(1, answer("ok"))))` is a whole good log.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dsh_llm import (
    AGENT_STATUS,
    CLOSING_TYPES,
    SESSION_APPEND,
    SESSION_CLOSED,
    SESSION_CREATED,
    SESSION_EVENT,
    Context,
    FrozenDict,
    freeze_json,
)

from dsh_invariants._examples import Entry, answer, call, result, rows, step, turn


class FakeEvent(NamedTuple):
    """A row of a log; it satisfies `dsh_llm.LogEvent`."""

    seq: int
    time: int
    type: str
    data: FrozenDict


def event_of(row: Mapping[str, Any]) -> FakeEvent:
    """Return *row* as an event with immutable data."""
    return FakeEvent(row["seq"], row["time"], row["type"], freeze_json(row["data"]))


class FakeSession:
    """A session that only appends: check, commit, tell. It satisfies `dsh_llm.LogSession`.

    `kept` has the vetoes that could not be raised, and what listeners of its signals raised.
    """

    def __init__(
        self, ctx: Context, session_id: str = "s-1", seed: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Begin with the rows of *seed*, unchecked, and announce the session in *ctx*."""
        self.id = session_id
        self.kept: list[Exception] = []
        self._ctx = ctx
        self._events: tuple[FakeEvent, ...] = tuple(map(event_of, seed))
        self.kept += ctx.emit(SESSION_CREATED, self)

    @property
    def events(self) -> Sequence[FakeEvent]:
        """The log so far."""
        return self._events

    def append(self, kind: str, data: Mapping[str, Any]) -> FakeEvent:
        """Append a row with the next number.

        Raises:
            Exception: What vetoes it; nothing is committed then, unless it closes something.
        """
        seq = len(self._events)
        return self.append_row({"seq": seq, "time": seq, "type": kind, "data": data})

    def append_row(self, row: Mapping[str, Any]) -> FakeEvent:
        """Append *row* as it is, whatever its number; raises as `append` does."""
        event = event_of(row)
        try:
            self._ctx.check(SESSION_APPEND, self, event)
        except Exception as veto:
            if event.type not in CLOSING_TYPES:
                raise
            self.kept.append(veto)
        self._events += (event,)
        self.kept += self._ctx.emit(SESSION_EVENT, self, event)
        return event

    def close(self) -> None:
        """Announce that no more rows come."""
        self.kept += self._ctx.emit(SESSION_CLOSED, self)


class FakeAgent:
    """An agent that does nothing but change its status. It satisfies `dsh_llm.ObservedAgent`."""

    def __init__(self, ctx: Context, agent_id: str = "a-1") -> None:
        """Begin `idle`, unannounced."""
        self.id = agent_id
        self.status = "idle"
        self._ctx = ctx

    def become(self, status: str) -> tuple[Exception, ...]:
        """Announce *status*; return what listeners raised."""
        self.status = status
        return self._ctx.emit(AGENT_STATUS, self, status)


__all__ = [
    "Entry",
    "FakeAgent",
    "FakeEvent",
    "FakeSession",
    "answer",
    "call",
    "event_of",
    "result",
    "rows",
    "step",
    "turn",
]
