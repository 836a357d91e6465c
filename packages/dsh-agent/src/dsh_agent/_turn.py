"""One turn: its input, its steps, and its end, which is logged whatever raises."""

import asyncio
from collections.abc import Sequence
from typing import Any

from dsh_llm import (
    AbortController,
    HarnessError,
    Interruptible,
    Message,
    ModelRequest,
    blocks_to_json,
    error_data,
    error_link,
    is_harness_error,
    usage_to_json,
)

from dsh_agent._calls import CallRunner
from dsh_agent._inbox import Input
from dsh_agent._parts import Parts
from dsh_agent._step import Answer, ask
from dsh_agent._to_error import to_error
from dsh_agent._types import (
    AGENT_CONTINUE,
    AGENT_REQUEST,
    NO_USAGE,
    AgentHandle,
    RunResult,
    TurnEnd,
)


class Turn:
    """Runs one turn. The log has its end before `run` returns."""

    def __init__(self, parts: Parts) -> None:
        """Prepare the next turn of the agent; nothing is logged yet."""
        self._parts = parts
        self._session = parts.session
        self._abort = AbortController()
        self._step = 0
        self._usage = NO_USAGE
        self._text = ""
        self._reason = "completed"
        self.number = parts.session.turn + 1

    def abort(self, reason: str) -> None:
        """Stop at the next await; what is finished stays in the log."""
        self._abort.abort(reason)

    async def run(self, inputs: Sequence[Input]) -> TurnEnd:
        """Take *inputs* and go on until nothing is owed; never raises an `Exception`."""
        try:
            self._begin(inputs)
            await self._steps()
        except BaseException as error:  # noqa: BLE001  # Why: whatever it was, the turn's end is logged first
            end = self._failed(error)
        else:
            end = TurnEnd(self._result())
        self._close(inputs, end)
        return end

    @property
    def _open(self) -> bool:
        return self._session.open_turn and self._session.turn == self.number

    def _begin(self, inputs: Sequence[Input]) -> None:
        for item in inputs:
            item.turn = self.number
        self._session.append("turn/start", {"turn": self.number})
        for item in inputs:
            self._session.append("user/message", {"turn": self.number, **item.data()})

    async def _steps(self) -> None:
        going = True
        while going:
            self._steer()
            self._require_step_left()
            self._step += 1
            going = await self._one_step()
            self._abort.signal.raise_if_aborted()

    async def _one_step(self) -> bool:
        place = {"turn": self.number, "step": self._step}
        calls = CallRunner(self._parts, self._abort.signal, place)
        try:
            self._session.append("step/start", place)
            async with Interruptible(self._abort.signal):
                answer = await ask(self._parts, await self._request(), place)
            self._note(answer, place)
            await calls.run(answer.message.tool_calls)
        except BaseException as error:
            calls.close(error)
            raise
        finally:
            self._end_step(place)
        return await self._goes_on(answer.message)

    def _end_step(self, place: dict[str, Any]) -> None:
        if self._session.open_step is not None:
            self._session.append("step/end", place)
        self._release_context()

    def _note(self, answer: Answer, place: dict[str, Any]) -> None:
        message, usage = answer.message, answer.usage
        if usage is not None:
            self._usage = self._usage.plus(usage)
            self._session.append("usage", place | {"usage": usage_to_json(usage)})
        # Invariant: last, for from here on each call in the message is owed a result.
        content = blocks_to_json(message.content)
        self._session.append("assistant/message", place | {"content": content})
        self._text = message.text
        if answer.cut:
            self._reason = "max-tokens"

    async def _request(self) -> ModelRequest:
        parts = self._parts
        request = ModelRequest(
            model=parts.model,
            messages=self._session.derive_messages(),
            system=parts.system or None,
            tools=parts.tools.schemas(),
            signal=self._abort.signal,
        )
        request = await parts.ctx.waterfall(AGENT_REQUEST, _unchanged_request, parts.agent, request)
        if not request.model:
            text = f"agent {parts.agent.id!r} has no model: give it one, or set it in agent/request"
            raise HarnessError(text, "NO_MODEL")
        return request

    async def _goes_on(self, message: Message) -> bool:
        owed = bool(message.tool_calls or self._parts.inbox.steering)
        async with Interruptible(self._abort.signal):
            wanted = await self._parts.ctx.waterfall(
                AGENT_CONTINUE, _unchanged_decision, self._parts.agent, owed
            )
        return bool(wanted or self._parts.inbox.steering) and self._reason != "max-tokens"

    def _steer(self) -> None:
        for item in self._parts.inbox.steering:
            item.turn = self.number
            self._session.append("steering/message", {"turn": self.number, **item.data()})
            # Invariant: after the append, so that steering which is refused is not lost.
            self._parts.inbox.steered(item)

    def _release_context(self) -> None:
        for item in self._parts.inbox.take_context():
            try:
                self._session.append("context/message", item.data())
            except Exception as error:  # noqa: BLE001  # Why: it must not hide how the step ended; run raises it
                self._session.kept.append(error)

    def _require_step_left(self) -> None:
        limit = self._parts.max_steps
        if self._step >= limit:
            text = f"no answer after {limit} steps"
            raise HarnessError(text, "AGENT_LOOP_ERROR", context={"max_steps": limit})

    def _result(self) -> RunResult:
        return RunResult(self._text, self._usage, self._step, self.number, self._reason)

    def _failed(self, error: BaseException) -> TurnEnd:
        if isinstance(error, asyncio.CancelledError) and not _cancelled():
            text = "something that the turn waited for was cancelled, and the turn was not"
            error = HarnessError(text, "ABORTED", cause=error)
        leaving = None if isinstance(error, Exception) else error
        if self._open and leaving is None and not self._was_aborted(error):
            place = {"turn": self.number, "step": self._step}
            self._session.append("error", place | error_data(error))
        return TurnEnd(to_error(error), leaving)

    def _was_aborted(self, error: object) -> bool:
        asked = self._abort.signal.aborted
        return asked and is_harness_error(error) and error.code == "ABORTED"

    def _close(self, inputs: Sequence[Input], end: TurnEnd) -> None:
        if self._open:
            reason = self._reason_data(end)
            self._session.append("turn/end", {"turn": self.number, "reason": reason})
            return
        for item in inputs:
            item.turn = None

    def _reason_data(self, end: TurnEnd) -> dict[str, Any]:
        if isinstance(end.outcome, Exception):
            return {"kind": self._end_kind(end)} | error_link(end.outcome)
        return {"kind": self._reason}

    def _end_kind(self, end: TurnEnd) -> str:
        if end.leaving is None and not self._was_aborted(end.outcome):
            return "error"
        return "disposed" if self._parts.agent.status == "disposed" else "aborted"


def require_steps(max_steps: int) -> None:
    """Refuse a bound that no turn could keep.

    Raises:
        HarnessError: `VALIDATION_INVALID_INPUT` for *max_steps* below 1.
    """
    if max_steps < 1:
        text = f"max_steps must be 1 or more, not {max_steps!r}"
        raise HarnessError(text, "VALIDATION_INVALID_INPUT")


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _unchanged_request(_agent: AgentHandle, request: ModelRequest) -> ModelRequest:
    return request


async def _unchanged_decision(_agent: AgentHandle, owed: bool) -> bool:  # noqa: FBT001  # Why: the waterfall's own shape
    return owed
