"""Several failures as one: which of them leads, and what holds of all."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeGuard, TypeVar, Unpack, cast

from dsh_llm._errors import is_violation
from dsh_llm._harness_error import ErrorFields, HarnessError
from dsh_llm._text import described, text_of
from dsh_llm._verdicts import Effect, attempts_of, wait_of

T = TypeVar("T")

_SCOPES: Final = ("call", "step", "turn", "session", "account")
# Invariant: from the worst on; "nobody knows" is worse than "it did not happen".
_EFFECTS: Final[tuple[Effect | None, ...]] = ("done", "unknown", None, "none")
# Why: a subclass may lie about its members, the interpreter's own field does not.
_MEMBERS: Final[Any] = vars(BaseExceptionGroup)["exceptions"]


class GroupError(HarnessError):
    """Several pieces of work ran, and some failed; `errors` has every failure, in order.

    Codes: `GATHER_FAILED` (listeners of a gather), `CLOSE_FAILED` (clean-ups of a scope), or that
    of the worst failure (see `error_from_group`). Without another, the cause is an
    `ExceptionGroup` of the same errors.
    """

    def __init__(
        self,
        message: str,
        code: str,
        errors: Sequence[Exception],
        **fields: Unpack[ErrorFields],
    ) -> None:
        """Say what failed in *message* and append each error's own text."""
        texts = "; ".join(described(error) for error in errors)
        if fields.get("cause") is None:
            fields["cause"] = ExceptionGroup(message, list(errors))
        super().__init__(f"{message}: {texts}", code, **fields)
        self.errors = tuple(errors)


def is_group(x: object) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    """Tell whether *x* is a group. Total: it does not ask *x* itself."""
    return issubclass(type(x), BaseExceptionGroup)


def error_leaves(error: BaseException) -> tuple[BaseException, ...]:
    """Return *error*, or what is in it when it is a group, at any depth and in order."""
    return tuple(_leaves(error))


def error_from_group(
    group: BaseExceptionGroup[BaseException],
    classify: Callable[[BaseException], HarnessError],
) -> GroupError:
    """Return one error for *group*, led by its worst member; `errors` has each, the worst first.

    *classify* gives each member its code; it must be total. A broken invariant leads, then what
    cannot be retried, what nobody knows, what needs something done first, what passes, and at last
    outcomes, which say nothing while there is anything else. It is retryable only if all are, waits
    for the longest, and has the worst effect and the widest scope. When a member asks the process
    to stop (`KeyboardInterrupt`, `SystemExit`), it is never retryable. The cause is the group.
    """
    leaves = error_leaves(group)
    errors = [classify(leaf) for leaf in leaves]
    ordered = sorted(errors, key=_rank)
    faults = [error for error in ordered if not _is_outcome(error)] or ordered
    lead = faults[0]
    waits = [wait for error in faults if (wait := wait_of(error.retry_after)) is not None]
    stops = any(issubclass(type(leaf), (KeyboardInterrupt, SystemExit)) for leaf in leaves)
    led = GroupError(
        text_of(cast("object", group.message)),
        lead.code,
        ordered,
        cause=group,
        context=lead.context,
        retryable=False if stops else _all_retryable(faults),
        retry_after=max(waits, default=None),
        effect=_effect(lead, faults),
        scope=_worst((*reversed(_SCOPES), None), [error.scope for error in faults]),
        signal=lead.signal,
        attempts=tuple(attempt for error in errors for attempt in attempts_of(error.attempts)),
    )
    if lead.seam is not None:
        led.seam = lead.seam
    return led


def _leaves(error: BaseException) -> Iterator[BaseException]:
    # Why: a stack, since nobody limits how deep groups are nested.
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if is_group(one):
            waiting.extend(reversed(_MEMBERS.__get__(one)))
        else:
            yield one


def _rank(error: HarnessError) -> int:
    if is_violation(error):
        return 0
    if _is_outcome(error):
        return 5
    if error.retryable is True:
        return 4
    if error.info is None:
        return 2
    return 3 if error.info.disposition == "after" else 1


def _is_outcome(error: HarnessError) -> bool:
    return error.info is not None and error.info.disposition == "outcome"


def _all_retryable(errors: Sequence[HarnessError]) -> bool | None:
    verdicts = {error.retryable for error in errors}
    if verdicts == {True}:
        return True
    return False if False in verdicts else None


def _effect(lead: HarnessError, faults: Sequence[HarnessError]) -> Effect | None:
    worst = _worst(_EFFECTS, [error.effect for error in faults])
    # Why: what only the code says is not to look as if somebody knew it.
    told = any(error.said_effect is not None for error in faults) or worst != lead.effect
    return worst if told else None


def _worst(order: Sequence[T], values: Sequence[T]) -> T:
    known = [order.index(value) for value in values if value in order]
    return order[min(known, default=len(order) - 1)]
