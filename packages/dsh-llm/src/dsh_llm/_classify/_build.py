"""The error that a decision makes of its evidence."""

import errno
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from dsh_llm._classify._decide import Decision
from dsh_llm._classify._evidence import Evidence, peek
from dsh_llm._classify._seams import fallback
from dsh_llm._errors import HarnessError, LlmError, SystemCallError
from dsh_llm._retry_after import parse_retry_after, parse_should_retry

UNKNOWN: Final = "UNKNOWN"
_LOSABLE: Final = frozenset({"TRANSPORT", "TIMEOUT", "TOOL_TIMEOUT"})
_ERRNO_NAMES: Final = frozenset(errno.errorcode.values())


class Judgement(NamedTuple):
    """A decision, or `None`, about some evidence; `skipped` names the rules that raised."""

    evidence: Evidence
    decision: Decision | None
    skipped: list[str]


def build(judgement: Judgement, *, now: int | None = None) -> HarnessError:
    """Return the error; *now* is what dates in headers are compared to, else the clock's."""
    evidence, decision, _ = judgement
    code = (fallback(evidence) or UNKNOWN) if decision is None else decision.code
    found = _extracted(judgement)
    error = _of_class(evidence, code, found.get("message"))
    error.context = _context(judgement, error) | dict(found.get("context") or {})
    error.effect = found.get("effect") or _effect(code, sent=evidence.sent)
    error.retryable = found.get("retryable")
    error.retry_after = found.get("retry_after")
    error.scope = found.get("scope")
    if evidence.headers:
        _heed_headers(error, evidence, now)
    return error


def _extracted(judgement: Judgement) -> Mapping[str, Any]:
    evidence, decision, skipped = judgement
    if decision is None or decision.rule.extract is None:
        return {}
    try:
        found = dict(decision.rule.extract(evidence))
        return found | {"context": dict(found.get("context") or {})}
    except Exception:  # noqa: BLE001  # Why: a rule that raises must not hide the failure itself
        skipped.append(decision.rule.name)
        return {}


def _of_class(evidence: Evidence, code: str, message: object) -> HarnessError:
    original = evidence.error
    text = message if isinstance(message, str) and message else evidence.message
    if issubclass(type(original), OSError) and (code in _ERRNO_NAMES or code.startswith("ERRNO_")):
        return SystemCallError(cast("OSError", original), seam=evidence.seam)
    if evidence.seam != "provider":
        return HarnessError(text, code, cause=original)
    return LlmError(text, code, evidence.status, request_id=evidence.request_id, cause=original)


def _context(judgement: Judgement, error: HarnessError) -> dict[str, Any]:
    evidence, decision, skipped = judgement
    context: dict[str, Any] = {}
    if decision is not None:
        context["classified_by"] = decision.rule.name
    if skipped:
        context["skipped_classifiers"] = ", ".join(skipped)
    if evidence.error is not None:
        context["original_type"] = _type_name(type(evidence.error))
    if not isinstance(error, LlmError):
        found = {"status": evidence.status, "request_id": evidence.request_id}
        context |= {key: value for key, value in found.items() if value is not None}
    if evidence.seam == "provider":
        context |= _provider_words(evidence)
    return context


def _provider_words(evidence: Evidence) -> dict[str, str]:
    report = evidence.report
    words = {
        "provider_code": report.code,
        "provider_type": report.type,
        "provider_param": report.param,
    }
    return {key: word for key, word in words.items() if word}


def _type_name(kind: type) -> str:
    module, name = peek(kind, "__module__"), peek(kind, "__qualname__")
    return f"{module}.{name}"


def _effect(code: str, *, sent: bool | None) -> Any:
    if code not in _LOSABLE or sent is None:
        return None
    return "unknown" if sent else "none"


def _heed_headers(error: HarnessError, evidence: Evidence, now: int | None) -> None:
    headers = evidence.headers
    if "x-should-retry" in headers:
        error.server_retryable = parse_should_retry(headers)
    if error.retry_after is None and ("retry-after" in headers or "retry-after-ms" in headers):
        error.retry_after = parse_retry_after(headers, _wall_clock() if now is None else now)


def _wall_clock() -> int:
    import time

    return time.time_ns() // 1_000_000
