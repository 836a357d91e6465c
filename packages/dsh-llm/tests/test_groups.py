"""Several failures as one: who leads, what holds of all, and that nobody is lost."""

import asyncio
from typing import Any

import pytest
from dsh_llm import (
    GroupError,
    HarnessError,
    LlmError,
    classify_error,
    error_from_group,
    error_leaves,
)


def coded(x: BaseException) -> HarnessError:
    """Return *x* as an error with a code."""
    return classify_error(x, seam="runtime")


def lead(*members: BaseException) -> GroupError:
    """Return the one error for a group of *members*."""
    return error_from_group(BaseExceptionGroup("several", members), coded)


LIMITED = LlmError("slow", "RATE_LIMIT", retry_after=2)
DENIED = LlmError("no", "AUTH")


def test_the_worst_member_leads_and_cancellations_stand_aside() -> None:
    """A bad key outranks a rate limit, and says that trying again is no use."""
    cancelled = asyncio.CancelledError()
    error = lead(cancelled, LIMITED, DENIED)
    assert (error.code, error.code_num, error.retryable, error.retry_after) == (
        "AUTH",
        5002,
        False,
        2,
    )
    assert error.errors[:2] == (DENIED, LIMITED)
    assert error.errors[2].__cause__ is cancelled
    assert isinstance(error.cause, BaseExceptionGroup)
    assert str(error) == "several: LlmError: no; LlmError: slow; HarnessError: CancelledError"


def test_a_group_of_cancellations_is_no_fault() -> None:
    """It is an outcome, `ABORTED`."""
    error = lead(asyncio.CancelledError(), KeyboardInterrupt())
    assert (error.code, error.code_num, error.retryable) == ("ABORTED", 11004, False)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (HarnessError("x", "INVARIANT"), DENIED),
        (DENIED, ValueError("unknown")),
        (ValueError("unknown"), HarnessError("x", "CONTEXT_WINDOW_EXCEEDED")),
        (HarnessError("x", "CONTEXT_WINDOW_EXCEEDED"), LIMITED),
        (LIMITED, HarnessError("x", "INTERRUPT_REJECTED")),
        (HarnessError("x", "SERVER", retryable=False), LIMITED),
    ],
)
def test_the_order_of_lead(worse: Exception, better: Exception) -> None:
    """Violations, what cannot be retried, the unknown, what needs action, what passes, outcomes."""
    for members in ((worse, better), (better, worse)):
        assert lead(*members).code == coded(worse).code


def test_it_is_retryable_only_if_every_member_is() -> None:
    """And nobody knows when nobody knows of one of them."""
    assert lead(LIMITED, HarnessError("x", "SERVER")).retryable is True
    assert lead(LIMITED, asyncio.CancelledError()).retryable is True
    assert lead(LIMITED, ValueError("x")).retryable is None
    assert lead(DENIED, ValueError("x")).retryable is False


def test_the_rest_is_that_of_the_worst() -> None:
    """The longest wait, the worst effect, the widest scope, and every attempt."""
    one = HarnessError("a", "A", effect="none", scope="call", attempts=("x",), retry_after=0)
    two = HarnessError("b", "B", effect="done", scope="turn", attempts=("y",))
    error = lead(one, two)
    assert (error.effect, error.scope, error.retry_after) == ("done", "turn", 0)
    assert error.attempts == ("x", "y")
    plain = lead(HarnessError("a", "A", effect="none"), HarnessError("b", "B"))
    assert (plain.effect, plain.scope, plain.retry_after) == (None, None, None)


def test_leaves_are_found_at_any_depth() -> None:
    """In order, also in groups so deep that nothing could walk them by calling itself."""
    leaf: BaseException = ValueError("a")
    group: Any = leaf
    for _ in range(10_000):
        group = ExceptionGroup("g", [group])
    assert error_leaves(group) == (leaf,)
    b, c = KeyError("b"), KeyError("c")
    nested = ExceptionGroup("g", [ExceptionGroup("h", [ValueError("a"), b]), c])
    assert error_leaves(nested)[1:] == (b, c)
    assert error_leaves(b) == (b,)


class LyingGroup(ExceptionGroup[Exception]):
    """Says that it contains itself."""

    @property
    def exceptions(self) -> Any:
        return (self,)


def test_a_group_that_lies_about_its_members_has_those_it_was_made_of() -> None:
    """There is no endless search."""
    inner = ValueError("a")
    assert error_leaves(LyingGroup("g", [inner])) == (inner,)


def test_a_group_error_makes_its_own_cause() -> None:
    """Without another, the members are its cause."""
    errors = [ValueError("a"), KeyError()]
    error = GroupError("two failed", "GATHER_FAILED", errors)
    assert isinstance(error.cause, ExceptionGroup)
    assert error.errors == tuple(errors)
    assert str(error) == "two failed: ValueError: a; KeyError"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_group_that_asks_the_process_to_stop_is_never_retried(stop: type[BaseException]) -> None:
    """Whatever else is in it, and however deep it lies."""
    flat = lead(stop(), LIMITED)
    deep = lead(BaseExceptionGroup("inner", [stop()]), LIMITED)
    assert (flat.code, flat.retryable, deep.retryable) == ("RATE_LIMIT", False, False)
    assert lead(asyncio.CancelledError(), LIMITED).retryable is True


def test_a_group_is_met_where_its_lead_was() -> None:
    """Errnos of tools are numbered in a group as they are alone."""
    group = ExceptionGroup("g", [FileNotFoundError(2, "x"), PermissionError(13, "x")])
    assert classify_error(group, seam="tool").code_num == 1003
    assert classify_error(group, seam="runtime").code_num is None
