"""What the far side's headers say about another try: when, and whether at all."""

from collections.abc import Mapping
from typing import Final

_MAX_DIGITS: Final = 15
_VERDICTS: Final = {"true": True, "false": False}


def parse_retry_after(headers: Mapping[str, str], now: int) -> float | None:
    """Return the seconds that *headers* ask to wait, or `None`.

    Reads `retry-after-ms`, then `retry-after` in seconds or as an HTTP date, which counts from
    *now* (epoch milliseconds; a date in the past means 0). What is malformed is not said. Names
    are taken in any case.
    """
    milliseconds = _number(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = _header(headers, "retry-after")
    seconds = _number(text)
    return _seconds_until(text, now) if seconds is None else seconds


def parse_should_retry(headers: Mapping[str, str]) -> bool | None:
    """Return what `x-should-retry` says, or `None` when it says nothing."""
    return _VERDICTS.get(_header(headers, "x-should-retry").lower())


def _header(headers: Mapping[str, str], name: str) -> str:
    values = (value for key, value in headers.items() if str(key).lower() == name)
    return str(next(values, "")).strip()


def _number(text: str) -> float | None:
    digits = text.replace(".", "", 1)
    # Why: float() also takes "inf", "1_0", more digits than fit, and those of other scripts.
    plain = digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    return float(text) if plain else None


def _seconds_until(text: str, now: int) -> float | None:
    from datetime import UTC
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(text)
        # Why: a date without a zone is UTC, HTTP has no other.
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, TypeError):
        # Why: the parser raises any of these for dates that no calendar has.
        return None
    return max(0.0, moment - now / 1000)
