"""The only dispatcher: whether to try again, after how long, what to do else, and whom to tell."""

from typing import Final, Literal, NamedTuple, TypeAlias

from dsh_llm._catalogue import ErrorInfo
from dsh_llm._chain import native
from dsh_llm._errors import LlmError
from dsh_llm._harness_error import HarnessError
from dsh_llm._text import text_of
from dsh_llm._verdicts import MAX_WAIT

Kind: TypeAlias = Literal["fault", "signal", "choice"]
"""What a dashboard counts it as: a `fault`; a `signal` to whoever operates the system, that a
question was not answered; a `choice` that somebody made, a refusal or a cancellation."""

MAX_ATTEMPTS: Final = 5
"""Tries of a passing fault, the first one included."""
MAX_BACKOFF: Final = 30.0
"""Longest wait in seconds that is made up here; callers add their jitter."""

_FIRST_WAIT: Final = 0.5
_UNANSWERED: Final = frozenset({"INTERRUPT_TIMEOUT", "INTERRUPT_CANCELLED"})
_PROVIDER: Final = 5
_OF_WHOEVER_ASKED: Final = frozenset(
    {
        "ask_again",
        "ask_user",
        "check_id",
        "fix_input",
        "fix_key",
        "refresh_tools",
        "rephrase",
        "request_scope",
        "sign_in",
        "wait_or_ask",
    }
)
"""Remedies that the model or the user takes: nobody is called for them."""


class Advice(NamedTuple):
    """What to do about a failure."""

    retry: bool
    """Send the same request again, `after` seconds from now."""
    after: float | None
    """Seconds to wait; without `retry`, the wait that the far side named, for people to see."""
    action: str | None
    """The catalogue's one remedy for a machine, `None` when there is none."""
    surface: str | None
    """What to tell whoever asked; `None` while there is another try."""
    alert: bool
    """Call the person on duty."""
    kind: Kind = "fault"


def advise(err: object, *, attempt: int = 1, idempotent: bool = False) -> Advice:
    """Return what to do about *err* after its *attempt*th try; total, it never raises.

    *idempotent* says that doing it twice is the same as doing it once. What cannot be repeated
    safely is not retried: a failed action that may have happened, unless it is idempotent or a call
    of a model, which costs but changes nothing. Outcomes are never retried, and never alert. A
    wait of over 120 seconds is not waited for. `once` means two tries in all, `retry` five.
    """
    error = native(err)
    info, made = error.info, max(attempt, len(error.attempts), 1)
    kind = _kind(info)
    retry = kind == "fault" and _may_pass(error, made) and (idempotent or _is_harmless(error))
    return Advice(
        retry,
        _wait(error, made) if retry else error.retry_after,
        None if info is None or info.action == "none" else info.action,
        None if retry else _told(error, idempotent=idempotent),
        kind == "fault" and not retry and _needs_someone(info, made),
        kind,
    )


def _kind(info: ErrorInfo | None) -> Kind:
    if info is None or info.disposition != "outcome":
        return "fault"
    return "signal" if info.key in _UNANSWERED else "choice"


def _may_pass(error: HarnessError, made: int) -> bool:
    if error.retryable is not True:
        return False
    if error.retry_after is not None and error.retry_after > MAX_WAIT:
        return False
    once = error.info is not None and error.info.disposition == "once"
    return made < (2 if once else MAX_ATTEMPTS)


def _is_harmless(error: HarnessError) -> bool:
    if error.effect in {None, "none"}:
        return True
    in_range = error.info is not None and error.info.range == _PROVIDER
    return error.effect == "unknown" and (in_range or isinstance(error, LlmError))


def _wait(error: HarnessError, made: int) -> float:
    if error.retry_after is not None:
        return error.retry_after
    return min(_FIRST_WAIT * 2.0 ** min(made - 1, MAX_ATTEMPTS), MAX_BACKOFF)


def _told(error: HarnessError, *, idempotent: bool) -> str:
    text = text_of(error.message)
    if idempotent or _is_harmless(error):
        return text
    happened = "it happened" if error.effect == "done" else "it may have happened"
    return f"{text} ({happened}: check before repeating it)"


def _needs_someone(info: ErrorInfo | None, made: int) -> bool:
    if info is None:
        return True
    # Why: what an action sets right needs nobody, unless it came back after the action.
    return info.action not in _OF_WHOEVER_ASKED and (info.disposition != "after" or made > 1)
