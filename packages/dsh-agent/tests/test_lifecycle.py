"""An agent from its making to its end: plugins, sync and async use, reopened sessions, closing."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_agent import Agent, JsonlStore, MemoryStore, Session, SessionStore
from dsh_llm import (
    AGENT_STATUS,
    SESSION_CLOSED,
    SESSION_CREATED,
    SESSION_EVENT,
    SESSION_FLUSH,
    Context,
    GroupError,
    HarnessError,
    LogEvent,
    LogSession,
)
from dsh_llm.testing import ScriptedModel, call, hang, run_virtual, say
from dsh_tools import ToolDefinitionError, define_tool

MakeAgent = Callable[..., Agent]
Seen = Callable[[Agent, str], Awaitable[LogEvent]]


def reasons(agent: Agent) -> list[Any]:
    """Return how the turns ended."""
    return [event.data["reason"] for event in agent.session.events if event.type == "turn/end"]


def code_of(work: Callable[[], object]) -> str:
    """Return the code of what *work* raises."""
    with pytest.raises(HarnessError) as caught:
        work()
    return caught.value.code


# -- making --------------------------------------------------------------------------------------


def test_an_agent_has_the_id_of_its_session(make_agent: MakeAgent) -> None:
    """A given id is taken; without one there is a new one each time."""
    assert make_agent(session_id="s-1").id == "s-1"
    first, second = make_agent(), make_agent()
    assert first.id == first.session.id != second.id


def test_what_cannot_be_made_holds_nothing() -> None:
    """After any failure in the making, the session can be opened by another agent."""
    store = MemoryStore()

    def plugin(_ctx: Context) -> None:
        raise ValueError("plugin")

    @define_tool
    async def twice() -> None:
        return

    with pytest.raises(ToolDefinitionError):
        Agent(tools=[twice, twice], store=store, session_id="s")
    with pytest.raises(ValueError, match="plugin"):
        Agent(plugins=[plugin], store=store, session_id="s")
    log = store.open("s", 0)
    log.writer.append(Session("x").append("turn/start", {"turn": 1}))
    log.writer.close()
    for _ in range(2):
        assert code_of(lambda: Agent(store=store, session_id="s")) == "SESSION_INTERRUPTED"


def test_a_log_that_ends_inside_a_turn_is_refused(tmp_path: Path) -> None:
    """`SESSION_INTERRUPTED` names session and turn, and observers hear that it is closed again."""
    store = JsonlStore(tmp_path)
    session = Session("s", log=store.open("s", 0))
    session.append("turn/start", {"turn": 7})
    session.close()
    told: list[str] = []

    def watch(ctx: Context) -> None:
        ctx.on(SESSION_CREATED, lambda _: told.append("created"))
        ctx.on(SESSION_CLOSED, lambda _: told.append("closed"))

    with pytest.raises(HarnessError, match="'s' ends inside turn 7") as caught:
        Agent(store=store, session_id="s", plugins=[watch])

    assert (caught.value.code, caught.value.context) == ("SESSION_INTERRUPTED", {"session": "s"})
    assert told == ["created", "closed"]


def test_a_session_has_one_agent(make_agent: MakeAgent) -> None:
    """A second agent on it is `SESSION_LOCKED`, until the first is closed."""
    store = MemoryStore()
    agent = make_agent([], store=store, session_id="s")

    assert code_of(lambda: Agent(store=store, session_id="s")) == "SESSION_LOCKED"
    asyncio.run(agent.aclose())
    make_agent([], store=store, session_id="s")


@pytest.fixture(params=["memory", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    """Return each store that this package ships."""
    return MemoryStore() if request.param == "memory" else JsonlStore(tmp_path)


def test_a_session_goes_on_where_it_ended(make_agent: MakeAgent, store: SessionStore) -> None:
    """LOOP-059: turns and rows are numbered on, and the model knows what was said."""
    for number in (1, 2, 3):
        model = ScriptedModel([say(f"answer {number}")])
        agent = make_agent(model, store=store, session_id="a/b")

        async def main(agent: Agent = agent, number: int = number) -> None:
            async with agent:
                assert (await agent.run(f"question {number}")).turn == number

        run_virtual(main())
        assert [message.text for message in model.requests[0].messages] == [
            *(f"{what} {n}" for n in range(1, number) for what in ("question", "answer")),
            f"question {number}",
        ]


# -- without a loop ------------------------------------------------------------------------------


def test_run_sync_is_run_without_a_loop(make_agent: MakeAgent) -> None:
    """Several calls share one loop, so that connections of the adapter live; then it is closed."""
    loops: list[object] = []

    def note(_request: object) -> Any:
        loops.append(asyncio.get_running_loop())
        return say("x")

    agent = make_agent([note, note])
    assert [agent.run_sync(text).turn for text in "ab"] == [1, 2]
    agent.close()

    assert loops[0] is loops[1]
    assert code_of(lambda: agent.run_sync("c")) == "DISPOSED"
    agent.close()


def test_run_sync_in_a_loop_says_what_to_do(make_agent: MakeAgent) -> None:
    """Inside a running loop it is `SYNC_IN_ASYNC`, and nothing is queued."""
    agent = make_agent([say("x")])

    async def main() -> None:
        assert code_of(lambda: agent.run_sync("go")) == "SYNC_IN_ASYNC"
        assert code_of(agent.close) == "SYNC_IN_ASYNC"
        assert agent.status == "idle"

    run_virtual(main())

    assert agent.session.seq == 0


NAME: contextvars.ContextVar[str] = contextvars.ContextVar("NAME", default="none")


def test_run_sync_takes_the_callers_context_each_time(make_agent: MakeAgent) -> None:
    """Context variables that are set between two calls are seen by the second."""
    found: list[str] = []

    @define_tool
    async def look() -> None:
        found.append(NAME.get())

    agent = make_agent([call("look"), say("x"), call("look"), say("x")], tools=[look])

    def main() -> None:
        for name in ("ann", "bob"):
            NAME.set(name)
            agent.run_sync("go")

    contextvars.copy_context().run(main)
    agent.close()

    assert found == ["ann", "bob"]


def test_an_agent_can_move_from_loop_to_loop(make_agent: MakeAgent) -> None:
    """Between runs an agent belongs to no loop."""
    agent = make_agent([say("x")] * 3)

    turns = [asyncio.run(agent.run("a")).turn, agent.run_sync("b").turn]
    agent.close()
    assert turns == [1, 2]


# -- closing -------------------------------------------------------------------------------------


def test_closing_stops_the_turn_and_waits_for_it(make_agent: MakeAgent, seen: Seen) -> None:
    """LOOP-015, LOOP-039, LOOP-053: the log is closed as disposed, and observers hear all of it."""
    heard: list[str] = []
    statuses: list[str] = []
    agent = make_agent([hang()])
    agent.ctx.on(SESSION_EVENT, lambda _, event: heard.append(event.type))
    agent.ctx.on(AGENT_STATUS, lambda _, status: statuses.append(status))

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await seen(agent, "assistant/chunk")
        await agent.aclose()
        assert agent.session.events[-1].type == "turn/end"
        with pytest.raises(HarnessError, match=r"^disposed$"):
            await running

    run_virtual(main())

    assert heard[-2:] == ["step/end", "turn/end"]
    assert statuses == ["running", "disposed"]
    assert (reasons(agent)[0]["kind"], reasons(agent)[0]["code"]) == ("disposed", "ABORTED")


def test_what_is_queued_at_the_end_is_told(make_agent: MakeAgent, seen: Seen) -> None:
    """A run that waits for its turn when the agent is closed raises `DISPOSED`."""
    agent = make_agent([hang()])

    async def main() -> None:
        first = asyncio.create_task(agent.run("one"))
        await seen(agent, "assistant/chunk")
        agent.steer("steering")
        second = asyncio.create_task(agent.run("two"))
        await asyncio.sleep(0)
        await agent.aclose()
        assert [code_of(one.result) for one in (first, second)] == ["ABORTED", "DISPOSED"]

    run_virtual(main())

    assert agent.session.turn == 1


def test_closing_twice_is_closing_once(make_agent: MakeAgent) -> None:
    """Together or one after another, all calls wait for the same end."""
    closed: list[str] = []
    agent = make_agent([])

    async def slow() -> None:
        await asyncio.sleep(60)
        closed.append("closed")

    agent.ctx.own(slow)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(agent.aclose())
            group.create_task(agent.aclose())
        assert closed == ["closed"]
        await agent.aclose()

    run_virtual(main())

    assert closed == ["closed"]


def test_a_disposed_agent_refuses_everything_but_stopping(make_agent: MakeAgent) -> None:
    """LOOP-001 to LOOP-003, LOOP-005: input is `DISPOSED`; abort, close and waiting are silent."""
    agent = make_agent([say("x")])

    async def main() -> None:
        await agent.aclose()
        for put in (agent.send, agent.steer, agent.inject):
            assert code_of(lambda put=put: put("late")) == "DISPOSED"
        for work in (agent.run("late"), anext(agent.stream("late"))):
            with pytest.raises(HarnessError, match="is disposed"):
                await work
        agent.abort()
        await agent.wait_idle()
        await agent.aclose()

    run_virtual(main())

    assert (agent.status, agent.session.seq) == ("disposed", 0)


def test_closing_raises_what_a_clean_up_raises(make_agent: MakeAgent) -> None:
    """Everything is closed all the same."""
    store = MemoryStore()
    agent = make_agent([], store=store, session_id="s")

    def bad() -> None:
        raise ValueError("clean-up")

    agent.ctx.own(bad)
    with pytest.raises(GroupError, match="clean-up") as caught:
        run_virtual(agent.aclose())

    assert caught.value.code == "CLOSE_FAILED"
    store.open("s", 0).writer.close()


def test_leaving_the_block_closes(make_agent: MakeAgent) -> None:
    """`async with` closes also when its body raises, and the body's error comes out."""
    agent = make_agent([say("x")])

    async def main() -> None:
        async with agent as same:
            assert same is agent
            await agent.run("go")
            raise ValueError("body")

    with pytest.raises(ValueError, match="body"):
        run_virtual(main())

    assert agent.status == "disposed"


def test_a_driver_that_somebody_cancels_leaves_nobody_waiting(make_agent: MakeAgent) -> None:
    """Whoever cancels all tasks of a loop gets every turn closed and every run answered."""
    agent = make_agent([say("x"), say("again")])

    def cancel_driver(_session: LogSession, event: LogEvent) -> None:
        if event.type == "turn/end" and event.data["turn"] == 1:
            for task in asyncio.all_tasks():
                if task.get_name() == "dsh s":
                    task.cancel()

    agent = make_agent([say("x"), say("again")], session_id="s")
    agent.ctx.on(SESSION_EVENT, cancel_driver)

    async def main() -> None:
        first, second = (asyncio.create_task(agent.run(text)) for text in "ab")
        await asyncio.wait([first, second])
        assert [code_of(one.result) for one in (first, second)] == ["ABORTED", "ABORTED"]
        assert (await agent.run("c")).text == "again"

    run_virtual(main())

    assert reasons(agent) == [{"kind": "completed"}] * 2


def test_a_driver_that_is_cancelled_while_plugins_start(make_agent: MakeAgent) -> None:
    """The run ends as aborted, and so does every later one: the plugin has not started."""

    async def endless(_ctx: Context) -> None:
        await asyncio.get_running_loop().create_future()

    agent = make_agent([say("x")], plugins=[endless], session_id="s")

    async def main() -> None:
        running = asyncio.create_task(agent.run("a"))
        for _ in range(5):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task(), running}:
            task.cancel()
        with pytest.raises(HarnessError) as caught:
            await running
        assert caught.value.code == "ABORTED"
        assert agent.status == "idle"
        with pytest.raises(HarnessError):
            await agent.run("b")

    run_virtual(main())


def test_a_flush_is_asked_for_once_a_turn(make_agent: MakeAgent) -> None:
    """LOOP-037: at the end of each turn, with its session."""
    asked: list[object] = []

    async def flush(session: LogSession) -> None:
        asked.append(session)

    agent = make_agent([call("none"), say("x"), say("y")])
    agent.ctx.on(SESSION_FLUSH, flush)

    async def main() -> None:
        await agent.run("a")
        await agent.run("b")

    run_virtual(main())

    assert asked == [agent.session, agent.session]
