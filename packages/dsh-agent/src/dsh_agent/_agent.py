"""The handle on one agent: what is sent in, what runs, what comes out, and the end of it."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Self

from dsh_llm import (
    Block,
    Context,
    HarnessError,
    LlmAdapter,
    MessageSource,
    Plugin,
    text_blocks,
)
from dsh_tools import Tool

from dsh_agent._calls import join_threads
from dsh_agent._driver import Driver, running_loop
from dsh_agent._events import SessionEvent
from dsh_agent._follow import Follower
from dsh_agent._harness import Harness
from dsh_agent._inbox import Inbox, Input
from dsh_agent._parts import Parts
from dsh_agent._session import Clock, Session, wall_clock
from dsh_agent._store import SessionStore
from dsh_agent._sync import SyncRunner
from dsh_agent._to_error import foremost
from dsh_agent._turn import require_steps
from dsh_agent._types import RunResult, TurnEnd

DEFAULT_MAX_STEPS = 50


class Agent:
    """An agent: a model, tools, and a session that remembers everything.

    All calls belong to one event loop, except `run_sync` and `close`, which bring their own. Use
    `async with`, or call `aclose` (`close` after `run_sync`) when you are done.

    Attributes:
        id: Given, or the session's.
        session: The log.
        ctx: Where plugins listen.
        tools: The registry of this agent.
    """

    def __init__(
        self,
        model: LlmAdapter | str | None = None,
        *,
        tools: Iterable[Tool] = (),
        system: str = "",
        plugins: Iterable[Plugin] = (),
        store: SessionStore | None = None,
        session_id: str | None = None,
        max_steps: int = DEFAULT_MAX_STEPS,
        clock: Clock = wall_clock,
        harness: Harness | None = None,
    ) -> None:
        """Make an idle agent, of its own or in *harness*.

        *model* is an adapter, a name that the harness has registered, or `provider:model`. With a
        *store* the session is kept there; a *session_id* that it knows is continued.

        Raises:
            LlmError: `MISSING_CREDENTIAL`, `UNKNOWN_MODEL`: the model's name leads nowhere.
            HarnessError: `DUPLICATE_TOOL`; `SESSION_LOCKED`; `SESSION_INTERRUPTED` for a log that
                ends inside a turn; `VALIDATION_INVALID_INPUT` for *max_steps* below 1.
            StorageError: The log cannot be opened.
            Exception: Whatever a plugin raises.
        """
        require_steps(max_steps)
        self._harness = Harness() if harness is None else harness
        self._shared = harness is not None
        name = self._harness.model_name(model)
        self.ctx: Context = self._harness.ctx.scope("agent")
        self.tools = self._harness.registry(tools, self.ctx)
        self.session: Session = self._harness.session(session_id, store, clock, self.ctx, plugins)
        self.id = self.session.id
        self._inbox = Inbox()
        self._sync = SyncRunner()
        self._closing: asyncio.Task[None] | None = None
        parts = Parts(
            agent=self,
            ctx=self.ctx,
            session=self.session,
            llm=self._harness.llm,
            tools=self.tools,
            inbox=self._inbox,
            model=name,
            system=system,
            max_steps=max_steps,
        )
        self._driver = Driver(parts, self._harness)
        if self._shared:
            self._harness.adopt(self)

    @property
    def status(self) -> str:
        """`idle`, `running` or `disposed`."""
        return self._driver.status

    # -- input -------------------------------------------------------------------------------

    async def run(
        self, content: "str | Block | Sequence[Block]", *, source: MessageSource | None = None
    ) -> RunResult:
        """Send *content* and return how its turn ended, once the log is closed.

        Each `run` has a turn; a second one waits for its own. Cancelling it aborts the turn, waits
        until the log is closed, and passes on.

        Raises:
            HarnessError: The turn's failure; `ABORTED` after `abort`; `DISPOSED`; `WAIT_IN_TURN`
                when called by the turn that it would wait for.
            InvariantError: The first broken contract that was met, even where nothing failed.
            Exception: What a plugin raised, as it is.
        """
        item, ended = self._enqueue(content, source)
        try:
            end = await asyncio.shield(ended)
        except asyncio.CancelledError:
            await self._withdraw(item, ended)
            raise
        return self._outcome(end)

    def run_sync(
        self, content: "str | Block | Sequence[Block]", *, source: MessageSource | None = None
    ) -> RunResult:
        """Do the same as `run`, where no event loop is running; Ctrl-C aborts the turn.

        Raises:
            HarnessError: `SYNC_IN_ASYNC` inside a running event loop, and from a thread while
                another loop runs this agent; else as `run`.
        """
        return self._sync.run(self.run(content, source=source), busy=self._driver.driven_elsewhere)

    async def stream(
        self, content: "str | Block | Sequence[Block]", *, source: MessageSource | None = None
    ) -> AsyncGenerator[SessionEvent, None]:
        """Send *content* and yield the events of its turn as they are committed.

        Leaving early aborts the turn and waits until the log is closed.

        Raises:
            HarnessError: The turn's failure, after its last event; as `run`.
        """
        item, ended = self._enqueue(content, source)
        turn = Follower(self.ctx, self.session, item, ended)
        try:
            while (event := await turn.next()) is not None:
                yield event
        finally:
            turn.dispose()
            await self._withdraw(item, ended)
        self._outcome(ended.result())

    def send(
        self, content: "str | Block | Sequence[Block]", *, source: MessageSource | None = None
    ) -> None:
        """Queue *content* for the next turn; what is sent in one tick shares a turn.

        Raises:
            HarnessError: `DISPOSED`; `NO_EVENT_LOOP` outside a running loop.
            JsonValueError: `NOT_JSON` for blocks that no log can hold.
        """
        self._require_alive()
        self._driver.put(Input(text_blocks(content), source))

    def steer(
        self, content: "str | Block | Sequence[Block]", *, source: MessageSource | None = None
    ) -> None:
        """Add *content* to the running turn before its next step; when idle, as `send`.

        What the turn does not get to starts the next one; `aclose` drops it, as all that is queued.

        Raises:
            HarnessError: As `send`.
        """
        if self.status != "running":
            self.send(content, source=source)
            return
        self._inbox.put_steering(Input(text_blocks(content), source))

    def inject(
        self, content: "str | Block | Sequence[Block]", *, source: MessageSource | None = None
    ) -> None:
        """Log *content* as context, without asking for an answer; during a step, at its end.

        Raises:
            HarnessError: `DISPOSED`; as `Session.append`.
        """
        self._require_alive()
        item = Input(text_blocks(content), source)
        if self.session.open_step is None:
            self.session.append("context/message", item.data())
        else:
            self._inbox.put_context(item)

    # -- control -----------------------------------------------------------------------------

    def abort(self, reason: str = "aborted") -> None:
        """Stop the running turn at its next await; when none runs, do nothing.

        Finished work stays in the log, open calls get a result there, and the agent can run again.
        """
        self._driver.abort(reason)

    async def wait_idle(self) -> None:
        """Return when nothing runs and nothing is queued; a disposed agent is idle.

        Raises:
            HarnessError: `WAIT_IN_TURN` when called by the turn that it would wait for.
        """
        self._driver.require_outside("wait", "WAIT_IN_TURN")
        await self._driver.wait_idle()

    async def aclose(self, *, grace: float = 5.0) -> None:
        """Stop: abort the turn, close the log, wait for all work; calling it again waits too.

        Threads of tools that were left behind get *grace* seconds; those that still run then are
        named in the `dsh` log.

        Raises:
            HarnessError: The first failure that no run has raised; `CLOSE_FAILED` of a clean-up;
                `CLOSE_IN_TURN` when called by the turn that it would wait for.
        """
        self._driver.require_outside("close", "CLOSE_IN_TURN")
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(grace))
        await asyncio.shield(self._closing)

    def close(self, *, grace: float = 5.0) -> None:
        """Do the same as `aclose` after `run_sync`, and end the event loop that it used.

        Raises:
            HarnessError: `SYNC_IN_ASYNC`; else as `aclose`.
        """
        self._sync.finish(self.aclose(grace=grace), busy=self._driver.driven_elsewhere)

    async def __aenter__(self) -> Self:
        """Start the async plugins; when one cannot start, close and raise what it raised."""
        try:
            await self._harness.start()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Close."""
        await self.aclose()

    # -- inside ------------------------------------------------------------------------------

    async def _close(self, grace: float) -> None:
        await self._driver.dispose(self._disposed_error())
        self.session.close()
        self._harness.forget(self)
        await join_threads(self.tools, grace)
        try:
            await (self.ctx if self._shared else self._harness).aclose()
        except HarnessError as error:
            self.session.kept.append(error)
        if self.session.kept:
            raise foremost(self.session.kept)

    def _enqueue(
        self, content: "str | Block | Sequence[Block]", source: MessageSource | None
    ) -> "tuple[Input, asyncio.Future[TurnEnd]]":
        self._require_alive()
        self._driver.require_outside("wait", "WAIT_IN_TURN")
        ended: asyncio.Future[TurnEnd] = running_loop().create_future()
        item = Input(text_blocks(content), source, ended)
        self._driver.put(item)
        return item, ended

    async def _withdraw(self, item: Input, ended: "asyncio.Future[TurnEnd]") -> None:
        if ended.done() or self._inbox.remove(item):
            return
        self.abort("cancelled")
        await asyncio.wait([ended])
        ended.result().leave()

    def _outcome(self, end: TurnEnd) -> RunResult:
        end.leave()
        kept, self.session.kept = self.session.kept, []
        if isinstance(end.outcome, Exception):
            raise foremost([end.outcome, *kept])
        if kept:
            raise foremost(kept)
        return end.outcome

    def _require_alive(self) -> None:
        if self.status == "disposed":
            raise self._disposed_error()

    def _disposed_error(self) -> HarnessError:
        return HarnessError(f"agent {self.id!r} is disposed", "DISPOSED")
