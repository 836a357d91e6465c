"""From our vocabulary to the body of a chat completions request."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dsh_llm._errors import LlmError
from dsh_llm._messages import (
    Block,
    ImageBlock,
    Message,
    ModelRequest,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSchema,
    UnknownBlock,
)
from dsh_llm._text import mend_surrogates
from dsh_llm.adapters._tool_names import ToolNames

NO_EXTRA: Final[Mapping[str, Any]] = {}

Json = dict[str, Any]


class Dialect(NamedTuple):
    """What differs from server to server.

    `extra` is laid over the body, and a `None` in it takes a key out; `limit_key` is what bounds
    the answer's length.
    """

    model: str
    extra: Mapping[str, Any] = NO_EXTRA
    limit_key: str = "max_tokens"


def encode_request(request: ModelRequest, dialect: Dialect, names: ToolNames) -> bytes:
    """Return the body as JSON bytes; lone surrogates become U+FFFD.

    Raises:
        LlmError: `UNSUPPORTED` for a prefill, which this wire does not have; `INVALID_REQUEST` for
            what is not JSON.
    """
    if request.prefill is not None:
        raise LlmError("this provider cannot continue a prefilled answer", "UNSUPPORTED")
    body = {**_body(request, dialect, names), **dialect.extra}
    kept = {key: value for key, value in body.items() if value is not None}
    try:
        text = json.dumps(kept, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise LlmError(
            f"the request is not JSON: {error}", "INVALID_REQUEST", cause=error
        ) from None
    return mend_surrogates(text).encode()


def _body(request: ModelRequest, dialect: Dialect, names: ToolNames) -> Json:
    return {
        "model": dialect.model,
        "messages": list(_messages(request, names)),
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [_tool(tool, names) for tool in request.tools] or None,
        "temperature": request.temperature,
        dialect.limit_key: request.max_tokens,
        "stop": list(request.stop) or None,
    }


def _messages(request: ModelRequest, names: ToolNames) -> Iterator[Json]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        if message.role == "assistant":
            yield from _assistant(message, names)
        elif message.role == "user":
            yield from _user(message.content)
        else:
            yield {"role": "system", "content": _text(message.content)}


def _user(content: Sequence[Block]) -> Iterator[Json]:
    results = [block for block in content if isinstance(block, ToolResultBlock)]
    said = [block for block in content if not isinstance(block, ToolResultBlock)]
    # Invariant: results come right after the calls that they answer; the wire refuses all else.
    for result in results:
        text = _text(result.content) or "(no output)"
        yield {"role": "tool", "tool_call_id": result.call_id, "content": text}
    if said or not results:
        yield {"role": "user", "content": _user_content(said)}


def _user_content(blocks: Sequence[Block]) -> str | list[Json]:
    if not any(isinstance(block, ImageBlock) for block in blocks):
        return _text(blocks)
    return [_part(block) for block in blocks]


def _part(block: Block) -> Json:
    if isinstance(block, ImageBlock):
        return {"type": "image_url", "image_url": {"url": block.url}}
    return {"type": "text", "text": _text([block])}


def _assistant(message: Message, names: ToolNames) -> Iterator[Json]:
    calls = [_call(block, names) for block in message.tool_calls]
    own = (ReasoningBlock, ToolCallBlock)
    text = _text([block for block in message.content if not isinstance(block, own)])
    # Why: an assistant message with neither text nor calls is refused, on every later request too.
    if not calls:
        if text:
            yield {"role": "assistant", "content": text}
        return
    thoughts = [block.text for block in message.content if isinstance(block, ReasoningBlock)]
    # Why: a model that thinks between its calls wants its own reasoning back.
    reasoning = {"reasoning_content": "".join(thoughts)} if thoughts else {}
    yield {"role": "assistant", "content": text, **reasoning, "tool_calls": calls}


def _call(block: ToolCallBlock, names: ToolNames) -> Json:
    function = {"name": names.to_wire(block.name), "arguments": _arguments(block.arguments)}
    return {"id": block.id, "type": "function", "function": function}


def _arguments(raw: str) -> str:
    """Return *raw* when it is a JSON object, else an object that holds it: servers parse it."""
    if not raw.strip():
        return "{}"
    try:
        usable = isinstance(json.loads(raw, parse_constant=_refuse_constant), dict)
    except (ValueError, RecursionError):
        usable = False
    return raw if usable else json.dumps({"malformed_arguments": raw}, ensure_ascii=False)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _tool(tool: ToolSchema, names: ToolNames) -> Json:
    strict = {} if tool.strict is None else {"strict": tool.strict}
    function = {
        "name": names.to_wire(tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
        **strict,
    }
    return {"type": "function", "function": function}


def _text(blocks: Sequence[Block]) -> str:
    return "".join(block.text if isinstance(block, TextBlock) else _mark(block) for block in blocks)


def _mark(block: Block) -> str:
    # Why: what this wire cannot show is named, so that the model does not take it for absent.
    kind = block.data.get("type", block.type) if isinstance(block, UnknownBlock) else block.type
    return f"[{kind} not shown]"
