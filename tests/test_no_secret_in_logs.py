"""A session's log has no secrets of failures: not in error rows, turn ends or tool results."""

import asyncio
import json
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest
from dsh_agent import Agent
from dsh_llm import HarnessError, LlmError, register_secret
from dsh_llm.testing import ScriptedModel, call, say
from dsh_tools import define_tool

OPAQUE = "opaque credential of no known format"
TOKEN = "ghp_abcDEF0123456789abcdEFGH"  # noqa: S105  # Why: an example of a format
URL = "https://user:pa55w0rd@host/path"
ALL = f"{OPAQUE}, {TOKEN}; {URL} password=hunter2"
SECRETS = (OPAQUE, TOKEN, "pa55w0rd", "hunter2")


@pytest.fixture(autouse=True)
def registered() -> Generator[None]:
    """Register the secret that nothing else would find."""
    dispose = register_secret(OPAQUE)
    yield
    dispose()


@define_tool
def foreign() -> str:
    """Fail with a foreign exception, in a chain."""
    raise ValueError(ALL) from OSError(2, ALL, URL)


@define_tool
def ours() -> str:
    """Fail with an error of ours."""
    error = HarnessError(ALL, "A", context={"password": "hunter2"}, cause=KeyError(ALL))
    error.add_note(ALL)
    raise error


@define_tool
def grouped() -> str:
    """Fail with a group."""
    raise ExceptionGroup(ALL, [ValueError(ALL), HarnessError(ALL, "A")])


async def rows_of(*script: Any) -> str:
    """Return the log, as JSON, of a run on a scripted model that may end in an error."""
    async with Agent(model=ScriptedModel(script), tools=[foreign, ours, grouped]) as agent:
        with suppress(LlmError):
            await agent.run("go")
        return json.dumps(agent.session.to_rows(), ensure_ascii=False)


@pytest.mark.parametrize("tool", ["foreign", "ours", "grouped"])
def test_a_tool_that_fails_leaves_no_secret_in_the_log(tool: str) -> None:
    """Not in what the model is told, and not in the chain and the traceback of the failure."""
    log = asyncio.run(rows_of(call(tool), say("so it goes")))
    assert '"is_error": true' in log
    assert not [secret for secret in SECRETS if secret in log]


def test_a_model_that_fails_leaves_no_secret_in_the_log() -> None:
    """Not in the error row, not in how the turn ended."""
    failure = LlmError(ALL, "AUTH", 401, cause=ConnectionError(ALL))
    log = asyncio.run(rows_of(failure))
    assert '"AUTH"' in log
    assert not [secret for secret in SECRETS if secret in log]


def test_what_the_user_and_the_tools_say_is_kept() -> None:
    """Content is data: a log that changed it could not be replayed."""
    log = asyncio.run(rows_of(say(ALL)))
    assert all(secret in log for secret in SECRETS)
