"""The doors of the classifiers. What is behind them is loaded when a foreign failure comes."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from dsh_llm._classify._evidence import Seam, is_ours
from dsh_llm._classify._rule import Classifier, ClassifierError
from dsh_llm._errors import HarnessError, LlmError
from dsh_llm._kernel import Context, Disposer
from dsh_llm._text import text_of


def classify_error(x: object, *, seam: Seam, sent: bool | None = None) -> HarnessError:
    """Return *x*, met at *seam*, as a `HarnessError`; total, it never raises.

    One of ours is returned as it is. Else its code comes from the first stage that knows it: exact
    names that the far side gave, class and errno, HTTP status, words (see `Classifier`); a status
    that means several things may be refined by words. Of a group the worst member leads (see
    `error_from_group`). What nobody knows is `UNKNOWN`; a tool's is `TOOL_EXECUTION_FAILED`, a
    storage's `STORAGE_WRITE_FAILED` or `STORAGE_READ_FAILED`.

    *sent* tells whether something had left before it failed: the request, at the caller's seam a
    credential, at the storage what was to be written; `None` when nobody knows.

    At the provider it is an `LlmError` with status and request id; of the operating system's a
    `SystemCallError`. *x* is the cause; the context has `original_type`, `classified_by` unless
    nobody knew it, and `skipped_classifiers` for rules that raised.
    """
    if is_ours(x):
        return cast("HarnessError", x)
    from dsh_llm._classify._engine import foreign_error

    return foreign_error(x, seam, sent=sent)


def try_classify(x: object, *, seam: Seam, sent: bool | None = None) -> HarnessError | None:
    """Return *x* as `classify_error` does, or `None` when no rule knows it; it never raises.

    A group is known when one of its members is.
    """
    if is_ours(x):
        return cast("HarnessError", x)
    from dsh_llm._classify._engine import known_error

    return known_error(x, seam, sent=sent)


def classify_response(
    body: Any, status: int | None = None, headers: Mapping[str, str] | None = None, *, now: int = 0
) -> LlmError:
    """Return the error that a provider's response is, or a part of one (then without *status*).

    *body* is parsed if it is JSON; *now* is in epoch milliseconds.
    """
    from dsh_llm._classify._engine import response_error

    return response_error(body, status, headers, now)


def contribute_error_classifiers(
    rules: Iterable[Classifier], ctx: Context | None = None
) -> Disposer:
    """Add *rules* for this process; the disposer takes them out again, once.

    They are asked before the built-in ones of their stage, in the order of contribution, never
    before an earlier stage. With *ctx* the scope owns them: they go when it closes. What a rule
    raises is contained, see `classify_error`.

    Raises:
        ClassifierError: `VALIDATION_INVALID_INPUT` for a rule that cannot work, a name that is
            taken, and a phrase that lies inside a later one of another code, which would then
            never be found. Nothing is added then.
        HarnessError: `DISPOSED` when the scope of *ctx* is closed.
    """
    from dsh_llm._classify._registry import REGISTRY

    if not isinstance(cast("object", rules), Iterable):
        raise ClassifierError(text_of(rules), "it is no list of classifiers")
    added = REGISTRY.add(tuple(rules))

    def withdraw() -> None:
        REGISTRY.remove(added)

    if ctx is None:
        return withdraw
    try:
        return ctx.own(withdraw)
    except BaseException:
        withdraw()
        raise
