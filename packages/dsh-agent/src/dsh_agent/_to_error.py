"""Anything that was raised, as an error to record, and which of several to raise."""

from collections.abc import Sequence
from typing import cast

from dsh_llm import classify_error, is_violation, text_of


def to_error(x: object) -> Exception:
    """Return *x* as an error to record. Total: a hostile `__str__` still gives one.

    An `Exception` passes through as it is. `CancelledError`, `KeyboardInterrupt` and their kind
    become `ABORTED`, for the record: whoever caught them re-raises the original. A group that is no
    `Exception` becomes a `GroupError`, led by its worst member. Anything else becomes a
    `HarnessError` with code `UNKNOWN` and *x* as its cause.
    """
    # Why: isinstance would ask a hostile object for its class.
    if issubclass(type(x), Exception):
        return cast("Exception", x)
    return classify_error(x, seam="runtime")


def foremost(errors: Sequence[Exception]) -> Exception:
    """Return the one of *errors* to raise: a broken invariant, else the first.

    The others are in its notes.
    """
    first, *others = sorted(errors, key=lambda one: not is_violation(one))
    for other in others:
        if other is not first:
            first.add_note(f"also: {type(other).__name__}: {text_of(other)}")
    return first
