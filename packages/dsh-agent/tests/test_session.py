"""The log: an append is snapshot, check, commit, notify; nobody can change what is in it."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from dsh_agent import Agent, EventDataError, MemoryStore, Session, SessionEvent
from dsh_invariants import InvariantError, freeze
from dsh_llm import (
    CLOSING_TYPES,
    SESSION_APPEND,
    SESSION_CLOSED,
    SESSION_CREATED,
    SESSION_EVENT,
    Context,
    LogEvent,
    LogSession,
)
from dsh_llm.testing import FakeClock

MakeAgent = Callable[..., Agent]


def refusing(*kinds: str, error: BaseException) -> Callable[[LogSession, LogEvent], None]:
    """Return a check that vetoes rows of these types."""

    def check(_session: LogSession, event: LogEvent) -> None:
        if event.type in kinds:
            raise error

    return check


def test_an_event_has_number_time_type_and_data() -> None:
    """Events are numbered from 0, and the time is the clock's."""
    clock = FakeClock(5)
    session = Session("s", clock=clock)

    first = session.append("note", {"a": 1})
    clock.advance(2)
    second = session.append("note", {"a": 2}, ignorable=True)

    assert first == SessionEvent(0, 5, "note", first.data)
    assert (second.seq, second.time, second.data["a"], second.ignorable) == (1, 7, 2, True)
    assert session.seq == 2


def test_rows_are_plain_json_that_the_caller_owns() -> None:
    """`to_rows` gives fresh lists and dicts; changing them does not reach the log."""
    session = Session("s", clock=FakeClock(0))
    session.append("note", {"list": [{"x": 1}]})
    session.append("note", {}, ignorable=True)

    rows = session.to_rows()

    assert json.loads(json.dumps(rows)) == rows
    assert rows[0] == {"seq": 0, "time": 0, "type": "note", "data": {"list": [{"x": 1}]}}
    assert rows[1]["ignorable"] is True
    rows[0]["data"]["list"].append("changed")
    assert session.to_rows()[0]["data"] == {"list": [{"x": 1}]}


def test_the_sender_cannot_change_what_it_logged() -> None:
    """The log has a snapshot: later changes of the data, however deep, do not reach it."""
    session = Session("s")
    data: dict[str, Any] = {"a": {"b": [1]}}
    event = session.append("note", data)

    data["a"]["b"].append(2)
    data["new"] = True

    assert event.data == {"a": {"b": (1,)}}
    assert session.events[0].data == {"a": {"b": (1,)}}


def test_no_reader_can_change_the_log() -> None:
    """No public operation of an event, of its data or of the view changes the log."""
    session = Session("s")
    session.append("note", {"a": {"b": [1]}})

    assert freeze(session.events) == []


def test_events_is_a_view_that_grows() -> None:
    """The view shows what is appended later, in every way a sequence is read."""
    session = Session("s")
    events = session.events
    first, second = session.append("a", {}), session.append("b", {})

    assert len(events) == 2
    assert list(events) == [first, second]
    assert (events[0], events[-1], events[0:1]) == (first, second, (first,))
    assert events == [first, second]
    assert events != [first]
    assert events != "ab"
    assert repr(events) == f"View({[first, second]!r})"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"a": [0, {"b": float("nan")}]}, "a[1].b"),
        ({"a": b"bytes"}, "a"),
        ({"a": {1: "key"}}, "a"),
        ({"a": {"b": {1, 2}}}, "a.b"),
        ({"a": float("inf")}, "a"),
        ({"a": object()}, "a"),
    ],
)
def test_data_that_is_not_json_is_refused_with_type_and_place(
    data: Mapping[str, Any], path: str
) -> None:
    """`INVALID_EVENT` names the event's type and the path; nothing is committed."""
    session = Session("s")

    with pytest.raises(EventDataError) as caught:
        session.append("plugin/thing", data)

    assert caught.value.code == "INVALID_EVENT"
    assert "'plugin/thing'" in str(caught.value)
    assert f"data {path} " in str(caught.value)
    assert session.seq == 0


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("acme/x", 5),
        ("acme/x", [1]),
        ("acme/x", None),
        ("acme/x", "s"),
        ("", {}),
        (5, {}),
        (None, {}),
    ],
)
def test_a_row_that_no_store_could_read_back_is_refused(kind: Any, data: Any) -> None:
    """A type that is no name, and data that is no object, are `INVALID_EVENT` at the append."""
    session = Session("s")

    with pytest.raises(EventDataError) as caught:
        session.append(kind, data)

    assert (caught.value.code, session.seq) == ("INVALID_EVENT", 0)


def test_a_cycle_is_refused() -> None:
    """Data that contains itself ends in `INVALID_EVENT`, not in a crash."""
    data: dict[str, Any] = {}
    data["self"] = data

    with pytest.raises(EventDataError) as caught:
        Session("s").append("note", data)

    assert caught.value.code == "INVALID_EVENT"


def test_a_check_sees_the_event_before_it_is_committed() -> None:
    """At the check the event is whole and not in the log; a raise there vetoes it."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    looks: list[tuple[int, str]] = []

    def look(at: LogSession, event: LogEvent) -> None:
        looks.append((len(at.events), event.type))

    ctx.on(SESSION_APPEND, look)
    ctx.on(SESSION_APPEND, refusing("bad", error=ValueError("no")))
    session.append("good", {})
    with pytest.raises(ValueError, match=r"^no$"):
        session.append("bad", {})

    assert looks == [(0, "good"), (1, "bad")]
    assert [event.type for event in session.events] == ["good"]
    assert session.kept == []


def test_a_vetoed_event_is_announced_to_nobody_and_takes_no_number() -> None:
    """After a veto the next event gets the number that the vetoed one would have had."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    told: list[str] = []
    ctx.on(SESSION_EVENT, lambda _, event: told.append(event.type))
    ctx.on(SESSION_APPEND, refusing("bad", error=ValueError("no")))

    with pytest.raises(ValueError, match="no"):
        session.append("bad", {})

    assert session.append("good", {}).seq == 0
    assert told == ["good"]


@pytest.mark.parametrize("kind", sorted(CLOSING_TYPES))
def test_a_veto_cannot_keep_something_open(kind: str) -> None:
    """A row that closes something is committed all the same, and the veto is kept."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    veto = ValueError("no")
    ctx.on(SESSION_APPEND, refusing(kind, error=veto))

    session.append(kind, {})

    assert [event.type for event in session.events] == [kind]
    assert session.kept == [veto]


def test_a_violation_is_kept_besides_being_raised() -> None:
    """A vetoing `InvariantError` reaches the appender and is not lost if that swallows it."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    violation = InvariantError("INV-X-001", "wrong")
    ctx.on(SESSION_APPEND, refusing("bad", error=violation))

    with pytest.raises(InvariantError):
        session.append("bad", {})

    assert session.kept == [violation]


def test_system_exit_in_a_check_leaves_but_does_not_keep_something_open() -> None:
    """What must leave the process passes on; a closing row is committed before."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    ctx.on(SESSION_APPEND, refusing("step/end", "note", error=SystemExit(3)))

    for kind in ("step/end", "note"):
        with pytest.raises(SystemExit):
            session.append(kind, {})

    assert [event.type for event in session.events] == ["step/end"]
    assert session.kept == []


def test_a_raising_listener_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    """A `session/event` listener that raises is reported; the event stands, the others hear."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    told: list[int] = []
    ctx.on(SESSION_EVENT, refusing("note", error=ValueError("listener")))
    ctx.on(SESSION_EVENT, lambda _, event: told.append(event.seq))

    session.append("note", {})

    assert (session.seq, told, session.kept) == (1, [0], [])
    assert "session/event" in caplog.text


def test_a_violation_seen_by_a_listener_is_kept() -> None:
    """What an observer finds after the commit is not lost with the contained raise."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    violation = InvariantError("INV-X-001", "wrong")
    ctx.on(SESSION_EVENT, refusing("note", error=violation))

    session.append("note", {})

    assert session.kept == [violation]


def test_listeners_hear_events_in_the_order_of_the_log() -> None:
    """An append made from inside a listener is legal, and every listener hears it afterwards."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    first: list[str] = []
    last: list[str] = []

    def answer(_session: LogSession, event: LogEvent) -> None:
        first.append(event.type)
        if event.type == "question":
            session.append("answer", {})
            first.append("appended")

    ctx.on(SESSION_EVENT, answer)
    ctx.on(SESSION_EVENT, lambda _, event: last.append(event.type))
    session.append("question", {})

    assert [event.type for event in session.events] == ["question", "answer"]
    assert first == ["question", "appended", "answer"]
    assert last == ["question", "answer"]


def test_an_append_from_inside_a_check_comes_first() -> None:
    """A check may append; the event that it was asked about gets the number after that."""
    ctx = Context()
    session = Session("s", ctx=ctx)

    def note(_session: LogSession, event: LogEvent) -> None:
        if event.type == "main":
            session.append("before", {})

    ctx.on(SESSION_APPEND, note)
    event = session.append("main", {})

    assert event.seq == 1
    assert [(one.seq, one.type) for one in session.events] == [(0, "before"), (1, "main")]


def test_what_a_leaving_listener_missed_is_told_at_the_next_append() -> None:
    """A listener that ends the process does not make the others lose an event."""
    ctx = Context()
    session = Session("s", ctx=ctx)
    told: list[int] = []

    def leave(_session: LogSession, event: LogEvent) -> None:
        if event.type == "first":
            session.append("second", {})
            raise SystemExit

    ctx.on(SESSION_EVENT, leave)
    ctx.on(SESSION_EVENT, lambda _, event: told.append(event.seq))
    with pytest.raises(SystemExit):
        session.append("first", {})
    session.append("third", {})

    assert told == [1, 2]


def test_open_turn_and_step_are_read_from_the_log() -> None:
    """Turn and step follow the rows, also rows with numbers that are none."""
    session = Session("s")
    states: list[tuple[int, bool, int | None]] = []
    for kind, data in [
        ("turn/start", {"turn": 1}),
        ("step/start", {"turn": 1, "step": 1}),
        ("note", {}),
        ("step/end", {"turn": 1, "step": 1}),
        ("turn/end", {"turn": 1}),
        ("turn/start", {"turn": True}),
    ]:
        session.append(kind, data)
        states.append((session.turn, session.open_turn, session.open_step))

    assert states == [
        (1, True, None),
        (1, True, 1),
        (1, True, 1),
        (1, True, None),
        (1, False, None),
        (0, True, None),
    ]


def test_a_session_announces_itself_and_its_end() -> None:
    """Observers hear of a session with what it was seeded with, and of its closing."""
    ctx = Context()
    told: list[tuple[str, int]] = []
    ctx.on(SESSION_CREATED, lambda session: told.append((session.id, len(session.events))))
    ctx.on(SESSION_CLOSED, lambda session: told.append(("closed", len(session.events))))
    store = MemoryStore()
    first = Session("s", ctx=ctx, log=store.open("s", 0))
    first.append("note", {})
    first.close()
    again = Session("s", ctx=ctx, log=store.open("s", 0))
    again.close()

    assert told == [("s", 0), ("closed", 1), ("s", 1), ("closed", 1)]
    assert again.events == first.events


def test_a_seeded_session_is_the_same_log() -> None:
    """Continuing a log gives the same events, the same history and the same next number."""
    store = MemoryStore()
    first = Session("s", log=store.open("s", 0))
    content = [{"type": "text", "text": "hi"}]
    first.append("user/message", {"turn": 1, "content": content, "source": {"kind": "user"}})
    first.close()

    again = Session("s", log=store.open("s", 0))

    assert again.to_rows() == first.to_rows()
    assert again.derive_messages() == first.derive_messages()
    assert again.seq == first.seq == 1


def test_a_session_without_a_store_has_nothing_to_flush() -> None:
    """It can be flushed and closed like any other, and goes on in memory."""
    session = Session("s")
    session.flush()
    session.close()

    assert session.append("note", {}).seq == 0
    assert session.kept == []


def test_events_survive_copying() -> None:
    """A copy of the view's events is equal, and as immutable."""
    session = Session("s")
    session.append("note", {"a": [1]})

    copied = copy.deepcopy(list(session.events))

    assert copied == list(session.events)


def test_a_log_of_an_agent_is_frozen(make_agent: MakeAgent) -> None:
    """Also what an agent logs, chunks and results included, cannot be changed."""
    agent = make_agent(["not a script entry is needed"][:0])
    agent.session.append("context/message", {"content": [], "source": {"kind": "user"}})

    assert freeze(agent.session.events) == []
