"""Where contained failures go: the log of the process, or out."""

from dsh_llm._errors import HarnessError
from dsh_llm._scrub import scrub


def report(where: str, error: BaseException) -> None:
    """Write a contained failure to the `dsh` logger, with its traceback, scrubbed."""
    import logging
    import traceback

    logger = logging.getLogger("dsh")
    told = "contained failure in %s"
    exc_info = (type(error), error, error.__traceback__)
    record = logger.makeRecord(logger.name, logging.ERROR, __file__, 0, told, (where,), exc_info)
    # Why: formatters take this text if there is one, and format what was raised, raw, if not.
    record.exc_text = scrub("".join(traceback.format_exception(error))).rstrip()
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)


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
