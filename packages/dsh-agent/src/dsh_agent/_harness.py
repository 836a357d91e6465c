"""What several agents share: plugins, models, tools, and the store of their sessions."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, Self

from dsh_llm import (
    SESSION_FLUSH,
    Context,
    HarnessError,
    Llm,
    LlmAdapter,
    Plugin,
)
from dsh_tools import Tool, ToolRegistry

from dsh_agent._session import Clock, Session
from dsh_agent._store import MemoryStore, SessionStore
from dsh_agent._to_error import foremost

if TYPE_CHECKING:
    import asyncio


class Closable(Protocol):
    """What a harness closes before itself: an agent."""

    async def aclose(self) -> None:
        """Stop, and wait for all work."""
        ...


class Harness:
    """Composes models, tools, sessions and plugins for many agents.

    Attributes:
        ctx: The root scope: plugins here hear every agent.
        llm: The models by name.
        store: Where sessions are kept unless an agent is given another store.
    """

    def __init__(
        self,
        *,
        models: Mapping[str, LlmAdapter] | None = None,
        tools: Iterable[Tool] = (),
        plugins: Iterable[Plugin] = (),
        store: SessionStore | None = None,
    ) -> None:
        """Register *models* by name, give every agent *tools*, and use *plugins*.

        Raises:
            Exception: Whatever a plugin raises.
        """
        self.ctx = Context(label="harness")
        self.llm = Llm(self.ctx)
        self.ctx.provide(Llm, self.llm)
        self.store: SessionStore = MemoryStore() if store is None else store
        self._tools = list(tools)
        for name, adapter in (models or {}).items():
            self.llm.register(name, adapter)
        self._adapters: dict[int, tuple[str, LlmAdapter]] = {}
        self._agents: dict[Closable, None] = {}
        self._starting: asyncio.Task[None] | None = None
        self.use(*plugins)

    def use(self, *plugins: Plugin) -> None:
        """Run each plugin in a scope of its own; see `Context.use`."""
        for plugin in plugins:
            self.ctx.use(plugin)

    async def start(self) -> None:
        """Start the async plugins; every agent waits for that, whoever began it.

        Raises:
            Exception: Whatever such a plugin raises; every agent gets it from then on, for none
                of them may run without the plugin.
        """
        import asyncio

        if self._starting is None or _succeeded(self._starting):
            self._starting = asyncio.ensure_future(self.ctx.start())
        await asyncio.shield(self._starting)

    async def aclose(self) -> None:
        """Close the agents, then the root scope with its plugins.

        Raises:
            HarnessError: `CLOSE_FAILED` with every clean-up that failed; the first failure of an
                agent's `aclose`, with the others in its notes.
        """
        errors = [error for agent in [*self._agents] if (error := await _closed(agent))]
        await self._stop_starting()
        error = await _closed(self.ctx)
        if error is not None:
            errors.append(error)
        if errors:
            raise foremost(errors)

    async def _stop_starting(self) -> None:
        import asyncio

        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait([self._starting])

    async def __aenter__(self) -> Self:
        """Start the async plugins."""
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Close."""
        await self.aclose()

    # -- for the agent -----------------------------------------------------------------------

    def registry(self, tools: Iterable[Tool], ctx: Context) -> ToolRegistry:
        """Return a registry in *ctx* with the shared tools and *tools*."""
        return ToolRegistry([*self._tools, *tools], ctx)

    def adopt(self, agent: Closable) -> None:
        """Close *agent* when this harness closes."""
        self._agents[agent] = None

    def forget(self, agent: Closable) -> None:
        """Take back `adopt`: *agent* has closed."""
        self._agents.pop(agent, None)

    def session(
        self,
        session_id: str | None,
        store: SessionStore | None,
        clock: Clock,
        ctx: Context,
        plugins: Iterable[Plugin],
    ) -> Session:
        """Open a session in *store*, a new one without an id; *plugins* in *ctx* see it created.

        Raises:
            HarnessError: `SESSION_INTERRUPTED` for a log that ends inside a turn; `SESSION_LOCKED`.
            StorageError: The log cannot be opened.
            Exception: Whatever a plugin raises; the log is given back then.
        """
        name = session_id or f"session-{os.urandom(6).hex()}"
        log = (self.store if store is None else store).open(name, clock())
        try:
            for plugin in plugins:
                ctx.use(plugin)
        except BaseException:
            log.writer.close()
            raise
        session = Session(name, ctx=ctx, log=log, clock=clock)
        _require_whole(session)
        return session

    def model_name(self, model: LlmAdapter | str | None) -> str:
        """Return the name under which *model* is registered, registering it when it is not.

        Raises:
            LlmError: `MISSING_CREDENTIAL`, `UNKNOWN_MODEL`.
        """
        if model is None:
            return ""
        if isinstance(model, str):
            return self._named(model)
        return self._register(getattr(model, "model", type(model).__name__), model)

    async def flush(self, session: Session) -> None:
        """Make *session* durable, and wait for whoever buffers; a failure goes to its `kept`."""
        session.flush()
        try:
            await self.ctx.gather(SESSION_FLUSH, session)
        except HarnessError as error:
            session.kept.append(error)

    def _named(self, name: str) -> str:
        if name not in self.llm.models():
            from dsh_llm.adapters import resolve_model

            adapter = resolve_model(name)
            self.llm.register(name, adapter)
            # Why: nobody else knows the adapter that was made here.
            self.ctx.own(adapter.aclose)
        return name

    def _register(self, name: str, adapter: LlmAdapter) -> str:
        known = self._adapters.get(id(adapter))
        if known is not None:
            return known[0]
        unique, n = name, 2
        while unique in self.llm.models():
            unique, n = f"{name}#{n}", n + 1
        self.llm.register(unique, adapter)
        # Why: the adapter is kept beside its id, so that the id cannot be reused.
        self._adapters[id(adapter)] = (unique, adapter)
        return unique


def _require_whole(session: Session) -> None:
    if session.open_turn:
        session.close()
        text = (
            f"session {session.id!r} ends inside turn {session.turn}: its log can be read and "
            "checked, but not continued; take a new session"
        )
        raise HarnessError(text, "SESSION_INTERRUPTED", context={"session": session.id})


async def _closed(closing: Closable) -> Exception | None:
    try:
        await closing.aclose()
    except Exception as error:  # noqa: BLE001  # Why: one failure must not keep the others from closing
        return error
    return None


def _succeeded(task: "asyncio.Task[None]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
