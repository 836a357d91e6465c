"""Tool calls in the loop: each is logged, run, and answered once, in the model's order."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_agent import Agent
from dsh_invariants import InvariantError
from dsh_llm import SESSION_APPEND, HarnessError, LogEvent, LogSession
from dsh_llm.testing import call, run_virtual, say
from dsh_tools import (
    TOOLS_EXECUTE,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutionResult,
    define_tool,
)

MakeAgent = Callable[..., Agent]
Seen = Callable[[Agent, str], Awaitable[LogEvent]]


class Bench:
    """Tools that note when they run, and wait until they are released."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self._events: dict[str, asyncio.Event] = {}

    def gate(self, name: str) -> asyncio.Event:
        """Return what releases the call named so."""
        return self._events.setdefault(name, asyncio.Event())

    async def seen(self, what: str) -> None:
        """Wait until it has run: `+a` is the begin of a, `-a` the end."""
        await self._events.setdefault(what, asyncio.Event()).wait()

    def _note(self, what: str) -> None:
        self.ran.append(what)
        self._events.setdefault(what, asyncio.Event()).set()

    def tools(self) -> list[Tool[..., Any]]:
        """Return one tool that may run beside others, and one that may not."""
        return [
            define_tool(self.work, name="safe", concurrency_safe=True),
            define_tool(self.work, name="alone"),
        ]

    async def work(self, name: str) -> str:
        self._note(f"+{name}")
        await self.gate(name).wait()
        self._note(f"-{name}")
        return name


def calls_and_results(agent: Agent) -> list[str]:
    """Return the calls and results in the log, as `+id` and `-id`."""
    signs = {"tool/call": "+", "tool/result": "-"}
    return [
        f"{signs[event.type]}{event.data['call_id'].removeprefix('call_')}"
        for event in agent.session.events
        if event.type in signs
    ]


def results(agent: Agent) -> list[Any]:
    """Return the data of the results."""
    return [event.data for event in agent.session.events if event.type == "tool/result"]


def test_calls_run_one_after_another(make_agent: MakeAgent) -> None:
    """Without `concurrency_safe` a call begins when the one before it has its result."""
    bench = Bench()
    agent = make_agent(
        [[call("alone", name="a"), call("alone", name="b")], say("ok")], tools=bench.tools()
    )

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        bench.gate("b").set()
        await bench.seen("+a")
        bench.gate("a").set()
        await running

    run_virtual(main())

    assert bench.ran == ["+a", "-a", "+b", "-b"]
    assert calls_and_results(agent) == ["+1", "-1", "+2", "-2"]


def test_safe_neighbours_run_together(make_agent: MakeAgent) -> None:
    """They overlap, and their results are committed in the model's order all the same."""
    bench = Bench()
    script = [call("safe", name=name) for name in "abc"]
    agent = make_agent([script, say("ok")], tools=bench.tools())

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        for name in "abc":
            await bench.seen(f"+{name}")
        for name in "cba":
            bench.gate(name).set()
            await bench.seen(f"-{name}")
        await running

    run_virtual(main())

    assert bench.ran == ["+a", "+b", "+c", "-c", "-b", "-a"]
    assert calls_and_results(agent) == ["+1", "+2", "+3", "-1", "-2", "-3"]
    assert [one["content"][0]["text"] for one in results(agent)] == ["a", "b", "c"]


def test_only_true_is_safe(make_agent: MakeAgent) -> None:
    """A `concurrency_safe` that is merely truthy does not let calls run together."""
    bench = Bench()
    for name in "ab":
        bench.gate(name).set()
    unsure: Any = 1
    tool = define_tool(bench.work, name="work", concurrency_safe=unsure)
    agent = make_agent([[call("work", name=name) for name in "ab"], say("ok")], tools=[tool])

    run_virtual(agent.run("go"))

    assert calls_and_results(agent) == ["+1", "-1", "+2", "-2"]


def test_an_unsafe_call_runs_alone(make_agent: MakeAgent) -> None:
    """Only neighbours that are all safe run together; an unknown tool is not safe."""
    bench = Bench()
    for name in "abcde":
        bench.gate(name).set()
    script = [
        call("safe", name="a"),
        call("safe", name="b"),
        call("alone", name="c"),
        call("safe", name="d"),
        call("missing"),
        call("safe", name="e"),
    ]
    agent = make_agent([script, say("ok")], tools=bench.tools())

    run_virtual(agent.run("go"))

    assert calls_and_results(agent) == [
        *("+1", "+2", "-1", "-2", "+3", "-3", "+4", "-4", "+5", "-5", "+6", "-6")
    ]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (call("add", a="x"), "INVALID_ARGS"),
        (call("add", "not json"), "INVALID_ARGS"),
        (call("ad", a=1), "UNKNOWN_TOOL"),
        (call("boom"), "BOOM"),
        (call("missing_file"), "ENOENT"),
        (call("plain"), None),
        (call("cancel_itself"), "TOOL_CANCELLED"),
    ],
)
def test_a_failing_call_is_a_result_and_the_turn_goes_on(
    make_agent: MakeAgent, entry: Any, code: str | None
) -> None:
    """LOOP-010, LOOP-016: the result has `{name, code}`, the model is told, the turn completes."""

    @define_tool
    async def add(a: int) -> int:
        return a

    @define_tool
    async def boom() -> None:
        raise HarnessError("it broke", "BOOM")

    @define_tool
    def missing_file() -> str:
        with open("/no/such/file") as file:  # noqa: PTH123  # Why: the plainest failure there is
            return file.read()

    @define_tool
    async def plain() -> None:
        raise ValueError("plain")

    @define_tool
    async def cancel_itself() -> None:
        raise asyncio.CancelledError

    agent = make_agent(
        [entry, say("I see.")], tools=[add, boom, missing_file, plain, cancel_itself]
    )

    assert asyncio.run(agent.run("go")).text == "I see."
    (failed,) = results(agent)
    assert failed["is_error"] is True
    assert failed.get("error", {}).get("code") == code
    assert failed["content"][0]["text"].startswith("Error: ")
    assert agent.session.events[-1].data["reason"] == {"kind": "completed"}


def test_raw_arguments_are_logged_as_the_model_made_them(make_agent: MakeAgent) -> None:
    """LOOP-011: text that is no JSON stays in the log as it is; empty text is `{}`."""

    @define_tool
    async def ping() -> str:
        return "pong"

    agent = make_agent([[call("ping", ""), call("ping", "{oops")], say("ok")], tools=[ping])
    run_virtual(agent.run("go"))

    logged = [e.data["arguments"] for e in agent.session.events if e.type == "tool/call"]
    assert logged == ["", "{oops"]
    assert [one["is_error"] for one in results(agent)] == [False, True]


def test_a_failure_keeps_what_only_the_log_may_have(make_agent: MakeAgent) -> None:
    """`failure` is in the row and in no request."""

    @define_tool
    async def boom() -> None:
        raise HarnessError("it broke", "BOOM", cause=ValueError("the secret reason"))

    agent = make_agent([call("boom"), say("ok")], tools=[boom])
    run_virtual(agent.run("go"))

    assert "the secret reason" in str(results(agent)[0]["failure"])
    assert "secret" not in str(list(agent.session.derive_messages()))


def test_a_layer_cannot_answer_under_another_id(make_agent: MakeAgent) -> None:
    """A result that a plugin makes has the id of its call, whatever the plugin says."""
    agent = make_agent([call("ping"), say("ok")])

    async def answer(_next: object, _call: ToolCall) -> ToolExecutionResult:
        return ToolExecutionResult("other", ())

    agent.ctx.on(TOOLS_EXECUTE, answer)
    run_virtual(agent.run("go"))

    assert calls_and_results(agent) == ["+1", "-1"]


def test_a_tool_knows_its_agent_and_session(make_agent: MakeAgent) -> None:
    """The context of a call has who called and where it is logged."""
    contexts: list[ToolContext] = []

    @define_tool
    async def look(context: ToolContext) -> None:
        contexts.append(context)

    agent = make_agent([call("look"), say("ok")], tools=[look])
    run_virtual(agent.run("go"))

    (context,) = contexts
    assert (context.agent, context.session) == (agent, agent.session)
    assert (context.call_id, context.name) == ("call_1", "look")


USER: contextvars.ContextVar[str] = contextvars.ContextVar("USER", default="nobody")


def test_a_tool_sees_the_context_of_whoever_asked(make_agent: MakeAgent) -> None:
    """Context variables of each run reach its own tools, threads included, also when runs queue."""
    found: list[str] = []

    @define_tool
    async def who() -> None:
        found.append(USER.get())

    @define_tool
    def who_in_a_thread() -> None:
        found.append(f"thread:{USER.get()}")

    script = [[call("who"), call("who_in_a_thread")], say("ok")]
    agent = make_agent(script * 3, tools=[who, who_in_a_thread])

    async def ask(name: str) -> None:
        USER.set(name)
        await agent.run("who am I?")

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for name in ("ann", "bob"):
                group.create_task(ask(name))
        await agent.run("and I?")

    asyncio.run(main())

    assert found == ["ann", "thread:ann", "bob", "thread:bob", "nobody", "thread:nobody"]


def test_a_violation_in_a_tool_ends_the_turn(make_agent: MakeAgent) -> None:
    """An `InvariantError` is no result: the open calls are closed, and `run` raises it."""

    @define_tool
    async def breach() -> None:
        raise InvariantError("INV-X-001", "wrong")

    agent = make_agent([[call("breach"), call("breach")], say("ok")], tools=[breach])

    with pytest.raises(InvariantError):
        run_virtual(agent.run("go"))

    assert calls_and_results(agent) == ["+1", "-1", "-2"]
    first, second = results(agent)
    assert (first["error"]["code"], first["failure"]["effect"]) == ("INVARIANT", "unknown")
    assert (second["error"]["code"], second["failure"]["effect"]) == (
        "ABORTED_BEFORE_DISPATCH",
        "none",
    )
    assert run_virtual(agent.run("again")).text == "ok"


def test_a_violation_in_one_of_several_tools_keeps_the_results_of_the_others(
    make_agent: MakeAgent,
) -> None:
    """Calls that ran beside it and finished have their own results."""

    @define_tool(concurrency_safe=True)
    async def breach() -> None:
        raise InvariantError("INV-X-001", "wrong")

    @define_tool(concurrency_safe=True)
    async def fine() -> str:
        return "fine"

    agent = make_agent([[call("fine"), call("breach"), call("fine")]], tools=[breach, fine])

    with pytest.raises(InvariantError):
        run_virtual(agent.run("go"))

    assert [one["is_error"] for one in results(agent)] == [False, True, False]


def vetoing(agent: Agent, kind: str, *ids: str) -> None:
    """Have a check refuse rows of a type that belong to these calls."""

    def refuse(_session: LogSession, event: LogEvent) -> None:
        if event.type == kind and event.data["call_id"] in ids:
            raise PermissionError(f"{kind} refused")

    agent.ctx.on(SESSION_APPEND, refuse)


def test_a_call_that_may_not_be_logged_does_not_run(make_agent: MakeAgent) -> None:
    """A vetoed `tool/call` ends the step; every call has a result that says it never began."""
    bench = Bench()
    script = [call("safe", name=name) for name in "abc"]
    agent = make_agent([script], tools=bench.tools())
    vetoing(agent, "tool/call", "call_2")

    with pytest.raises(PermissionError):
        run_virtual(agent.run("go"))

    assert bench.ran == []
    assert calls_and_results(agent) == ["+1", "-1", "-2", "-3"]
    assert {one["error"]["code"] for one in results(agent)} == {"ABORTED_BEFORE_DISPATCH"}
    assert {one["failure"]["effect"] for one in results(agent)} == {"none"}


def test_a_result_that_a_check_refuses_is_there_and_the_refusal_is_raised(
    make_agent: MakeAgent,
) -> None:
    """The call does not stay open, the turn goes on, and `run` raises the veto at the end."""
    bench = Bench()
    bench.gate("a").set()
    agent = make_agent([call("alone", name="a"), say("ok")], tools=bench.tools())
    vetoing(agent, "tool/result", "call_1")

    with pytest.raises(PermissionError):
        run_virtual(agent.run("go"))

    assert calls_and_results(agent) == ["+1", "-1"]
    assert agent.session.events[-1].data["reason"] == {"kind": "completed"}


def test_a_tool_may_send_for_later(make_agent: MakeAgent) -> None:
    """`send` from inside a turn starts the next one."""

    @define_tool
    async def later(context: ToolContext) -> None:
        assert isinstance(context.agent, Agent)
        context.agent.send("remember")

    agent = make_agent([call("later"), say("one"), say("two")], tools=[later])

    async def main() -> None:
        assert (await agent.run("go")).text == "one"
        await agent.wait_idle()

    run_virtual(main())

    assert agent.session.turn == 2


@pytest.mark.parametrize(
    ("wait", "code"),
    [
        ("run", "WAIT_IN_TURN"),
        ("stream", "WAIT_IN_TURN"),
        ("wait_idle", "WAIT_IN_TURN"),
        ("aclose", "CLOSE_IN_TURN"),
    ],
)
def test_a_tool_cannot_wait_for_its_own_turn(make_agent: MakeAgent, wait: str, code: str) -> None:
    """What would wait for itself is refused with a code, and the turn goes on."""

    @define_tool
    async def wait_for_myself(context: ToolContext) -> None:
        agent: Any = context.agent
        work = getattr(agent, wait)(*(["x"] if wait in {"run", "stream"} else []))
        await (anext(work) if wait == "stream" else work)

    agent = make_agent([call("wait_for_myself"), say("ok")], tools=[wait_for_myself])

    assert run_virtual(agent.run("go")).text == "ok"
    assert results(agent)[0]["error"]["code"] == code
    assert agent.session.turn == 1
    assert agent.status == "idle"


def test_a_thread_cannot_wait_for_its_own_turn(make_agent: MakeAgent) -> None:
    """`run_sync` and `close` from a tool's thread are refused, whatever loop runs the agent."""

    @define_tool
    def nested(what: str, context: ToolContext) -> None:
        agent: Any = context.agent
        agent.run_sync("x") if what == "run" else agent.close()

    script = [[call("nested", what="run"), call("nested", what="close")], say("ok")]
    agent = make_agent(script * 2, tools=[nested])

    assert asyncio.run(agent.run("go")).text == "ok"
    assert agent.run_sync("again").text == "ok"
    agent.close()

    assert [one["error"]["code"] for one in results(agent)] == ["SYNC_IN_ASYNC"] * 4
