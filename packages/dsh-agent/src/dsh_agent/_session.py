"""A session: the append-only log, and what is derived from it as it grows."""

import time as _time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dsh_llm import (
    CLOSING_TYPES,
    SESSION_APPEND,
    SESSION_CLOSED,
    SESSION_CREATED,
    SESSION_EVENT,
    Context,
    JsonValueError,
    Message,
    freeze_json,
    is_violation,
)

from dsh_agent._events import EventDataError, SessionEvent, View
from dsh_agent._history import History
from dsh_agent._store import OpenedLog

Clock: TypeAlias = Callable[[], int]
"""Returns epoch milliseconds."""


def wall_clock() -> int:
    """Return the time, in epoch milliseconds."""
    return _time.time_ns() // 1_000_000


class Session:
    """An append-only log of events; the only truth about what an agent did.

    Attributes:
        id: Unique in its store.
        kept: Failures that an append could not raise, because the row had to be committed, or
            because a listener raised after the commit; the run raises the first of them.
        turn: Number of the last turn that began, 0 before the first.
        open_turn: Whether that turn is still open, read from the log.
        open_step: Number of the open step, or `None`.
    """

    def __init__(
        self,
        session_id: str,
        *,
        ctx: Context | None = None,
        log: OpenedLog | None = None,
        clock: Clock = wall_clock,
    ) -> None:
        """Continue *log*, or start an empty one that nobody stores."""
        self.id = session_id
        self.kept: list[Exception] = []
        self.turn = 0
        self.open_turn = False
        self.open_step: int | None = None
        self._ctx = ctx or Context(label="session")
        self._clock = clock
        self._writer = log.writer if log else None
        self._events: list[SessionEvent] = []
        self._history = History()
        self._unstored: list[SessionEvent] = []
        self._unannounced: list[SessionEvent] = []
        self._announcing = False
        for event in log.events if log else ():
            self._take(event)
        self._keep(self._ctx.emit(SESSION_CREATED, self))

    @property
    def events(self) -> Sequence[SessionEvent]:
        """The log so far, as a view that grows with it."""
        return View(self._events)

    @property
    def seq(self) -> int:
        """The number that the next event gets."""
        return len(self._events)

    def append(
        self, kind: str, data: Mapping[str, Any], *, ignorable: bool = False
    ) -> SessionEvent:
        """Add an event of the type *kind*: snapshot, check, commit, tell.

        Later changes of *data* do not reach the log. A row that closes something commits even
        when a check vetoes it; the veto is then in `kept`. Listeners of `session/event` are told
        in the order of the log, also of what they append themselves.

        Raises:
            EventDataError: `INVALID_EVENT`, with type and path, for data that is not JSON.
            StorageError: The store did not take it; nothing was committed.
            Exception: A check's veto; nothing was committed.
        """
        event = SessionEvent(self.seq, self._clock(), kind, _snapshot(kind, data), ignorable)
        try:
            self._ctx.check(SESSION_APPEND, self, event)
        except BaseException as veto:
            if kind not in CLOSING_TYPES:
                self._keep([veto])
                raise
            event = self._commit(event)
            self._pass_on(veto)
            return event
        return self._commit(event)

    def derive_messages(self) -> Sequence[Message]:
        """Return the conversation so far; later events do not change what was returned."""
        return self._history.messages()

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the log as plain JSON rows, without a header."""
        return [event.to_row() for event in self._events]

    def flush(self) -> None:
        """Have the store make the log survive a loss of power; a failure goes to `kept`."""
        self._guarded(self._write_rest)
        if self._writer is not None:
            self._guarded(self._writer.flush)

    def close(self) -> None:
        """Give the log back to its store and announce it; appending then fails or stays here."""
        self._guarded(self._write_rest)
        if self._writer is not None:
            self._guarded(self._writer.close)
        self._keep(self._ctx.emit(SESSION_CLOSED, self))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # Why: a store may be anybody's; run or aclose raises it
            self.kept.append(error)

    def _commit(self, event: SessionEvent) -> SessionEvent:
        # Why: a check may have appended rows of its own meanwhile.
        event = event._replace(seq=self.seq)
        self._store(event)
        self._take(event)
        self._announce(event)
        return event

    def _pass_on(self, veto: BaseException) -> None:
        if not isinstance(veto, Exception):
            raise veto
        self.kept.append(veto)

    def _store(self, event: SessionEvent) -> None:
        if self._writer is None:
            return
        try:
            self._write_rest()
            self._writer.append(event)
        except Exception as error:
            if event.type not in CLOSING_TYPES:
                raise
            self._unstored.append(event)
            self.kept.append(error)

    def _write_rest(self) -> None:
        # Why: a closing row that the store refused is committed here all the same, and must reach
        # the store before any later row does.
        while self._writer is not None and self._unstored:
            self._writer.append(self._unstored[0])
            self._unstored.pop(0)

    def _take(self, event: SessionEvent) -> None:
        self._events.append(event)
        self._history.add(event)
        data = event.data
        match event.type:
            case "turn/start":
                self.turn, self.open_turn = _number(data.get("turn")), True
            case "turn/end":
                self.open_turn = False
            case "step/start":
                self.open_step = _number(data.get("step"))
            case "step/end":
                self.open_step = None
            case _:
                return

    def _announce(self, event: SessionEvent) -> None:
        self._unannounced.append(event)
        if self._announcing:
            return
        self._announcing = True
        try:
            while self._unannounced:
                self._keep(self._ctx.emit(SESSION_EVENT, self, self._unannounced.pop(0)))
        finally:
            self._announcing = False

    def _keep(self, failures: Sequence[BaseException]) -> None:
        for one in failures:
            if isinstance(one, Exception) and is_violation(one):
                self.kept.append(one)


def _snapshot(kind: object, data: object) -> Any:
    if not isinstance(kind, str) or not kind:
        raise EventDataError(f"an event's type is a name, and not {kind!r:.80}", "INVALID_EVENT")
    if not isinstance(data, Mapping):
        text = f"event {kind!r} cannot be logged: its data is a {type(data).__name__}, no object"
        raise EventDataError(text, "INVALID_EVENT")
    try:
        return freeze_json(data)  # pyright: ignore[reportUnknownArgumentType]  # Why: freeze_json looks at every key and value
    except JsonValueError as error:
        text = f"event {kind!r} cannot be logged: data {error}"
        raise EventDataError(text, "INVALID_EVENT", cause=error) from error


def _number(value: object) -> int:
    return value if type(value) is int else 0
