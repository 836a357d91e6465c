"""`LlmError`s from what went wrong on an HTTP wire."""

from collections.abc import Mapping
from typing import Any, Final

from dsh_llm._classify import classify_response, parse_body
from dsh_llm._errors import LlmError

MIN_SECRET: Final = 8


def response_error(status: int, headers: Mapping[str, str], body: str, *, now: int) -> LlmError:
    """Return the error of a response that is no success; *now* is in epoch milliseconds."""
    parsed = parse_body(body)
    error = classify_response(parsed, status, headers, now=now)
    own_words = isinstance(parsed, (dict, list)) and error.message
    return (
        error if own_words else _reworded(error, f"HTTP {status}: {error.message or 'no message'}")
    )


def in_band_error(body: Any) -> LlmError:
    """Return the error that *body* reports inside a successful response.

    Its status is the one that the report names, if any; nothing else says what failed.
    """
    error = classify_response(body)
    text = "the provider reported an error without a message"
    return error if error.message else _reworded(error, text)


def transport_error(where: str, cause: BaseException) -> LlmError:
    """Return the error of a connection to *where* that failed or broke, with the inmost cause."""
    root = _root(cause)
    reason = str(root) or type(root).__name__
    return LlmError(f"the connection to {where} failed: {reason}", "TRANSPORT", cause=root)


def timeout_error(what: str, seconds: float | None, cause: BaseException) -> LlmError:
    """Return the error of a wait for *what* that took longer than *seconds*."""
    limit = "" if seconds is None else f" within {seconds:g} s"
    return LlmError(f"no {what}{limit}", "TIMEOUT", cause=_root(cause))


def scrubbed(error: LlmError, secret: str) -> LlmError:
    """Take *secret* out of *error*: servers echo keys, and messages are logged.

    A secret of a few characters is none, and taking it out would garble the text.
    """
    if len(secret) < MIN_SECRET:
        return error
    error.context = {key: value.replace(secret, "***") for key, value in error.context.items()}
    return _reworded(error, error.message.replace(secret, "***"))


def _reworded(error: LlmError, message: str) -> LlmError:
    error.message = message
    error.args = (message,)
    return error


def _root(cause: BaseException) -> BaseException:
    # Why: the outer layers only say that it failed, and hold the request with its key.
    link: BaseException | None = cause
    while link is not None:
        cause, link = link, link.__cause__ or link.__context__
    return cause
