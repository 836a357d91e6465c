"""What a code alone says of an occurrence: worth another try, and whether it may have happened."""

from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from dsh_llm._catalogue import ErrorInfo

Effect: TypeAlias = Literal["none", "unknown", "done"]
"""Whether the failed action may have happened: not at all, nobody knows, or it did."""

MAX_WAIT: Final = 120.0
"""Seconds; whoever asks for a longer wait asks this run to stop."""

_REFUSED_RANGES: Final = frozenset({7, 8, 10})
_REFUSED: Final = frozenset(
    {
        "TOOL_NOT_FOUND",
        "TOOL_VALIDATION_FAILED",
        "PROVIDER_NOT_CONFIGURED",
        "PROVIDER_AUTH_FAILED",
        "PROVIDER_RATE_LIMITED",
        "PROVIDER_MODEL_NOT_FOUND",
        "PROVIDER_CONTEXT_WINDOW_EXCEEDED",
        "PROVIDER_QUOTA_EXHAUSTED",
    }
)
"""Rows of what was refused before anything was done."""
_LOST: Final = frozenset({"TOOL_TIMEOUT", "PROVIDER_TIMEOUT", "RUNTIME_NETWORK_ERROR"})
"""Rows of what went silent; whoever knows that nothing had been sent says `none` explicitly."""


class Attempt(NamedTuple):
    """One try of several that were made before giving up."""

    what: str
    """Which model, rung or address was tried."""
    code: str
    status: int | None = None
    """The HTTP status, if there was a response."""
    seconds: float | None = None
    """How long the try took."""
    request_id: str | None = None

    def __str__(self) -> str:
        """Return a few words: what was tried and how it ended."""
        return f"{self.what} {self.status or self.code}"


def wait_of(value: object) -> float | None:
    """Return *value* when it is a number of seconds to wait, else `None`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Why: written so that NaN, which is not less than zero either, is no wait.
    return value if value >= 0 else None


def attempts_of(value: object) -> tuple[Any, ...]:
    """Return the attempts in *value*, none when it is no list of them."""
    return tuple(cast("list[Any]", value)) if isinstance(value, (tuple, list)) else ()


def retryable_by_row(info: ErrorInfo | None) -> bool | None:
    """Return whether the same request may succeed later; `None` when the code has no row."""
    return None if info is None else info.disposition in {"retry", "once"}


def effect_by_row(code: str, info: ErrorInfo | None) -> Effect | None:
    """Return what *code* says about the failed action, `None` when it says nothing."""
    if code == "ABORTED_BEFORE_DISPATCH":
        return "none"
    if info is None:
        return None
    if info.key in _REFUSED or info.range in _REFUSED_RANGES:
        return "none"
    return "unknown" if info.key in _LOST else None
