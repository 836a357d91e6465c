"""What a provider says about a failure, in whichever of the usual shapes it says it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

MAX_MESSAGE: Final = 1000
MAX_EXCERPT: Final = 200
_ERROR_STATUSES: Final = range(400, 600)
_MESSAGE_KEYS: Final = ("message", "detail", "msg", "error_description", "title")
_UNSEEN: Final = r"(?is)<(script|style)\b.*?</\1>|<[^>]*>"


class ErrorReport(NamedTuple):
    """A failure in the provider's own words; empty strings and `None` for what it did not say."""

    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""
    status: int | None = None
    reason: str = ""
    """A name that is in neither `code` nor `type`: Google's services, or a name as the error."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it gives the failure, the most exact first."""
        return tuple(filter(None, (self.code, self.reason, self.type)))


def parse_body(text: str) -> Any:
    """Return *text* as a JSON value, or as it is when it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_report(body: Any) -> ErrorReport:
    """Read an error body; of plain text and HTML an excerpt is the message.

    Shapes: `{error: {message, code, type}}`, `{error: "text"}`, `{detail}`, `{message}`, and a list
    that begins with one of these.
    """
    for _ in range(_MAX_LISTS):
        if not (isinstance(body, list) and body):
            break
        body = cast("list[Any]", body)[0]
    if not isinstance(body, dict):
        return ErrorReport(message=excerpt(body) if isinstance(body, str) else "")
    outer = cast("dict[str, Any]", body)
    inner = outer.get("error") or outer
    if not isinstance(inner, dict):
        named = _text(outer.get("message"))
        return _report(outer, _text(inner) + (f": {named}" if named else ""))
    error = cast("dict[str, Any]", inner)
    return _report(outer | error, _message(error))


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    """Return the beginning of *text*, without markup, on one line."""
    shown = " ".join(re.sub(_UNSEEN, " ", text[: limit * 20]).split())
    return shown if len(shown) <= limit else f"{shown[:limit]}..."


def _report(fields: Mapping[str, Any], message: str) -> ErrorReport:
    code, status = fields.get("code"), fields.get("status")
    return ErrorReport(
        message[:MAX_MESSAGE],
        _name(code),
        _name(fields.get("type")),
        _name(fields.get("param")),
        _status(code)
        or _status(fields.get("status_code"))
        or _status(status)
        or _status(fields.get("http_status")),
        next(_reasons(fields), "") or _name(_one_word(fields.get("error"))) or _name(status),
    )


def _reasons(fields: Mapping[str, Any]) -> Iterator[str]:
    details = fields.get("details")
    for detail in cast("list[Any]", details) if isinstance(details, list) else ():
        if isinstance(detail, dict):
            reason = _name(cast("dict[str, Any]", detail).get("reason"))
            yield from (reason,) if reason else ()


def _message(error: Mapping[str, Any]) -> str:
    message = ""
    for key in _MESSAGE_KEYS:
        message = _text(error.get(key))
        if message:
            break
    metadata = error.get("metadata")
    raw = cast("Mapping[str, Any]", metadata).get("raw") if isinstance(metadata, dict) else None
    # Why: a router says "Provider returned error" and keeps the provider's own words apart.
    return f"{message}: {excerpt(raw)}" if isinstance(raw, str) and raw else message


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "; ".join(_text(_inner_message(item)) for item in cast("Sequence[Any]", value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value else ""


def _inner_message(item: Any) -> Any:
    if isinstance(item, list):
        return ""
    if not isinstance(item, dict):
        return item
    fields = cast("dict[str, Any]", item)
    return fields.get("msg") or fields.get("message") or fields


def _name(value: Any) -> str:
    return value[:100] if isinstance(value, str) else ""


def _one_word(value: Any) -> Any:
    """Return a name such as `insufficient_quota`; `None` of a sentence, which may contain one."""
    return value if isinstance(value, str) and len(value.split()) == 1 else None


def _status(value: Any) -> int | None:
    if value is None:
        return None
    number: Any = value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        number = int(value[:4])
    return number if type(number) is int and number in _ERROR_STATUSES else None


_MAX_LISTS: Final = 8
"""Lists in lists that are looked into: a body can be hostile."""
