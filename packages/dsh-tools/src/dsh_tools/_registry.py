"""The registry: tools by name, and the one pipeline through which every call goes."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import count
from typing import Any

from dsh_llm import (
    AbortSignal,
    Context,
    Disposer,
    HarnessError,
    Interruptible,
    TextBlock,
    ToolSchema,
    text_of,
)

from dsh_tools._calls import (
    TOOLS_CHANGE,
    TOOLS_EXECUTE,
    RawArguments,
    ToolCall,
    ToolContext,
    ToolExecutionResult,
)
from dsh_tools._errors import ToolDefinitionError, ToolNotFoundError
from dsh_tools._results import failed, succeeded
from dsh_tools._signature import Bound
from dsh_tools._threads import Threads
from dsh_tools._tool import Tool


class ToolRegistry:
    """Tools by name. Works alone, or in a scope that other plugins share."""

    def __init__(self, tools: Iterable[Tool[..., Any]] = (), ctx: Context | None = None) -> None:
        """Register *tools*, in *ctx* or in a context of its own.

        Raises:
            ToolDefinitionError: As `register`.
        """
        self._own_ctx = ctx is None
        self.ctx = ctx or Context(label="tools")
        self._tools: dict[str, Tool[..., Any]] = {}
        self._threads = Threads()
        self._ids = count(1)
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool[..., Any]) -> Disposer:
        """Offer *tool* under its name; the returned disposer takes exactly this back.

        A plugin hands the disposer to its own scope: `ctx.own(registry.register(tool))`.

        Raises:
            ToolDefinitionError: `DUPLICATE_TOOL` when the name is taken; `INVALID_TOOL` for what is
                no tool, such as a function without `define_tool`.
        """
        _require_tool(tool)
        name = tool.name
        if name in self._tools:
            text = f'tool "{name}" is already registered'
            raise ToolDefinitionError(text, "DUPLICATE_TOOL")
        dispose = self.ctx.own(lambda: self._remove(name))
        self._tools[name] = tool
        self.ctx.emit(TOOLS_CHANGE)
        return dispose

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool of this name, or `None`."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the registered names, in the order of registration."""
        return tuple(self._tools)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return what the model is shown, in the order of registration."""
        return tuple(tool.schema for tool in self._tools.values())

    async def execute(
        self,
        name: str,
        arguments: RawArguments,
        *,
        call_id: str | None = None,
        signal: AbortSignal | None = None,
        agent: object = None,
        session: object = None,
    ) -> ToolExecutionResult:
        """Run one call through `tools/execute`; whatever fails becomes an error result.

        *arguments* are the model's text, or an object. A call without *call_id* gets one. When
        *signal* fires, the call ends with `ABORTED` unless its body has finished: an async body or
        layer is cancelled and awaited, a thread is left behind and its late result dropped. What
        a tool or a layer raises is a result (with `error` when it has a code): `UNKNOWN_TOOL`,
        `INVALID_ARGS`, `ABORTED`, `ABORTED_BEFORE_DISPATCH`, `TOOL_CANCELLED` for a tool that
        cancelled itself, `INVALID_TOOL_OUTPUT`, an errno's name, the tool's own.

        Raises:
            HarnessError: `INVARIANT`, a broken invariant.
            BaseException: What is no `Exception`: Ctrl-C, `SystemExit`, a cancellation from
                outside.
        """
        own_id = f"call-{next(self._ids)}" if call_id is None else call_id
        call = ToolCall(name, arguments, own_id, signal, agent, session)
        progress = _Progress()
        core = partial(self._core, progress)

        def layers() -> Awaitable[ToolExecutionResult]:
            return self.ctx.waterfall(TOOLS_EXECUTE, core, call)

        if signal is None:
            return await _contained(own_id, layers)
        return await _contained(own_id, partial(_interruptible, layers, signal, progress))

    async def aclose(self, grace: float = 5.0) -> tuple[str, ...]:
        """Wait up to *grace* seconds for threads that were left behind.

        Returns the names of the tools whose threads still run; they cannot be stopped, and end
        with the process at the latest. A context of its own is closed too. Calling it again
        waits again.
        """
        left = await self._threads.join(grace)
        if self._own_ctx:
            await self.ctx.aclose()
        return left

    def _remove(self, name: str) -> None:
        del self._tools[name]
        self.ctx.emit(TOOLS_CHANGE)

    async def _core(self, progress: "_Progress", call: ToolCall) -> ToolExecutionResult:
        progress.finished = await _contained(call.call_id, partial(self._run, progress, call))
        return progress.finished

    async def _run(self, progress: "_Progress", call: ToolCall) -> ToolExecutionResult:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolNotFoundError(call.name, self._tools)
        context = ToolContext(call.call_id, call.name, call.signal, call.agent, call.session)
        bound = tool.bind(call.arguments, context)
        progress.began = True
        return await self._body(tool, bound, call)

    async def _body(
        self, tool: Tool[..., Any], bound: Bound, call: ToolCall
    ) -> ToolExecutionResult:
        work = partial(tool.function, *bound.args, **bound.kwargs)
        if tool.is_async:
            return succeeded(call.call_id, await work())
        outcome = await self._threads.run(tool.name, work, call.signal)
        if isinstance(outcome.error, Exception):
            return failed(call.call_id, outcome.error)
        if outcome.error is not None:
            raise outcome.error
        value = outcome.value
        return succeeded(call.call_id, await value if inspect.isawaitable(value) else value)


def _require_tool(tool: object) -> None:
    if not isinstance(tool, Tool):
        text = f"{text_of(tool):.80} is no tool: make one of it with define_tool"
        raise ToolDefinitionError(text, "INVALID_TOOL")


class _Progress:
    """How far a call has come: whether a body began, and the last result of one that ended."""

    __slots__ = ("began", "finished")

    def __init__(self) -> None:
        self.began = False
        self.finished: ToolExecutionResult | None = None


async def _interruptible(
    work: Callable[[], Awaitable[ToolExecutionResult]], signal: AbortSignal, progress: _Progress
) -> ToolExecutionResult:
    """Return what *work* returns; when *signal* fires, what was finished, else raise."""
    watch = Interruptible(signal)
    try:
        async with watch:
            return await work()
    except HarnessError as error:
        if error.code != "ABORTED" or not signal.aborted:
            raise
        if progress.finished is not None:
            return progress.finished
        raise _aborted(signal, began=progress.began) from error


def _aborted(signal: AbortSignal, *, began: bool) -> HarnessError:
    if began:
        return HarnessError(signal.reason or "aborted", "ABORTED", effect="unknown")
    text = f"aborted before the tool ran: {signal.reason}"
    return HarnessError(text, "ABORTED_BEFORE_DISPATCH", effect="none")


async def _contained(
    call_id: str, work: Callable[[], Awaitable[ToolExecutionResult]]
) -> ToolExecutionResult:
    """Return what *work* returns, under this id; a failure of its own is a result too."""
    import asyncio

    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        return _checked(call_id, await work())
    except asyncio.CancelledError as error:
        if task is None or task.cancelling() > before:
            raise
        own = HarnessError("the tool cancelled itself", "TOOL_CANCELLED", cause=error)
        return failed(call_id, own)
    except Exception as error:  # noqa: BLE001  # Why: whatever a tool or a layer raises is this call's result
        return failed(call_id, error)


def _checked(call_id: str, result: object) -> ToolExecutionResult:
    if not isinstance(result, ToolExecutionResult):
        text = f"a layer of tools/execute returned a {type(result).__name__}, not a result"
        raise HarnessError(text, "INVALID_TOOL_OUTPUT")
    content = tuple(result.content) or (TextBlock(""),)
    return result._replace(call_id=call_id, content=content)
