"""Logs as JSON lines: a header, then one row a line, each handed to the system at once."""

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from dsh_llm import HarnessError

from dsh_agent._events import FORMAT_VERSION, EventDataError, SessionEvent, event_from_row
from dsh_agent._store import OpenedLog, StorageError, locked

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class JsonlStore:
    """Keeps each session in `FOLDER/<id>.jsonl`; ids are quoted where a file name needs it.

    A row survives a crash of the process once it is appended, and a loss of power once the turn
    has ended. One writer a session, by a lock that the system frees with the process.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Use *folder*; it is made when the first session is opened."""
        self.folder = Path(folder)

    def path(self, session_id: str) -> Path:
        """Return the file of *session_id*, whether it exists or not."""
        name = quote(session_id, safe=" @+,=", errors="surrogatepass")
        return self.folder / f"{name}.jsonl"

    def open(self, session_id: str, created: int) -> OpenedLog:
        """Open a log; see `SessionStore.open`."""
        return open_jsonl(self.path(session_id), session_id, created)


class JsonlFile:
    """A store of one log, in the file that is named; for a command line."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Use the file at *path*; its folder is made when needed."""
        self.file = Path(path)

    def path(self, session_id: str) -> Path:  # noqa: ARG002  # Why: the same shape as JsonlStore
        """Return the file."""
        return self.file

    def open(self, session_id: str, created: int) -> OpenedLog:
        """Open the log; see `SessionStore.open`."""
        return open_jsonl(self.file, session_id, created)


def open_jsonl(path: Path, session_id: str, created: int) -> OpenedLog:
    """Open the log in *path* for appending; see `SessionStore.open`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, _FLAGS, 0o600)
    except OSError as error:
        raise _failed("STORAGE_READ_FAILED", session_id, path, error) from error
    writer = _JsonlWriter(fd, path, session_id)
    try:
        _lock(fd, session_id)
        events = tuple(read_jsonl(path))
        _require_contiguous(events)
        writer.begin(created)
    except BaseException:
        writer.close()
        raise
    return OpenedLog(events, writer)


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[SessionEvent]:
    """Yield the events of the log in *path*, one line at a time; an empty file has none.

    Raises:
        StorageError: `STORAGE_READ_FAILED`, also for what is no regular file.
        EventDataError: `INVALID_ROW`, with the line's number, for a line that is no row, and for
            a header of another format version.
    """
    file = Path(path)
    try:
        _require_regular(file)
        with file.open("rb") as lines:
            yield from _events(lines)
    except OSError as error:
        raise _failed("STORAGE_READ_FAILED", file.stem, file, error) from error


def _events(lines: Iterable[bytes]) -> Iterator[SessionEvent]:
    for number, line in enumerate(lines, 1):
        try:
            event = _event(line, header=number == 1)
        except (HarnessError, ValueError, RecursionError) as error:
            text = f"line {number} is no row of a session log: {error}"
            raise EventDataError(text, "INVALID_ROW", cause=error) from error
        if event is not None:
            yield event


class _JsonlWriter:
    """Appends with one write a row; after a failure the file is cut back to its last whole row."""

    def __init__(self, fd: int, path: Path, session_id: str) -> None:
        self._fd: int | None = fd
        self._path = path
        self._session_id = session_id

    def begin(self, created: int) -> None:
        """Write the header of a new log; give the last row of an old one its end."""
        fd = self._open_fd()
        size = os.fstat(fd).st_size
        if not size:
            header = {"type": "session", "version": FORMAT_VERSION, "id": self._session_id}
            self._write(_encoded(header | {"created": created}))
        elif os.pread(fd, 1, size - 1) != b"\n":
            self._write(b"\n")

    def append(self, event: SessionEvent) -> None:
        row = {"seq": event.seq, "time": event.time, "type": event.type, "data": event.data}
        self._write(_encoded(row | {"ignorable": True} if event.ignorable else row))

    def flush(self) -> None:
        try:
            os.fsync(self._open_fd())
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _write(self, line: bytes) -> None:
        fd = self._open_fd()
        try:
            whole = os.fstat(fd).st_size
            _write_all(fd, line, whole)
        except OSError as error:
            raise self._error(error) from error

    def _open_fd(self) -> int:
        if self._fd is None:
            raise self._error(OSError(errno.EBADF, "the log is closed"))
        return self._fd

    def _error(self, error: OSError) -> StorageError:
        full = error.errno in _NO_ROOM
        code = "STORAGE_QUOTA_EXCEEDED" if full else "STORAGE_WRITE_FAILED"
        return _failed(code, self._session_id, self._path, error)


def _encoded(row: Mapping[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:
        # Why: a lone surrogate has no UTF-8 form, but an escape keeps it.
        return f"{json.dumps(row, separators=(',', ':'))}\n".encode()


def _write_all(fd: int, line: bytes, whole: int) -> None:
    try:
        while line:
            line = line[os.write(fd, line) :]
    except BaseException:
        # Why: the next row must not be glued to a torn one.
        with suppress(OSError):
            os.ftruncate(fd, whole)
        raise


def _event(line: bytes, *, header: bool) -> SessionEvent | None:
    row = json.loads(line.decode("utf-8"))
    if not isinstance(row, dict):
        raise EventDataError("it is no object", "INVALID_ROW")
    known = cast("dict[str, Any]", row)
    if not header:
        return event_from_row(known)
    if known.get("type") != "session" or known.get("version") != FORMAT_VERSION:
        text = f"it is not the header of a log of version {FORMAT_VERSION}"
        raise EventDataError(text, "INVALID_ROW")
    return None


def _require_contiguous(events: Sequence[SessionEvent]) -> None:
    for number, event in enumerate(events):
        if event.seq != number:
            text = f"line {number + 2} has seq {event.seq}, expected {number}"
            raise EventDataError(text, "INVALID_ROW")


def _require_regular(file: Path) -> None:
    # Why: reading a pipe or a device may never end.
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def _lock(fd: int, session_id: str) -> None:
    try:
        import fcntl
    except ImportError:
        # Why: a system without flock; there the caller sees to it that a log has one writer.
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise locked(session_id) from error


def _failed(code: str, session_id: str, path: Path, error: Exception) -> StorageError:
    text = f"log of session {session_id!r}: {error}"
    context = {"session": session_id, "path": str(path)}
    return StorageError(text, code, cause=error, context=context)
