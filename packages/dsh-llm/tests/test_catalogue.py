"""The catalogue: its rows agree with themselves, and every way to ask gives the same row."""

import re
from pathlib import Path
from typing import Any

import pytest
from dsh_llm import (
    CallerTypeError,
    ErrorCode,
    ErrorInfo,
    HarnessCodedError,
    codes_in_range,
    error_info,
    error_range,
    get_error_info,
    get_error_info_by_code,
)

RANGES = {
    1: "TOOL",
    2: "SESSION",
    3: "SYNC",
    4: "STORAGE",
    5: "PROVIDER",
    6: "CHECKPOINT",
    7: "VALIDATION",
    8: "INTERRUPT",
    9: "JOB",
    10: "CALLER",
    11: "RUNTIME",
}

DISPOSITIONS = {"retry", "once", "after", "stop", "outcome"}
SCOPES = {"call", "step", "turn", "session", "account"}
SNAPSHOT = Path(__file__).parent / "catalogue.snapshot"
ROWS = [row for n in range(1000, 12000) if (row := get_error_info_by_code(n))]

CODES = {
    "UNKNOWN_TOOL": 1001,
    "NETWORK_ERROR": 11001,
    "SERVICE_UNAVAILABLE": 11002,
    "STREAM_ERROR": 5006,
    "NO_MODEL": 5001,
    "MISSING_EXTRA": 5001,
    "UNKNOWN_MODEL": 5004,
    "INVALID_TOOL": 7001,
    "DUPLICATE_TOOL": 7001,
    "NOT_JSON": 7003,
    "INVALID_ARGS": 1002,
    "TOOL_EXECUTION_FAILED": 1003,
    "INVALID_TOOL_OUTPUT": 1003,
    "TOOL_TIMEOUT": 1004,
    "NO_ADAPTER": 5001,
    "MISSING_CREDENTIAL": 5001,
    "AUTH": 5002,
    "INVALID_CREDENTIAL": 5002,
    "RATE_LIMIT": 5003,
    "MODEL_NOT_FOUND": 5004,
    "CONTEXT_WINDOW_EXCEEDED": 5005,
    "STREAM_CLOSED": 5006,
    "MALFORMED_RESPONSE": 5006,
    "EMPTY_RESPONSE": 5006,
    "TIMEOUT": 5007,
    "QUOTA": 5009,
    "CONTENT_FILTER": 5010,
    "INVALID_REQUEST": 7001,
    "TRANSPORT": 11001,
    "SERVER": 11002,
    "COST_BUDGET_EXCEEDED": 11003,
    "ABORTED": 11004,
    "ABORTED_BEFORE_DISPATCH": 11004,
    "AGENT_LOOP_ERROR": 11005,
}


def test_it_has_46_rows_in_11_ranges() -> None:
    """The seed's 44 numbers, and two that it lacks: quota and refusal."""
    assert len(ROWS) == 46
    assert {row.range for row in ROWS} == RANGES.keys()
    assert [row for n in RANGES for row in codes_in_range(n)] == ROWS


def test_nothing_is_given_twice() -> None:
    """Numbers, keys, and the codes that mean a row are unique over the whole catalogue."""
    names = [name for row in ROWS for name in (row.key, *row.codes)]
    assert len(names) == len(set(names))
    assert len({row.number for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_row_is_whole(row: ErrorInfo) -> None:
    """The key names its range, the words are there, the verdict is one of the known."""
    assert row.key.startswith(f"{RANGES[row.range]}_")
    assert re.fullmatch(r"[A-Z][A-Z_]+[A-Z]", row.key)
    assert row.title.strip() == row.title != ""
    assert row.recovery.endswith(".")
    assert row.disposition in DISPOSITIONS
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", row.action)
    assert row.scope in SCOPES
    assert row.http_status is None or 400 <= row.http_status < 600
    assert row.docs == f"docs/error-codes.md#{row.number}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_every_way_leads_to_the_same_row(row: ErrorInfo) -> None:
    """Key, each code and number are the same question."""
    assert error_info(row.key) is row
    assert row.number is not None
    assert error_info(row.number) is get_error_info_by_code(row.number) is row
    assert get_error_info(row.key) is row
    assert all(error_info(code) is row for code in row.codes)
    assert str(HarnessCodedError(row.key)) == f"[{row.number}] {row.title}"


@pytest.mark.parametrize(("code", "number"), CODES.items())
def test_a_code_has_its_number(code: str, number: int) -> None:
    """The mapping that routing depends on does not change."""
    row = error_info(code)
    assert row is not None
    assert row.number == number


@pytest.mark.parametrize("code", ["INVARIANT", "UNKNOWN", "TOOL_DENIED", "ENOENT", ""])
def test_some_codes_have_no_row(code: str) -> None:
    """An unknown code is legal and has no number."""
    assert error_info(code) is None
    assert get_error_info(code) is None


@pytest.mark.parametrize("number", [0, -1, 2005, 12001, True, False])
def test_some_numbers_have_no_row(number: int) -> None:
    """The gap in the sessions' range stays a gap, and a bool is no number."""
    assert error_info(number) is None
    assert get_error_info_by_code(number) is None


def test_no_row_changes_unseen() -> None:
    """A rename, another number or another disposition shows as a difference of the snapshot."""
    lines = [f"{row.number} {row.key} {row.disposition}\n" for row in ROWS]
    assert "".join(lines) == SNAPSHOT.read_text(encoding="utf-8")


def test_the_constants_are_the_keys() -> None:
    """`ErrorCode` has each key as a plain string of the same name, and nothing else."""
    constants = {name: value for name, value in vars(ErrorCode).items() if name.isupper()}
    assert constants == {row.key: row.key for row in ROWS}
    assert {type(value) for value in constants.values()} == {str}


@pytest.mark.parametrize(
    ("number", "found"), [(1003, 1), (10002, 10), (11005, 11), (None, 0), (0, 0), (999, 0)]
)
def test_a_range_is_found_by_division(number: int | None, found: int) -> None:
    """The first digit would file 10002 under 1xxx; no number is range 0."""
    assert error_range(number) == found


@pytest.mark.parametrize("value", [True, False])
def test_a_bool_has_no_range(value: bool) -> None:  # noqa: FBT001  # Why: it is the case
    """It is an int by descent alone."""
    with pytest.raises(CallerTypeError) as caught:
        error_range(value)
    assert caught.value.code_num == 7003


def test_a_range_that_is_not_there_is_empty() -> None:
    """Asking for it is no error."""
    assert codes_in_range(12) == codes_in_range(-1) == codes_in_range(0) == ()


def test_a_tool_s_failure_ends_a_call_and_a_checkpoint_s_never_a_turn() -> None:
    """The scope of 1xxx and 6xxx is the call."""
    assert {row.scope for n in (1, 6) for row in codes_in_range(n)} == {"call"}


def test_only_the_key_is_the_key() -> None:
    """`get_error_info` takes keys, not the codes that mean them."""
    assert get_error_info("INVALID_ARGS") is None


def test_an_errno_name_has_a_number_at_the_tool_seam_alone() -> None:
    """ENOENT from a tool is a failed execution (1003); elsewhere it has no row."""
    row = error_info("ENOENT", seam="tool")

    assert row is not None
    assert row.number == 1003
    assert error_info("ENOENT") is None
    assert error_info("INVALID_ARGS", seam="tool") == error_info(1002)
    assert error_info("NO_SUCH_CODE", seam="tool") is None


def test_what_an_errno_means_depends_on_where_it_was_met() -> None:
    """From a tool it is a failed execution, elsewhere it has no row; other codes do not care."""
    row = error_info("ENOENT", seam="tool")
    assert row is get_error_info("TOOL_EXECUTION_FAILED")
    assert error_info("ENOENT", seam="store") is None
    assert error_info("INVALID_ARGS", seam="tool") is error_info("INVALID_ARGS")
    assert error_info(2001, seam="tool") is error_info(2001)
    assert error_info("EVERYTHING", seam="tool") is None


def test_what_is_neither_name_nor_number_has_no_row() -> None:
    """Lookups are total, also for what cannot be hashed."""
    odd: Any = [1]
    assert error_info(odd) is None
    assert get_error_info(odd) is None
