"""Central tracking: one row an occurrence, every sink told, nothing raised."""

import json
from typing import Any

import pytest
from dsh_llm import Attempt, ErrorPropagator, ErrorRecord, HarnessError, LlmError, error_record
from dsh_llm.testing import FakeClock


def test_a_record_has_the_verdict() -> None:
    """What was decided, so that whoever reads it later decides the same."""
    error = LlmError(
        "slow",
        "RATE_LIMIT",
        429,
        cause=ValueError("why"),
        retryable=False,
        attempts=(Attempt("a", "RATE_LIMIT", 429), Attempt("b", "TIMEOUT")),
    )
    assert error_record(error, 7, session="s-1", turn=2) == ErrorRecord(
        id=error.id,
        time=7,
        name="LlmError",
        code="RATE_LIMIT",
        code_num=5003,
        message="slow",
        kind="fault",
        alert=True,
        retryable=False,
        retry_after=None,
        effect="none",
        scope=error.scope,
        attempts=("a 429", "b TIMEOUT"),
        cause="why",
        classified_by=None,
        session="s-1",
        turn=2,
    )


def test_a_foreign_failure_is_classified() -> None:
    """Under its own name, with the rule that knew it."""
    record = error_record(ConnectionResetError(104, "reset"), 0)
    assert record.name == "ConnectionResetError"
    assert record.code != "UNKNOWN"
    assert record.classified_by
    assert error_record(ValueError("x"), 0)[2:4] == ("ValueError", "UNKNOWN")
    assert error_record("just text", 0).message == "just text"


def test_a_record_is_plain_and_without_secrets() -> None:
    """It can be written as JSON, and keeps no exception alive."""
    key = "sk-" + "a1B2" * 12
    error = HarnessError(f"bad {key}", "AUTH", cause=ValueError(key), attempts=(f"with {key}",))
    assert key not in json.dumps(error_record(error, 0))


def test_each_occurrence_is_told_once() -> None:
    """Also a foreign one, which has no id of its own; a second report returns the first row."""
    told: list[ErrorRecord] = []
    clock = FakeClock()
    propagator = ErrorPropagator([told.append], clock)
    for error in (HarnessError("x", "A"), ValueError("y")):
        first = propagator.report(error)
        clock.advance(5)
        assert propagator.report(error) is first
    assert [record.message for record in told] == ["x", "y"]
    assert dict(propagator.counts) == {"A": 1, "UNKNOWN": 1}


def test_the_time_is_the_systems_unless_a_clock_is_given() -> None:
    """Epoch milliseconds, and never before this was written."""
    record = ErrorPropagator([]).report(HarnessError("x", "A"))

    assert record.time > 1_700_000_000_000


def test_a_failing_sink_stops_nobody() -> None:
    """The others hear, and it is counted; leaving goes through."""

    def breaks(_record: ErrorRecord) -> None:
        raise OSError("disk full")

    def leaves(_record: ErrorRecord) -> None:
        raise KeyboardInterrupt

    told: list[ErrorRecord] = []
    propagator = ErrorPropagator([breaks, told.append], FakeClock())
    propagator.report(HarnessError("x", "A"))
    assert (len(told), propagator.failed) == (1, 1)
    with pytest.raises(KeyboardInterrupt):
        ErrorPropagator([leaves], FakeClock()).report(HarnessError("x", "A"))


def test_outcomes_are_counted_and_never_alert() -> None:
    """A refusal is told, for whoever counts, and calls nobody."""
    alerts: list[ErrorRecord] = []
    propagator = ErrorPropagator(
        [lambda record: alerts.append(record) if record.alert else None], FakeClock()
    )
    for code in ("INTERRUPT_TIMEOUT", "INTERRUPT_REJECTED", "INTERRUPT_CANCELLED", "ABORTED"):
        propagator.report(HarnessError("x", code))
    propagator.report(KeyboardInterrupt())
    assert (alerts, propagator.counts["ABORTED"]) == ([], 2)
    propagator.report(HarnessError("x", "AUTH"))
    assert len(alerts) == 1


class Hidden:
    """Does not even say what it is."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class HiddenError(Exception):
    """Refuses to be looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_a_hostile_object_is_reported() -> None:
    """It has a row with a code, each time anew when it cannot be marked."""
    propagator = ErrorPropagator([], FakeClock())
    hidden = HiddenError()
    assert propagator.report(hidden).code == "UNKNOWN"
    assert propagator.report(hidden).message == "<unprintable HiddenError>"
    record = propagator.report(Hidden())
    assert (record.name, record.code) == ("Hidden", "UNKNOWN")
    bare: Any = HarnessError("x", None)  # type: ignore[arg-type]  # Why: nobody checks it
    assert propagator.report(bare).code == "UNKNOWN"


def test_what_was_seen_is_forgotten_in_the_end() -> None:
    """Memory is bounded: after ten thousand others an occurrence would be told again."""
    told: list[ErrorRecord] = []
    propagator = ErrorPropagator([told.append], FakeClock())
    first = HarnessError("first", "A")
    propagator.report(first)
    for n in range(10_000):
        propagator.report(HarnessError(str(n), "A"))
    propagator.report(first)
    assert len(told) == 10_002


class RaisingError(HarnessError):
    """Raises when it is asked for its verdict."""

    def __getattribute__(self, name: str) -> Any:
        """Raise for the verdict."""
        if name == "retryable":
            raise RuntimeError(name)
        return super().__getattribute__(name)


class BlindError(HarnessError):
    """Raises when its context is read."""

    def __getattribute__(self, name: str) -> Any:
        """Raise for the context."""
        if name == "context":
            raise RuntimeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("kind", [RaisingError, BlindError])
def test_an_error_whose_properties_raise_is_reported(kind: type[HarnessError]) -> None:
    """Plainly: with its code and its text."""
    record = ErrorPropagator([], FakeClock()).report(kind("slow", "RATE_LIMIT"), session="s")
    assert (record.code, record.message, record.session) == ("RATE_LIMIT", "slow", "s")
    assert record.retryable is False


def test_a_clock_that_raises_is_replaced_by_the_systems() -> None:
    """The failure is told all the same."""

    def stopped() -> int:
        raise OSError("no clock")

    record = ErrorPropagator([], stopped).report(HarnessError("x", "A"))
    assert record.time > 1_700_000_000_000


@pytest.mark.parametrize("fields", [{"attempts": None}, {"retry_after": "soon"}])
def test_malformed_fields_do_not_stop_a_report(fields: Any) -> None:
    """What is no wait is not in the record, what cannot be counted neither."""
    record = ErrorPropagator([], FakeClock()).report(HarnessError("x", "RATE_LIMIT", **fields))
    assert (record.code, record.retry_after, record.attempts) == ("RATE_LIMIT", None, ())
