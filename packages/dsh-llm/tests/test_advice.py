"""Advice: try again or not, after how long, what to do, whom to tell."""

from asyncio import CancelledError
from typing import Any

import pytest
from dsh_llm import (
    Advice,
    Attempt,
    ErrorInfo,
    HarnessError,
    LlmError,
    advise,
    classify_error,
    codes_in_range,
    error_info,
)

SEED_RETRIES = (1003, 1004, 4001, 4002, 5003, 5006, 5007, 9002)
SEED_STOPS = (2001, 2003, 5001, 5002, 6001, 7001, 7003, 8002)
ROWS = [row for number in range(1, 12) for row in codes_in_range(number)]
OUTCOMES = (8001, 8002, 8003, 9004, 11004)


def of(number: int, **fields: Any) -> HarnessError:
    """Return an error with the code of the row *number*."""
    row = error_info(number)
    assert row is not None
    return HarnessError(row.title, row.key, **fields)


@pytest.mark.parametrize("number", SEED_RETRIES)
def test_it_retries_what_the_seed_retries(number: int) -> None:
    """Once more at least, when doing it twice is the same as doing it once."""
    advice = advise(of(number), idempotent=True)
    assert (advice.retry, advice.after, advice.surface, advice.alert) == (True, 0.5, None, False)


@pytest.mark.parametrize("number", SEED_STOPS)
def test_it_stops_where_the_seed_stops(number: int) -> None:
    """With the message for whoever asked."""
    advice = advise(of(number), idempotent=True)
    assert (advice.retry, advice.after) == (False, None)
    assert advice.surface == of(number).message


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_every_row_has_advice(row: ErrorInfo) -> None:
    """A retry for what passes, and never for an outcome; always one or the other to say."""
    advice = advise(HarnessError("x", row.key), idempotent=True)
    assert advice.retry == (row.disposition in {"retry", "once"})
    assert (advice.surface is None) == advice.retry
    assert advice.action == (None if row.action == "none" else row.action)
    for code in row.codes:
        assert advise(HarnessError("x", code), idempotent=True) == advice


@pytest.mark.parametrize("number", OUTCOMES)
def test_an_outcome_is_never_retried_and_never_alerts(number: int) -> None:
    """Whatever is set on it."""
    for attempt in (1, 9):
        advice = advise(of(number, retryable=True), attempt=attempt, idempotent=True)
        assert (advice.retry, advice.alert) == (False, False)


def test_unanswered_questions_are_signals_and_decisions_are_choices() -> None:
    """8001 and 8003 are for whoever operates the system, 8002 is what a user chose."""
    kinds = {number: advise(of(number)).kind for number in (*OUTCOMES, 1001)}
    assert kinds == {
        8001: "signal",
        8002: "choice",
        8003: "signal",
        9004: "choice",
        11004: "choice",
        1001: "fault",
    }


def test_what_may_have_happened_is_not_repeated() -> None:
    """Unless it is idempotent; who hears of it is told to look first."""
    late = of(1004)
    assert (late.effect, advise(late).retry, advise(late, idempotent=True).retry) == (
        "unknown",
        False,
        True,
    )
    assert advise(late).surface == (
        "Tool timeout (it may have happened: check before repeating it)"
    )
    done = of(1003, effect="done")
    assert not advise(done).retry
    assert advise(done).surface == "Tool execution failed (it happened: check before repeating it)"
    assert advise(of(1003, effect="none")).retry


def test_a_call_of_a_model_may_be_repeated() -> None:
    """Asking again costs but changes nothing, unless the harm is known to be done."""
    assert advise(of(5007)).retry
    assert advise(LlmError("gone", "TRANSPORT")).retry
    assert not advise(LlmError("gone", "TRANSPORT", effect="done")).retry


def test_what_is_set_on_the_error_outranks_its_code() -> None:
    """A layer that spent its retries says so; another knows better than the catalogue."""
    assert not advise(of(5003, retryable=False)).retry
    assert advise(of(5004, retryable=True)).retry
    assert advise(HarnessError("x", "MINE", retryable=True)).retry


def test_a_long_wait_is_not_waited_for() -> None:
    """The time stays, for people; up to two minutes it is waited for."""
    long = of(5003, retry_after=3600)
    assert advise(long) == Advice(
        retry=False,
        after=3600,
        action="cascade",
        surface="Provider rate limited",
        alert=True,
        kind="fault",
    )
    assert not advise(of(5003, retry_after=121, retryable=True)).retry
    assert advise(of(5003, retry_after=120))[:2] == (True, 120)
    assert advise(of(5003, retry_after=0))[:2] == (True, 0)


def test_waits_grow_and_tries_end() -> None:
    """Half a second, doubled; five tries in all, two for what is worth one repeat."""
    waits = [advise(of(5006), attempt=n).after for n in range(1, 6)]
    assert waits == [0.5, 1.0, 2.0, 4.0, None]
    assert not advise(of(4002), attempt=2).retry
    assert advise(of(5006, attempts=(Attempt("a", "TIMEOUT"),) * 4)).after == 4.0
    assert not advise(of(5006, attempts=(Attempt("a", "TIMEOUT"),) * 5)).retry
    assert advise(of(5006), attempt=0).after == 0.5


def test_nobody_is_called_for_what_others_set_right() -> None:
    """Neither for the model's or the user's own part, nor before the action was tried."""
    assert not advise(of(1002)).alert
    assert not advise(of(10001), attempt=3).alert
    assert not advise(of(5005)).alert
    assert advise(of(5005), attempt=2).alert
    assert advise(of(5001)).alert
    assert advise(of(5003), attempt=5).alert


def test_what_nobody_knows_is_not_retried() -> None:
    """No guess: somebody is called."""
    assert advise(HarnessError("odd", "MINE")) == Advice(
        retry=False, after=None, action=None, surface="odd", alert=True
    )
    assert advise(ValueError("odd")).surface == "odd"


def test_anything_can_be_asked_about() -> None:
    """A stopped process is an outcome, a foreign copy of the class counts, a group has a lead."""
    kind = type("ForeignError", (Exception,), {"__harness_error__": True})
    foreign = kind("x")
    vars(foreign).update(code="RATE_LIMIT", message="slow", name="LlmError")
    assert advise(foreign).retry
    assert advise(KeyboardInterrupt()).kind == "choice"
    assert advise(BaseExceptionGroup("g", [CancelledError(), of(5003)])).retry
    assert advise("just text").surface == "just text"
    assert advise(HarnessError("x", 5)).surface == "x"  # type: ignore[arg-type]  # Why: nobody checks it


def test_a_failed_connection_is_tried_again_unless_something_was_sent() -> None:
    """Nobody knows whether it was ever there; who knows that something left says so."""
    for error in (of(11001), of(11002), HarnessError("gone", "TRANSPORT")):
        assert advise(error)[:2] == (True, 0.5)
        assert not advise(error).alert
    assert of(11001).effect == "unknown"
    sent = of(11001, effect="unknown")
    assert not advise(sent).retry
    assert advise(sent, idempotent=True).retry
    lost = ConnectionResetError("gone")
    assert not advise(classify_error(lost, seam="runtime", sent=True)).retry
    assert advise(classify_error(lost, seam="runtime")).retry
    assert advise(ExceptionGroup("g", [lost, lost])).retry


@pytest.mark.parametrize("wait", ["soon", -1, float("nan"), True, ["x"]])
def test_a_wait_that_is_none_is_ignored(wait: Any) -> None:
    """It is neither waited for nor told."""
    assert advise(of(5003, retry_after=wait))[:2] == (True, 0.5)
    assert advise(of(5004, retry_after=wait))[:2] == (False, None)
    assert advise(ExceptionGroup("g", [of(5003, retry_after=wait)]))[:2] == (True, 0.5)


@pytest.mark.parametrize("tries", [None, 5, "four"])
def test_attempts_that_cannot_be_counted_are_ignored(tries: Any) -> None:
    """On the error, in a group of it, and as the argument."""
    assert advise(of(5006, attempts=tries)).after == 0.5
    assert advise(ExceptionGroup("g", [of(5006, attempts=tries)])).after == 0.5
    if type(tries) is not int:
        assert advise(of(5006), attempt=tries).after == 0.5


class RaisingError(HarnessError):
    """Raises when it is asked for its verdict."""

    def __getattribute__(self, name: str) -> Any:
        """Raise for the verdict."""
        if name == "retryable":
            raise RuntimeError(name)
        return super().__getattribute__(name)


def test_an_error_whose_properties_raise_is_not_retried() -> None:
    """Its text is told all the same."""
    assert advise(RaisingError("slow", "RATE_LIMIT"))[:4] == (False, None, "cascade", "slow")
