"""The lines that show what using dsh looks like, all packages together: they work as they stand."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from dsh_agent import Agent, JsonlStore, to_error
from dsh_invariants import InvariantError, check_log, invariants
from dsh_llm import (
    HarnessCodedError,
    HarnessError,
    LlmError,
    ModelRequest,
    error_info,
    is_harness_error,
)
from dsh_llm.testing import ScriptedModel, call, hang, say
from dsh_tools import ToolArgsError, ToolRegistry, define_tool


@define_tool
def head(path: str, lines: int = 10) -> str:
    """The first lines of a text file.

    Args:
        path: File to read.
        lines: How many lines.
    """
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # Why: as a user would write it
        return "".join(line for line, _ in zip(file, range(lines), strict=False))


def test_errors() -> None:
    """An error has a code apart from its text, and keeps its cause; the catalogue knows codes."""
    error = HarnessError(
        "disk is gone", "DISK_GONE", cause=OSError(5, "I/O"), context={"disk": "a"}
    )

    assert (error.code, error.name, error.code_num) == ("DISK_GONE", "HarnessError", None)
    assert isinstance(error.cause, OSError)
    assert is_harness_error(error)
    info, by_code = error_info(1002), error_info("INVALID_ARGS")
    assert info is not None
    assert by_code is not None
    assert (info.key, by_code.number) == ("TOOL_VALIDATION_FAILED", 1002)
    assert str(HarnessCodedError("SESSION_NOT_FOUND", session="s-1")) == "[2001] Session not found"
    assert issubclass(LlmError, HarnessError)
    assert issubclass(ToolArgsError, HarnessError)
    assert issubclass(InvariantError, HarnessError)
    assert to_error(error) is error
    assert is_harness_error(to_error("text"))


def test_a_registry_alone() -> None:
    """Tools work without an agent; failures are results with a code, never exceptions."""

    async def main() -> None:
        registry = ToolRegistry([head])
        result = await registry.execute("head", '{"path": "missing.txt"}')
        assert result.is_error
        assert result.error is not None
        assert result.error.code == "ENOENT"
        assert getattr(result.content[0], "text", "").startswith("Error: ")
        wrong = await registry.execute("head", {"lines": "ten"})
        unknown = await registry.execute("haed", {})
        assert wrong.error is not None
        assert unknown.error is not None
        assert (wrong.error.code, unknown.error.code) == ("INVALID_ARGS", "UNKNOWN_TOOL")
        assert "head" in getattr(unknown.content[0], "text", "")

    asyncio.run(main())


def test_an_agent() -> None:
    """A run gives text, usage and steps; its log is JSON and keeps every invariant."""
    model = ScriptedModel([call("head", path="missing.txt"), say("There is no such file.")])

    async def main() -> list[dict[str, object]]:
        async with Agent(
            model=model, tools=[head], system="You read files.", plugins=[invariants]
        ) as agent:
            answer = await agent.run("What does missing.txt say?")
            assert (answer.text, answer.steps) == ("There is no such file.", 2)
            assert answer.usage.output_tokens > 0
            assert [event.type for event in agent.session.events][:2] == [
                "turn/start",
                "user/message",
            ]
            return agent.session.to_rows()

    rows = asyncio.run(main())

    assert check_log(rows) == []
    assert rows[0].keys() == {"seq", "time", "type", "data"}


def test_names_of_models() -> None:
    """An agent takes an adapter or a name; a name without its key says what is missing."""
    openai = pytest.importorskip("dsh_llm.adapters.openai")
    adapter = openai.OpenAIAdapter(
        "deepseek-chat", base_url="http://127.0.0.1:8000/v1", api_key="k"
    )

    assert Agent(model=adapter, tools=[head]).status == "idle"
    with pytest.raises(LlmError) as caught:
        Agent(model="no-such-provider:model")
    assert caught.value.code == "UNKNOWN_MODEL"


def test_without_a_loop_and_on_disk(tmp_path: Path) -> None:
    """`run_sync` needs no `await`, `store=` keeps the log, `max_steps=` bounds a turn."""
    model = ScriptedModel([say("hello"), call("head", path="x"), call("head", path="x")])
    agent = Agent(model=model, tools=[head], store=JsonlStore(tmp_path), max_steps=1)

    assert agent.run_sync("hi").text == "hello"
    with pytest.raises(HarnessError) as caught:
        agent.run_sync("read x")
    agent.close()

    assert caught.value.code == "AGENT_LOOP_ERROR"
    (log,) = tmp_path.iterdir()
    assert check_log(log) == []


def test_abort() -> None:
    """`abort` is an ordinary call; the run raises `ABORTED`, and the agent can run again."""

    def hang_and_be_stopped(_request: ModelRequest) -> Any:
        asyncio.get_running_loop().call_soon(agent.abort, "no time")
        return hang()

    agent = Agent(model=ScriptedModel([hang_and_be_stopped, say("fine")]))

    async def main() -> None:
        async with agent:
            with pytest.raises(HarnessError) as caught:
                await agent.run("wait")
            assert (caught.value.code, str(caught.value)) == ("ABORTED", "no time")
            assert (await agent.run("and now?")).text == "fine"

    asyncio.run(main())
