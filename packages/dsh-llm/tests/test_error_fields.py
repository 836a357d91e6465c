"""What is known of one occurrence: its id, its verdict, its effect, its scope."""

import copy
import pickle
import uuid
from typing import Any, ClassVar

import pytest
from dsh_llm import Attempt, HarnessError, LlmError, error_info


class HopelessError(HarnessError):
    """Says for all of its kind that another try is no use."""

    default_retryable: ClassVar[bool | None] = False


def crossed(error: HarnessError) -> Any:
    """Return what arrives of *error* elsewhere."""
    return pickle.loads(pickle.dumps(error))  # noqa: S301  # Why: our own bytes


def test_an_occurrence_has_one_id() -> None:
    """A UUID that does not change, and that no other occurrence has."""
    error = HarnessError("x", "A")
    assert str(uuid.UUID(error.id)) == error.id
    assert error.id == error.id
    assert HarnessError("x", "A").id != error.id


def test_a_copy_is_the_same_occurrence() -> None:
    """Whether the id was read before or not."""
    for clone in (copy.copy, copy.deepcopy, crossed):
        error = HarnessError("x", "A")
        twin = clone(error)
        assert twin.id == error.id
        assert clone(twin).id == error.id


def test_the_verdict_has_an_order_of_authority() -> None:
    """The instance, a wait that is too long, the far side, the class, the catalogue, nobody."""
    assert HarnessError("x", "MINE").retryable is None
    assert HarnessError("x", "RATE_LIMIT").retryable is True
    assert HarnessError("x", "TOOL_EXECUTION_FAILED").retryable is True
    assert HarnessError("x", "CONTEXT_WINDOW_EXCEEDED").retryable is False
    assert HarnessError("x", "ABORTED").retryable is False
    error = HopelessError("x", "RATE_LIMIT")
    assert error.retryable is False
    error.server_retryable = True
    assert error.retryable is True
    error.retry_after = 120
    assert error.retryable is True
    error.retry_after = 121
    assert (error.retryable, error.retry_after) == (False, 121)
    error.retryable = True
    assert error.retryable is True
    error.retryable = None
    assert error.retryable is False


def test_what_is_set_is_told_apart_from_what_is_known_of_the_code() -> None:
    """An absorbed failure says so and keeps saying so elsewhere."""
    spent = LlmError("x", "RATE_LIMIT", retryable=False, scope="turn", effect="done")
    back = crossed(spent)
    assert (back.retryable, back.scope, back.effect) == (False, "turn", "done")
    back.retryable = back.scope = back.effect = None
    fresh = LlmError("x", "RATE_LIMIT")
    assert (back.retryable, back.scope, back.effect) == (
        fresh.retryable,
        fresh.scope,
        fresh.effect,
    )


@pytest.mark.parametrize(
    ("code", "effect"),
    [
        ("UNKNOWN_TOOL", "none"),
        ("INVALID_ARGS", "none"),
        ("INVALID_REQUEST", "none"),
        ("CALLER_FORBIDDEN", "none"),
        ("INTERRUPT_REJECTED", "none"),
        ("RATE_LIMIT", "none"),
        ("ABORTED_BEFORE_DISPATCH", "none"),
        ("TOOL_TIMEOUT", "unknown"),
        ("TIMEOUT", "unknown"),
        ("TRANSPORT", "unknown"),
        ("TOOL_EXECUTION_FAILED", None),
        ("ABORTED", None),
        ("MINE", None),
    ],
)
def test_the_effect_follows_from_the_code(code: str, effect: str | None) -> None:
    """Refused is not done, lost is unknown; what is set counts more."""
    assert HarnessError("x", code).effect == effect
    assert HarnessError("x", code, effect="done").effect == "done"


def test_the_scope_is_the_catalogues_unless_it_is_set() -> None:
    """A code without a row has none."""
    row = error_info("AUTH")
    assert row is not None
    assert HarnessError("x", "AUTH").scope == row.scope
    assert HarnessError("x", "AUTH", scope="call").scope == "call"
    assert HarnessError("x", "MINE").scope is None


def test_the_recovery_can_be_that_of_the_occurrence() -> None:
    """Whoever knows better says so."""
    error = HarnessError("x", "AUTH")
    assert error.recovery
    error.recovery = "ask Ann for the key"
    assert crossed(error).recovery == "ask Ann for the key"
    assert HarnessError("x", "MINE").recovery is None


@pytest.mark.parametrize("code", [5, None, ["x"]])
def test_a_code_that_is_no_text_has_no_row(code: Any) -> None:
    """Nobody checks what a subclass assigns; looking at it raises nothing."""
    error = HarnessError("x", "A")
    error.code = code
    assert (error.info, error.code_num, error.docs, error.retryable) == (None,) * 4
    assert (error.effect, error.scope, error.recovery) == (None,) * 3


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [(5, "5", "5"), (None, "None", "UNKNOWN"), (["x"], "['x']", "['x']"), ("A", "A", "A")],
)
def test_what_is_no_text_becomes_text(given: Any, message: str, code: str) -> None:
    """A message and a code are strings, whatever they were built from."""
    error = HarnessError(given, given)
    assert (error.message, error.code, error.args) == (message, code, (message,))


@pytest.mark.parametrize("wait", ["soon", -1, float("nan"), True, ["x"]])
def test_a_wait_that_is_no_number_of_seconds_says_nothing(wait: Any) -> None:
    """The verdict is then the catalogue's."""
    assert HarnessError("x", "RATE_LIMIT", retry_after=wait).retryable is True


def test_a_code_of_ours_without_a_number_has_its_docs() -> None:
    """Every code of the table leads to its entry."""
    docs = HarnessError("x", "INVARIANT").docs
    assert docs is not None
    assert docs.endswith("#invariant")


def test_an_attempt_is_told_in_two_words() -> None:
    """What was tried, and the status, or the code when there was no response."""
    assert str(Attempt("gpt-5", "RATE_LIMIT", 429, 0.5, "r-1")) == "gpt-5 429"
    assert str(Attempt("gpt-5", "TIMEOUT")) == "gpt-5 TIMEOUT"
