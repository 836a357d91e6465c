"""What several agents share, and what they do not."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_agent import Agent, Harness, MemoryStore
from dsh_invariants import check_log, invariants
from dsh_llm import SESSION_CREATED, SESSION_EVENT, Context, HarnessError, LogEvent
from dsh_llm.testing import LoopbackServer, Reply, ScriptedModel, call, hang, run_virtual, say, sse
from dsh_tools import define_tool

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


def test_twenty_agents_share_nothing_but_the_harness(make_agent: MakeAgent) -> None:
    """Run together, each sees and logs only its own: words, tools, contexts, numbers."""

    @define_tool
    async def echo(word: str) -> str:
        await asyncio.sleep(1)
        return word

    harness = Harness(tools=[echo], plugins=[invariants])

    def model(word: str) -> ScriptedModel:
        return ScriptedModel([call("echo", word=word), lambda r: say(r.messages[-1].role + word)])

    agents = {f"w{n}": make_agent(model(f"w{n}"), harness=harness) for n in range(20)}

    async def main() -> dict[str, str]:
        async with harness, asyncio.TaskGroup() as group:
            runs = {word: group.create_task(one.run(word)) for word, one in agents.items()}
        return {word: run.result().text for word, run in runs.items()}

    assert run_virtual(main()) == {word: f"user{word}" for word in agents}
    for word, agent in agents.items():
        said = str([event.data for event in agent.session.events])
        assert [other for other in agents if f"{other}'" in said or f'"{other}"' in said] == [word]
        assert agent.session.turn == 1


def test_a_harness_has_what_its_agents_share(make_agent: MakeAgent) -> None:
    """Models by name, tools, the store and plugins; an agent's own tools are its own."""

    @define_tool
    async def shared() -> None:
        return

    @define_tool
    async def own() -> None:
        return

    model = ScriptedModel([say("x")] * 3)
    store = MemoryStore()
    heard: list[str] = []

    def watch(ctx: Context) -> None:
        ctx.on(SESSION_CREATED, lambda session: heard.append(session.id))

    harness = Harness(models={"fast": model}, tools=[shared], plugins=[watch], store=store)
    first = make_agent(None, harness=harness, session_id="one", tools=[own])
    named = Agent("fast", harness=harness, session_id="two")
    elsewhere = Agent(model, harness=harness, session_id="one", store=MemoryStore())

    assert first.tools.names() == ("shared", "own")
    assert named.tools.names() == ("shared",)
    assert run_virtual(named.run("hi")).text == "x"
    assert run_virtual(elsewhere.run("hi")).text == "x"
    assert heard == ["one", "two", "one"]
    assert code_of(lambda: store.open("two", 0)) == "SESSION_LOCKED"
    run_virtual(harness.aclose())
    store.open("two", 0).writer.close()


def test_adapters_are_told_apart_by_identity() -> None:
    """Two adapters with one name are two models; one adapter of two agents is one."""
    first, second = (ScriptedModel([say(text)] * 2, model="same") for text in ("1", "2"))
    harness = Harness()
    agents = [Agent(model, harness=harness) for model in (first, second, first)]

    async def main() -> list[str]:
        return [(await agent.run("hi")).text for agent in agents]

    assert run_virtual(main()) == ["1", "2", "1"]
    assert harness.llm.models() == ("same", "same#2")


def test_a_plugin_of_an_agent_ends_with_it() -> None:
    """What an agent brought into a shared harness is gone when it is closed."""
    heard: list[str] = []

    def watch(ctx: Context) -> None:
        ctx.on(SESSION_CREATED, lambda session: heard.append(session.id))

    harness = Harness()
    first = Agent(harness=harness, session_id="one", plugins=[watch])
    run_virtual(first.aclose())
    Agent(harness=harness, session_id="two")

    assert heard == ["one"]


def test_closing_a_harness_closes_its_agents(make_agent: MakeAgent, seen: Seen) -> None:
    """Agents at work are stopped and waited for before the plugins they report to are gone."""
    heard: list[str] = []

    def watch(ctx: Context) -> None:
        ctx.on(SESSION_EVENT, lambda _, event: heard.append(event.type))

    harness = Harness(plugins=[watch])
    agent = make_agent([hang()], harness=harness)
    closed = make_agent([], harness=harness)

    async def main() -> None:
        async with harness:
            await closed.aclose()
            agent.send("go")
            await seen(agent, "assistant/chunk")

    run_virtual(main())

    assert heard[-1] == "turn/end"
    assert (agent.status, reasons(agent)[0]["kind"]) == ("disposed", "disposed")
    assert code_of(lambda: Agent(harness=harness)) == "DISPOSED"


def test_closing_a_harness_raises_the_first_failure() -> None:
    """All agents and plugins are closed; the other failures are in the notes."""

    def plugin(ctx: Context) -> None:
        def bad() -> None:
            raise ValueError("plugin")

        ctx.own(bad)

    harness = Harness(plugins=[plugin])
    agents = [Agent(harness=harness) for _ in range(2)]
    for agent in agents:
        agent.session.kept.append(ValueError(agent.id))

    with pytest.raises(ValueError, match=agents[0].id) as caught:
        run_virtual(harness.aclose())

    assert len(caught.value.__notes__) == 2
    assert {agent.status for agent in agents} == {"disposed"}


def test_a_harness_starts_its_plugins_once() -> None:
    """Agents that begin together wait for one start; later plugins are started by the next run."""
    started: list[str] = []

    async def slow(ctx: Context) -> None:
        await asyncio.sleep(60)
        started.append(ctx.label)

    async def later(ctx: Context) -> None:
        await asyncio.sleep(0)
        started.append(ctx.label)

    harness = Harness(plugins=[slow])
    agents = [Agent(ScriptedModel([say("x")] * 2), harness=harness) for _ in range(3)]
    for agent in agents:
        agent.ctx.on(SESSION_EVENT, lambda _session, _event: started.append("event"))

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for agent in agents:
                group.create_task(agent.run("hi"))
        assert started.index("event") == 1
        harness.use(later)
        await agents[0].run("again")
        await harness.aclose()

    run_virtual(main())

    assert [one for one in started if one != "event"] == ["slow", "later"]


def test_a_harness_that_is_closed_while_it_starts() -> None:
    """The start is cancelled and waited for."""
    stopped: list[str] = []

    async def endless(ctx: Context) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.append(ctx.label)

    harness = Harness(plugins=[endless])

    async def main() -> None:
        starting = asyncio.create_task(harness.start())
        for _ in range(3):
            await asyncio.sleep(0)
        await harness.aclose()
        with pytest.raises(asyncio.CancelledError):
            await starting

    run_virtual(main())

    assert stopped == ["endless"]


def test_an_agent_closes_the_adapter_that_was_made_from_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model named `provider:model` is reached by that name, and no connection outlives it."""
    choice = {"delta": {"content": "hi"}, "finish_reason": "stop"}
    body = sse({"choices": [choice]})
    reply = Reply(200, {"content-type": "text/event-stream"}, (body,))

    async def main() -> tuple[str, str]:
        async with LoopbackServer([reply]) as server:
            monkeypatch.setenv("DEEPSEEK_BASE_URL", f"{server.url}/v1")
            monkeypatch.setenv("DEEPSEEK_API_KEY", "key-of-a-test")
            async with Agent("deepseek:deepseek-chat", plugins=[invariants]) as agent:
                answer = await agent.run("hello")
            assert check_log(agent.session.to_rows()) == []
            return answer.text, server.received[0].body.decode()

    text, sent = asyncio.run(main())
    assert text == "hi"
    assert '"model":"deepseek-chat"' in sent.replace(" ", "")
