"""Plugins of an agent: they see everything, and nothing runs without one that was asked for."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from dsh_agent import Agent, MemoryStore, Session
from dsh_invariants import InvariantError, check_log, invariants
from dsh_llm import AGENT_STATUS, SESSION_CREATED, Context, HarnessError, LogSession
from dsh_llm.testing import ScriptedModel, run_virtual, say

MakeAgent = Callable[..., Agent]


def test_plugins_see_the_session_being_made(make_agent: MakeAgent) -> None:
    """A plugin hears `session/created`, with what the session was seeded with."""
    told: list[str] = []

    def watch(ctx: Context) -> None:
        ctx.on(SESSION_CREATED, lambda session: told.append(session.id))

    make_agent([], session_id="s", plugins=[watch])

    assert told == ["s"]


def test_a_plugin_may_log_as_soon_as_there_is_a_session() -> None:
    """An append from `session/created` is legal, also before the invariants see the session."""

    def early(ctx: Context) -> None:
        def note(session: LogSession) -> None:
            assert isinstance(session, Session)
            session.append("my/note", {})

        ctx.on(SESSION_CREATED, note)

    for plugins in ([early, invariants], [invariants, early]):
        agent = Agent(ScriptedModel([say("x")]), plugins=plugins)
        assert run_virtual(agent.run("hi")).text == "x"
        assert check_log(agent.session.to_rows()) == []
        assert agent.session.events[0].type == "my/note"


def test_a_log_that_was_broken_before_is_heard_of(make_agent: MakeAgent) -> None:
    """What an observer finds in a reopened log does not keep the agent from being made."""
    store = MemoryStore()
    log = store.open("s", 0)
    old = Session("x")
    rows: list[tuple[str, dict[str, Any]]] = [
        ("turn/start", {"turn": 5}),
        ("turn/end", {"turn": 5, "reason": {}}),
    ]
    for kind, data in rows:
        log.writer.append(old.append(kind, data))
    log.writer.close()
    agent = make_agent([say("x")], store=store, session_id="s", checked=False)

    with pytest.raises(InvariantError, match="expected 1"):
        run_virtual(agent.run("hi"))
    assert run_virtual(agent.run("again")).turn == 6


@pytest.mark.parametrize("entered", [True, False])
def test_async_plugins_are_started_before_anything_runs(
    make_agent: MakeAgent, *, entered: bool
) -> None:
    """`async with` waits for them, else the first run does."""
    order: list[str] = []

    async def slow(ctx: Context) -> None:
        await asyncio.sleep(3600)
        ctx.on(AGENT_STATUS, lambda _, status: order.append(status))
        order.append("started")

    agent = make_agent([say("x")], plugins=[slow])

    async def main() -> None:
        if entered:
            await agent.__aenter__()
            assert order == ["started"]
        await agent.run("go")

    run_virtual(main())

    assert order == ["started", "running", "idle"]


async def broken(ctx: Context) -> None:
    """Fail to start."""
    raise ValueError(f"cannot start in {ctx.label}")


def test_a_plugin_that_cannot_start_stops_every_run(make_agent: MakeAgent) -> None:
    """No turn runs without a plugin that was asked for: each run raises why, with no row logged."""
    agent = make_agent([say("x")], plugins=[broken])

    async def main() -> None:
        for _ in range(2):
            with pytest.raises(ValueError, match="cannot start"):
                await agent.run("go")
        assert (agent.session.seq, agent.status) == (0, "idle")
        with pytest.raises(ValueError, match="cannot start"):
            await agent.__aenter__()
        assert agent.status == "disposed"

    run_virtual(main())


def test_a_block_that_could_not_begin_holds_nothing() -> None:
    """Its session can be opened by another agent, though nobody could close this one."""
    store = MemoryStore()

    async def main() -> None:
        with pytest.raises(ValueError, match="cannot start"):
            async with Agent(store=store, session_id="s", plugins=[broken]):
                pass

    run_virtual(main())

    store.open("s", 0).writer.close()


def test_a_plugin_that_cannot_start_is_heard_of_after_send(make_agent: MakeAgent) -> None:
    """When nobody waits for a run, `aclose` raises it."""
    agent = make_agent([say("x")], plugins=[broken])

    async def main() -> None:
        agent.send("go")
        await agent.wait_idle()
        with pytest.raises(ValueError, match="cannot start"):
            await agent.aclose()

    run_virtual(main())


def test_closing_does_not_wait_for_a_plugin_that_never_starts(make_agent: MakeAgent) -> None:
    """A start that hangs is cancelled; who waits for a run is told that the agent is disposed."""
    stopped: list[str] = []

    async def endless(ctx: Context) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.append(ctx.label)

    agent = make_agent([say("x")], plugins=[endless])

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        for _ in range(5):
            await asyncio.sleep(0)
        await agent.aclose()
        with pytest.raises(HarnessError) as caught:
            await running
        assert caught.value.code == "DISPOSED"

    run_virtual(main())

    assert stopped == ["endless"]
