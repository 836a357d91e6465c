"""Where contained failures go: the log of the process, or one error for several."""

from collections.abc import Sequence

from dsh_llm._errors import HarnessError
from dsh_llm._text import described


class GroupError(HarnessError):
    """Several pieces of work ran, and some failed; `errors` has every failure, in order.

    Codes: `GATHER_FAILED` (listeners of a gather), `CLOSE_FAILED` (clean-ups of a scope). The
    cause is an `ExceptionGroup` of the same errors.
    """

    def __init__(self, message: str, code: str, errors: Sequence[Exception]) -> None:
        """Say what failed in *message* and append each error's own text."""
        texts = "; ".join(described(error) for error in errors)
        super().__init__(f"{message}: {texts}", code, cause=ExceptionGroup(message, list(errors)))
        self.errors = tuple(errors)


def report(where: str, error: BaseException) -> None:
    """Write a contained failure to the `dsh` logger, with its traceback."""
    import logging

    logging.getLogger("dsh").error("contained failure in %s", where, exc_info=error)


def containable(error: BaseException) -> Exception:
    """Return *error* as an `Exception`; what must leave (`KeyboardInterrupt`, ...) is raised.

    A `CancelledError` that nobody asked for is a failure like any other, coded `ABORTED`.
    """
    import asyncio

    if isinstance(error, Exception):
        return error
    if isinstance(error, asyncio.CancelledError):
        return HarnessError("cancelled from within", "ABORTED", cause=error)
    raise error
