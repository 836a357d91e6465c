"""`dsh log show` and `dsh log check`: a log that was written earlier."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from dsh_cli import main

HEADER = {"type": "session", "version": 1, "id": "s", "created": 0}
OPEN_TURN = [{"seq": 0, "time": 0, "type": "turn/start", "data": {"turn": 1}}]


def log(tmp_path: Path, rows: Sequence[object]) -> str:
    """Write a log file and return its path."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in [HEADER, *rows]), encoding="utf-8")
    return str(path)


def closed(*rows: tuple[str, Mapping[str, object]]) -> list[dict[str, object]]:
    """Return rows of one turn around *rows*."""
    end = ("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    every = [("turn/start", {"turn": 1}), *rows, end]
    return [{"seq": n, "time": n, "type": t, "data": d} for n, (t, d) in enumerate(every)]


def message(kind: str, text: str) -> tuple[str, dict[str, object]]:
    """Return a message row."""
    content = [{"type": "text", "text": text}]
    return kind, {"turn": 1, "content": content, "source": {"kind": "user"}}


def test_a_good_log_passes_its_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A log without violations says so and exits with 0."""
    assert main(["log", "check", log(tmp_path, closed())]) == 0
    assert capsys.readouterr().out == "the log keeps every invariant\n"


def test_a_broken_log_lists_every_violation(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Violations are told with rule and seq, and the exit code is 3."""
    rows = [*OPEN_TURN, {"seq": 5, "time": 0, "type": "turn/start", "data": {"turn": 2}}]
    assert main(["log", "check", log(tmp_path, rows)]) == 3

    out = capsys.readouterr().out
    assert "INV-SEQ-001" in out
    assert "INV-TURN-001" in out
    assert "violations of the event contract" in out


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_missing_file_is_an_error_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    """A file that is not there is told with a code, and the exit code is 1."""
    assert main(["log", command, str(tmp_path / "none.jsonl")]) == 1

    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), said.err.startswith("dsh: ")) == ("", 1, True)


def test_a_shown_log_tells_what_was_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Inputs, asides, steering and answers are told in order, without their chunks too."""
    rows = closed(
        message("user/message", "a question"),
        message("context/message", "by the way"),
        ("step/start", {"turn": 1, "step": 1}),
        message("assistant/message", "an answer"),
        message("assistant/message", ""),
        ("step/end", {"turn": 1, "step": 1}),
        message("steering/message", "and this"),
        ("plugin/thing", {}),
    )
    assert main(["log", "show", log(tmp_path, rows)]) == 0

    out = capsys.readouterr().out.splitlines()
    assert out == [
        "you     a question",
        "aside   by the way",
        "model   an answer",
        "you     and this",
        "end     turn 1 completed",
    ]


def test_a_shown_log_tells_failures_with_code_number_and_cause(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A failed call and a failed turn show code and number, and the chain of causes."""
    link = {"name": "OSError", "code": "EPIPE", "message": "pipe"}
    error = {
        "turn": 1,
        "step": 1,
        "name": "LlmError",
        "code": "AUTH",
        "message": "no",
        "chain": [link],
    }
    content = [{"type": "text", "text": "Error: x"}]
    result = {"turn": 1, "step": 1, "call_id": "k", "content": content, "is_error": True}
    rows = closed(("tool/result", result), ("error", {"turn": 1, "step": 1} | error))
    assert main(["log", "show", log(tmp_path, rows)]) == 0

    out = capsys.readouterr().out.splitlines()
    assert out[:3] == [
        "failed  [no code] Error: x",
        "error   [AUTH 5002] no",
        "  from  OSError: pipe",
    ]


def test_a_damaged_line_is_named_after_what_came_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Showing a damaged log tells what is whole, then which line is not."""
    path = Path(log(tmp_path, closed(message("user/message", "whole"))[:2]))
    path.write_text(path.read_text(encoding="utf-8") + '{"seq": 2, "ti', encoding="utf-8")

    assert main(["log", "show", str(path)]) == 1
    said = capsys.readouterr()
    assert "whole" in said.out
    assert "INVALID_ROW: line 4 is no row" in said.err


def test_control_characters_of_a_log_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Escape sequences, bells and lone surrogates in a message are made visible."""
    text = "a\x1b[31mb\x07c\u202ed\ud800e"
    assert main(["log", "show", log(tmp_path, closed(message("user/message", text)))]) == 0

    assert capsys.readouterr().out.splitlines()[0] == "you     a\\x1b[31mb\\x07c�d�e"


def test_a_log_with_odd_shapes_is_told_without_a_crash(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Values of the wrong kind in a foreign log are passed over."""
    rows = closed(
        ("user/message", {"content": "no list", "source": 3}),
        ("assistant/chunk", {"chunk": "no object"}),
        ("tool/call", {}),
        ("tool/result", {"is_error": True, "error": "text", "content": [7]}),
        ("error", {"chain": "none"}),
        ("error", {"chain": [7]}),
        ("assistant/chunk", {"chunk": {"type": "text-delta", "text": ""}}),
    )
    rows[-1]["data"] = {"reason": []}
    assert main(["log", "show", log(tmp_path, rows)]) == 0

    assert capsys.readouterr().out.splitlines()[-1] == "end     turn None None"


def test_a_terminal_gets_colour_and_a_pipe_does_not(tmp_path: Path) -> None:
    """On a terminal the input is bold; NO_COLOR turns that off."""
    path = log(tmp_path, closed(message("user/message", "hello")))

    assert b"\x1b[1myou     hello\x1b[0m" in on_a_terminal(path, {})
    assert b"\x1b" not in on_a_terminal(path, {"NO_COLOR": "1"})


def on_a_terminal(path: str, environment: Mapping[str, str]) -> bytes:
    """Show a log on a pseudo-terminal and return what it received."""
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run(
        [sys.executable, "-m", "dsh_cli", "log", "show", path],
        stdout=theirs,
        env=plain | dict(environment),
        check=True,
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as screen:
        return screen.read(4096)


def test_ctrl_c_while_a_log_is_shown_exits_with_130(tmp_path: Path) -> None:
    """Interrupting a long log on its way to a slow reader leaves no traceback."""
    rows = closed(*(message("user/message", "x" * 1000) for _ in range(200)))
    with subprocess.Popen(
        [sys.executable, "-m", "dsh_cli", "log", "show", log(tmp_path, rows)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        # Why: more than a pipe holds is written, so after its first byte the child waits for us.
        assert child.stdout.read(1) == "y"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()

    assert (child.returncode, err) == (130, "")
