"""From what a body returned to blocks, or to the result of a failure."""

import traceback
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final, cast

from dsh_llm import (
    Block,
    FrozenDict,
    HarnessError,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UnknownBlock,
    error_data,
    error_leaves,
    is_violation,
    mend_surrogates,
    scrub,
    text_of,
    try_classify,
)

from dsh_tools._calls import ToolErrorInfo, ToolExecutionResult
from dsh_tools._errors import ToolArgsError, ToolNotFoundError
from dsh_tools._text import error_text

MAX_TRACE: Final = 8_000

_BLOCKS: Final = (
    TextBlock,
    ReasoningBlock,
    ToolCallBlock,
    ToolResultBlock,
    ImageBlock,
    UnknownBlock,
)


def to_blocks(value: Any) -> tuple[Block, ...]:
    """Return what a body returned as blocks, at least one.

    Text is one block, `None` an empty one; a block or a list of blocks stays as it is; of
    anything else pydantic writes the JSON.

    Raises:
        HarnessError: `INVALID_TOOL_OUTPUT` for what cannot be written as JSON.
    """
    if value is None:
        return (TextBlock(""),)
    if isinstance(value, str):
        return (TextBlock(mend_surrogates(str.__str__(value))),)
    if isinstance(value, _BLOCKS):
        return (_cleaned(value),)
    if isinstance(value, (list, tuple)) and value:
        items = cast("Sequence[Any]", value)
        if all(isinstance(item, _BLOCKS) for item in items):
            return tuple(_cleaned(item) for item in items)
    return (TextBlock(_json(value)),)


def succeeded(call_id: str, value: Any) -> ToolExecutionResult:
    """Return the result of a body that returned *value*; see `to_blocks`."""
    return ToolExecutionResult(call_id, to_blocks(value))


def failed(call_id: str, error: BaseException) -> ToolExecutionResult:
    """Return the result of a call that *error* ended.

    Raises:
        HarnessError: A broken invariant, which no tool result may hide.
    """
    for leaf in error_leaves(error):
        if is_violation(leaf):
            raise leaf
    coded = classified(error)
    info = None if coded is None else ToolErrorInfo(coded.name, coded.code)
    content = (TextBlock(f"Error: {scrub(error_text(error))}"),)
    return ToolExecutionResult(call_id, content, True, info, _failure(error, coded))  # noqa: FBT003  # Why: a named tuple's field


def classified(error: BaseException) -> HarnessError | None:
    """Return *error* as one of ours if it is one, or if a classifier knows it, else `None`."""
    return try_classify(error, seam="tool")


def _cleaned(block: Block) -> Block:
    return (
        block._replace(text=mend_surrogates(block.text)) if isinstance(block, TextBlock) else block
    )


def _json(value: Any) -> str:
    if isinstance(value, (Iterator, AsyncIterator)):
        raise _unwritable(cast("object", value), "return a list")
    from pydantic_core import to_json

    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except Exception as error:  # Why: a value's own serializer may raise anything
        raise _unwritable(value, error_text(error), error) from error


def _unwritable(value: object, why: str, cause: object = None) -> HarnessError:
    text = f"cannot write the tool's result, a {type(value).__name__}, as JSON: {why}"
    return HarnessError(text, "INVALID_TOOL_OUTPUT", cause=cause, effect="done")


def _failure(error: BaseException, coded: HarnessError | None) -> FrozenDict | None:
    if isinstance(error, (ToolArgsError, ToolNotFoundError)):
        return None
    try:
        return _record(error, coded)
    except Exception as failure:  # noqa: BLE001  # Why: a hostile attribute must not hide the failure
        return FrozenDict(chain=(), traceback=f"no record: {text_of(failure)}")


def _record(error: BaseException, coded: HarnessError | None) -> FrozenDict:
    link = error_data(coded or error)
    chain = [link, *link.pop("chain")]
    # Why: scrubbed before it is cut, for half a secret is not known as one.
    trace = mend_surrogates(scrub("".join(traceback.format_exception(error)))[-MAX_TRACE:])
    record: dict[str, Any] = {"chain": chain, "traceback": trace}
    if coded is not None and coded.effect is not None:
        record["effect"] = coded.effect
    return FrozenDict(record)
