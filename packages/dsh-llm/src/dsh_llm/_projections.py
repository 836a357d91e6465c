"""An error in the forms that other systems read: each small, total, and without secrets."""

import errno
from collections.abc import Mapping
from typing import Any, Final, cast

from dsh_llm._chain import causes_of, error_chain
from dsh_llm._codes import code_entry
from dsh_llm._errors import is_violation
from dsh_llm._groups import GroupError
from dsh_llm._harness_error import HarnessError
from dsh_llm._scrub import scrub
from dsh_llm._text import text_of

_INVALID_PARAMS: Final = -32602
_INTERNAL: Final = -32603
_SERVER: Final = -32000
_VALIDATION: Final = 7
_OF_THE_CALL: Final = frozenset({"TOOL_NOT_FOUND", "TOOL_VALIDATION_FAILED"})
_LABELS: Final = {
    "code_num": "number",
    "recovery": "what to do",
    "retryable": "may be retried",
    "retry_after": "seconds to wait",
    "effect": "it happened",
}


def to_problem(error: HarnessError) -> dict[str, Any]:
    """Return *error* as a problem of RFC 9457; `instance` is its id, a group's members `errors`."""
    info = error.info
    problem: dict[str, Any] = {
        "type": error.docs or "about:blank",
        "title": info.title if info else error.code,
        "detail": text_of(error),
        "instance": f"urn:uuid:{error.id}",
        **_facts(error),
    }
    if info is not None and info.http_status is not None:
        problem["status"] = info.http_status
    if isinstance(error, GroupError):
        problem["errors"] = [{"detail": text_of(one)} for one in error.errors]
    return scrub(problem)


def to_otel(error: HarnessError) -> dict[str, Any]:
    """Return *error* as attributes of OpenTelemetry: flat, and plain values only.

    `error.type` is the code, or `_OTHER` for one that is in no table, so that there are never more
    than the tables have. `dsh.severity` is `ERROR`, and `INFO` for an outcome.
    """
    import traceback

    info = error.info
    told = {
        "error.type": error.code if info else _label(error.code),
        "exception.type": f"{type(error).__module__}.{error.name}",
        "exception.message": text_of(error),
        "exception.stacktrace": _lines(traceback.format_tb(error.__traceback__)),
        "dsh.severity": "INFO" if info and info.disposition == "outcome" else "ERROR",
        "dsh.error.id": error.id,
        "dsh.error.number": error.code_num,
        "dsh.error.effect": error.effect,
        "dsh.error.scope": error.scope,
    }
    return scrub({key: value for key, value in told.items() if value is not None})


def to_jsonrpc(error: HarnessError) -> dict[str, Any]:
    """Return *error* as the `error` of a JSON-RPC response; what dsh knows of it is in `data`.

    The number is JSON-RPC's: invalid params (-32602) for what the caller got wrong, internal error
    (-32603) for what nobody knows or is a broken invariant, else -32000.
    """
    data = {"name": error.name, "id": error.id, **_facts(error)}
    return scrub({"code": _rpc_code(error), "message": text_of(error), "data": data})


def to_mcp_result(error: HarnessError) -> dict[str, Any]:
    """Return *error* as the result of an MCP tool: text and structured content say the same."""
    facts = {"name": error.name, "message": text_of(error), **_facts(error)}
    lines = [f"Error: {facts['message']}", *_labelled(facts)]
    content = [{"type": "text", "text": "\n".join(lines)}]
    return scrub({"isError": True, "content": content, "structuredContent": {"error": facts}})


def summary_of(error: HarnessError) -> str:
    """Return the causes of *error* on one line, empty when there is none."""
    return error_chain(causes[0]) if (causes := causes_of(error)) else ""


def _facts(error: HarnessError) -> dict[str, Any]:
    told = {
        "code": error.code,
        "code_num": error.code_num,
        "recovery": error.recovery,
        "retryable": error.retryable,
        "retry_after": error.retry_after,
        "effect": error.effect,
    }
    return {key: value for key, value in told.items() if value is not None}


def _labelled(facts: Mapping[str, Any]) -> list[str]:
    rest = {key: value for key, value in facts.items() if key != "message"}
    return [f"{_LABELS.get(key, key)}: {_word(value)}" for key, value in rest.items()]


def _word(value: object) -> str:
    if value is True or value is False:
        return "yes" if value else "no"
    return str(value)


def _label(code: str) -> str:
    # Why: nobody checks what is assigned to an error's code.
    entry = code_entry(code) if isinstance(cast("object", code), str) else None
    if entry is None:
        return "_OTHER"
    # Why: the names of errnos are a short list, the numbers of the other families are not.
    return entry.code if entry.is_family and code not in errno.errorcode.values() else code


def _rpc_code(error: HarnessError) -> int:
    info = error.info
    if info is None:
        known = error.code != "UNKNOWN" and not is_violation(error)
        return _SERVER if known else _INTERNAL
    invalid = info.range == _VALIDATION or info.key in _OF_THE_CALL
    return _INVALID_PARAMS if invalid else _SERVER


def _lines(lines: list[str]) -> str | None:
    return "".join(lines) or None
