"""Whatever is done to an agent, in whatever order: its log stays good, and nothing sent is lost."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from dsh_agent import Agent, derive_messages
from dsh_invariants import check_log, invariants
from dsh_llm import HarnessError, LlmError
from dsh_llm.testing import ScriptedModel, ScriptEntry, VirtualLoop, call, hang, say
from dsh_tools import ToolContext, define_tool
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

INPUTS = {"user/message", "steering/message", "context/message"}


@define_tool(concurrency_safe=True)
async def work(seconds: int) -> str:
    """Take some time."""
    await asyncio.sleep(seconds)
    return "done"


@define_tool
async def meddle(what: str, text: str, context: ToolContext) -> str:
    """Do something to the agent from inside its turn."""
    agent: Any = context.agent
    getattr(agent, what)(text)
    return what


@define_tool
async def fail(code: str) -> None:
    """Fail with a code."""
    raise HarnessError("failed", code)


WORKING = st.integers(0, 3).map(lambda n: call("work", seconds=n))
ANSWERS: st.SearchStrategy[Any] = st.one_of(
    st.just(say("fine")),
    WORKING,
    st.lists(WORKING, min_size=2, max_size=3),
    st.just(call("fail", code="BOOM")),
    st.just(call("missing")),
    st.just(call("work", "not json")),
    st.sampled_from(["steer", "inject", "send", "abort"]).map(
        lambda what: [call("meddle", what=what, text=f"from a tool: {what}"), say("x")]
    ),
    st.builds(lambda: LlmError("overloaded", "RATE_LIMIT", 429)),
    st.just(hang()),
)


class AgentMachine(RuleBasedStateMachine):
    """One agent on a loop in virtual time, whose model does anything."""

    @initialize(script=st.lists(ANSWERS, max_size=12))
    def start(self, script: list[ScriptEntry]) -> None:
        """Make the agent; when the script is played, its model answers."""
        self.loop = VirtualLoop()
        self.model = ScriptedModel([*script, *[say("at last")] * 200])
        tools = [work, meddle, fail]
        self.agent = Agent(self.model, tools=tools, plugins=[invariants], max_steps=4)
        self.sent: list[str] = []
        self.runs: list[asyncio.Task[Any]] = []
        self.taken_back: set[str] = set()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop."""
        return self.loop.run_until_complete(work)

    def text(self, how: str) -> str:
        """Return a new text, which has to turn up in the log."""
        self.sent.append(f"{how} {len(self.sent)}")
        return self.sent[-1]

    @rule(how=st.sampled_from(["send", "steer", "inject"]), count=st.integers(1, 3))
    def put(self, how: str, count: int) -> None:
        """Put something in."""

        async def act() -> None:
            for _ in range(count):
                getattr(self.agent, how)(self.text(how))

        self.do(act())

    @rule()
    def run(self) -> None:
        """Begin a run, and do not wait for it."""

        async def act() -> None:
            text = self.text("run")
            self.runs.append(asyncio.create_task(self.agent.run(text), name=text))
            await asyncio.sleep(0)

        self.do(act())

    @rule()
    def follow(self) -> None:
        """Begin to stream, and leave after some events."""

        async def act() -> None:
            stream = self.agent.stream(self.text("stream"))
            with suppress(HarnessError, TimeoutError, StopAsyncIteration):
                async with asyncio.timeout(2):
                    for _ in range(5):
                        await anext(stream)
            await stream.aclose()

        before = len(self.sent)
        self.do(act())
        self.taken_back |= {*self.sent[before:]}

    @rule()
    def cancel(self) -> None:
        """Cancel the run that began last."""
        for run in self.runs[-1:]:
            if run.cancel():
                self.taken_back.add(run.get_name())
        self.do(asyncio.sleep(0))

    @rule()
    def abort(self) -> None:
        """Stop the turn."""
        self.agent.abort("by rule")

    @rule(seconds=st.sampled_from([0, 0, 1, 5, 60]))
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.do(asyncio.sleep(seconds))

    @invariant()
    def the_log_is_good(self) -> None:
        """At any moment the log keeps every rule, and is derived in one way only."""
        if not hasattr(self, "agent"):
            return
        events = self.agent.session.events
        rows = self.agent.session.to_rows()
        assert check_log(rows, live=self.agent.session.open_turn) == []
        assert derive_messages(events) == self.agent.session.derive_messages()

    def teardown(self) -> None:
        """Bring it to rest: nothing sent is lost, everybody has an answer, and it still works."""
        if not hasattr(self, "agent"):
            return
        self.do(self._rest())
        assert check_log(self.agent.session.to_rows()) == []
        said = [event.data["content"][0]["text"] for event in self.logged()]
        lost = [text for text in self.sent if text not in said and text not in self.taken_back]
        assert lost == []
        assert all(said.count(text) <= 1 for text in self.sent)
        assert self.agent.session.kept == []
        self.loop.close()

    def logged(self) -> list[Any]:
        """Return the inputs in the log."""
        return [event for event in self.agent.session.events if event.type in INPUTS]

    async def _rest(self) -> None:
        while self.agent.status == "running" or self.model.remaining > 200:
            self.agent.abort("to rest")
            await asyncio.sleep(10)
            if self.agent.status == "idle":
                with suppress(HarnessError, TimeoutError):
                    await asyncio.wait_for(self.agent.run("drain the script"), 10)
        await self.agent.wait_idle()
        assert (await self.agent.run("still there?")).text == "at last"
        await asyncio.gather(*self.runs, return_exceptions=True)  # noqa: TID251  # Why: all have ended, only their answers are collected
        for run in self.runs:
            assert run.cancelled() or isinstance(run.exception(), HarnessError | None)
        await self.agent.aclose()


TestAgentMachine = AgentMachine.TestCase
TestAgentMachine.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=15
)
