"""When the far side wants to be asked again: one reading of its headers."""

import pytest
from dsh_llm import parse_retry_after
from hypothesis import given
from hypothesis import strategies as st

NOW = 4_096_243_680_000
"""Wed, 21 Oct 2099 05:28:00 GMT."""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "5"}, 5.0),
        ({"Retry-After": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "3600"}, 3600.0),
    ],
)
def test_milliseconds_come_before_seconds(headers: dict[str, str], seconds: float | None) -> None:
    """Whatever the case of the names; a malformed header is as if it were not there."""
    assert parse_retry_after(headers, NOW) == seconds


def test_a_date_counts_from_now() -> None:
    """In any zone, UTC without one, and never less than nothing."""
    moment = "Wed, 21 Oct 2099 05:28:05"
    for zone in (" GMT", " +0000", " -0000", ""):
        assert parse_retry_after({"retry-after": moment + zone}, NOW) == 5.0
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2099 07:28:05 +0200"}, NOW) == 5.0
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, NOW) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "-1",
        "nan",
        "inf",
        "1e9",
        "1_000",
        "\u0665",
        "9" * 400,
        "5 seconds",
        "Wed, 21 Oct 99999 05:28:05 GMT",
        "Wed, 45 Oct 2099 05:28:05 GMT",
        "Wed, 21 Oct 2099 05:28:05 +99999999999999",
        "21 Oct",
    ],
)
def test_what_is_malformed_is_not_said(text: str) -> None:
    """No wait is made up from it."""
    assert parse_retry_after({"retry-after": text, "retry-after-ms": text}, NOW) is None


@given(st.dictionaries(st.sampled_from(["Retry-After", "retry-after-ms"]), st.text()))
def test_any_text_gives_a_wait_or_none(headers: dict[str, str]) -> None:
    """It never raises, and a wait is never negative."""
    seconds = parse_retry_after(headers, NOW)
    assert seconds is None or seconds >= 0
