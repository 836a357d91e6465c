"""The tool calls of one message: each is logged before it runs, and each gets one result."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

from dsh_llm import (
    AbortSignal,
    FrozenDict,
    HarnessError,
    LogEvent,
    Message,
    TextBlock,
    ToolCallBlock,
    blocks_from_json,
    blocks_to_json,
    classify_error,
    scrub,
    text_of,
)
from dsh_tools import ToolErrorInfo, ToolExecutionResult, ToolRegistry

from dsh_agent._parts import Parts

Outcome: TypeAlias = ToolExecutionResult | BaseException


class CallRunner:
    """Runs the calls of a step one after another; neighbours that are safe to run together do.

    Results are committed in the model's order.
    """

    def __init__(self, parts: Parts, signal: AbortSignal, place: dict[str, Any]) -> None:
        """Log at *place*; *signal* is handed to the tools."""
        self._parts = parts
        self._signal = signal
        self._place = place
        self._started: set[str] = set()

    async def run(self, calls: Sequence[ToolCallBlock]) -> None:
        """Run *calls*; what it raises leaves calls without a result, see `close`.

        Raises:
            HarnessError: `ABORTED` between two calls.
            InvariantError: A broken contract that a tool or a listener met.
            BaseException: What is no failure of a tool: Ctrl-C, `SystemExit`, a cancellation.
        """
        for group in self._groups(calls):
            await self._run_group(group)

    def close(self, error: BaseException) -> None:
        """Give each call of the step that has no result one that says why: *error*."""
        # Why: read from the log, for an append may have committed its row and raised all the same.
        step = takewhile(lambda one: one.type != "step/start", reversed(self._parts.session.events))
        answered: set[str] = set()
        for event in step:
            if event.type == "tool/result":
                answered.add(event.data["call_id"])
            elif event.type == "assistant/message":
                self._close_all(_calls_of(event), answered, error)
                return

    async def _run_group(self, group: Sequence[ToolCallBlock]) -> None:
        self._signal.raise_if_aborted()
        for call in group:
            self._log_call(call)
        outcomes = await self._outcomes(group)
        for call, outcome in zip(group, outcomes, strict=True):
            failed = isinstance(outcome, BaseException)
            self._log_result(call, self._cut_short(call, outcome) if failed else outcome)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _outcomes(self, group: Sequence[ToolCallBlock]) -> Sequence[Outcome]:
        if len(group) == 1:
            return [await self._execute(group[0])]
        tasks = [asyncio.ensure_future(self._carried(call)) for call in group]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise
        return [task.result() for task in tasks]

    async def _carried(self, call: ToolCallBlock) -> Outcome:
        # Why: Ctrl-C and SystemExit in a child task would tear the event loop down at once; as a
        # value they leave from the turn's own task, after the log is closed.
        try:
            return await self._execute(call)
        except BaseException as error:  # noqa: BLE001  # Why: carried, and raised by _run_group
            return error

    async def _execute(self, call: ToolCallBlock) -> ToolExecutionResult:
        self._started.add(call.id)
        return await self._parts.tools.execute(
            call.name,
            call.arguments,
            call_id=call.id,
            signal=self._signal,
            agent=self._parts.agent,
            session=self._parts.session,
        )

    def _groups(self, calls: Sequence[ToolCallBlock]) -> Iterator[Sequence[ToolCallBlock]]:
        group: list[ToolCallBlock] = []
        for call in calls:
            safe = self._is_safe(call)
            if group and not (safe and self._is_safe(group[0])):
                yield group
                group = []
            group.append(call)
        if group:
            yield group

    def _is_safe(self, call: ToolCallBlock) -> bool:
        tool = self._parts.tools.get(call.name)
        return tool is not None and tool.concurrency_safe is True

    def _log_call(self, call: ToolCallBlock) -> None:
        data = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        self._parts.session.append("tool/call", self._place | data)

    def _log_result(self, call: ToolCallBlock, result: ToolExecutionResult) -> None:
        data: dict[str, Any] = {
            "call_id": call.id,
            "content": blocks_to_json(result.content),
            "is_error": result.is_error,
        }
        if result.error is not None:
            data["error"] = {"name": result.error.name, "code": result.error.code}
        if result.failure is not None:
            data["failure"] = result.failure
        self._parts.session.append("tool/result", self._place | data)

    def _close_all(
        self, calls: Sequence[ToolCallBlock], answered: set[str], error: BaseException
    ) -> None:
        for call in calls:
            if call.id not in answered:
                self._log_result(call, self._cut_short(call, error))

    def _cut_short(self, call: ToolCallBlock, error: BaseException) -> ToolExecutionResult:
        started = call.id in self._started
        why = classify_error(error, seam="runtime") if started else _not_started(error)
        return ToolExecutionResult(
            call.id,
            (TextBlock(f"Error: {scrub(text_of(error if started else why))}"),),
            is_error=True,
            error=ToolErrorInfo(why.name, why.code),
            failure=FrozenDict(effect="unknown" if started else "none"),
        )


async def join_threads(tools: ToolRegistry, grace: float) -> None:
    """Wait *grace* seconds for the threads that calls left behind, and report those that stay."""
    left = await tools.aclose(grace)
    if left:
        import logging

        logging.getLogger("dsh").warning("threads still run, of tools: %s", ", ".join(left))


def _calls_of(event: LogEvent) -> tuple[ToolCallBlock, ...]:
    """Return the calls in an `assistant/message`."""
    return Message("assistant", blocks_from_json(event.data["content"])).tool_calls


def _not_started(error: BaseException) -> HarnessError:
    return HarnessError(f"not started: {text_of(error)}", "ABORTED_BEFORE_DISPATCH", cause=error)
