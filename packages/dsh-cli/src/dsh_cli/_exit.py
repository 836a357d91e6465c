"""The exit codes that scripts rely on, and the one place that turns failures into them."""

import os
import sys
from enum import IntEnum
from types import TracebackType
from typing import Final, Self

from dsh_llm import HarnessError, SystemCallError, is_harness_error, is_violation


class Exit(IntEnum):
    """What the process tells its parent."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVARIANT = 3
    INTERRUPTED = 130


USAGE_CODES: Final = frozenset(
    {
        "INVALID_BASE_URL",
        "INVALID_CREDENTIAL",
        "MISSING_CREDENTIAL",
        "MISSING_EXTRA",
        "UNKNOWN_CODE",
        "UNKNOWN_MODEL",
    }
)
"""Failures of how the command was called, not of what it did."""


def exit_for(error: Exception) -> Exit:
    """Return the exit code of a run that raised *error*."""
    return Exit.INVARIANT if is_violation(error) else Exit.FAILED


class Command:
    """`with Command() as command:` turns what the block raises into a line and an exit code."""

    def __init__(self) -> None:
        """Begin with success; the block sets `exit` to what it found."""
        self.exit = Exit.OK

    def __enter__(self) -> Self:
        """Begin the command."""
        return self

    # Why a context manager: where a generator is closed by an exception, tracing on Python 3.11
    # loses the frames around it, and an except clause there would look as if it never ran.
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Tell the failure on standard error; only what is no failure of ours passes."""
        if isinstance(error, KeyboardInterrupt):
            self.exit = Exit.INTERRUPTED
        elif isinstance(error, BrokenPipeError):
            # Why: the reader has left (`| head`), which is no failure.
            _drop_output()
        elif isinstance(error, OSError) and not is_harness_error(error):
            self._fail(SystemCallError(error))
            _settle_output()
        elif is_harness_error(error):
            self._fail(error)
        return isinstance(error, (KeyboardInterrupt, OSError, HarnessError))

    def _fail(self, error: HarnessError) -> None:
        self.exit = Exit.USAGE if error.code in USAGE_CODES else exit_for(error)
        print(f"dsh: {error.code}: {error}", file=sys.stderr)


def _settle_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        # Why: the output itself is what failed; the interpreter's exit must not try it again.
        _drop_output()


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
