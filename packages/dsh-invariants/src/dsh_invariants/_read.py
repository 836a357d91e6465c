"""Rows from a file or from anywhere; what cannot be read is reported, and reading goes on."""

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, cast

from dsh_llm import HarnessError, SystemCallError

Source: TypeAlias = "Iterable[Mapping[str, Any]] | str | os.PathLike[str]"

FORMAT_VERSION: Final = 1
"""Newest version of the log's format that is known here."""

ROW_READABLE: Final = "INV-ROW-001"  # each line of a log is a JSON object
ROW_COMPLETE: Final = "INV-ROW-002"  # each row has a number, a type, and an object as data
HEADER_READABLE: Final = "INV-ROW-003"  # a file begins with a header of a known version


class Fault(NamedTuple):
    """Why something cannot be read as a row."""

    rule: str
    message: str


class Row(NamedTuple):
    """A row, as far as it could be read; it satisfies `dsh_llm.LogEvent`."""

    seq: int
    time: int
    type: str
    data: Mapping[str, Any]


class Reading(NamedTuple):
    """What one line or item gave: faults, and the row unless it was a header.

    In place of an unreadable row stands one with the number that it should have, so that the rows
    after it are judged as if it had been good.
    """

    seq: int
    faults: tuple[Fault, ...]
    row: Row | None


class Dialect(NamedTuple):
    """How a family of logs spells what the rules read."""

    renamed: Mapping[str, str]
    """Keys of a row's data, and what they are called here."""
    version: int | None
    """Newest known version of its header, `None` when any header will do."""


DSH_LOGS: Final = Dialect({}, FORMAT_VERSION)
REFERENCE_LOGS: Final = Dialect({"callId": "call_id", "isError": "is_error"}, None)


class _Broken(NamedTuple):
    problem: str


_Items: TypeAlias = Iterator[tuple[str, object]]


def read(source: Source, dialect: Dialect = DSH_LOGS) -> Iterator[Reading]:
    """Yield what is in *source*, in constant memory. A file has to begin with a header.

    Raises:
        HarnessError: `SESSION_NOT_FOUND` when there is no such file.
        SystemCallError: The errno's code when the file cannot be read; `EINVAL` for a pipe or a
            device, which may never end.
    """
    in_file = isinstance(source, (str, os.PathLike))
    items = _lines(Path(source)) if in_file else _numbered(source)
    first = next(items, None)
    header = _header(first[1]) if first else None
    if header is not None:
        yield from _header_faults(header, dialect)
    elif in_file and first is not None and isinstance(first[1], _Broken):
        # Why: the first line of a file is its header, so no row is missing.
        yield _fault(ROW_READABLE, f"{first[0]} {first[1].problem}")
    else:
        if in_file:
            yield _fault(HEADER_READABLE, "the file does not begin with a header")
        items = chain([first] if first else (), items)
    expected = 0
    for where, item in items:
        reading = _reading(where, item, expected, dialect)
        expected = reading.seq + 1
        yield reading


def _header(item: object) -> Mapping[str, Any] | None:
    """Return *item* if it is a header: of type `session`, and no numbered row."""
    if not isinstance(item, (dict, Mapping)):
        return None
    row = cast("Mapping[str, Any]", item)
    return row if row.get("type") == "session" and "seq" not in row else None


def _header_faults(header: Mapping[str, Any], dialect: Dialect) -> Iterator[Reading]:
    version = header.get("version")
    if not isinstance(header.get("id"), str):
        yield _fault(HEADER_READABLE, "the header has no session id")
    if dialect.version is None:
        return
    if type(version) is not int:
        yield _fault(HEADER_READABLE, "the header has no version number")
    elif version > dialect.version:
        text = f"the header's version {version} is newer than {dialect.version}, the last known"
        yield _fault(HEADER_READABLE, text)


def _fault(rule: str, message: str) -> Reading:
    return Reading(0, (Fault(rule, message),), None)


def _reading(where: str, item: object, expected: int, dialect: Dialect) -> Reading:
    if not isinstance(item, (dict, Mapping)):
        problem = item.problem if isinstance(item, _Broken) else "is no JSON object"
        return _unread(expected, Fault(ROW_READABLE, f"{where} {problem}"))
    raw = cast("Mapping[str, Any]", item)
    seq = raw["seq"] if type(raw.get("seq")) is int else expected
    missing = [what for key, good, what in _KEYS if not good(raw.get(key))]
    faults = tuple(Fault(ROW_COMPLETE, f"{where} has no {what}") for what in missing)
    if not _is_type(raw.get("type")) or not _is_object(raw.get("data")):
        return _unread(seq, *faults)
    data = _renamed(raw["data"], dialect.renamed)
    return Reading(seq, faults, Row(seq, cast("int", raw.get("time")), raw["type"], data))


def _unread(seq: int, *faults: Fault) -> Reading:
    return Reading(seq, faults, Row(seq, 0, "", {}))


def _renamed(data: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    return {names.get(key, key): value for key, value in data.items()} if names else data


def _is_number(value: object) -> bool:
    return type(value) is int


def _is_type(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_object(value: object) -> bool:
    return isinstance(value, (dict, Mapping))


_KEYS: Final = (
    ("seq", _is_number, "number 'seq'"),
    ("type", _is_type, "string 'type'"),
    ("data", _is_object, "object 'data'"),
)


def _numbered(items: Iterable[object]) -> _Items:
    return ((f"item {n}", item) for n, item in enumerate(items))


def _lines(path: Path) -> _Items:
    """Yield the lines that are not blank, parsed; the last one may be torn."""
    held: str | None = None
    begun = False
    for number, line in enumerate(_raw_lines(path), 1):
        if not line.strip():
            continue
        if held is not None:
            yield held, _Broken("is not JSON")
        item = _parsed(line)
        held = f"line {number}" if item is _UNPARSED else None
        begun = line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}")
        if held is None:
            yield f"line {number}", item
    if held is not None:
        torn = "is torn: the log stops in the middle of a row"
        yield held, _Broken(torn if begun else "is not JSON")


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        _require_regular(path)
        with path.open("rb") as file:
            yield from file
    except (FileNotFoundError, ValueError) as error:
        # Why: a path with a NUL in it is a ValueError, and names no file either.
        raise HarnessError(f"no log at {str(path)!r}", "SESSION_NOT_FOUND", cause=error) from error
    except OSError as error:
        raise SystemCallError(error) from error


def _require_regular(path: Path) -> None:
    # Why: a pipe or a device may never end.
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


_UNPARSED: Final = object()


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _UNPARSED


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
