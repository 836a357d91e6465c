"""The values of the pipeline: a call, what a body is told of it, and its result."""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from dsh_llm import AbortSignal, Block, FrozenDict, Signal, Waterfall

RawArguments: TypeAlias = str | Mapping[str, Any] | None
"""Arguments as they come: the model's text, or an object that was parsed before."""


class ToolCall(NamedTuple):
    """A call on its way to its tool, as a layer of `tools/execute` sees it.

    `arguments` are not parsed or validated yet. Change a call with `_replace` and hand it to
    `next`; its `call_id` stays what it was, whatever a layer does.
    """

    name: str
    arguments: RawArguments
    call_id: str
    signal: AbortSignal | None = None
    agent: object = None
    session: object = None


class ToolContext(NamedTuple):
    """What a body may know of its call. A parameter of this type never shows in the schema."""

    call_id: str
    name: str
    signal: AbortSignal | None = None
    agent: object = None
    session: object = None


class ToolErrorInfo(NamedTuple):
    """What to route on: the error's class by name, and its stable code."""

    name: str
    code: str


class ToolExecutionResult(NamedTuple):
    """What a call gave back. `content` is never empty.

    `error` is there when what was raised has a code. `failure` is for the log alone and never
    reaches a model: `chain`, `traceback`, `effect`, as far as they are known.
    """

    call_id: str
    content: tuple[Block, ...]
    is_error: bool = False
    error: ToolErrorInfo | None = None
    failure: FrozenDict | None = None


TOOLS_EXECUTE: Final[Waterfall[[ToolCall], Awaitable[ToolExecutionResult]]] = Waterfall(
    "tools/execute"
)
"""Around every call. A layer may change the call, answer it itself, wrap it, or run it again."""

TOOLS_CHANGE: Final[Signal[[]]] = Signal("tools/change")
"""The set of registered tools has changed."""
