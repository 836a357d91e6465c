"""What a well-formed block or chunk looks like: one table, for the codec and for the boundary."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm._json import FrozenDict
from dsh_llm._messages import (
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
    ToolResultBlock,
    UnknownBlock,
)

Fields: TypeAlias = dict[str, Callable[[Any], bool]]


def is_block(value: object) -> bool:
    """Tell whether *value* is a block with a value of the right type in every field."""
    return _fits(value, BLOCK_FIELDS)


def is_chunk(value: object) -> bool:
    """Tell whether *value* is a chunk with a value of the right type in every field."""
    return _fits(value, _CHUNK_FIELDS)


def is_count(value: object) -> bool:
    """Tell whether *value* is a number of tokens, or an index."""
    return type(value) is int and value >= 0


def _fits(value: object, table: dict[type, Fields]) -> bool:
    kind: Any = type(value)
    fields = table.get(kind)
    if fields is None or getattr(value, "type", None) != kind._field_defaults["type"]:
        return False
    return all(test(getattr(value, name)) for name, test in fields.items())


def _text(value: object) -> bool:
    return isinstance(value, str)


def _optional_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _cache(value: object) -> bool:
    return value is None or value == "ephemeral"


def _data(value: object) -> bool:
    return isinstance(value, FrozenDict)


def _blocks(value: object) -> bool:
    return type(value) is tuple and all(
        is_block(item) for item in cast("tuple[object, ...]", value)
    )


def _usage(value: object) -> bool:
    return isinstance(value, TokenUsage) and (
        is_count(value.input_tokens)
        and is_count(value.output_tokens)
        and all(count is None or is_count(count) for count in value[2:])
    )


def _reason(value: object) -> bool:
    return isinstance(value, FinishReason) and (
        _text(value.kind) and _optional_text(value.message) and _optional_text(value.code)
    )


BLOCK_FIELDS: Final[dict[type, Fields]] = {
    TextBlock: {"text": _text, "cache": _cache},
    ReasoningBlock: {"text": _text},
    ToolCallBlock: {"id": _text, "name": _text, "arguments": _text},
    ToolResultBlock: {
        "call_id": _text,
        "content": _blocks,
        "is_error": _flag,
        "cache": _cache,
    },
    ImageBlock: {"url": _text, "mime_type": _optional_text, "cache": _cache},
    UnknownBlock: {"data": _data},
}

_CHUNK_FIELDS: Final[dict[type, Fields]] = {
    BlockStart: {"index": is_count, "block_type": _text},
    TextDelta: {"index": is_count, "text": _text},
    ReasoningDelta: {"index": is_count, "text": _text},
    ToolCallDelta: {
        "index": is_count,
        "id": _optional_text,
        "name": _optional_text,
        "arguments_delta": _text,
    },
    BlockEnd: {"index": is_count, "block": is_block},
    UsageChunk: {"usage": _usage},
    FinishChunk: {"reason": _reason},
}
