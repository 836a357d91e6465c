"""What databases and readers of data raise: sqlite3, JSON, pydantic."""

from collections.abc import Mapping
from typing import Any, Final, cast

from dsh_llm._classify._evidence import Evidence, peek
from dsh_llm._classify._rule import Classifier
from dsh_llm._classify._seams import storage_code

_STORES: Final = ("storage", "session")
_READERS: Final = ("caller", "sync", "job", "runtime")
_PYDANTIC: Final = ("pydantic_core.ValidationError", "pydantic.ValidationError")
_JSON: Final = ("json.JSONDecodeError",)
_OLD_SCHEMA: Final = ("no such table", "no such column", "has no column named")
_MAX_VIOLATIONS: Final = 20

_SQLITE_CODES: Final[Mapping[str, str]] = {
    "SQLITE_FULL": "STORAGE_QUOTA_EXCEEDED",
    "SQLITE_TOOBIG": "STORAGE_WRITE_FAILED",
    "SQLITE_READONLY": "STORAGE_WRITE_FAILED",
    "SQLITE_CORRUPT": "STORAGE_READ_FAILED",
    "SQLITE_NOTADB": "STORAGE_READ_FAILED",
}
_LASTING: Final = frozenset({"SQLITE_TOOBIG", "SQLITE_READONLY", "SQLITE_CORRUPT", "SQLITE_NOTADB"})
_BUSY: Final = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})


def _sqlite(evidence: Evidence) -> str:
    known = _sqlite_known(evidence)
    return storage_code(evidence) if known is None else known


def _sqlite_known(evidence: Evidence) -> str | None:
    name = _sqlite_name(evidence)
    in_session = evidence.seam == "session"
    if name in _BUSY and in_session:
        return "SESSION_LOCKED"
    if "sqlite3.IntegrityError" in evidence.kinds:
        return "SESSION_CONFLICT" if in_session else "STORAGE_WRITE_FAILED"
    if any(words in evidence.words for words in _OLD_SCHEMA):
        return "SESSION_SCHEMA_MISMATCH"
    if "sqlite3.ProgrammingError" in evidence.kinds:
        return "VALIDATION_INVALID_INPUT"
    return _SQLITE_CODES.get(name)


def _sqlite_verdict(evidence: Evidence) -> Mapping[str, Any]:
    name = _sqlite_name(evidence)
    lasting = name in _LASTING or "sqlite3.IntegrityError" in evidence.kinds
    context = {"sqlite": name} if name else {}
    return {"context": context, **({"retryable": False} if lasting else {})}


def _sqlite_name(evidence: Evidence) -> str:
    name = peek(evidence.error, "sqlite_errorname")
    # Why: extended codes (SQLITE_BUSY_SNAPSHOT) begin with the primary one.
    return "_".join(name.split("_")[:2]) if isinstance(name, str) else ""


def _violation_code(evidence: Evidence) -> str:
    kinds = {str(one.get("type", "")) for one in _violations(evidence)}
    if kinds == {"missing"}:
        return "VALIDATION_MISSING_REQUIRED"
    if kinds and all(kind.endswith("_type") for kind in kinds):
        return "VALIDATION_TYPE_MISMATCH"
    return "VALIDATION_INVALID_INPUT"


def _violation_words(evidence: Evidence) -> Mapping[str, Any]:
    # Why: the error's own text quotes the input, which may be anything, a secret too.
    found = _violations(evidence)
    told = [f"{_where(one)}: {one.get('msg', 'invalid')}" for one in found[:_MAX_VIOLATIONS]]
    if len(found) > len(told):
        told.append(f"and {len(found) - len(told)} more")
    return {"message": "; ".join(told)} if told else {}


def _where(violation: Mapping[str, Any]) -> str:
    return ".".join(str(step) for step in violation.get("loc", ())) or "value"


def _violations(evidence: Evidence) -> list[dict[str, Any]]:
    errors: Any = peek(evidence.error, "errors")
    found: Any = errors(include_url=False, include_context=False, include_input=False)
    return cast("list[dict[str, Any]]", found)


DATA_RULES: Final = (
    Classifier("sqlite3", _STORES, "type", ("sqlite3.Error",), _sqlite, _sqlite_verdict),
    Classifier("json", ("provider",), "type", _JSON, "MALFORMED_RESPONSE"),
    Classifier("json", _STORES, "type", _JSON, "STORAGE_READ_FAILED"),
    Classifier("json", _READERS, "type", _JSON, "VALIDATION_INVALID_INPUT"),
    Classifier(
        "pydantic", ("provider",), "type", _PYDANTIC, "MALFORMED_RESPONSE", _violation_words
    ),
    Classifier("pydantic", _STORES, "type", _PYDANTIC, "STORAGE_READ_FAILED", _violation_words),
    Classifier("pydantic", _READERS, "type", _PYDANTIC, _violation_code, _violation_words),
)
