"""`dsh run`: a task over real HTTP, every way it fails, and the exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dsh_agent import read_jsonl
from dsh_cli import main
from dsh_invariants import check_log
from dsh_llm.testing import Reply, serving, sse

STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
NO_MODEL = b'{"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}'


def chunk(finish: str | None = None, **delta: object) -> dict[str, object]:
    """Return one event of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def calling(name: str, **arguments: object) -> Reply:
    """Return a reply that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": "call-1", "type": "function", "function": function}
    return Reply(200, STREAM, (sse(chunk(tool_calls=[call]), chunk("tool_calls")),))


def saying(text: str) -> Reply:
    """Return a reply that says *text*."""
    return Reply(200, STREAM, (sse(chunk(content=text), chunk("stop")),))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "DSH_MODEL"):
        monkeypatch.delenv(name, raising=False)


def run(tmp_path: Path, url: str, *more: str) -> int:
    """Run a task against the server at *url*, with a log in the scratch folder."""
    place = ["--root", str(tmp_path), "--log", str(tmp_path / "log.jsonl")]
    return main(["run", "do it", "--model", "m", "--base-url", f"{url}/v1", *place, *more])


def rows(tmp_path: Path) -> Sequence[Any]:
    """Return the log's events, after checking it."""
    log = tmp_path / "log.jsonl"
    assert check_log(log) == []
    return list(read_jsonl(log))


def test_a_task_runs_its_tools_and_prints_the_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The model's call reads a real file, and its answer and the log's path are printed."""
    (tmp_path / "a.txt").write_text("forty-two", encoding="utf-8")
    with serving([calling("read_file", path="a.txt"), saying("It says forty-two.")]) as server:
        code = run(tmp_path, server.url)

    out = capsys.readouterr().out
    assert (code, "It says forty-two." in out, "log.jsonl" in out) == (0, True, True)
    assert "forty-two" in json.loads(server.received[1].body)["messages"][-1]["content"]
    assert rows(tmp_path)[-1].data["reason"] == {"kind": "completed"}


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(401, JSON, (b'{"error": {"message": "bad key"}}',)), "AUTH"),
        (Reply(429, JSON | {"retry-after": "7"}, (b'{"error": "slow down"}',)), "RATE_LIMIT"),
        (Reply(404, JSON, (NO_MODEL,)), "MODEL_NOT_FOUND"),
        (Reply(500, JSON, (b"{}",)), "SERVER"),
        (Reply(200, STREAM, (sse(chunk(content="half"), done=False),), cut=True), "TRANSPORT"),
        (Reply(200, STREAM, (sse(chunk(content="half"), done=False),)), "STREAM_CLOSED"),
        (Reply(200, STREAM, (sse(chunk("stop")),)), "EMPTY_RESPONSE"),
        (Reply(200, STREAM, (b"data: {not json\n\n",)), "MALFORMED_RESPONSE"),
    ],
)  # fmt: skip
def test_a_failing_server_ends_the_run_coded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, reply: Reply, code: str
) -> None:
    """Each failure of the server is on the screen and in the log with its code; the exit is 1."""
    with serving([reply]) as server:
        exit_code = run(tmp_path, server.url)

    out = capsys.readouterr().out
    events = rows(tmp_path)
    assert exit_code == 1
    assert f" {code}: " in out
    assert events[-1].data["reason"]["code"] == code
    assert [e.data["code"] for e in events if e.type == "error"] == [code]


def test_a_server_that_is_down_is_a_transport_failure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nobody listening ends as TRANSPORT, with turn and step closed in the log."""
    with serving([]) as server:
        pass

    assert run(tmp_path, server.url) == 1
    assert " TRANSPORT: " in capsys.readouterr().out
    assert rows(tmp_path)[-1].data["reason"]["code"] == "TRANSPORT"


def test_malformed_arguments_go_back_to_the_model(tmp_path: Path) -> None:
    """Argument text that is not JSON is an INVALID_ARGS result, and the run goes on."""
    function = {"name": "read_file", "arguments": '{"path": '}
    call = {"index": 0, "id": "k", "type": "function", "function": function}
    bad = Reply(200, STREAM, (sse(chunk(tool_calls=[call]), chunk("tool_calls")),))
    with serving([bad, saying("sorry")]) as server:
        assert run(tmp_path, server.url) == 0

    results = [e.data for e in rows(tmp_path) if e.type == "tool/result"]
    assert [data["error"]["code"] for data in results] == ["INVALID_ARGS"]


def test_json_output_is_the_log_row_by_row(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With --json each line is a row of the log, from the turn's start to its end."""
    with serving([saying("hi")]) as server:
        assert run(tmp_path, server.url, "--json") == 0

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [event.to_row() for event in rows(tmp_path)]


def test_json_output_ends_with_the_error_of_a_failed_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With --json the last line of a failed run is the error, with name and code."""
    with serving([Reply(401, JSON, (b"{}",))]) as server:
        assert run(tmp_path, server.url, "--json") == 1

    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["type"], last["data"]["name"], last["data"]["code"]) == (
        "run/error", "LlmError", "AUTH",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "variable"),
    [
        (["--model", "openai:gpt-x"], "OPENAI_API_KEY"),
        (["--model", "deepseek:deepseek-chat"], "DEEPSEEK_API_KEY"),
        ([], "DEEPSEEK_API_KEY"),
    ],
)
def test_a_missing_key_names_the_variable_to_set(
    capsys: pytest.CaptureFixture[str], arguments: list[str], variable: str
) -> None:
    """A model without a configured key is refused in one line that says what to set."""
    assert main(["run", "do it", *arguments]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "MISSING_CREDENTIAL" in said.err
    assert variable in said.err


def test_an_unknown_provider_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A provider that does not exist is refused in one line."""
    assert main(["run", "do it", "--model", "nobody:m"]) == 2
    assert capsys.readouterr().err.startswith("dsh: UNKNOWN_MODEL: ")


def test_a_folder_that_is_no_folder_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A log that cannot be made ends the command with the storage's code, before any request."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with serving([]) as server:
        place = ["--log", str(tmp_path / "file" / "log.jsonl"), "--root", str(tmp_path)]
        code = main(["run", "x", "--model", "m", "--base-url", f"{server.url}/v1", *place])

    assert code == 1
    assert "STORAGE_READ_FAILED" in capsys.readouterr().out
    assert server.received == []


def test_json_output_says_what_failed_before_there_was_a_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With --json a run that cannot even begin prints its error as the only line."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    place = ["--log", str(tmp_path / "file" / "log.jsonl"), "--root", str(tmp_path)]
    address = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"]

    assert main(["run", "x", "--json", *address, *place]) == 1
    only = json.loads(capsys.readouterr().out)
    assert (only["type"], only["data"]["name"]) == ("run/error", "StorageError")


@pytest.mark.parametrize("arguments", [[], ["run"], ["log"], ["fly"]])
def test_wrong_usage_exits_with_two(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Arguments that make no sense print the usage and exit with 2."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert caught.value.code == 2
    assert "usage: dsh" in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """When the pipe's reader is gone, the command ends without a traceback."""
    log = tmp_path / "log.jsonl"
    assert main(["demo", "--root", str(tmp_path), "--log", str(log)]) == 0
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dsh_cli", "log", "show", str(log)],
            stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_without_a_log_file_says_where_it_put_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The log is always kept; without --log its path is printed, and it passes its check."""
    with serving([saying("hi")]) as server:
        url = f"{server.url}/v1"
        assert main(["run", "x", "--model", "m", "--base-url", url, "--root", str(tmp_path)]) == 0

    path = capsys.readouterr().out.splitlines()[-1].removeprefix("session log: ")
    assert check_log(path) == []
