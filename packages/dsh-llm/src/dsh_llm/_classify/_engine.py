"""Foreign failures as coded errors: alone, in groups, as responses."""

from collections.abc import Mapping
from typing import Any, cast

from dsh_llm._classify._build import Judgement, build
from dsh_llm._classify._decide import decide
from dsh_llm._classify._evidence import Evidence, ResponseEvidence, Seam, is_ours
from dsh_llm._errors import HarnessError, LlmError
from dsh_llm._groups import error_from_group, error_leaves


def foreign_error(x: object, seam: Seam, *, sent: bool | None) -> HarnessError:
    """Return the error of *x*, whether or not a rule knows it."""
    if issubclass(type(x), BaseExceptionGroup):
        return _of_group(cast("BaseExceptionGroup[BaseException]", x), seam, sent=sent)
    return build(_judged(Evidence(x, seam, sent=sent)))


def known_error(x: object, seam: Seam, *, sent: bool | None) -> HarnessError | None:
    """Return the error of *x* when a rule knows it, or a member of it."""
    if issubclass(type(x), BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", x)
        known = any(_is_known(leaf, seam) for leaf in error_leaves(group))
        return _of_group(group, seam, sent=sent) if known else None
    judgement = _judged(Evidence(x, seam, sent=sent))
    return None if judgement.decision is None else build(judgement)


def response_error(
    body: Any, status: int | None, headers: Mapping[str, str] | None, now: int
) -> LlmError:
    """Return the error of a provider's response, or of a part of one."""
    evidence = ResponseEvidence(body, status, headers)
    return cast("LlmError", build(_judged(evidence), now=now))


def _is_known(leaf: BaseException, seam: Seam) -> bool:
    return is_ours(leaf) or _judged(Evidence(leaf, seam)).decision is not None


def _of_group(
    group: BaseExceptionGroup[BaseException], seam: Seam, *, sent: bool | None
) -> HarnessError:
    return error_from_group(group, lambda leaf: _of_leaf(leaf, seam, sent=sent))


def _of_leaf(leaf: BaseException, seam: Seam, *, sent: bool | None) -> HarnessError:
    ours = is_ours(leaf)
    return cast("HarnessError", leaf) if ours else build(_judged(Evidence(leaf, seam, sent=sent)))


def _judged(evidence: Evidence) -> Judgement:
    skipped: list[str] = []
    return Judgement(evidence, decide(evidence, skipped), skipped)
