"""Ctrl-C, SystemExit and their kind: the log is closed first, then they leave."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_agent import AGENT_REQUEST, Agent, JsonlStore, read_jsonl
from dsh_invariants import check_log
from dsh_llm import (
    AGENT_STATUS,
    SESSION_APPEND,
    SESSION_EVENT,
    HarnessError,
    LogEvent,
    LogSession,
)
from dsh_llm.testing import call, hang, say
from dsh_tools import define_tool

MakeAgent = Callable[..., Agent]


class Own(BaseException):
    """What some libraries raise to get through every `except Exception`."""


LEAVING = [KeyboardInterrupt(), SystemExit(3), Own("out")]


def types(agent: Agent) -> list[str]:
    """Return the types of the rows, without the chunks."""
    return [event.type for event in agent.session.events if event.type != "assistant/chunk"]


def reasons(agent: Agent) -> list[Any]:
    """Return how the turns ended."""
    return [event.data["reason"] for event in agent.session.events if event.type == "turn/end"]


@pytest.mark.parametrize("leaving", LEAVING, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("kind", ["async", "thread", "beside another"])
def test_a_tool_that_leaves(make_agent: MakeAgent, leaving: BaseException, kind: str) -> None:
    """Every call has a result, step and turn are closed, the exception is the original."""

    @define_tool(name="quit", concurrency_safe=kind == "beside another")
    async def quit_() -> None:
        raise leaving

    @define_tool(name="quit")
    def quit_in_thread() -> None:
        raise leaving

    tool = quit_in_thread if kind == "thread" else quit_
    agent = make_agent([[call("quit"), call("quit")], say("ok")], tools=[tool])

    with pytest.raises(type(leaving)) as caught:
        agent.run_sync("go")

    assert caught.value is leaving
    assert types(agent)[-2:] == ["step/end", "turn/end"]
    results = [e.data for e in agent.session.events if e.type == "tool/result"]
    assert (results[0]["is_error"], results[0]["error"]["code"]) == (True, "ABORTED")
    assert len(results) == 2
    assert (reasons(agent)[0]["kind"], reasons(agent)[0]["code"]) == ("aborted", "ABORTED")
    assert agent.status == "idle"
    assert agent.run_sync("again").text == "ok"
    agent.close()


@pytest.mark.parametrize("leaving", LEAVING, ids=lambda one: type(one).__name__)
def test_a_model_or_a_layer_that_leaves(make_agent: MakeAgent, leaving: BaseException) -> None:
    """The same from an adapter and from a plugin's layer."""

    async def layer(*_: Any) -> Any:
        raise leaving

    agent = make_agent([leaving, say("ok")])
    with pytest.raises(type(leaving)):
        agent.run_sync("go")
    dispose = agent.ctx.on(AGENT_REQUEST, layer)
    with pytest.raises(type(leaving)):
        agent.run_sync("go")
    dispose()

    assert agent.run_sync("again").turn == 3
    agent.close()


def raising_at(agent: Agent, kind: str, *, check: bool) -> None:
    """Have a listener or a check raise `SystemExit` at the first row of a type."""
    left = [kind]

    def leave(_session: LogSession, event: LogEvent) -> None:
        if event.type in left:
            left.clear()
            raise SystemExit(4)

    agent.ctx.on(SESSION_APPEND, leave) if check else agent.ctx.on(SESSION_EVENT, leave)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        *("turn/start", "user/message", "step/start", "assistant/chunk", "usage"),
        *("assistant/message", "tool/call", "tool/result", "step/end", "turn/end"),
    ],
)
def test_a_listener_that_leaves(make_agent: MakeAgent, kind: str, *, check: bool) -> None:
    """Wherever `SystemExit` is raised, before or after a commit, nothing stays open."""

    @define_tool
    async def ping() -> str:
        return "pong"

    agent = make_agent([call("ping"), say("ok"), say("ok")], tools=[ping])
    raising_at(agent, kind, check=check)

    with pytest.raises(SystemExit) as caught:
        agent.run_sync("go")

    assert caught.value.code == 4
    assert agent.session.open_turn is False
    assert agent.run_sync("again").reason == "completed"
    agent.close()


def test_an_exit_that_nobody_waits_for_ends_the_loop(make_agent: MakeAgent) -> None:
    """After `send` there is no `run` to raise from: the exception leaves from the driver."""

    @define_tool(name="quit")
    async def quit_() -> None:
        raise SystemExit(5)

    agent = make_agent([call("quit"), say("ok")], tools=[quit_])

    async def main() -> None:
        agent.send("go")
        await asyncio.get_running_loop().create_future()

    with pytest.raises(SystemExit) as caught:
        asyncio.run(main())

    assert caught.value.code == 5
    assert types(agent)[-1] == "turn/end"


def test_an_exit_reaches_one_run_and_the_queue_is_told(make_agent: MakeAgent) -> None:
    """The run whose turn it is leaves; a run behind it ends as aborted."""

    @define_tool(name="quit")
    async def quit_() -> None:
        raise Own("out")

    agent = make_agent([call("quit"), say("ok")], tools=[quit_])

    async def main() -> list[BaseException | None]:
        runs = [asyncio.create_task(agent.run(text)) for text in ("one", "two")]
        await asyncio.wait(runs)
        assert agent.status == "idle"
        return [run.exception() for run in runs]

    first, second = asyncio.run(main())

    assert isinstance(first, Own)
    assert (second is not None, getattr(second, "code", None)) == (True, "ABORTED")
    assert agent.session.turn == 1


def test_an_exit_wins_over_the_cancellation_of_its_run(make_agent: MakeAgent) -> None:
    """Who is cancelled while a tool wants to leave, leaves."""

    @define_tool(name="quit")
    async def quit_() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise Own("out")

    agent = make_agent([call("quit"), say("ok")], tools=[quit_])
    called = asyncio.Event()
    agent.ctx.on(SESSION_EVENT, lambda _, e: called.set() if e.type == "tool/call" else None)

    async def main() -> None:
        running = asyncio.create_task(agent.run("go"))
        await called.wait()
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(Own):
            await running

    asyncio.run(main())

    assert types(agent)[-1] == "turn/end"


def test_a_status_listener_may_send_while_an_exit_leaves(make_agent: MakeAgent) -> None:
    """What is sent at the very end has a turn of its own, though the queue before it is refused."""

    @define_tool(name="quit")
    async def quit_() -> None:
        raise Own("out")

    agent = make_agent([call("quit"), say("ok")], tools=[quit_])

    def send(_agent: object, status: str) -> None:
        if status == "idle" and agent.session.turn == 1:
            agent.send("one more thing")

    agent.ctx.on(AGENT_STATUS, send)

    async def main() -> None:
        runs = [asyncio.create_task(agent.run(text)) for text in ("one", "two")]
        await asyncio.wait(runs)
        assert [type(run.exception()) for run in runs] == [Own, HarnessError]
        await agent.wait_idle()

    asyncio.run(main())

    sent = [e.data["content"][0]["text"] for e in agent.session.events if e.type == "user/message"]
    assert sent == ["one", "one more thing"]


# -- a real Ctrl-C -------------------------------------------------------------------------------

PROGRAM = """
import sys, threading
from dsh_agent import Agent, JsonlStore
from dsh_llm import SESSION_EVENT
from dsh_llm.testing import ScriptedModel, call, hang, say
from dsh_tools import define_tool

def told(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()

@define_tool
def block() -> str:
    told("working")
    threading.Event().wait()
    return "never"

folder, what = sys.argv[1:]
entry = call("block") if what == "tool" else hang()
agent = Agent(ScriptedModel([entry, say("ok")]), tools=[block], store=JsonlStore(folder),
              session_id="s")
if what == "model":
    agent.ctx.on(SESSION_EVENT, lambda _, event: told("working") if event.type ==
                 "assistant/chunk" and event.data["chunk"].get("text") == "partial" else None)
try:
    agent.run_sync("go")
except KeyboardInterrupt:
    told(agent.status)
    told(agent.run_sync("again").text)
    raise
"""


@pytest.mark.parametrize("what", ["tool", "model"])
def test_ctrl_c(tmp_path: Path, what: str) -> None:
    """SIGINT amid a blocking tool or a hanging model: the log on disk is whole, the process ends.

    What it ends with is what Python ends with; the agent could run again before.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path, what],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert out.splitlines() == ["idle", "ok"]
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    path = JsonlStore(tmp_path).path("s")
    assert check_log(path) == []
    ends = [event.data["reason"] for event in read_jsonl(path) if event.type == "turn/end"]
    assert [(end["kind"], end.get("message")) for end in ends] == [
        ("aborted", "cancelled"),
        ("completed", None),
    ]


@pytest.mark.parametrize("ends", [True, False])
def test_a_thread_that_was_left_behind(
    make_agent: MakeAgent, caplog: pytest.LogCaptureFixture, *, ends: bool
) -> None:
    """`aclose` waits for it as long as `grace` says, and names what it could not wait for."""
    release = threading.Event()
    entered: list[Callable[[], object]] = []

    @define_tool
    def block() -> None:
        entered[0]()
        release.wait()

    agent = make_agent([call("block")], tools=[block])

    async def main() -> None:
        working = asyncio.Event()
        loop = asyncio.get_running_loop()
        entered.append(lambda: loop.call_soon_threadsafe(working.set))
        agent.send("go")
        await working.wait()
        if ends:
            release.set()
        await agent.aclose(grace=60 if ends else 0)

    asyncio.run(main())
    release.set()

    assert ("threads still run, of tools: block" in caplog.text) is not ends


def test_hanging_models_are_no_threads(make_agent: MakeAgent) -> None:
    """Closing an agent whose model hangs leaves nothing running."""
    agent = make_agent([hang()])

    async def main() -> None:
        agent.send("go")
        await asyncio.sleep(0)
        await agent.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
