"""The terminal chunk of a failed stream, and the error that it stands for."""

from dsh_llm._abort import AbortSignal, aborted_error
from dsh_llm._chunks import FinishChunk, FinishReason
from dsh_llm._errors import HarnessError, LlmError, is_harness_error
from dsh_llm._text import text_of


def failure(error: BaseException, signal: AbortSignal | None = None) -> FinishChunk:
    """Return the terminal chunk that carries *error*, coded.

    A `HarnessError` is carried as it is; an `OSError` becomes `TRANSPORT`, a `TimeoutError`
    `TIMEOUT`, anything else `UNKNOWN`, each as `LlmError` with the original as its cause. When
    *signal* has fired, whatever the adapter made of it, the stream was aborted.
    """
    coded = _coded(error)
    if signal is not None and signal.reason is not None and coded.code != "ABORTED":
        coded = aborted_error(signal.reason)
        coded.cause = error
    return _terminal("aborted" if coded.code == "ABORTED" else "error", coded)


def failed(reason: FinishReason) -> FinishChunk:
    """Return the terminal chunk of a stream that its adapter ended as failed."""
    return _terminal(reason.kind, error_of(reason))


def error_of(reason: FinishReason) -> HarnessError:
    """Return the error that a failed *reason* carries, or one made of its data."""
    if is_harness_error(reason.error):
        return reason.error
    fallback = "ABORTED" if reason.kind == "aborted" else "UNKNOWN"
    text = reason.message or f"the model's stream ended {reason.kind}"
    return LlmError(text, reason.code or fallback, cause=reason.error)


def _terminal(kind: str, error: HarnessError) -> FinishChunk:
    return FinishChunk(FinishReason(kind, error.message, error.code, error))


def _coded(error: BaseException) -> HarnessError:
    if is_harness_error(error):
        return error
    return LlmError(text_of(error), _code(error), cause=error)


def _code(error: BaseException) -> str:
    import asyncio

    if isinstance(error, asyncio.CancelledError):
        return "ABORTED"
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    return "TRANSPORT" if isinstance(error, OSError) else "UNKNOWN"
