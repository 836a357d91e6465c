"""The terminal chunk of a failed stream, and the error that it stands for."""

from dsh_llm._abort import AbortSignal, aborted_error
from dsh_llm._chunks import FinishChunk, FinishReason
from dsh_llm._errors import HarnessError, LlmError, is_harness_error


def failure(error: BaseException, signal: AbortSignal | None = None) -> FinishChunk:
    """Return the terminal chunk that carries *error*, coded.

    A `HarnessError` is carried as it is, anything else as the classifiers have it at the provider
    (`classify_error`). When *signal* has fired, whatever the adapter made of it, the stream was
    aborted.
    """
    # Why: only a process in which something fails needs the classifiers.
    from dsh_llm._classify import classify_error

    coded = classify_error(error, seam="provider")
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
