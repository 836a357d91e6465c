"""What lies behind a failure: as one line for people, and as data for the log."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, TypeGuard, cast

from dsh_llm._catalogue import error_info
from dsh_llm._classify import classify_error
from dsh_llm._errors import is_harness_error
from dsh_llm._groups import GroupError, error_leaves, is_group
from dsh_llm._harness_error import HarnessError
from dsh_llm._scrub import scrub
from dsh_llm._text import shortened, text_of

MAX_CHAIN: Final = 8
"""Links of a cause chain, and members of a group, that are told."""
MAX_TEXT: Final = 16_384
"""Characters of one message in the log."""

_MAX_LINE: Final = 2_000


def error_chain(x: object) -> str:
    """Return *x* and its causes on one line for people, `outer: cause: cause`; never parse it.

    A group's members stand in brackets. A cause that only repeats what it caused is left out, a
    chain that comes back to itself ends there. Total, and without secrets.
    """
    return scrub(": ".join(_said(x, [])))


def error_data(x: object) -> dict[str, Any]:
    """Return `error_link(x)` and the links of its causes as `chain`, the nearest first: JSON."""
    return error_link(x) | {"chain": [error_link(cause) for cause in causes_of(x)]}


def error_link(x: object) -> dict[str, Any]:
    """Return name, code and message of *x*, its code's number if any, and a group's `members`.

    Total, without secrets, and always JSON; the code of what nobody knows is `UNKNOWN`.
    """
    members = [_link(member) for member in _members(x)[:MAX_CHAIN]]
    return scrub(_link(x) | ({"members": members} if members else {}))


def native(x: object) -> HarnessError:
    """Return what *x* is classified as; for one of a foreign copy of the class, one of ours."""
    error = classify_error(x, seam="runtime")
    if HarnessError in type(error).__mro__:
        return error
    return HarnessError(error.message, error.code, cause=error)


def causes_of(x: object) -> list[object]:
    """Return what lies behind *x*, the nearest first: at most eight, and each once."""
    chain = [x]
    while len(chain) <= MAX_CHAIN:
        cause = _cause(chain[-1])
        if cause is None or any(cause is one for one in chain):
            break
        chain.append(cause)
    return chain[1:]


def _link(x: object) -> dict[str, Any]:
    error = classify_error(x, seam="runtime")
    name = error.name if error is x else type(x).__name__
    text = error.message if is_group(x) else text_of(x)
    data = {"name": name, "code": error.code, "message": shortened(scrub(text), MAX_TEXT)}
    # Why: a foreign copy of the base may be older and have no seam.
    info = error_info(error.code, seam=getattr(error, "seam", None))
    return data if info is None or info.number is None else data | {"number": info.number}


def _members(x: object) -> tuple[BaseException, ...]:
    if is_group(x):
        return error_leaves(x)
    return x.errors if _is_grouped(x) else ()


def _is_grouped(x: object) -> TypeGuard[GroupError]:
    return issubclass(type(x), GroupError)


def _said(x: object, seen: list[object]) -> Iterator[str]:
    before = ""
    for link in [x, *causes_of(x)]:
        if any(link is one for one in seen):
            return
        seen.append(link)
        text = _text(link, seen)
        if text != before and not before.endswith(f": {text}"):
            yield text
        before = text
        if _is_grouped(link):
            # Why: its text has every member's, and its cause is the group of them.
            return


def _text(x: object, seen: list[object]) -> str:
    if not is_group(x) or len(seen) > MAX_CHAIN:
        return shortened(scrub(text_of(x)), _MAX_LINE)
    leaves = error_leaves(x)
    told = [": ".join(_said(leaf, seen)) for leaf in leaves[:MAX_CHAIN]]
    more = len(leaves) - len(told)
    rest = [f"{more} more"] if more else []
    message = shortened(scrub(text_of(cast("object", x.message))), _MAX_LINE)
    return f"{message} [{'; '.join([*filter(None, told), *rest])}]"


def _cause(x: object) -> object:
    # Why: a hostile attribute ends the chain, it must not hide the failure in front of it.
    with suppress(Exception):
        return _behind(x)
    return None


def _behind(x: object) -> object:
    if is_harness_error(x) and x.cause is not None:
        return x.cause
    if not isinstance(x, BaseException):
        return None
    hidden = x.__cause__ is not None or x.__suppress_context__
    return x.__cause__ if hidden else x.__context__
