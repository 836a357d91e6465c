"""Texts that may come from anybody: made sendable, bounded, and never raising."""

import json
from typing import Final, cast

from dsh_llm import error_leaves, mend_surrogates, text_of

MAX_NAME: Final = 100
"""Longest name or path that a message quotes, in characters."""


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
        group = cast("BaseExceptionGroup[BaseException]", error)
        texts = [f"{type(leaf).__name__}: {text_of(leaf)}" for leaf in error_leaves(group)]
        return f"{mend_surrogates(group.message)}: {'; '.join(texts)}"
    return text_of(error)
