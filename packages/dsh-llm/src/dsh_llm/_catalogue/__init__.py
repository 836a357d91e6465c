"""The numbered catalogue of failures: ours, and the rows that hosts have added."""

import errno
from collections.abc import Sequence
from typing import Final, cast

from dsh_llm._catalogue._info import PAGE, Disposition, ErrorInfo, Scope
from dsh_llm._catalogue._keys import ErrorCode
from dsh_llm._catalogue._rows import ROWS

__all__ = [
    "PAGE",
    "ROWS",
    "Disposition",
    "ErrorCode",
    "ErrorInfo",
    "Scope",
    "add_rows",
    "all_rows",
    "error_info",
    "get_error_info",
    "get_error_info_by_code",
    "remove_rows",
]

_ERRNO_NAMES: Final = frozenset(errno.errorcode.values())
_BY_NUMBER: Final[dict[int, ErrorInfo]] = {}
_BY_KEY: Final[dict[str, ErrorInfo]] = {}
_BY_CODE: Final[dict[str, ErrorInfo]] = {}


def error_info(x: str | int, *, seam: str | None = None) -> ErrorInfo | None:
    """Return the row that *x* (a key, a code or a number) means, or `None`.

    What an errno's name (`ENOENT`, `ERRNO_999`) means depends on where it was met: at the *seam*
    `tool` it is a tool whose execution failed (1003), elsewhere it has no row. Total: what can be
    neither a name nor a number has no row.
    """
    if not isinstance(x, str):
        return get_error_info_by_code(x)
    if seam == "tool" and (x in _ERRNO_NAMES or x.startswith("ERRNO_")):
        return _BY_KEY["TOOL_EXECUTION_FAILED"]
    return _BY_CODE.get(x)


def get_error_info(key: str) -> ErrorInfo | None:
    """Return the row whose key is exactly *key*, or `None`."""
    return _BY_KEY.get(key) if isinstance(cast("object", key), str) else None


def get_error_info_by_code(number: int) -> ErrorInfo | None:
    """Return the row with exactly this *number*, or `None`; a bool is no number."""
    return _BY_NUMBER.get(number) if type(number) is int else None


def all_rows() -> tuple[ErrorInfo, ...]:
    """Return every row, by number; those without one come last, by key."""
    return tuple(sorted(_BY_KEY.values(), key=lambda row: (row.number or _LAST, row.key)))


def add_rows(rows: Sequence[ErrorInfo]) -> None:
    """Add *rows*; the caller has seen to it that nothing in them is taken."""
    for row in rows:
        _BY_KEY[row.key] = row
        _BY_CODE.update(dict.fromkeys((row.key, *row.codes), row))
        if row.number is not None:
            _BY_NUMBER[row.number] = row


def remove_rows(rows: Sequence[ErrorInfo]) -> None:
    """Take *rows*, which were added, out again."""
    for row in rows:
        del _BY_KEY[row.key]
        for code in (row.key, *row.codes):
            del _BY_CODE[code]
        if row.number is not None:
            del _BY_NUMBER[row.number]


_LAST: Final = float("inf")
add_rows(ROWS)
