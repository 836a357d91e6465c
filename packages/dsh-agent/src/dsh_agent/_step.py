"""One question to the model: the stream is logged as it comes, the message when it is whole."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from dsh_llm import (
    BlockAssembler,
    FinishChunk,
    FinishReason,
    LlmError,
    Message,
    ModelRequest,
    StreamChunk,
    TokenUsage,
    ToolCallBlock,
    chunk_to_json,
)

from dsh_agent._parts import Parts
from dsh_agent._session import Session
from dsh_agent._types import AGENT_STEP_RESULT, AgentHandle


class Answer(NamedTuple):
    """What the model said; `cut` when the length limit ended it."""

    message: Message
    usage: TokenUsage | None
    cut: bool


async def ask(parts: Parts, request: ModelRequest, place: dict[str, Any]) -> Answer:
    """Send *request*, log the chunks at *place*, and return the message, which is not logged yet.

    Raises:
        HarnessError: The model's failure, as the adapter gave it; `MALFORMED_RESPONSE` for a
            message of a plugin's layer whose calls cannot be told apart.
        Exception: Whatever a plugin's layer raises.
    """
    assembler = await _drain(parts.llm.stream(request), parts.session, place)
    cut = assembler.finish.kind == "max-tokens"
    message = assembler.message()
    if cut:
        # Why: a call that the limit may have cut must neither run nor stay without a result.
        message = _without_calls(message)
    message = await parts.ctx.waterfall(AGENT_STEP_RESULT, _unchanged, parts.agent, message)
    _require_distinct_calls(message)
    return Answer(message, assembler.usage, cut)


async def _drain(
    stream: AsyncIterator[StreamChunk], session: Session, place: dict[str, Any]
) -> BlockAssembler:
    assembler = BlockAssembler()
    finish: FinishReason | None = None
    async with _closing(stream):
        async for chunk in stream:
            session.append("assistant/chunk", place | {"chunk": chunk_to_json(chunk)})
            assembler.push(chunk)
            if isinstance(chunk, FinishChunk):
                finish = chunk.reason
    _require_good(finish)
    return assembler


def _require_good(finish: FinishReason | None) -> None:
    if finish is None:
        # Why: the boundary always ends with a finish, a plugin's layer around it may not.
        raise LlmError("the stream ended without its end marker", "STREAM_CLOSED")
    if finish.failed:
        text = finish.message or f"the model's stream ended {finish.kind}"
        raise finish.error or LlmError(text, finish.code or "UNKNOWN")


def _require_distinct_calls(message: Message) -> None:
    # Why: the boundary sees to it for adapters, a plugin's layer may undo that.
    calls = message.tool_calls
    ids = {call.id for call in calls}
    if len(ids) < len(calls) or not all(call.id and call.name for call in calls):
        text = "a tool call has no name, or an id that is empty or repeated"
        raise LlmError(text, "MALFORMED_RESPONSE")


def _without_calls(message: Message) -> Message:
    kept = tuple(block for block in message.content if not isinstance(block, ToolCallBlock))
    return Message(message.role, kept)


async def _unchanged(_agent: AgentHandle, message: Message) -> Message:
    return message


@asynccontextmanager
async def _closing(stream: AsyncIterator[StreamChunk]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
