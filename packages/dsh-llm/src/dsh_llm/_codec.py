"""Vocabulary to JSON and back: the form that the log keeps."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from dsh_llm._assembler import unreachable
from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm._errors import LlmError
from dsh_llm._json import FrozenDict, freeze_json
from dsh_llm._messages import (
    Block,
    ImageBlock,
    MessageSource,
    ReasoningBlock,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
    ToolResultBlock,
    UnknownBlock,
)
from dsh_llm._scrub import scrub
from dsh_llm._structure import BLOCK_FIELDS, is_block, is_count


def block_to_json(block: Block) -> dict[str, Any]:
    """Return the JSON object of *block*, without the fields that are `None`."""
    match block:
        case UnknownBlock():
            return dict(block.data)
        case ToolResultBlock():
            plain = _present(block)
            return plain | {"content": blocks_to_json(block.content)}
        case _:
            return _present(block)


def blocks_to_json(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return a list of JSON objects, one a block."""
    return [block_to_json(block) for block in blocks]


def block_from_json(data: Mapping[str, Any]) -> Block:
    """Return the block that *data* describes.

    A kind that this version does not know, or one with missing or wrong fields, comes back as
    `UnknownBlock` with all it had, so that an old or foreign log never blocks a later request.
    Fields that a known kind does not have are left out.

    Raises:
        JsonValueError: `NOT_JSON` when *data* is not made of JSON values.
    """
    return _known(data) or UnknownBlock(freeze_json(data))


def blocks_from_json(items: object) -> tuple[Block, ...]:
    """Return the blocks of a JSON array; what is no object in it is left out."""
    if not isinstance(items, (list, tuple)):
        return ()
    listed = cast("Sequence[object]", items)
    return tuple(
        block_from_json(cast("Mapping[str, Any]", item))
        for item in listed
        if isinstance(item, Mapping)
    )


def _known(data: Mapping[str, Any]) -> Block | None:
    tag = data.get("type")
    kind = _KINDS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        return None
    fields = {name: data[name] for name in BLOCK_FIELDS[kind] if name in data}
    if kind is ToolResultBlock:
        fields["content"] = _content(data.get("content"))
    complete = all(name in fields or name in kind._field_defaults for name in kind._fields)
    block = kind(**fields) if complete else None
    return block if is_block(block) else None


def _content(items: object) -> tuple[Block, ...] | None:
    blocks = blocks_from_json(items)
    whole = isinstance(items, (list, tuple)) and len(blocks) == len(cast("Sequence[object]", items))
    return blocks if whole else None


def usage_to_json(usage: TokenUsage) -> dict[str, Any]:
    """Return the counts that are known."""
    return _present(usage)


def usage_from_json(data: Mapping[str, Any]) -> TokenUsage:
    """Return the counts; a missing or malformed required one is 0, an optional one `None`."""
    known = {name: data.get(name) for name in TokenUsage._fields}
    counts: dict[str, Any] = {name: n for name, n in known.items() if is_count(n)}
    return TokenUsage(**({"input_tokens": 0, "output_tokens": 0} | counts))


def source_to_json(source: MessageSource) -> dict[str, Any]:
    """Return kind and name."""
    return _present(source)


def finish_to_json(reason: FinishReason) -> dict[str, Any]:
    """Return kind, message and code, and of an error its name, status, ids and delay, scrubbed."""
    data = {"kind": reason.kind, "message": reason.message, "code": reason.code}
    error = reason.error
    if error is not None:
        data["name"] = error.name
    if isinstance(error, LlmError):
        data |= {
            "status": error.status,
            "request_id": error.request_id,
            "retry_after": error.retry_after,
        }
    return scrub({key: value for key, value in data.items() if _is_scalar(value)})


def chunk_to_json(chunk: StreamChunk) -> FrozenDict:
    """Return the immutable JSON object of *chunk*.

    Raises:
        UnreachableError: `UNREACHABLE` for something that is no chunk.
    """
    match chunk:
        case TextDelta() | ReasoningDelta() | BlockStart() | ToolCallDelta():
            return FrozenDict(_present(chunk))
        case BlockEnd():
            data: dict[str, Any] = {"index": chunk.index, "block": block_to_json(chunk.block)}
        case UsageChunk():
            data = {"usage": usage_to_json(chunk.usage)}
        case FinishChunk():
            data = {"reason": finish_to_json(chunk.reason)}
        case _:
            unreachable(chunk, "chunk_to_json")
    return FrozenDict({"type": chunk.type} | data)


def _present(value: Any) -> dict[str, Any]:
    # Why: the tag comes first in the log, where people read it.
    named = {"type": value.type} if "type" in value._fields else {}
    fields = zip(value._fields, value, strict=True)
    return named | {key: item for key, item in fields if item is not None}


def _is_scalar(value: object) -> bool:
    # Why: a foreign adapter may put anything on its error, and the log takes only JSON.
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


_KINDS: Final[dict[str, Any]] = {
    kind._field_defaults["type"]: kind
    for kind in (TextBlock, ReasoningBlock, ToolCallBlock, ToolResultBlock, ImageBlock)
}
