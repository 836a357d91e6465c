"""What classes and error numbers mean: cancellation, time, connections, the operating system."""

import errno
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dsh_llm._classify._evidence import Evidence, Seam, kinds_of
from dsh_llm._classify._rule import Classifier
from dsh_llm._classify._seams import storage_code

_TIMED_OUT: Final = (
    "builtins.TimeoutError",
    "anthropic.APITimeoutError",
    "httpx.TimeoutException",
    "httpx2.TimeoutException",
    "openai.APITimeoutError",
    "requests.Timeout",
)
_MISUSED: Final = (
    "httpx.InvalidURL",
    "httpx.LocalProtocolError",
    "httpx.UnsupportedProtocol",
    "httpx2.InvalidURL",
    "httpx2.LocalProtocolError",
    "httpx2.UnsupportedProtocol",
)
_MALFORMED: Final = (
    "anthropic.APIResponseValidationError",
    "builtins.UnicodeDecodeError",
    "httpx.DecodingError",
    "httpx2.DecodingError",
    "openai.APIResponseValidationError",
)
_CONNECTION: Final = (
    "aiohttp.ClientConnectionError",
    "anthropic.APIConnectionError",
    "builtins.ConnectionError",
    "http.HTTPException",
    "httpx.RequestError",
    "httpx2.RequestError",
    "openai.APIConnectionError",
    "requests.ConnectionError",
    "socket.gaierror",
    "socket.herror",
    "ssl.SSLError",
    "urllib.URLError",
)
_PSEUDO_ERRNO: Final = frozenset({"socket.gaierror", "socket.herror", "ssl.SSLError"})
"""Classes whose errno is not the operating system's."""
_UNREACHED: Final = frozenset(
    {
        "httpx.ConnectError",
        "httpx.ConnectTimeout",
        "httpx.PoolTimeout",
        "httpx2.ConnectError",
        "httpx2.ConnectTimeout",
        "httpx2.PoolTimeout",
        "builtins.ConnectionRefusedError",
        "socket.gaierror",
        "ssl.SSLCertVerificationError",
    }
)
"""Classes that say that there was no connection, so that nothing can have been sent."""
_UNREACHED_ERRNOS: Final = frozenset({errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH})
_LOST_ERRNOS: Final = (
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ENOTCONN,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.ENETRESET,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ESHUTDOWN,
)
_MAX_CAUSES: Final = 4

_CONNECTION_CODES: Final[Mapping[Seam, str]] = {
    "sync": "SYNC_NETWORK_ERROR",
    "job": "JOB_DISPATCH_FAILED",
}
_TIMEOUT_CODES: Final[Mapping[Seam, str]] = {
    "provider": "TIMEOUT",
    "tool": "TOOL_TIMEOUT",
    **_CONNECTION_CODES,
}


def _is_cancelled(evidence: Evidence) -> bool:
    # Why: whatever is no `Exception` asks to stop, and futures have a cancellation that is one.
    kind = type(evidence.error)
    stops = issubclass(kind, BaseException) and not issubclass(kind, Exception)
    return stops or "concurrent.CancelledError" in evidence.kinds


def _connection(evidence: Evidence) -> str | None:
    # Why: errors of urllib with a status are responses, and a tool's errno keeps its name.
    if "urllib.HTTPError" in evidence.kinds or _is_named(evidence):
        return None
    if evidence.seam == "storage":
        return storage_code(evidence)
    return _CONNECTION_CODES.get(evidence.seam, "TRANSPORT")


def _timeout(evidence: Evidence) -> str | None:
    if _is_named(evidence):
        return None
    if evidence.seam == "storage":
        return storage_code(evidence)
    # Why: `TIMEOUT` says that a provider was late; elsewhere it is the network that was.
    return _TIMEOUT_CODES.get(evidence.seam, "TRANSPORT")


def _is_named(evidence: Evidence) -> bool:
    return evidence.seam == "tool" and _has_errno(evidence)


def _has_errno(evidence: Evidence) -> bool:
    return evidence.errno is not None and _PSEUDO_ERRNO.isdisjoint(evidence.kinds)


def _errno_name(evidence: Evidence) -> str:
    number = evidence.errno or 0
    return errno.errorcode.get(number, f"ERRNO_{number}")


def _lost(evidence: Evidence) -> Mapping[str, Any]:
    kinds = frozenset[str]().union(*_chain_kinds(evidence))
    found: dict[str, Any] = {}
    if "ssl.SSLCertVerificationError" in kinds:
        found["retryable"] = False
    if evidence.errno in _UNREACHED_ERRNOS or not _UNREACHED.isdisjoint(kinds):
        found["effect"] = "none"
    return found


def _chain_kinds(evidence: Evidence) -> Iterator[frozenset[str]]:
    link = evidence.error
    for _ in range(_MAX_CAUSES):
        if not isinstance(link, BaseException):
            return
        yield kinds_of(type(link))
        link = link.__cause__ or link.__context__


def _os_code(evidence: Evidence) -> str | None:
    if evidence.seam in {"tool", "runtime"}:
        return None
    return storage_code(evidence) if evidence.seam == "storage" else _connection(evidence)


_REFUSED_WRITE: Final = (errno.EROFS, errno.EFBIG, errno.EEXIST)

TYPE_RULES: Final = (
    Classifier("cancelled", (), "type", _is_cancelled, "ABORTED"),
    Classifier("timeout", (), "type", _TIMED_OUT, _timeout, _lost),
    Classifier("http.misuse", (), "type", _MISUSED, "INVALID_REQUEST"),
    Classifier("provider.malformed", ("provider",), "type", _MALFORMED, "MALFORMED_RESPONSE"),
    Classifier(
        "provider.filtered",
        ("provider",),
        "type",
        ("openai.ContentFilterFinishReasonError",),
        "CONTENT_FILTER",
    ),
    Classifier(
        "storage.full",
        ("storage", "session"),
        "type",
        (errno.ENOSPC, errno.EDQUOT),
        "STORAGE_QUOTA_EXCEEDED",
    ),
    Classifier("storage.write", ("storage",), "type", _REFUSED_WRITE, "STORAGE_WRITE_FAILED"),
    Classifier("connection", (), "type", _CONNECTION, _connection, _lost),
    Classifier("connection.errno", (), "type", _LOST_ERRNOS, _connection, _lost),
    Classifier("storage.errno", ("storage",), "type", _has_errno, storage_code),
    Classifier("errno", (), "type", _has_errno, _errno_name),
    Classifier("os", (), "type", ("builtins.OSError",), _os_code),
)
