"""Logs as JSON lines: what is acknowledged is in the file, what is no row is refused by line."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from dsh_agent import EventDataError, JsonlFile, JsonlStore, Session, StorageError, read_jsonl
from dsh_llm import HarnessError
from hypothesis import example, given
from hypothesis import strategies as st

HEADER = {"type": "session", "version": 1, "id": "s", "created": 0}
ROW: dict[str, Any] = {"seq": 0, "time": 0, "type": "note", "data": {}}


def write(path: Path, *lines: object) -> Path:
    """Write a log file of these rows, or texts, or bytes."""
    encoded = [
        line if isinstance(line, bytes) else f"{json.dumps(line)}\n".encode() for line in lines
    ]
    path.write_bytes(b"".join(encoded))
    return path


def refusal(path: Path) -> EventDataError:
    """Return the error of reading a file; opening it fails in the same way."""
    with pytest.raises(EventDataError) as reading:
        list(read_jsonl(path))
    with pytest.raises(EventDataError) as opening:
        JsonlFile(path).open("s", 0)
    assert str(opening.value) == str(reading.value)
    assert reading.value.code == "INVALID_ROW"
    return reading.value


# -- round trips ---------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=[])).map(
    # Why: two halves of one character that stand side by side are that character in JSON.
    lambda text: (
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if len(text) > 1
        else text
    )
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
JSON = st.recursive(
    SCALARS.filter(lambda one: one not in {float("inf"), float("-inf")}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ROWS = st.tuples(TEXTS.filter(bool), st.dictionaries(TEXTS, JSON, max_size=3), st.booleans())


@given(st.lists(ROWS, max_size=5))
@example([("\ud800", {"\udfff": "\ud800 lone"}, False)])
@example([("note", {"a": "\n\r\u2028\x85\x00"}, True)])
@example([("note", {"big": 2**4000, "float": 1e308, "zero": -0.0}, False)])
def test_what_is_appended_is_what_is_read(rows: list[tuple[str, dict[str, Any], bool]]) -> None:
    """Any event goes through a real file unchanged: every character, every number."""
    with tempfile.TemporaryDirectory() as folder:
        store = JsonlStore(folder)
        session = Session("s", log=store.open("s", 0))
        for kind, data, ignorable in rows:
            session.append(kind, data, ignorable=ignorable)
        written = list(read_jsonl(store.path("s")))
        session.close()
        again = store.open("s", 0)
        again.writer.close()

    assert written == list(session.events)
    assert list(again.events) == written


def test_the_file_has_a_header_and_a_row_a_line(tmp_path: Path) -> None:
    """The first line says what it is; a row is compact JSON, readable by anybody."""
    store = JsonlStore(tmp_path / "made" / "when needed")
    session = Session("s", log=store.open("s", 17), clock=lambda: 5)
    session.append("note", {"text": "é"})
    session.close()

    header, row = store.path("s").read_text("utf-8").splitlines()
    assert json.loads(header) == {"type": "session", "version": 1, "id": "s", "created": 17}
    assert row == '{"seq":0,"time":5,"type":"note","data":{"text":"é"}}'
    assert store.path("s").stat().st_mode & 0o777 == 0o600


def test_a_log_grows_where_it_ended(tmp_path: Path) -> None:
    """Opening again adds no second header, and goes on with the next number."""
    store = JsonlStore(tmp_path)
    for _ in range(3):
        session = Session("s", log=store.open("s", 0))
        session.append("note", {})
        session.close()

    assert [event.seq for event in read_jsonl(store.path("s"))] == [0, 1, 2]


def test_a_file_has_each_row_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    """Nothing is buffered: another reader sees the row before anything is flushed or closed."""
    store = JsonlStore(tmp_path)
    session = Session("s", log=store.open("s", 0))
    event = session.append("note", {"x": 1})

    assert list(read_jsonl(store.path("s"))) == [event]
    session.close()


def test_a_huge_row_is_one_row(tmp_path: Path) -> None:
    """Ten megabytes in a row are written and read like any other."""
    store = JsonlStore(tmp_path)
    session = Session("s", log=store.open("s", 0))
    session.append("note", {"text": "x" * 10_000_000})
    session.append("note", {})
    session.close()

    assert list(read_jsonl(store.path("s"))) == list(session.events)


@pytest.mark.parametrize(
    "session_id",
    ["..", ".", "../../etc/passwd", "a/b", "/abs", "nul\0", "ü 中文", "\ud800", "%2F", "a\\b", "~"],
)
def test_no_id_leaves_the_folder(tmp_path: Path, session_id: str) -> None:
    """Whatever an id holds, its file is in the folder, and no two ids share one."""
    store = JsonlStore(tmp_path)
    session = Session(session_id, log=store.open(session_id, 0))
    session.append("note", {})
    session.close()

    assert store.path(session_id).parent == tmp_path
    assert [path.parent for path in tmp_path.rglob("*")] == [tmp_path]
    assert len({store.path(one) for one in (session_id, "a-b", "..x", "%252F")}) == 4


def test_one_log_in_a_named_file(tmp_path: Path) -> None:
    """`JsonlFile` keeps the session in exactly this file, whatever its id."""
    store = JsonlFile(tmp_path / "deep" / "my.log")
    session = Session("any/id", log=store.open("any/id", 0))
    session.append("note", {})
    session.close()

    assert store.path("any/id") == tmp_path / "deep" / "my.log"
    assert len(list(read_jsonl(store.path("")))) == 1


# -- what is no log ------------------------------------------------------------------------------


def test_an_empty_file_is_an_empty_log(tmp_path: Path) -> None:
    """An empty file has no events, and becomes a log when it is opened."""
    path = write(tmp_path / "s.jsonl")

    assert list(read_jsonl(path)) == []
    JsonlFile(path).open("s", 0).writer.close()
    assert json.loads(path.read_text("utf-8"))["type"] == "session"


@pytest.mark.parametrize(
    "line",
    [
        b'{"seq":1,"ti',
        b"\n",
        b"garbage\n",
        b"\x00\x01\xff\xfe\n",
        b'"text"\n',
        b"[]\n",
        b"null\n",
        b'{"seq":1,"time":0,"type":"n","data":{"x":NaN}}\n',
        b'{"seq":1,"time":0,"type":"n","data":' + b"[" * 100_000 + b"\n",
        b'{"seq":1,"time":0,"type":"n","data":{"x":' + b"9" * 5_000 + b"}}\n",
        '{"seq":1,"time":0,"type":"ü'.encode()[:-1],
        b'{"time":0,"type":"n","data":{}}\n',
        b'{"seq":true,"time":0,"type":"n","data":{}}\n',
        b'{"seq":1,"time":0.5,"type":"n","data":{}}\n',
        b'{"seq":1,"time":0,"type":5,"data":{}}\n',
        b'{"seq":1,"time":0,"type":"n"}\n',
        b'{"seq":1,"time":0,"type":"n","data":[]}\n',
    ],
    ids=lambda line: repr(line[:44]),
)
def test_a_line_that_is_no_row_is_refused_by_number(tmp_path: Path, line: bytes) -> None:
    """Torn, garbage, binary, too deep, too big, mistyped: `INVALID_ROW` names the line."""
    path = write(tmp_path / "s.jsonl", HEADER, ROW, line)

    assert str(refusal(path)).startswith("line 3 is no row of a session log: ")


def test_rows_before_a_bad_line_are_read(tmp_path: Path) -> None:
    """Reading goes on until the line that is no row."""
    path = write(tmp_path / "s.jsonl", HEADER, ROW, b"torn")
    events = read_jsonl(path)

    assert next(events).seq == 0
    with pytest.raises(EventDataError):
        next(events)


@pytest.mark.parametrize("header", [ROW, {}, HEADER | {"version": 2}, HEADER | {"version": "1"}])
def test_a_file_without_our_header_is_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    """Another file, or another version of the format, is said to be one, on line 1."""
    text = str(refusal(write(tmp_path / "s.jsonl", header)))

    assert "line 1" in text
    assert "header of a log of version 1" in text


def test_a_last_row_that_only_lacks_its_end_is_kept(tmp_path: Path) -> None:
    """A row that is whole but for its newline is read, and the next is not glued to it."""
    path = write(tmp_path / "s.jsonl", HEADER, json.dumps(ROW).encode())
    session = Session("s", log=JsonlFile(path).open("s", 0))
    session.append("note", {})
    session.close()

    assert [event.seq for event in read_jsonl(path)] == [0, 1]


def test_rows_in_a_wrong_order_are_read_but_not_continued(tmp_path: Path) -> None:
    """A checker can read a log with a gap; nobody can append to it."""
    path = write(tmp_path / "s.jsonl", HEADER, ROW, ROW | {"seq": 5})

    assert [event.seq for event in read_jsonl(path)] == [0, 5]
    with pytest.raises(EventDataError, match="line 3 has seq 5, expected 1") as caught:
        JsonlFile(path).open("s", 0)
    assert caught.value.code == "INVALID_ROW"


def test_a_refused_file_is_not_held(tmp_path: Path) -> None:
    """A log that could not be opened can be opened when it has been mended."""
    path = write(tmp_path / "s.jsonl", HEADER, b"torn")
    refusal(path)

    write(path, HEADER, ROW)
    opened = JsonlFile(path).open("s", 0)

    assert len(opened.events) == 1
    opened.writer.close()


# -- what the system refuses ---------------------------------------------------------------------


def test_a_missing_file_is_a_coded_error(tmp_path: Path) -> None:
    """Reading what is not there is `STORAGE_READ_FAILED` with path and cause."""
    path = tmp_path / "missing.jsonl"

    with pytest.raises(StorageError, match="missing") as caught:
        list(read_jsonl(path))

    assert caught.value.code == "STORAGE_READ_FAILED"
    assert isinstance(caught.value.cause, FileNotFoundError)
    assert caught.value.context == {"session": "missing", "path": str(path)}


def test_a_folder_that_cannot_be_made_is_a_coded_error(tmp_path: Path) -> None:
    """A store below a file cannot be opened, and says so."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError) as caught:
        JsonlStore(tmp_path / "file" / "folder").open("s", 0)
    assert caught.value.code == "STORAGE_READ_FAILED"
    with pytest.raises(StorageError, match="File name too long"):
        JsonlStore(tmp_path).open("x" * 300, 0)


def test_a_pipe_or_a_device_is_no_log(tmp_path: Path) -> None:
    """What may never end is not read."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(StorageError) as caught:
            list(read_jsonl(path))
        assert caught.value.code == "STORAGE_READ_FAILED"
        with pytest.raises(StorageError):
            JsonlFile(path).open("s", 0)


LIMITED = """
import errno, json, resource, sys
from dsh_agent import JsonlFile, Session, StorageError
path, first = sys.argv[1], json.loads(sys.argv[2])
session = Session("s", log=JsonlFile(path).open("s", 0), clock=lambda: 0)
session.append("turn/start", {"turn": 1})
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
size = __import__("os").path.getsize(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, hard))
try:
    session.append("user/message", {"text": "x" * 1000})
except StorageError as error:
    print(error.code, errno.errorcode[error.cause.errno])
session.append("error", {"text": "x" * 1000})
session.append("turn/end", {"turn": 1})
print(len(session.kept), open(path).read().count("\\n"))
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
session.append("turn/start", {"turn": 2})
session.flush()
print(len(session.kept))
"""


def test_a_disk_that_fills_up_loses_no_closing_row(tmp_path: Path) -> None:
    """A write cut short by the system leaves no torn row; what closed the turn is written later."""
    path = tmp_path / "s.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path, "[]"], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == ["STORAGE_WRITE_FAILED EFBIG", "2 2", "2"]
    assert [event.type for event in read_jsonl(path)] == [
        "turn/start",
        "error",
        "turn/end",
        "turn/start",
    ]


FULL = """
import errno, os, sys, tempfile
from dsh_agent import JsonlFile, StorageError
target = sys.argv[1]
writer = JsonlFile(target).open("s", 0).writer
full = os.open("/dev/full", os.O_WRONLY)
(fd,) = [int(n) for n in os.listdir("/proc/self/fd")
         if os.path.exists(f"/proc/self/fd/{n}") and os.path.samefile(f"/proc/self/fd/{n}", target)]
os.dup2(full, fd)
from dsh_agent import Session
event = Session("x").append("note", {})
for work in (lambda: writer.append(event), writer.flush):
    try:
        work()
    except StorageError as error:
        print(error.code, error.cause.errno == errno.ENOSPC)
"""


def test_a_full_disk_has_its_own_code(tmp_path: Path) -> None:
    """No room is `STORAGE_QUOTA_EXCEEDED`; a device that cannot be flushed is a failed write."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "s.jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [
        "STORAGE_QUOTA_EXCEEDED True",
        "STORAGE_WRITE_FAILED False",
    ]


# -- one writer ----------------------------------------------------------------------------------

APPENDING = """
import sys
from dsh_agent import JsonlStore, Session
session = Session("s", log=JsonlStore(sys.argv[1]).open("s", 0))
number = 0
while True:
    session.append("note", {"number": number, "text": "x" * 200})
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    number += 1
"""


def test_every_acknowledged_row_survives_the_death_of_its_writer(tmp_path: Path) -> None:
    """After kill -9 in mid-append the lock is free, and each row that was acknowledged is there."""
    store = JsonlStore(tmp_path)
    writer = subprocess.Popen(
        [sys.executable, "-c", APPENDING, tmp_path], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer.stdout as acknowledged:
        for _ in range(49):
            acknowledged.readline()
        last = acknowledged.readline()
        with pytest.raises(HarnessError) as caught:
            store.open("s", 0)
        writer.send_signal(signal.SIGKILL)
        last = [last, *acknowledged.read().splitlines()][-1]
    assert writer.wait() == -signal.SIGKILL
    assert caught.value.code == "SESSION_LOCKED"

    again = store.open("s", 0)
    numbers = [event.data["number"] for event in again.events]
    again.writer.close()

    assert numbers[: int(last) + 1] == list(range(int(last) + 1))
    assert len(numbers) - int(last) in {1, 2}


WITHOUT_LOCKS = """
import sys
sys.modules["fcntl"] = None
from dsh_agent import JsonlStore
store = JsonlStore(sys.argv[1])
first, second = store.open("s", 0), store.open("s", 0)
print("both open")
"""


def test_a_system_without_locks_still_has_logs(tmp_path: Path) -> None:
    """Where there is no flock the store works; one writer is then the caller's care."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS, tmp_path], capture_output=True, text=True, check=True
    )

    assert done.stdout == "both open\n"
