"""The loop against llama.cpp's own server: real HTTP, real server-sent events, real failures.

Most answers come from a tiny model with random weights, so nothing here asserts on wording: what is
asserted is the protocol, the codes, and that the log closes and passes its check.
"""

import asyncio
import json
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import pytest
from dsh_agent import Agent, RunResult, derive_messages
from dsh_invariants import check_log, invariants
from dsh_llm import HarnessError, LlmError
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_tools import Tool, define_tool
from dsh_tools.builtin import file_tools

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]

Row: TypeAlias = dict[str, Any]
Doomed: TypeAlias = tuple[str, Callable[[], None]]


class Ran(NamedTuple):
    """What a session left behind: a result or an error for each task, and the log."""

    results: list[RunResult]
    errors: list[HarnessError]
    rows: list[Row]

    def of(self, *types: str) -> list[Row]:
        """Return the data of the rows of some types."""
        return [row["data"] for row in self.rows if row["type"] in types]


def run(adapter: OpenAIAdapter, tools: Iterable[Tool], *tasks: str, system: str = "") -> Ran:
    """Give one agent its tasks, one after another; whatever happens, the log is in order."""

    async def session() -> Ran:
        async with aclosing(adapter), agent_of(adapter, tools, system) as agent:
            ran = Ran([], [], [])
            for task in tasks:
                await attempt(agent, task, ran)
            ran.rows.extend(closed_log(agent))
            return ran

    return asyncio.run(session())


def agent_of(adapter: OpenAIAdapter, tools: Iterable[Tool] = (), system: str = "") -> Agent:
    """Return an agent that is watched."""
    return Agent(model=adapter, tools=tools, system=system, plugins=[invariants], max_steps=12)


async def attempt(agent: Agent, task: str, ran: Ran) -> None:
    """Run one task and note how it ended."""
    try:
        ran.results.append(await agent.run(task))
    except HarnessError as error:
        ran.errors.append(error)


def assert_ended(ran: Ran, tasks: int) -> None:
    """Assert that every task ended, each completed or with a code."""
    # Why: a random model may go on for ever, or say what its own server cannot read; which of its
    # turns do so depends on the machine's timing, that each ends coded does not.
    assert len(ran.results) + len(ran.errors) == tasks
    assert {result.reason for result in ran.results} <= {"completed"}
    assert all(error.code != "UNKNOWN" for error in ran.errors)


def closed_log(agent: Agent) -> list[Row]:
    """Return the log of an agent at rest: every turn and step closed, every rule kept."""
    rows = agent.session.to_rows()
    assert check_log(rows) == []
    assert list(derive_messages(agent.session.events)) == list(agent.session.derive_messages())
    count = [row["type"] for row in rows].count
    assert count("turn/start") == count("turn/end") > 0
    assert count("step/start") == count("step/end")
    assert count("tool/call") == count("tool/result")
    assert rows[-1]["type"] == "turn/end"
    for row in rows:
        if row["type"] == "turn/end" and row["data"]["reason"]["kind"] == "error":
            assert row["data"]["reason"]["code"]
    return rows


@define_tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The one.
        b: The other.
    """
    return a + b


@define_tool
def paint(color: Literal["red", "green"], note: str) -> str:
    """Paint something.

    Args:
        color: In which color.
        note: What is written on it.
    """
    return f"{color}: {note}"


def expected(call: Row) -> str:
    """Return what a call must have given, worked out from its raw arguments."""
    arguments = json.loads(call["arguments"])
    if call["name"] == "add":
        return str(arguments["a"] + arguments["b"])
    return f"{arguments['color']}: {arguments['note']}"


def text_of(content: Sequence[Row]) -> str:
    """Return the text of logged blocks."""
    return "".join(block["text"] for block in content)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with a folder of two notes."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "june.txt").write_text("Sales went up.", encoding="utf-8")
    (notes / "july.txt").write_text("Sales went down.", encoding="utf-8")
    return tmp_path


def files(root: Path, *names: str) -> list[Tool]:
    """Return some of the ready-made tools."""
    return [tool for tool in file_tools(root) if tool.schema.name in names]


def test_text_arrives_in_pieces_and_is_logged_whole(tiny_url: str, key: str) -> None:
    """An answer streams in several deltas, which together are the message and the result."""
    ran = run(OpenAIAdapter("tiny", base_url=tiny_url, api_key=key), [], "Say something.")
    chunks = [data["chunk"] for data in ran.of("assistant/chunk")]
    pieces = [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"]
    [answer] = ran.of("assistant/message")
    [result] = ran.results
    assert len(pieces) > 1
    assert "".join(pieces) == text_of(answer["content"]) == result.text
    assert result.reason == "completed"
    assert result.usage.input_tokens > 0
    assert result.usage.output_tokens > 0


def test_parallel_calls_run_and_are_answered_in_order(tiny_url: str, key: str) -> None:
    """Each call of a step has its real result, in the model's order, and the runs complete."""
    tasks = [f"Do job {n}." for n in range(3)]
    ran = run(OpenAIAdapter("tiny", base_url=tiny_url, api_key=key), [add, paint], *tasks)
    calls, results = ran.of("tool/call"), ran.of("tool/result")
    assert [call["call_id"] for call in calls] == [result["call_id"] for result in results]
    assert [expected(call) for call in calls] == [text_of(result["content"]) for result in results]
    assert not any(result["is_error"] for result in results)
    steps = [(call["turn"], call["step"]) for call in calls]
    assert len(steps) > len(set(steps)), "no step called two tools"
    assert_ended(ran, len(tasks))


def test_the_pieces_of_a_call_are_its_arguments(tiny_url: str, key: str) -> None:
    """Arguments stream in many deltas, which together are the raw text that the tool is given."""
    ran = run(OpenAIAdapter("tiny", base_url=tiny_url, api_key=key), [add, paint], "Do a job.")
    joined: dict[tuple[int, int], str] = {}
    deltas = call_deltas(ran)
    for data in deltas:
        place = (data["step"], data["chunk"]["index"])
        joined[place] = joined.get(place, "") + data["chunk"]["arguments_delta"]
    calls = ran.of("tool/call")
    assert len(deltas) > len(calls) > 0
    assert list(joined.values()) == [call["arguments"] for call in calls]


def call_deltas(ran: Ran) -> list[Row]:
    """Return the rows of the pieces of calls."""
    return [row for row in ran.of("assistant/chunk") if row["chunk"]["type"] == "tool-call-delta"]


def test_what_the_system_refuses_has_its_code(tiny_url: str, key: str, house: Path) -> None:
    """Random paths lead nowhere: each result is an error with a name and a code, and told so."""
    adapter = OpenAIAdapter("tiny", base_url=tiny_url, api_key=key)
    ran = run(adapter, files(house, "read_file"), "Read something.")
    results = ran.of("tool/result")
    assert results
    assert all(result["is_error"] and result["error"]["code"] for result in results)
    assert all(text_of(result["content"]).startswith("Error: ") for result in results)
    assert_ended(ran, 1)


def test_a_cut_call_never_runs_on_a_guess(tiny_url: str, key: str) -> None:
    """When the answer ends inside a call's arguments, no body runs and the turn says why."""
    ran_with: list[int] = []

    @define_tool
    def record(number: int) -> str:
        """Record a number.

        Args:
            number: Which one.
        """
        ran_with.append(number)
        return "done"

    short = OpenAIAdapter("tiny", base_url=tiny_url, api_key=key, extra_body={"max_tokens": 26})
    ran = run(short, [record], "Record it.")
    assert call_deltas(ran), "the call had not begun"
    assert ran_with == []
    assert [end["reason"]["kind"] for end in ran.of("turn/end")] == ["max-tokens"]


def test_a_wrong_key_is_auth_with_its_status(tiny_url: str) -> None:
    """A refused key ends the turn with AUTH and 401, and the key itself is in no log."""
    wrong = "sk-this-is-another-key"
    ran = run(OpenAIAdapter("tiny", base_url=tiny_url, api_key=wrong), [add], "Add 1 and 2.")
    [error] = ran.errors
    assert isinstance(error, LlmError)
    assert (error.code, error.status, error.code_num) == ("AUTH", 401, 5002)
    assert [row["code"] for row in ran.of("error")] == ["AUTH"]
    assert [end["reason"]["code"] for end in ran.of("turn/end")] == ["AUTH"]
    assert wrong not in json.dumps(ran.rows)


def test_a_task_over_the_context_size_is_coded(narrow_url: str, key: str) -> None:
    """What does not fit at all is CONTEXT_WINDOW_EXCEEDED, and the agent goes on after it."""
    adapter = OpenAIAdapter("tiny", base_url=narrow_url, api_key=key)
    ran = run(adapter, [], "word " * 2000)
    [error] = ran.errors
    assert isinstance(error, LlmError)
    assert (error.code, error.status) == ("CONTEXT_WINDOW_EXCEEDED", 400)


def test_a_tool_result_over_the_context_size_is_kept(narrow_url: str, key: str) -> None:
    """A result that makes the next request too long stays in the log; the turn ends coded."""

    @define_tool
    def flood() -> str:
        """Give very much."""
        return "water " * 1000

    ran = run(OpenAIAdapter("tiny", base_url=narrow_url, api_key=key), [flood], "Flood it.")
    [error] = ran.errors
    assert error.code == "CONTEXT_WINDOW_EXCEEDED"
    first = ran.of("tool/result")[0]
    assert text_of(first["content"]) == "water " * 1000
    assert [row["step"] for row in ran.of("error")] == [2]


def test_an_error_inside_the_stream_is_the_servers(garbling_url: str, key: str) -> None:
    """A server that gives up after it began to answer, with status 200, ends the turn as SERVER."""
    codes: list[str] = []
    for seed in range(2, 8):
        extra = {"seed": seed}
        adapter = OpenAIAdapter("tiny", base_url=garbling_url, api_key=key, extra_body=extra)
        codes += [error.code for error in run(adapter, [paint], "Paint it.").errors]
    assert set(codes) == {"SERVER"}


def test_a_server_that_is_down_is_transport(key: str) -> None:
    """Where nobody listens the turn ends as TRANSPORT, with the system's reason as its cause."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # Invariant: bound but not listening, so nobody else does
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        ran = run(OpenAIAdapter("tiny", base_url=url, api_key=key), [add], "Are you there?")
    [error] = ran.errors
    assert isinstance(error, LlmError)
    assert (error.code, error.status) == ("TRANSPORT", None)
    assert isinstance(error.cause, Exception)


def test_a_server_killed_in_mid_stream_is_coded(babbling: Doomed, key: str) -> None:
    """A dropped connection ends the turn, keeps what had come, and the next run says TRANSPORT."""
    url, kill = babbling

    async def session() -> Ran:
        adapter = OpenAIAdapter("tiny", base_url=url, api_key=key)
        async with aclosing(adapter), agent_of(adapter) as agent:
            with pytest.raises(LlmError) as dropped:
                await kill_at_first_text(agent, kill)
            with pytest.raises(LlmError) as down:
                await agent.run("Are you there?")
            return Ran([], [dropped.value, down.value], closed_log(agent))

    ran = asyncio.run(session())
    dropped, down = ran.errors
    assert dropped.code in {"STREAM_CLOSED", "TRANSPORT"}
    assert down.code == "TRANSPORT"
    assert [end["reason"]["code"] for end in ran.of("turn/end")] == [dropped.code, "TRANSPORT"]
    assert [row["code"] for row in ran.of("error")] == [dropped.code, "TRANSPORT"]
    assert any(row["chunk"]["type"] == "text-delta" for row in ran.of("assistant/chunk"))


async def kill_at_first_text(agent: Agent, kill: Callable[[], None]) -> None:
    """Run a task and kill the server when the answer has begun."""
    async with aclosing(agent.stream("Never stop.")) as events:
        async for event in events:
            if event.type == "assistant/chunk" and event.data["chunk"]["type"] == "text-delta":
                kill()


def test_an_abort_in_mid_stream_frees_the_server(babbling: Doomed, key: str) -> None:
    """An aborted run closes its connection: the server's only slot serves the next run at once."""
    url, _ = babbling

    async def session() -> Ran:
        adapter = OpenAIAdapter("tiny", base_url=url, api_key=key)
        async with aclosing(adapter), agent_of(adapter) as agent:
            ran = Ran([], [], [])
            for _ in range(2):
                with pytest.raises(HarnessError) as aborted:
                    await abort_at_first_text(agent)
                ran.errors.append(aborted.value)
            return ran._replace(rows=closed_log(agent))

    ran = asyncio.run(session())
    assert [error.code for error in ran.errors] == ["ABORTED", "ABORTED"]
    assert [end["reason"]["kind"] for end in ran.of("turn/end")] == ["aborted", "aborted"]


async def abort_at_first_text(agent: Agent) -> None:
    """Run a task and abort it when the answer has begun."""
    async with aclosing(agent.stream("Never stop.")) as events:
        async for event in events:
            if event.type == "assistant/chunk" and event.data["chunk"]["type"] == "text-delta":
                agent.abort("enough")


def test_an_instruct_model_really_lists_a_folder(instruct_url: str, key: str, house: Path) -> None:
    """Asked for a folder's files, it calls list_files, is told the real ones, and answers."""
    adapter = OpenAIAdapter("smollm2", base_url=instruct_url, api_key=key)
    tools = files(house, "list_files", "read_file")
    ran = run(adapter, tools, "Which files are in notes?", system="You call tools.")
    call, listed = ran.of("tool/call")[0], ran.of("tool/result")[0]
    assert (call["name"], json.loads(call["arguments"])) == ("list_files", {"path": "notes"})
    assert not listed["is_error"]
    assert text_of(listed["content"]).split() == [
        *("july.txt", "(16", "bytes)"),
        *("june.txt", "(14", "bytes)"),
    ]
    assert [result.reason for result in ran.results] == ["completed"]


def test_an_instruct_model_really_reads_a_file(instruct_url: str, key: str, house: Path) -> None:
    """Asked what a file says, it calls read_file, and the file's own text is in the log."""
    adapter = OpenAIAdapter("smollm2", base_url=instruct_url, api_key=key)
    tools = files(house, "read_file")
    ran = run(adapter, tools, "What does notes/june.txt say?", system="You call tools.")
    call, read = ran.of("tool/call")[0], ran.of("tool/result")[0]
    assert call["name"] == "read_file"
    assert json.loads(call["arguments"])["path"] == "notes/june.txt"
    assert text_of(read["content"]) == "Sales went up."
    assert [result.reason for result in ran.results] == ["completed"]
