"""Which code a failure has: the stages in their order, each rule asked once and contained."""

from typing import NamedTuple

from dsh_llm._classify._evidence import Evidence
from dsh_llm._classify._phrases import may_refine
from dsh_llm._classify._registry import REGISTRY
from dsh_llm._classify._rule import Classifier, Stage


class Decision(NamedTuple):
    """A code and the rule that gave it."""

    code: str
    rule: Classifier


def decide(evidence: Evidence, skipped: list[str]) -> Decision | None:
    """Return the first decision, or `None` when no rule knows *evidence*.

    A status that is tentative is the decision unless a phrase refines it, which it may only to
    what the status allows. Rules that raise are left out and named in *skipped*.
    """
    exact = _first("code", evidence, skipped) or _first("type", evidence, skipped)
    if exact is not None:
        return exact
    default = _first("status", evidence, skipped)
    if default is not None and not default.rule.tentative:
        return default
    status = None if default is None else evidence.status
    return _first("phrase", evidence, skipped, refining=status) or default


def _first(
    stage: Stage, evidence: Evidence, skipped: list[str], *, refining: int | None = None
) -> Decision | None:
    for rule, _, test in REGISTRY.rules_of(stage, evidence.seam):
        try:
            if not test(evidence):
                continue
            code: object = rule.code(evidence) if callable(rule.code) else rule.code
        except Exception:  # noqa: BLE001  # Why: a rule that raises must not hide the failure itself
            skipped.append(rule.name)
            continue
        if isinstance(code, str) and code and may_refine(refining, code):
            return Decision(code, rule)
    return None
