"""The command itself: odd screens, odd folders, and being told to stop."""

import errno
import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import IO, Any

import pytest
from dsh_agent import read_jsonl
from dsh_cli import main
from dsh_invariants import check_log
from dsh_llm.testing import Reply, serving, sse

HALF = {"choices": [{"index": 0, "delta": {"content": "half an "}}]}


def dsh(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "dsh_cli", *map(str, arguments)]
    env = None if environment is None else {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(command, text=True, check=False, env=env, **options)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints the version that is installed."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("dsh 0.")


def test_a_root_that_is_no_folder_is_one_coded_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What the system refuses has its errno's name, and there is no traceback."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    assert main(["demo", "--root", str(tmp_path / "file")]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), said.err[:12]) == ("", 1, "dsh: EEXIST:")


def test_a_screen_that_lacks_a_character_still_shows_the_rest(tmp_path: Path) -> None:
    """Where the encoding has no sign for a line end, the demo runs to its end all the same."""
    done = dsh(
        *("demo", "--root", tmp_path, "--log", tmp_path / "s.jsonl"),
        environment={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "75 boxes" in done.stdout


def test_a_full_disk_behind_the_output_is_one_coded_line(tmp_path: Path) -> None:
    """Output that cannot be written ends the command with a code, and no traceback."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = dsh(
            "log", "show", good_log(tmp_path), stdout=full, stderr=subprocess.PIPE, cwd=tmp_path
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[0].startswith("dsh: ENOSPC:")
    assert "Traceback" not in done.stderr


class Full(io.StringIO):
    """An output on a disk without room, behind a descriptor of its own."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Refuse *text*."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), text[:0] or None)

    def flush(self) -> None:
        """Refuse what is held back."""
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_output_that_failed_is_not_tried_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is still held back goes nowhere, so that the interpreter's exit has nothing to say."""
    log = good_log(tmp_path)
    capsys.readouterr()
    with (tmp_path / "out").open("w") as out, redirect_stdout(Full(out.fileno())):
        code = main(["log", "show", str(log)])
        assert os.fstat(out.fileno()).st_rdev == Path(os.devnull).stat().st_rdev

    assert (code, capsys.readouterr().err.count("\n")) == (1, 1)


def test_a_closed_output_is_no_reason_to_fail(tmp_path: Path) -> None:
    """Started without a standard output, the demo still runs and keeps its log."""
    log = tmp_path / "s.jsonl"
    command = f'exec "{sys.executable}" -m dsh_cli demo --root "{tmp_path}" --log "{log}" >&-'
    done = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert check_log(log) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_being_told_to_stop_closes_the_log(tmp_path: Path, number: signal.Signals) -> None:
    """A supervisor's SIGTERM in mid-stream ends as Ctrl-C does: closed log, exit code 130."""
    reply = Reply(200, {"content-type": "text/event-stream"}, (sse(HALF, done=False),), hold=True)
    log = tmp_path / "log.jsonl"
    with serving([reply]) as server:
        place = ["--base-url", f"{server.url}/v1", "--root", str(tmp_path), "--log", str(log)]
        command = [sys.executable, "-m", "dsh_cli", "run", "x", "--model", "m", *place]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            read_until(child.stdout, "half an ")
            child.send_signal(number)
            out, _ = child.communicate()

    assert (child.returncode, "interrupted" in out) == (130, True)
    assert check_log(log) == []
    assert list(read_jsonl(log))[-1].data["reason"]["kind"] == "aborted"


def read_until(stream: IO[str], text: str) -> None:
    """Read until *text* has come."""
    said = ""
    while text not in said:
        said += stream.read(1)


def good_log(folder: Path) -> Path:
    """Write a log by running the demo, and return its path."""
    log = folder / "s.jsonl"
    assert main(["demo", "--root", str(folder), "--log", str(log)]) == 0
    return log
