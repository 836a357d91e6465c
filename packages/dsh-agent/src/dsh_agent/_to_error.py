"""Anything that was raised, as an error with a code, and as data for the log."""

from collections.abc import Sequence
from typing import Any

from dsh_llm import HarnessError, SystemCallError, error_info, is_harness_error, is_violation

MAX_CHAIN = 8
"""Links of a cause chain that the log keeps."""


def to_error(x: object) -> Exception:
    """Return *x* as an error to record. Total: a hostile `__str__` still gives one.

    An `Exception` passes through as it is. `CancelledError`, `KeyboardInterrupt` and their kind
    become `ABORTED`, for the record: whoever caught them re-raises the original. Anything else
    becomes a `HarnessError` with code `UNKNOWN` and *x* as its cause.
    """
    if isinstance(x, Exception):
        return x
    code = "ABORTED" if isinstance(x, BaseException) else "UNKNOWN"
    return HarnessError(text_of(x), code, cause=x)


def coded(x: object) -> HarnessError:
    """Return a `HarnessError` for *x*: itself, a classified one, or one with code `UNKNOWN`."""
    error = to_error(x)
    if is_harness_error(error) and isinstance(error.code, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # Why: nobody checks what a subclass passes as its code
        return error
    if isinstance(error, OSError) and error.errno is not None:
        return SystemCallError(error)
    return HarnessError(text_of(error), "UNKNOWN", cause=error)


def error_data(x: object) -> dict[str, Any]:
    """Return name, code, number, message and the cause chain, as the `error` row keeps them."""
    chain = [error_link(link) for link in _causes(x)]
    return error_link(x) | {"chain": chain}


def error_link(x: object) -> dict[str, Any]:
    """Return name, code and message of *x*, and the code's number if it has one."""
    error = coded(x)
    name = error.name if error is x else type(x).__name__
    data = {"name": name, "code": error.code, "message": text_of(x)}
    info = error_info(error.code)
    return data if info is None else data | {"number": info.number}


def text_of(x: object) -> str:
    """Return the text of *x*; its class's name when it has none or cannot say it."""
    try:
        return str(x) or type(x).__name__
    except Exception:  # noqa: BLE001  # Why: a hostile __str__ must not hide the failure itself
        return f"<unprintable {type(x).__name__}>"


def foremost(errors: Sequence[Exception]) -> Exception:
    """Return the one of *errors* to raise: a broken invariant, else the first.

    The others are in its notes.
    """
    first, *others = sorted(errors, key=lambda one: not is_violation(one))
    for other in others:
        if other is not first:
            first.add_note(f"also: {type(other).__name__}: {text_of(other)}")
    return first


def _causes(x: object) -> list[object]:
    chain: list[object] = []
    seen = {id(x)}
    link = _cause(x)
    while link is not None and id(link) not in seen and len(chain) < MAX_CHAIN:
        chain.append(link)
        seen.add(id(link))
        link = _cause(link)
    return chain


def _cause(x: object) -> object:
    if is_harness_error(x) and x.cause is not None:
        return x.cause
    if not isinstance(x, BaseException):
        return None
    if x.__cause__ is not None:
        return x.__cause__
    return None if x.__suppress_context__ else x.__context__
