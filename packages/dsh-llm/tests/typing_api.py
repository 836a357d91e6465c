"""What a type checker must see of the public surface; pyright reads it, nobody runs it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, assert_type

from dsh_llm import (
    AGENT_STATUS,
    LLM_GENERATE,
    LLM_STREAM,
    SESSION_APPEND,
    SESSION_FLUSH,
    Block,
    BlockAssembler,
    Check,
    Context,
    Disposer,
    ErrorInfo,
    Gather,
    GenerateResult,
    HarnessCodedError,
    HarnessError,
    Llm,
    LlmError,
    LogEvent,
    LogSession,
    ModelRequest,
    Next,
    ObservedAgent,
    Signal,
    StreamChunk,
    ToolCallBlock,
    Waterfall,
    block_from_json,
    error_info,
    is_harness_coded_error,
    is_harness_error,
    text_blocks,
    unreachable,
)
from dsh_llm.testing import ScriptedModel, call, run_virtual, say


class Clock:
    """A service."""


CHANGED: Signal[[str, int]] = Signal("x/changed")
COMMIT: Check[[str]] = Check("x/commit")
FLUSH: Gather[[str]] = Gather("x/flush")
ROUND: Waterfall[[int], str] = Waterfall("x/round")


def on_changed(word: str, number: int) -> None:
    """Hear a signal."""


async def on_flush(word: str) -> None:
    """Do some work."""


def around(proceed: Next[[int], str], n: int) -> str:
    """Go around a core."""
    assert_type(proceed(), str)
    return proceed(n + 1)


def registering(ctx: Context) -> None:
    """A listener has the parameters of its event; another one is an error."""
    assert_type(ctx.on(CHANGED, on_changed, first=True), Disposer)
    ctx.on(FLUSH, on_flush)
    ctx.on(ROUND, around)
    ctx.on(COMMIT, print)
    ctx.on(COMMIT, on_changed)  # type: ignore[arg-type]  # Why: must be an error
    ctx.on(FLUSH, on_changed)  # type: ignore[arg-type]  # Why: must be an error
    ctx.on(ROUND, on_changed)  # type: ignore[arg-type]  # Why: must be an error
    ctx.on("x/changed", on_changed)  # type: ignore[arg-type]  # Why: must be an error


async def dispatching(ctx: Context) -> None:
    """So has a dispatch."""
    assert_type(ctx.emit(CHANGED, "a", 1), tuple[Exception, ...])
    assert_type(ctx.waterfall(ROUND, str, 1), str)
    assert_type(await ctx.gather(FLUSH, "a"), None)
    ctx.check(COMMIT, "a")
    ctx.emit(CHANGED, 1, "a")  # type: ignore[arg-type]  # Why: must be an error
    ctx.emit(COMMIT, "a")  # type: ignore[arg-type]  # Why: must be an error
    ctx.waterfall(ROUND, len, 1)  # type: ignore[arg-type]  # Why: must be an error


def services(ctx: Context) -> None:
    """A service has the type that it is asked by."""
    ctx.provide(Clock, Clock())
    assert_type(ctx.get(Clock), Clock)
    assert_type(ctx.own(lambda: None), Disposer)
    assert_type(ctx.scope(), Context)


async def tasks(ctx: Context) -> None:
    """A task gives nothing back."""
    assert_type(ctx.spawn(on_flush("a")), asyncio.Task[None])
    async with Context() as own:
        assert_type(own, Context)


def plugins(ctx: Context) -> None:
    """A plugin is a callable, plain or async."""

    def plain(_ctx: Context) -> None: ...
    async def later(_ctx: Context) -> None: ...
    def wrong(_ctx: Context, _n: int) -> None: ...

    assert_type(ctx.use(plain), Context)
    ctx.use(later)
    ctx.use(wrong)  # type: ignore[arg-type]  # Why: must be an error


def observing(ctx: Context) -> None:
    """The constants of other packages' events are typed here."""

    def before(session: LogSession, event: LogEvent) -> None:
        assert_type(event.seq, int)
        assert_type(session.id, str)

    def status(agent: ObservedAgent, new: str) -> None:
        assert_type(agent.status, str)
        assert_type(new, str)

    async def flush(session: LogSession) -> None: ...

    ctx.on(SESSION_APPEND, before)
    ctx.on(AGENT_STATUS, status)
    ctx.on(SESSION_FLUSH, flush)


def errors(value: object, error: HarnessError) -> None:
    """The guards narrow, the look-ups may find nothing."""
    if is_harness_error(value):
        assert_type(value, HarnessError)
    if is_harness_coded_error(value):
        assert_type(value, HarnessCodedError)
    assert_type(error_info("AUTH"), ErrorInfo | None)
    assert_type(error.code_num, int | None)
    assert_type(error.cause, object)
    LlmError("a", "A", 500, cause=error, retryable=True)
    LlmError("a", "A", retriable=True)  # type: ignore[call-arg]  # Why: must be an error
    HarnessCodedError(2001, retryable="yes")  # type: ignore[arg-type]  # Why: must be an error


async def models(llm: Llm, request: ModelRequest) -> None:
    """Streams and answers."""
    assert_type(llm.stream(request), AsyncIterator[StreamChunk])
    assert_type(await llm.generate(request), GenerateResult)
    llm.register("m", ScriptedModel([say("a"), [call("f", x=1)], lambda _request: say("b")]))

    async def layer(
        proceed: Next[[ModelRequest], Awaitable[GenerateResult]], request: ModelRequest
    ) -> GenerateResult:
        return await proceed(request)

    llm.ctx.on(LLM_GENERATE, layer)
    llm.ctx.on(LLM_STREAM, layer)  # type: ignore[arg-type]  # Why: must be an error


def kind_of(block: Block) -> str:
    """Blocks are told apart by class, and none is forgotten."""
    match block:
        case ToolCallBlock():
            return assert_type(block.name, str)
        case _:
            return block.type


def values(data: dict[str, Any], chunk: StreamChunk) -> None:
    """Plain functions."""
    assert_type(block_from_json(data), Block)
    assert_type(text_blocks("a"), tuple[Block, ...])
    assert_type(BlockAssembler().push(chunk), Block | None)

    async def number() -> int:
        return 1

    assert_type(run_virtual(number()), int)
    unreachable(data)
