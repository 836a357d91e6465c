"""Ranges of the catalogue, and the rows that hosts add to it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast, get_args

from dsh_llm._catalogue import (
    PAGE,
    Disposition,
    ErrorInfo,
    Scope,
    add_rows,
    all_rows,
    error_info,
    get_error_info_by_code,
    remove_rows,
)
from dsh_llm._codes import code_entry, own_prefixes
from dsh_llm._domain_errors import (
    CallerTypeError,
    DuplicateContributionIdError,
    ReservedNamespaceError,
    UnnamespacedIdError,
)
from dsh_llm._errors import HarnessError
from dsh_llm._kernel import Disposer

FIRST_HOST_NUMBER: Final = 100_000
"""Smaller numbers are the catalogue's own."""


def error_range(x: int | None) -> int:
    """Return the range that a number lies in: 5 for 5003, 11 for 11005, 0 for `None`.

    Raises:
        CallerTypeError: `VALIDATION_TYPE_MISMATCH` for a bool, which is no number.
    """
    if isinstance(x, bool):
        raise CallerTypeError(f"{x} is no number of the catalogue")
    return (x or 0) // 1000


def codes_in_range(n: int) -> tuple[ErrorInfo, ...]:
    """Return the rows of range *n*, by number; range 0 has the hosts' rows without a number."""
    return tuple(row for row in all_rows() if row.range == n)


def register_codes(prefix: str, rows: Iterable[ErrorInfo]) -> Disposer:
    """Add a host's *rows* to the catalogue; all of them or, on an error, none.

    Every key and code begins with *prefix* and an underscore (`ACME_NO_SEAT`). A number is
    optional and at least 100000. `docs` leads to the row's own `page`, or nowhere.

    Raises:
        UnnamespacedIdError: `UNNAMESPACED_ID` for a name without the prefix, and for a prefix
            that is not upper-case letters and digits.
        ReservedNamespaceError: `RESERVED_NAMESPACE` for a prefix or a number of dsh's own.
        DuplicateContributionIdError: `DUPLICATE_CONTRIBUTION_ID` for a name or number that is
            taken.
        CallerTypeError: `VALIDATION_TYPE_MISMATCH` for what is not an `ErrorInfo` or has no number,
            for a prefix that is no string, and for rows that are no list.
        HarnessError: `VALIDATION_INVALID_INPUT` for a disposition or a scope that is not known.
    """
    if not isinstance(cast("object", prefix), str) or not isinstance(
        cast("object", rows), Iterable
    ):
        text = f"a prefix and rows, not {type(prefix).__name__} and {type(rows).__name__}"
        raise CallerTypeError(text)
    added = tuple(_homed(row) for row in rows)
    _require_prefix(prefix)
    for row in added:
        _require_sound(row)
        _require_own(row, prefix)
    _require_new(added)
    add_rows(added)
    left = [added]

    def withdraw() -> None:
        while left:
            remove_rows(left.pop())

    return withdraw


def _homed(row: ErrorInfo) -> ErrorInfo:
    given: Any = row
    if not isinstance(given, ErrorInfo):
        raise CallerTypeError(f"a row is an ErrorInfo, not a {type(given).__name__}")
    # Why: our page does not explain a host's row.
    return row._replace(page="") if row.page == PAGE else row


def _require_prefix(prefix: str) -> None:
    if not re.fullmatch(r"[A-Z][A-Z0-9]*", prefix):
        raise UnnamespacedIdError(prefix, "a prefix of upper-case letters and digits")
    if prefix in own_prefixes():
        raise ReservedNamespaceError(prefix, prefix)


def _require_sound(row: ErrorInfo) -> None:
    if row.number is not None and type(row.number) is not int:
        raise CallerTypeError(f"{row.key} has the number {row.number!r}")
    if row.disposition not in get_args(Disposition) or row.scope not in get_args(Scope):
        text = f"{row.key} has the disposition {row.disposition!r} and the scope {row.scope!r}"
        raise HarnessError(text, "VALIDATION_INVALID_INPUT")


def _require_own(row: ErrorInfo, prefix: str) -> None:
    for name in (row.key, *row.codes):
        if not re.fullmatch(rf"{prefix}(_[A-Z0-9]+)+", name):
            raise UnnamespacedIdError(name, f"of the form {prefix}_NAME")
    if row.number is not None and row.number < FIRST_HOST_NUMBER:
        raise ReservedNamespaceError(row.key, f"below {FIRST_HOST_NUMBER}")


def _require_new(rows: Iterable[ErrorInfo]) -> None:
    seen: set[str | int] = set()
    for name in _names(rows):
        if name in seen or _is_taken(name):
            raise DuplicateContributionIdError(name)
        seen.add(name)


def _names(rows: Iterable[ErrorInfo]) -> Iterator[str | int]:
    for row in rows:
        yield from (row.key, *row.codes)
        if row.number is not None:
            yield row.number


def _is_taken(name: str | int) -> bool:
    if isinstance(name, int):
        return get_error_info_by_code(name) is not None
    return (error_info(name) or code_entry(name)) is not None
