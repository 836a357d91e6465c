"""Texts that may come from anybody: made sendable, bounded, and never raising."""

import json
from collections.abc import Iterator
from typing import Final, cast

MAX_NAME: Final = 100
"""Longest name or path that a message quotes, in characters."""


def clean(text: str) -> str:
    """Return *text* as UTF-8 can carry it: halves of a pair are joined, lone ones replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def shorten(text: str, limit: int = MAX_NAME) -> str:
    """Return at most *limit* characters of *text*, with a mark where something was left out."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def compact(value: object) -> str:
    """Return *value* as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def listed(items: list[str], word: str) -> str:
    """Return `a, b or c`, with *word* before the last."""
    *first, last = items
    return f"{', '.join(first)} {word} {last}" if first else last


def error_text(error: BaseException) -> str:
    """Return what *error* says: its text, those of a group's members, else its class's name."""
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error)
        texts = [f"{type(leaf).__name__}: {text_of(leaf)}" for leaf in leaves(members)]
        return f"{clean(members.message)}: {'; '.join(texts)}"
    return text_of(error)


def text_of(value: object) -> str:
    """Return the text of anything; the name of its class when that is empty or raises."""
    name = type(value).__name__
    try:
        text = str(value)
        return clean(text if text.strip() else _message_of(value) or name)
    except Exception:  # noqa: BLE001  # Why: a hostile __str__ must not hide the failure it belongs to
        return f"<unprintable {name}>"


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield *error*, or what is in it when it is a group, at any depth."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for member in cast("BaseExceptionGroup[BaseException]", error).exceptions:
        yield from leaves(member)


def _message_of(value: object) -> str:
    message: object = getattr(value, "message", "")
    return message if isinstance(message, str) else ""
