"""The only dispatcher: whether to try again, after how long, what to do else, and whom to tell."""

from typing import Final, Literal, NamedTuple, TypeAlias, cast

from dsh_llm._catalogue import ErrorInfo
from dsh_llm._chain import native
from dsh_llm._errors import LlmError
from dsh_llm._harness_error import HarnessError
from dsh_llm._secret_text import scrub_text
from dsh_llm._text import text_of
from dsh_llm._verdicts import MAX_WAIT, attempts_of, wait_of

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
_RUNTIME: Final = 11
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
    """What to tell whoever asked, scrubbed; `None` while there is another try."""
    alert: bool
    """Call the person on duty."""
    kind: Kind = "fault"


def advise(err: object, *, attempt: int = 1, idempotent: bool = False) -> Advice:
    """Return what to do about *err* after its *attempt*th try; total, it never raises.

    *idempotent* says that doing it twice is the same as doing it once. What cannot be repeated
    safely is not retried: a failed action that may have happened, unless it is idempotent or a call
    of a model, which costs but changes nothing, or a connection that failed without anybody knowing
    that something had been sent. Outcomes are never retried, and never alert. A
    wait of over 120 seconds is not waited for. `once` means two tries in all, `retry` five. A wait
    that is no number of seconds is ignored, and so are attempts that cannot be counted.
    """
    error = native(err)
    tries = attempt if isinstance(cast("object", attempt), int) else 1
    try:
        return _advice(error, tries, idempotent=idempotent)
    except Exception:  # noqa: BLE001  # Why: an error whose properties raise must not hide itself
        return _advice(plain_of(error), tries, idempotent=idempotent)


def plain_of(error: HarnessError) -> HarnessError:
    """Return what is left of *error* when its properties raise: code and text, not retryable."""
    return HarnessError(text_of(error), error.code, cause=error, retryable=False)


def _advice(error: HarnessError, attempt: int, *, idempotent: bool) -> Advice:
    info, made = error.info, max(attempt, len(attempts_of(error.attempts)), 1)
    kind = _kind(info)
    retry = kind == "fault" and _may_pass(error, made) and (idempotent or _is_harmless(error))
    return Advice(
        retry,
        _wait(error, made) if retry else wait_of(error.retry_after),
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
    if (wait_of(error.retry_after) or 0) > MAX_WAIT:
        return False
    once = error.info is not None and error.info.disposition == "once"
    return made < (2 if once else MAX_ATTEMPTS)


def _is_harmless(error: HarnessError) -> bool:
    if error.effect in {None, "none"}:
        return True
    if error.effect != "unknown":
        return False
    number_range = error.info.range if error.info is not None else 0
    # Why: a connection that failed may never have been there, unless somebody knows better.
    unsent = number_range == _RUNTIME and error.said_effect is None
    return unsent or number_range == _PROVIDER or isinstance(error, LlmError)


def _wait(error: HarnessError, made: int) -> float:
    asked = wait_of(error.retry_after)
    if asked is not None:
        return asked
    return min(_FIRST_WAIT * 2.0 ** min(made - 1, MAX_ATTEMPTS), MAX_BACKOFF)


def _told(error: HarnessError, *, idempotent: bool) -> str:
    text = scrub_text(text_of(error.message))
    if idempotent or _is_harmless(error):
        return text
    happened = "it happened" if error.effect == "done" else "it may have happened"
    return f"{text} ({happened}: check before repeating it)"


def _needs_someone(info: ErrorInfo | None, made: int) -> bool:
    if info is None:
        return True
    # Why: what an action sets right needs nobody, unless it came back after the action.
    return info.action not in _OF_WHOEVER_ASKED and (info.disposition != "after" or made > 1)
