"""`LlmError`s from what went wrong on an HTTP wire."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Final

from dsh_llm._errors import LlmError
from dsh_llm.adapters._classify import classify
from dsh_llm.adapters._error_body import ErrorReport, parse_body, read_report

_REQUEST_ID_HEADERS: Final = (
    "x-request-id",
    "request-id",
    "x-deepseek-request-id",
    "apim-request-id",
    "x-amzn-requestid",
)
MIN_SECRET: Final = 8


def response_error(status: int, headers: Mapping[str, str], body: str, *, now: int) -> LlmError:
    """Return the error of a response that is no success; *now* is in epoch milliseconds."""
    parsed = parse_body(body)
    report = read_report(parsed)
    own_words = report.message if isinstance(parsed, (dict, list)) else ""
    return LlmError(
        own_words or f"HTTP {status}: {report.message or 'no message'}",
        classify(report, status),
        status,
        request_id=request_id(headers),
        retry_after=retry_after(headers, now),
        context=_provider_words(report),
    )


def in_band_error(body: Any) -> LlmError:
    """Return the error that *body* reports inside a successful response.

    Its status is the one that the report names, if any; nothing else says what failed.
    """
    report = read_report(body)
    text = report.message or "the provider reported an error without a message"
    return LlmError(text, classify(report), report.status, context=_provider_words(report))


def transport_error(where: str, cause: BaseException) -> LlmError:
    """Return the error of a connection to *where* that failed or broke, with the inmost cause."""
    root = _root(cause)
    reason = str(root) or type(root).__name__
    return LlmError(f"the connection to {where} failed: {reason}", "TRANSPORT", cause=root)


def timeout_error(what: str, seconds: float | None, cause: BaseException) -> LlmError:
    """Return the error of a wait for *what* that took longer than *seconds*."""
    limit = "" if seconds is None else f" within {seconds:g} s"
    return LlmError(f"no {what}{limit}", "TIMEOUT", cause=_root(cause))


def request_id(headers: Mapping[str, str]) -> str | None:
    """Return the provider's own id of the request, or `None`."""
    return next((found for name in _REQUEST_ID_HEADERS if (found := headers.get(name))), None)


def retry_after(headers: Mapping[str, str], now: int) -> float | None:
    """Return the seconds that the provider asks to wait, or `None`; what is malformed is not said.

    A date in the past means 0.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    return _seconds_until(text, now) if seconds is None else seconds


def scrubbed(error: LlmError, secret: str) -> LlmError:
    """Take *secret* out of *error*: servers echo keys, and messages are logged.

    A secret of a few characters is none, and taking it out would garble the text.
    """
    if len(secret) < MIN_SECRET:
        return error
    error.message = error.message.replace(secret, "***")
    error.args = (error.message,)
    error.context = {key: value.replace(secret, "***") for key, value in error.context.items()}
    return error


def _provider_words(report: ErrorReport) -> dict[str, str]:
    words = {
        "provider_code": report.code,
        "provider_type": report.type,
        "provider_param": report.param,
    }
    return {key: word for key, word in words.items() if word}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


def _seconds_until(text: str, now: int) -> float | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.fromtimestamp(now / 1000, UTC)).total_seconds())


def _root(cause: BaseException) -> BaseException:
    # Why: the outer layers only say that it failed, and hold the request with its key.
    link: BaseException | None = cause
    while link is not None:
        cause, link = link, link.__cause__ or link.__context__
    return cause
