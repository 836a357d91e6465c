"""One task on one agent, told to a screen or as JSON lines; shared by `run` and `demo`."""

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

from dsh_agent import Agent, JsonlFile
from dsh_invariants import invariants
from dsh_llm import LlmAdapter, LogEvent, error_data
from dsh_tools.builtin import file_tools

from dsh_cli._exit import Exit, exit_for
from dsh_cli._show import Narrator
from dsh_cli._text import Screen

SYSTEM = (
    "You work on the files of one folder with the tools you are given. "
    "When a tool fails, read its message, correct the call, and go on. Answer briefly."
)


class Job(NamedTuple):
    """A task, the model to give it to, the folder of its tools, and the file of its log."""

    task: str
    model: LlmAdapter
    root: Path
    log: Path


def run_job(job: Job, screen: Screen, *, as_json: bool = False) -> Exit:
    """Run *job* with the invariants on, telling the events as they happen.

    Whatever fails is told with its code, and is in the log, whose path is told last. Ctrl-C, and a
    request to terminate, close the log first.
    """
    tell = _json_teller(screen) if as_json else Narrator(screen).tell
    with _Verdict(screen, job.log, as_json=as_json) as verdict:
        asyncio.run(_run(job, tell))
    return verdict.exit


class _Verdict:
    """Tells how a run ended; a context manager for the reason given in `Command`."""

    def __init__(self, screen: Screen, log: Path, *, as_json: bool) -> None:
        self.exit = Exit.OK
        self._screen = screen
        self._log = log
        self._as_json = as_json

    def __enter__(self) -> Self:
        # Why: a supervisor's SIGTERM must close the log as Ctrl-C does.
        self._terminate = signal.signal(signal.SIGTERM, _interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        signal.signal(signal.SIGTERM, self._terminate)
        if isinstance(error, KeyboardInterrupt):
            self.exit = Exit.INTERRUPTED
            self._screen.line("interrupted", "yellow")
        elif isinstance(error, Exception):
            self.exit = exit_for(error)
            _tell_error(error, self._screen, as_json=self._as_json)
        if self._log.exists() and not self._as_json:
            self._screen.line()
            self._screen.line(f"session log: {self._log}", "bold")
        return isinstance(error, (KeyboardInterrupt, Exception))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


async def _run(job: Job, tell: Callable[[LogEvent], None]) -> None:
    async with Agent(
        model=job.model,
        tools=file_tools(job.root),
        system=SYSTEM,
        plugins=[invariants],
        store=JsonlFile(job.log),
        session_id=job.log.stem,
    ) as agent:
        try:
            async for event in agent.stream(job.task):
                tell(event)
        finally:
            await _close_model(job.model)


async def _close_model(model: LlmAdapter) -> None:
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def _json_teller(screen: Screen) -> Callable[[LogEvent], None]:
    def tell(event: LogEvent) -> None:
        screen.line(json.dumps(event.to_row()))  # type: ignore[attr-defined]  # Why: a session's own events have it

    return tell


def _tell_error(error: Exception, screen: Screen, *, as_json: bool) -> None:
    data: dict[str, Any] = error_data(error)
    if as_json:
        screen.line(json.dumps({"type": "run/error", "data": data}))
    else:
        screen.line(f"{data['name']} {data['code']}: {data['message']}", "red")
