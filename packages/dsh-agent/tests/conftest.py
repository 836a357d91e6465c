"""Agents that are watched: the invariants are on, and the log is checked when the test is over."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import pytest
from dsh_agent import Agent, derive_messages, row_schema
from dsh_invariants import check_log, invariants
from dsh_llm import SESSION_EVENT, LlmAdapter, LogEvent, LogSession, Plugin
from dsh_llm.testing import ScriptedModel, ScriptEntry
from jsonschema import Draft202012Validator

MakeAgent = Callable[..., Agent]
Script = Iterable[ScriptEntry] | LlmAdapter | None


@pytest.fixture(scope="session")
def row_validator() -> Any:
    """Return the published JSON Schema of a row, as a validator."""
    return Draft202012Validator(row_schema())


@pytest.fixture
def make_agent(row_validator: Any) -> Iterator[MakeAgent]:
    """Return a maker of agents: a script or an adapter, and the options of `Agent`.

    A harness that is given has its invariants itself. `checked=False` is for a log that the test
    breaks on purpose.
    """
    made: list[Agent] = []

    def make(
        script: Script = (),
        *,
        checked: bool = True,
        plugins: Iterable[Plugin] = (),
        **options: Any,
    ) -> Agent:
        model: Any = ScriptedModel(script) if isinstance(script, Iterable) else script
        own = [] if "harness" in options else [invariants]
        agent = Agent(model, plugins=[*own, *plugins], **options)
        made.extend([agent] if checked else [])
        return agent

    yield make
    for agent in made:
        check(agent, row_validator)


def check(agent: Agent, validator: Any) -> None:
    """Assert what holds of every log: the rules, the schema, and one history however derived."""
    rows = agent.session.to_rows()
    assert check_log(rows) == []
    assert [validator.is_valid(row) for row in rows].count(False) == 0
    assert derive_messages(agent.session.events) == agent.session.derive_messages()


@pytest.fixture
def seen() -> Callable[[Agent, str], Awaitable[LogEvent]]:
    """Return a waiter for the next event of a type."""

    async def wait(agent: Agent, kind: str) -> LogEvent:
        found: asyncio.Future[LogEvent] = asyncio.get_running_loop().create_future()

        def look(_session: LogSession, event: LogEvent) -> None:
            if event.type == kind and not found.done():
                found.set_result(event)

        dispose = agent.ctx.on(SESSION_EVENT, look)
        event = await found
        dispose()
        return event

    return wait
