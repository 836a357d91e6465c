"""What drives an agent: it makes turns of what is queued, one after another."""

import asyncio
from collections.abc import Sequence

from dsh_llm import AGENT_STATUS, AbortController, HarnessError, Interruptible, is_violation

from dsh_agent._harness import Harness
from dsh_agent._inbox import Input
from dsh_agent._parts import Parts
from dsh_agent._to_error import to_error
from dsh_agent._turn import Turn
from dsh_agent._types import TurnEnd


class Driver:
    """Runs turns on a task of its own, which lives as long as there is something to do.

    Attributes:
        status: `idle`, `running` or `disposed`.
    """

    def __init__(self, parts: Parts, harness: Harness) -> None:
        """Drive the agent of *parts*; nothing runs yet."""
        self.status = "idle"
        self._parts = parts
        self._harness = harness
        self._session = parts.session
        self._inbox = parts.inbox
        self._task: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._turn_task: asyncio.Task[TurnEnd] | None = None
        self._disposal = AbortController()

    @property
    def driven_elsewhere(self) -> bool:
        """Whether a turn belongs to an event loop that is running."""
        task = self._task
        return task is not None and not task.done() and task.get_loop().is_running()

    def put(self, item: Input) -> None:
        """Queue *item*, and start driving when nothing runs.

        Raises:
            HarnessError: `NO_EVENT_LOOP` outside a running loop; *item* is not queued then.
        """
        loop = running_loop()
        self._inbox.put(item)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._drive(), name=f"dsh {self._session.id}")

    def abort(self, reason: str) -> None:
        """Stop the running turn at its next await."""
        if self._turn is not None:
            self._turn.abort(reason)

    async def dispose(self, error: HarnessError) -> None:
        """Refuse what is queued with *error*, abort what runs, and wait for it; for good."""
        self._set_status("disposed")
        self._drop(error)
        self._disposal.abort("disposed")
        self.abort("disposed")
        await self.wait_idle()

    async def wait_idle(self) -> None:
        """Return when nothing runs and nothing is queued."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def require_outside(self, doing: str, code: str) -> None:
        """Refuse what would wait for the turn from inside of it.

        Raises:
            HarnessError: *code*.
        """
        if self._turn_task is not None and asyncio.current_task() is self._turn_task:
            text = f"agent {self._session.id!r} cannot {doing} inside its own turn"
            raise HarnessError(f"{text}: it would wait for itself", code)

    async def _drive(self) -> None:
        try:
            async with Interruptible(self._disposal.signal):
                await self._harness.start()
            await self._turns()
        except Exception as error:  # noqa: BLE001  # Why: whoever waits gets it, else run or aclose raises it
            if not self._drop(error) and not self._disposal.signal.aborted:
                self._session.kept.append(error)
        except BaseException as error:
            self._drop(to_error(error))
            raise
        finally:
            # Why: what a listener of the status sends needs a task of its own by now.
            self._task = None
            self._set_status("idle")

    async def _turns(self) -> None:
        while taken := self._inbox.take():
            end = await self._next_turn(taken)
            self._inbox.requeue_steering()
            if not self._inbox.queued:
                self._set_status("idle")
            self._settle(taken, end)

    async def _next_turn(self, taken: Sequence[Input]) -> TurnEnd:
        # Why: made before anybody is told that it runs, so that an abort finds it.
        self._turn = turn = Turn(self._parts)
        self._set_status("running")
        work = self._contained_turn(turn, taken)
        self._turn_task = running_loop().create_task(work, context=taken[0].context)
        try:
            return await self._turn_task
        except asyncio.CancelledError as error:
            return _broken_off(error)

    async def _contained_turn(self, turn: Turn, inputs: Sequence[Input]) -> TurnEnd:
        # Why: a task that lets SystemExit through tears the event loop down, with the driver in it.
        try:
            end = await turn.run(inputs)
            await self._harness.flush(self._session)
        except BaseException as error:  # noqa: BLE001  # Why: nobody may be left waiting, whatever it was
            return _broken_off(error)
        return end

    def _settle(self, taken: Sequence[Input], end: TurnEnd) -> None:
        heard = _tell(taken, end)
        if not isinstance(end.outcome, Exception):
            return
        if taken[0].turn is None and not heard:
            # Why: a turn that could not begin is not in the log, and nobody waits for it.
            self._session.kept.append(end.outcome)
        if end.leaving is not None:
            self._drop(end.outcome)
            self._leave(end.leaving, heard=heard)

    def _leave(self, leaving: BaseException, *, heard: bool) -> None:
        # Why: Ctrl-C and SystemExit leave once, from the task of whoever waits, if anybody does.
        if isinstance(leaving, asyncio.CancelledError) or not heard:
            raise leaving

    def _drop(self, error: Exception) -> bool:
        return _tell(self._inbox.clear(), TurnEnd(error))

    def _set_status(self, status: str) -> None:
        if self.status not in {status, "disposed"}:
            self.status = status
            failures = self._parts.ctx.emit(AGENT_STATUS, self._parts.agent, status)
            self._session.kept.extend(one for one in failures if is_violation(one))


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running loop.

    Raises:
        HarnessError: `NO_EVENT_LOOP` when there is none.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError as error:
        text = "an agent takes input inside a running event loop; use run_sync outside"
        raise HarnessError(text, "NO_EVENT_LOOP", cause=error) from error


def _broken_off(error: BaseException) -> TurnEnd:
    return TurnEnd(to_error(error), None if isinstance(error, Exception) else error)


def _tell(items: Sequence[Input], end: TurnEnd) -> bool:
    waiting = [item.ended for item in items if item.ended is not None and not item.ended.done()]
    for ended in waiting:
        ended.set_result(end)
    return bool(waiting)
