"""`dsh demo`: what a newcomer sees, and that it is computed and not printed."""

import io
import re
import signal
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from dsh_agent import read_jsonl
from dsh_cli import main
from dsh_invariants import check_log
from dsh_llm.testing import Reply, serving, sse


def demo(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Run the demo and return its exit code and what it printed."""
    code = main(["demo", *map(str, arguments)])
    return code, capsys.readouterr().out


def test_the_demo_shows_each_kind_of_failure_and_its_correction(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Bad arguments, an unknown tool, a missing and a forbidden file appear with their codes."""
    code, out = demo(capsys, "--root", tmp_path, "--log", tmp_path / "s.jsonl")

    assert code == 0
    for part in ("INVALID_ARGS 1002", "UNKNOWN_TOOL 1001", "first: read_file", "ENOENT 1003"):
        assert part in out
    assert "[FS_SANDBOX_DENIED]" in out
    assert "75 boxes: 40 in the north and 35 in the south." in out


def test_every_violation_of_the_bad_call_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The call with two wrong arguments is answered with both violations at once."""
    _, out = demo(capsys, "--root", tmp_path, "--log", tmp_path / "s.jsonl")

    line = next(line for line in out.splitlines() if "INVALID_ARGS 1002]" in line)
    assert line.count('"path"') == 1
    assert line.count('"lines"') == 1


def test_the_answer_comes_from_the_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Editing one of the demo's files changes the answer."""
    (tmp_path / "south.txt").write_text("apples 5\npears 1000\n", encoding="utf-8")

    _, out = demo(capsys, "--root", tmp_path, "--log", tmp_path / "s.jsonl")

    assert "1045 boxes: 40 in the north and 1005 in the south." in out


def test_the_table_of_failures_is_rebuilt_from_the_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The codes of the table are those of the log's failed results, with the same counts."""
    log = tmp_path / "s.jsonl"
    _, out = demo(capsys, "--root", tmp_path, "--log", log)

    failed = [e.data for e in read_jsonl(log) if e.type == "tool/result" and e.data["is_error"]]
    for data in failed:
        assert re.search(rf"^{data['error']['code']} .*\b1  ", out, re.MULTILINE)
    assert len(failed) == 4
    assert re.search(r"^FS_SANDBOX_DENIED +- +1  \w", out, re.MULTILINE)
    assert out.rstrip().endswith("the log keeps every invariant")


def test_the_parallel_pair_is_called_before_either_result(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Two reads of one message run together, and their results come in the model's order."""
    log = tmp_path / "s.jsonl"
    demo(capsys, "--root", tmp_path, "--log", log)

    last = [e for e in read_jsonl(log) if e.type in {"tool/call", "tool/result"}][-4:]
    assert [e.type for e in last] == ["tool/call", "tool/call", "tool/result", "tool/result"]
    assert last[0].data["call_id"] == last[2].data["call_id"]


def test_the_demo_says_where_its_log_is_when_it_chose_the_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without options it works in a scratch folder, and prints the path of a log that exists."""
    code, out = demo(capsys)

    found = re.search(r"^session log: (.+)$", out, re.MULTILINE)
    assert code == 0
    assert found is not None
    assert Path(found[1]).is_file()


def test_the_demo_works_with_any_compatible_server(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a base URL the task goes to that server's model, over real HTTP."""
    choice = {"index": 0, "delta": {"content": "About 75."}, "finish_reason": "stop"}
    body = sse({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})
    with serving([Reply(200, {"content-type": "text/event-stream"}, (body,))]) as server:
        code, out = demo(
            capsys,
            *("--model", "any", "--base-url", f"{server.url}/v1"),
            *("--root", tmp_path, "--log", tmp_path / "s.jsonl"),
        )

    assert (code, "About 75." in out, "no failures" in out) == (0, True, True)
    assert server.received[0].path == "/v1/chat/completions"


def test_a_demo_whose_server_fails_counts_that_failure_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The failure that ended the run stands in the table, with its number, and the exit is 1."""
    with serving([Reply(401, {"content-type": "application/json"}, (b"{}",))]) as server:
        code, out = demo(
            capsys,
            *("--model", "any", "--base-url", f"{server.url}/v1"),
            *("--root", tmp_path, "--log", tmp_path / "s.jsonl"),
        )

    assert code == 1
    assert re.search(r"^AUTH +5002 +1 ", out, re.MULTILINE)


def test_a_demo_whose_log_cannot_be_made_says_so_and_no_more(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a log there is no table and no verdict, and the exit is 1."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    code, out = demo(capsys, "--root", tmp_path, "--log", tmp_path / "file" / "s.jsonl")

    assert (code, out.count("\n"), out.startswith("StorageError ")) == (1, 1, True)


class Interrupting(io.StringIO):
    """A screen whose reader presses Ctrl-C when the first call is shown."""

    def write(self, text: str) -> int:
        """Take *text*, and interrupt once."""
        if text.startswith("call") and "call" not in self.getvalue():
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def test_ctrl_c_in_the_middle_of_a_turn_closes_the_log(tmp_path: Path) -> None:
    """The command says that it was interrupted, exits with 130, and its log passes the check."""
    log = tmp_path / "s.jsonl"
    with redirect_stdout(Interrupting()) as screen:
        code = main(["demo", "--root", str(tmp_path), "--log", str(log)])

    assert (code, "interrupted" in screen.getvalue()) == (130, True)
    assert check_log(log) == []
    assert list(read_jsonl(log))[-1].data["reason"]["kind"] == "aborted"
