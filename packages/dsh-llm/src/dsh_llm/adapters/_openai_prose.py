"""The text and the reasoning of a message or a delta, in the forms that servers give them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

_REASONING_KEYS: Final = ("reasoning_content", "reasoning")


def text_of(delta: Mapping[str, Any]) -> str:
    """Return the text: of `content` in any form, and a refusal, which is what the model says."""
    content: Any = delta.get("content")
    if isinstance(content, list):
        text = "".join(_texts(cast("list[Any]", content), thinking=False))
    elif isinstance(content, dict):
        text = json.dumps(content, ensure_ascii=False)
    else:
        text = _string(content)
    return text + _string(delta.get("refusal"))


def reasoning_of(delta: Mapping[str, Any]) -> str:
    """Return the reasoning: the first of the usual keys that has some, else the content's parts."""
    for key in _REASONING_KEYS:
        if text := _string(delta.get(key)):
            return text
    for key, thinking in (("reasoning_details", False), ("content", True)):
        parts = delta.get(key)
        if isinstance(parts, list):
            return "".join(_texts(cast("list[Any]", parts), thinking=thinking))
    return ""


def _texts(parts: list[Any], *, thinking: bool) -> Iterator[str]:
    for part in parts:
        if isinstance(part, dict):
            fields = cast("dict[str, Any]", part)
            yield from _part_texts(fields) if ("thinking" in fields) == thinking else ()
        elif not thinking:
            yield _string(part)


def _part_texts(fields: Mapping[str, Any]) -> Iterator[str]:
    thinking = fields.get("thinking")
    if isinstance(thinking, list):
        yield from _texts(cast("list[Any]", thinking), thinking=False)
    else:
        yield _string(thinking) or _string(fields.get("text"))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
