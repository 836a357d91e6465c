"""What HTTP statuses mean away from the provider, and what remains at a seam when nothing fits."""

from collections.abc import Mapping
from typing import Final

from dsh_llm._classify._evidence import Evidence, Seam
from dsh_llm._classify._rule import Classifier

_UNAUTHORIZED: Final = 401
_SERVER_STATUSES: Final = range(500, 600)
_TABLES: Final[Mapping[Seam, Mapping[int, str]]] = {
    "caller": {403: "CALLER_FORBIDDEN"},
    "session": {
        404: "SESSION_NOT_FOUND",
        409: "SESSION_CONFLICT",
        410: "SESSION_EXPIRED",
        423: "SESSION_LOCKED",
    },
    "storage": {507: "STORAGE_QUOTA_EXCEEDED"},
    "sync": {
        408: "SYNC_NETWORK_ERROR",
        409: "SYNC_CONFLICT_UNRESOLVED",
        412: "SYNC_VERSION_MISMATCH",
        504: "SYNC_NETWORK_ERROR",
    },
    "job": {404: "JOB_NOT_FOUND", 408: "JOB_DISPATCH_FAILED"},
    "runtime": {408: "TRANSPORT", 504: "TRANSPORT"},
}


def storage_code(evidence: Evidence) -> str:
    """Return the code of a storage that failed: `sent` tells whether something was written."""
    return "STORAGE_WRITE_FAILED" if evidence.sent else "STORAGE_READ_FAILED"


def fallback(evidence: Evidence) -> str | None:
    """Return what any failure at the seam is, when nothing more is known; `None` at most seams."""
    if evidence.seam == "tool":
        return "TOOL_EXECUTION_FAILED"
    return storage_code(evidence) if evidence.seam == "storage" else None


def _by_status(evidence: Evidence) -> str | None:
    status, seam = evidence.status, evidence.seam
    if status is None:
        return None
    if seam == "caller" and status == _UNAUTHORIZED:
        return _caller_code(evidence)
    known = _TABLES.get(seam, {}).get(status)
    if known is not None or seam == "storage":
        return known
    if status in _SERVER_STATUSES:
        return "JOB_DISPATCH_FAILED" if seam == "job" else "SERVER"
    return f"HTTP_{status}"


def _caller_code(evidence: Evidence) -> str:
    refused = "error=" in evidence.headers.get("www-authenticate", "")
    return "CALLER_CREDENTIAL_INVALID" if evidence.sent or refused else "CALLER_AUTH_REQUIRED"


def _always(_: Evidence) -> bool:
    return True


# Why: a tool's statuses are those of whatever it talked to, they say nothing about the tool.
_SEAMS: Final[tuple[Seam, ...]] = ("caller", "session", "storage", "sync", "job", "runtime")

STATUS_RULES: Final = (Classifier("http.status", _SEAMS, "status", _always, _by_status),)
