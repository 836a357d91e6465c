"""The exit codes that scripts rely on."""

from enum import IntEnum

from dsh_llm import is_violation


class Exit(IntEnum):
    """What the process tells its parent."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVARIANT = 3
    INTERRUPTED = 130


def exit_for(error: Exception) -> Exit:
    """Return the exit code of a run that raised *error*."""
    return Exit.INVARIANT if is_violation(error) else Exit.FAILED
