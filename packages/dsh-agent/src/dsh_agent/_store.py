"""Where logs are kept: the seam, and the store that keeps them in memory."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from dsh_llm import HarnessError

from dsh_agent._events import SessionEvent


class StorageError(HarnessError, OSError):
    """A log could not be written or read; the session id is in the context.

    Codes: `STORAGE_WRITE_FAILED`, `STORAGE_READ_FAILED`, `STORAGE_QUOTA_EXCEEDED` (no room).
    """


class LogWriter(Protocol):
    """One session's log, open for appending."""

    def append(self, event: SessionEvent) -> None:
        """Hand *event* to the store; when it returns, a crash of the process loses nothing.

        Raises:
            StorageError: The event is not kept, and the log is as it was before.
        """
        ...

    def flush(self) -> None:
        """Make everything survive a loss of power, as far as the store can.

        Raises:
            StorageError: It may not survive.
        """
        ...

    def close(self) -> None:
        """Give the log back; further calls do nothing. Later appends raise `StorageError`."""
        ...


class OpenedLog(NamedTuple):
    """A log as its store has it: what is in it, and the means to append."""

    events: Sequence[SessionEvent]
    writer: LogWriter


class SessionStore(Protocol):
    """Keeps session logs; one writer a session."""

    def open(self, session_id: str, created: int) -> OpenedLog:
        """Open the log of *session_id*, new (with *created*, epoch ms, in its header) or old.

        Raises:
            StorageError: It cannot be read or made.
            HarnessError: `SESSION_LOCKED` when another writer has it.
            EventDataError: `INVALID_ROW` when it holds what is no log.
        """
        ...


class MemoryStore:
    """Keeps logs as long as the process lives; sessions of one store can be opened again."""

    def __init__(self) -> None:
        """Start empty."""
        self._logs: dict[str, list[SessionEvent]] = {}
        self._writing: set[str] = set()

    def open(self, session_id: str, created: int) -> OpenedLog:  # noqa: ARG002  # Why: the seam's signature
        """Open a log; see `SessionStore.open`."""
        if session_id in self._writing:
            raise locked(session_id)
        self._writing.add(session_id)
        log = self._logs.setdefault(session_id, [])
        return OpenedLog(tuple(log), _MemoryWriter(log, lambda: self._writing.discard(session_id)))


class _MemoryWriter:
    def __init__(self, log: list[SessionEvent], release: Callable[[], None]) -> None:
        self._log = log
        self._release = release
        self._closed = False

    def append(self, event: SessionEvent) -> None:
        if self._closed:
            # Why: another writer may have the log by now.
            raise StorageError("the log is closed", "STORAGE_WRITE_FAILED")
        self._log.append(event)

    def flush(self) -> None:
        return

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._release()


def locked(session_id: str) -> HarnessError:
    """Return the error of a session that has a writer already."""
    text = f"session {session_id!r} is open for writing elsewhere"
    return HarnessError(text, "SESSION_LOCKED", context={"session": session_id})
