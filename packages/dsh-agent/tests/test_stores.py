"""Where logs are kept: one writer each, opened again as they were left."""

from pathlib import Path

import pytest
from dsh_agent import (
    EventDataError,
    JsonlStore,
    MemoryStore,
    OpenedLog,
    Session,
    SessionEvent,
    SessionStore,
    StorageError,
)
from dsh_llm import HarnessError


@pytest.fixture(params=["memory", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    """Return each store that this package ships."""
    return MemoryStore() if request.param == "memory" else JsonlStore(tmp_path)


def test_a_log_is_opened_as_it_was_left(store: SessionStore) -> None:
    """Events, numbers, times and flags are the same after opening again."""
    session = Session("s", log=store.open("s", 1))
    session.append("note", {"a": [1, {"b": None}]})
    session.append("other", {}, ignorable=True)
    session.close()

    again = store.open("s", 2)

    assert list(again.events) == list(session.events)
    again.writer.close()


def test_a_log_has_one_writer(store: SessionStore) -> None:
    """A second writer is refused with `SESSION_LOCKED` until the first closes."""
    first = store.open("s", 0)

    with pytest.raises(HarnessError, match="'s'") as caught:
        store.open("s", 0)
    assert (caught.value.code, caught.value.context) == ("SESSION_LOCKED", {"session": "s"})
    other = store.open("another", 0)
    first.writer.close()
    again = store.open("s", 0)

    for opened in (other, again):
        opened.writer.close()


def test_a_closed_writer_takes_nothing(store: SessionStore) -> None:
    """After `close` an append is a `StorageError`, and closing again does nothing."""
    first = store.open("s", 0)
    first.writer.close()
    second = store.open("s", 0)
    first.writer.close()

    with pytest.raises(StorageError) as caught:
        first.writer.append(SessionEvent(0, 0, "note", Session("x").append("note", {}).data))
    assert caught.value.code == "STORAGE_WRITE_FAILED"
    with pytest.raises(HarnessError, match="open for writing"):
        store.open("s", 0)
    second.writer.close()


def test_appending_to_a_closed_session(store: SessionStore) -> None:
    """A late row is refused; a late closing row stays in memory, and the failure is kept."""
    session = Session("s", log=store.open("s", 0))
    session.close()

    with pytest.raises(StorageError):
        session.append("note", {})
    session.append("turn/end", {"turn": 1})

    assert [event.type for event in session.events] == ["turn/end"]
    assert [type(error) for error in session.kept] == [StorageError]


class Moody:
    """A store whose writer refuses while `broken` is set, with whatever error that is."""

    def __init__(self) -> None:
        self.broken: Exception | None = None
        self.rows: list[int] = []

    def open(self, session_id: str, created: int) -> OpenedLog:  # noqa: ARG002  # Why: the seam
        return OpenedLog((), self)

    def append(self, event: SessionEvent) -> None:
        self._work()
        self.rows.append(event.seq)

    def flush(self) -> None:
        self._work()

    def close(self) -> None:
        return

    def _work(self) -> None:
        if self.broken is not None:
            raise self.broken


@pytest.mark.parametrize("error", [StorageError("full", "STORAGE_WRITE_FAILED"), ValueError("bug")])
def test_closing_rows_reach_the_store_later_and_in_order(error: Exception) -> None:
    """Rows that the store refuses are not committed; those that close something come later."""
    store = Moody()
    session = Session("s", log=store.open("s", 0))
    session.append("turn/start", {"turn": 1})
    store.broken = error
    session.append("tool/result", {})
    session.append("step/end", {})
    with pytest.raises(type(error)):
        session.append("note", {})
    store.broken = None
    session.append("turn/end", {"turn": 1})

    assert [event.type for event in session.events] == [
        "turn/start",
        "tool/result",
        "step/end",
        "turn/end",
    ]
    assert store.rows == [0, 1, 2, 3]
    assert session.kept == [error, error]


def test_a_flush_writes_what_is_left_and_keeps_its_failure() -> None:
    """`flush` never raises; it and `close` try the rows again that the store has refused."""
    store = Moody()
    session = Session("s", log=store.open("s", 0))
    store.broken = StorageError("full", "STORAGE_WRITE_FAILED")
    session.append("turn/end", {"turn": 1})
    session.flush()
    session.close()
    assert len(session.kept) == 4
    store.broken = None
    session.flush()
    session.close()

    assert store.rows == [0]
    assert len(session.kept) == 4


def test_an_error_of_storage_is_an_error_of_the_system() -> None:
    """Old `except OSError` clauses still match, and the text is the message alone."""
    error = StorageError("log is gone", "STORAGE_READ_FAILED")

    assert isinstance(error, OSError)
    assert str(error) == "log is gone"
    assert isinstance(EventDataError("x", "INVALID_ROW"), ValueError)
