"""Exceptions of Python and of well-known libraries, by class and error number."""

import asyncio
import concurrent.futures
import errno
import http.client
import json
import socket
import sqlite3
import ssl
import urllib.error
from collections.abc import Callable
from email.message import Message as Headers
from pathlib import Path
from typing import Any, cast

import httpx2
import openai
import pydantic
import pytest
from dsh_llm import LlmError, Seam, SystemCallError, classify_error, try_classify

URL = "http://model.test/v1"
REQUEST = httpx2.Request("POST", URL)
EVERYWHERE: tuple[Seam, ...] = (
    "provider",
    "tool",
    "storage",
    "session",
    "caller",
    "sync",
    "job",
    "runtime",
)


def raised_by(work: Callable[[], object]) -> Exception:
    """Return what *work* raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # Why: which one it is, is what is asked
        work()
    return caught.value


def linked(error: Exception, cause: Exception) -> Exception:
    """Return *error* as it is after having been raised from *cause*."""
    error.__cause__ = cause
    return error


def foreign(module: str, *names: str) -> Any:
    """Return a class of *module* that is called as the last of *names*, and inherits the others."""
    kind: Any = Exception
    for name in names:
        kind = type(name, (kind,), {"__module__": module})
    return kind


@pytest.mark.parametrize("seam", EVERYWHERE)
@pytest.mark.parametrize(
    "raised",
    [
        asyncio.CancelledError(),
        concurrent.futures.CancelledError(),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        BaseException("of a foreign kind"),
    ],
)
def test_what_was_stopped_is_aborted_everywhere(seam: Seam, raised: BaseException) -> None:
    """An outcome, no fault; the original is the cause, for whoever re-raises it."""
    error = classify_error(raised, seam=seam)
    assert (error.code, error.code_num, error.cause) == ("ABORTED", 11004, raised)


@pytest.mark.parametrize(
    ("seam", "code"),
    [
        ("provider", "TIMEOUT"),
        ("tool", "TOOL_TIMEOUT"),
        ("storage", "STORAGE_READ_FAILED"),
        ("session", "TRANSPORT"),
        ("caller", "TRANSPORT"),
        ("sync", "SYNC_NETWORK_ERROR"),
        ("job", "JOB_DISPATCH_FAILED"),
        ("runtime", "TRANSPORT"),
    ],
)
def test_a_timeout_is_named_by_the_scope_that_owns_it(seam: Seam, code: str) -> None:
    """Only at the provider's seam is it a provider who was late (5007)."""
    error = classify_error(TimeoutError("slow"), seam=seam)
    assert error.code == code
    assert (error.code_num == 5007) == (seam == "provider")


@pytest.mark.parametrize(
    ("seam", "code"),
    [
        ("provider", "TRANSPORT"),
        ("tool", "ECONNRESET"),
        ("storage", "STORAGE_READ_FAILED"),
        ("session", "TRANSPORT"),
        ("caller", "TRANSPORT"),
        ("sync", "SYNC_NETWORK_ERROR"),
        ("job", "JOB_DISPATCH_FAILED"),
        ("runtime", "TRANSPORT"),
    ],
)
def test_a_lost_connection_is_the_network_but_a_tools_errno_keeps_its_name(
    seam: Seam, code: str
) -> None:
    """By class and by number alike."""
    assert classify_error(ConnectionResetError(errno.ECONNRESET, "x"), seam=seam).code == code
    unreachable = OSError(errno.EHOSTUNREACH, "x")
    expected = "EHOSTUNREACH" if seam == "tool" else code
    assert classify_error(unreachable, seam=seam).code == expected


def test_connection_errors_without_a_number_are_the_network_for_tools_too() -> None:
    """Names that cannot be resolved and certificates have numbers that are no errno."""
    for error in (
        ConnectionError("gone"),
        socket.gaierror(-2, "Name or service not known"),
        ssl.SSLError(1, "wrong version"),
        http.client.RemoteDisconnected("closed"),
        http.client.IncompleteRead(b"x"),
        urllib.error.URLError("x"),
        httpx2.ConnectError("x"),
    ):
        assert classify_error(error, seam="tool").code == "TRANSPORT"


def test_an_error_of_the_system_has_the_name_of_its_number() -> None:
    """It stays an `OSError`; what the numbering does not know keeps the number."""
    denied = classify_error(PermissionError(errno.EACCES, "x", "f"), seam="tool")
    assert isinstance(denied, SystemCallError)
    assert (denied.code, denied.filename) == ("EACCES", "f")
    assert denied.context["classified_by"] == "errno"
    assert classify_error(OSError(9999, "x"), seam="runtime").code == "ERRNO_9999"
    assert classify_error(FileNotFoundError(errno.ENOENT, "x"), seam="provider").code == "ENOENT"
    timed_out = classify_error(OSError(errno.ETIMEDOUT, "x"), seam="tool")
    assert timed_out.code == "ETIMEDOUT"


def test_an_error_of_the_system_without_a_number() -> None:
    """Only at the far sides does it mean the network."""
    codes = {seam: classify_error(OSError("x"), seam=seam).code for seam in EVERYWHERE}
    assert codes == {
        "provider": "TRANSPORT",
        "tool": "TOOL_EXECUTION_FAILED",
        "storage": "STORAGE_READ_FAILED",
        "session": "TRANSPORT",
        "caller": "TRANSPORT",
        "sync": "SYNC_NETWORK_ERROR",
        "job": "JOB_DISPATCH_FAILED",
        "runtime": "UNKNOWN",
    }
    assert try_classify(OSError("x"), seam="tool") is None
    assert try_classify(OSError("text", "text"), seam="tool") is None


@pytest.mark.parametrize(
    ("number", "sent", "code"),
    [
        (errno.ENOSPC, True, "STORAGE_QUOTA_EXCEEDED"),
        (errno.EDQUOT, None, "STORAGE_QUOTA_EXCEEDED"),
        (errno.EROFS, None, "STORAGE_WRITE_FAILED"),
        (errno.EIO, True, "STORAGE_WRITE_FAILED"),
        (errno.EIO, False, "STORAGE_READ_FAILED"),
        (errno.ENOENT, None, "STORAGE_READ_FAILED"),
    ],
)
def test_a_storage_failed_to_write_or_to_read(number: int, sent: bool | None, code: str) -> None:  # noqa: FBT001  # Why: a row of the table
    """`sent` says which, and a full disk is its own failure."""
    assert classify_error(OSError(number, "x"), seam="storage", sent=sent).code == code


def test_whether_anything_was_sent_is_the_effect() -> None:
    """What was never sent has no effect; what went silent may have one."""
    lost = ConnectionResetError(errno.ECONNRESET, "x")
    assert classify_error(lost, seam="provider").effect == "unknown"
    assert classify_error(lost, seam="provider", sent=True).effect == "unknown"
    assert classify_error(lost, seam="provider", sent=False).effect == "none"
    assert classify_error(TimeoutError(), seam="tool", sent=False).effect == "none"
    refused = linked(openai.APIConnectionError(request=REQUEST), httpx2.ConnectError("x"))
    for never in (ConnectionRefusedError("x"), OSError(errno.ENETUNREACH, "x"), refused):
        assert classify_error(never, seam="provider").effect == "none"
    far: Exception = httpx2.ConnectError("x")
    for _ in range(5):
        far = linked(ConnectionError("x"), far)
    assert classify_error(far, seam="provider").effect == "unknown"
    broken = linked(openai.APIConnectionError(request=REQUEST), httpx2.ReadError("x"))
    assert classify_error(broken, seam="provider").effect == "unknown"


def test_a_certificate_does_not_get_better_by_trying_again() -> None:
    """Also behind the layers of an SDK."""
    error = ssl.SSLCertVerificationError(1, "self-signed")
    wrapped = linked(
        openai.APIConnectionError(request=REQUEST), linked(httpx2.ConnectError("x"), error)
    )
    for raised in (error, wrapped):
        found = classify_error(raised, seam="provider")
        assert (found.code, found.retryable, found.effect) == ("TRANSPORT", False, "none")
    assert classify_error(httpx2.ConnectError("x"), seam="provider").retryable is True


def answer(status: int, body: Any = None, **headers: str) -> httpx2.Response:
    """Return a response of a provider."""
    return httpx2.Response(status, json=body or {}, headers=headers, request=REQUEST)


def test_errors_of_the_openai_sdk() -> None:
    """By the body's code, the class, the status and at last the words."""
    spent: dict[str, Any] = {"code": "insufficient_quota", "message": "You exceeded your quota"}
    response = answer(429, **{"x-request-id": "r-1", "retry-after": "3"})
    error = classify_error(
        openai.RateLimitError("text", response=response, body=spent), seam="provider"
    )
    assert isinstance(error, LlmError)
    assert (error.code, error.status, error.request_id) == ("QUOTA", 429, "r-1")
    assert (error.message, error.retry_after) == ("You exceeded your quota", 3.0)
    for raised, code in (
        (openai.RateLimitError("quota", response=answer(429), body=None), "RATE_LIMIT"),
        (openai.AuthenticationError("x", response=answer(401), body=None), "AUTH"),
        (openai.APITimeoutError(REQUEST), "TIMEOUT"),
        (openai.APIConnectionError(request=REQUEST), "TRANSPORT"),
        (openai.APIResponseValidationError(answer(200), None), "MALFORMED_RESPONSE"),
        (openai.APIError("busy", REQUEST, body={"type": "server_error"}), "SERVER"),
        (openai.ContentFilterFinishReasonError(), "CONTENT_FILTER"),
        (openai.OpenAIError("The api_key client option must be set"), "MISSING_CREDENTIAL"),
    ):
        assert classify_error(raised, seam="provider").code == code


def test_errors_of_the_anthropic_sdk() -> None:
    """Recognised by the names of module and classes, the SDK need not be there."""
    status_error = foreign("anthropic", "AnthropicError", "APIError", "APIStatusError")
    busy = status_error("x")
    busy.status_code = 529
    busy.body = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    busy.response = answer(529, **{"request-id": "r-9"})
    error = classify_error(busy, seam="provider")
    assert isinstance(error, LlmError)
    assert (error.code, error.status, error.request_id) == ("SERVER", 529, "r-9")

    poor = status_error("x")
    poor.status_code, poor.type = 400, "billing_error"
    assert classify_error(poor, seam="provider").code == "QUOTA"
    lost = foreign("anthropic._exceptions", "APIError", "APIConnectionError")
    slow = foreign("anthropic._exceptions", "APIError", "APIConnectionError", "APITimeoutError")
    assert classify_error(lost("x"), seam="provider").code == "TRANSPORT"
    assert classify_error(slow("x"), seam="provider").code == "TIMEOUT"


def test_errors_of_httpx() -> None:
    """Of both its packages; a body that nobody has read is left alone."""
    for raised, code in (
        (httpx2.ReadTimeout("x"), "TIMEOUT"),
        (httpx2.RemoteProtocolError("x"), "TRANSPORT"),
        (httpx2.UnsupportedProtocol("x"), "INVALID_REQUEST"),
        (httpx2.DecodingError("x"), "MALFORMED_RESPONSE"),
        (foreign("httpx", "RequestError", "TransportError", "NetworkError")("x"), "TRANSPORT"),
    ):
        assert classify_error(raised, seam="provider").code == code
    body = {"error": {"code": "context_length_exceeded", "message": "too much"}}
    raised = raised_by(answer(400, body).raise_for_status)
    assert classify_error(raised, seam="provider").code == "CONTEXT_WINDOW_EXCEEDED"

    class Never(httpx2.SyncByteStream):
        pass

    unread = httpx2.Response(503, stream=Never(), request=REQUEST)
    error = classify_error(raised_by(unread.raise_for_status), seam="provider")
    assert (error.code, error.context["original_type"]) == ("SERVER", "httpx2.HTTPStatusError")


def test_errors_of_urllib_and_botocore() -> None:
    """Whose statuses and names stand elsewhere."""
    limited = urllib.error.HTTPError(URL, 429, "x", Headers(), None)
    for seam, code in (("provider", "RATE_LIMIT"), ("tool", "TOOL_EXECUTION_FAILED")):
        assert classify_error(limited, seam=cast("Seam", seam)).code == code
    throttled = foreign("botocore.exceptions", "ClientError")("x")
    throttled.response = {"Error": {"Code": "ThrottlingException", "Message": "slow"}}
    error = classify_error(throttled, seam="provider")
    assert (error.code, error.message) == ("RATE_LIMIT", "slow")
    throttled.response = {"Error": "odd"}
    assert classify_error(throttled, seam="provider").code == "UNKNOWN"


def failing(script: str, *, path: Path | str = ":memory:", timeout: float = 0) -> Exception:
    """Return what sqlite raises at *script*."""
    base = sqlite3.connect(path, timeout=timeout)
    try:
        return raised_by(lambda: base.executescript(script))
    finally:
        base.close()


def test_errors_of_sqlite(tmp_path: Path) -> None:
    """By sqlite's own name; what lasts is not retried."""
    missing = failing("select * from absent")
    twice = failing("create table t (a unique); insert into t values (1), (1)")
    junk = tmp_path / "junk"
    junk.write_bytes(b"no database, but long enough to be read as one" * 40)
    damaged = failing("select * from t", path=junk)
    base = sqlite3.connect(tmp_path / "db", isolation_level=None)
    base.execute("create table t (a)")
    base.execute("begin exclusive")
    locked = failing("insert into t values (1)", path=tmp_path / "db")
    closed = raised_by(lambda: base.close() or base.execute("select 1"))
    odd = sqlite3.OperationalError("odd")
    codes = {
        "missing": (missing, "SESSION_SCHEMA_MISMATCH", "SESSION_SCHEMA_MISMATCH"),
        "twice": (twice, "STORAGE_WRITE_FAILED", "SESSION_CONFLICT"),
        "damaged": (damaged, "STORAGE_READ_FAILED", "STORAGE_READ_FAILED"),
        "locked": (locked, "STORAGE_WRITE_FAILED", "SESSION_LOCKED"),
        "closed": (closed, "VALIDATION_INVALID_INPUT", "VALIDATION_INVALID_INPUT"),
        "odd": (odd, "STORAGE_WRITE_FAILED", "STORAGE_WRITE_FAILED"),
    }
    for name, (error, at_storage, at_session) in codes.items():
        assert classify_error(error, seam="storage", sent=True).code == at_storage, name
        assert classify_error(error, seam="session", sent=True).code == at_session, name
    assert classify_error(damaged, seam="storage").retryable is False
    assert classify_error(twice, seam="storage").retryable is False
    found = classify_error(locked, seam="storage")
    assert (found.retryable, found.context["sqlite"]) == (True, "SQLITE_BUSY")


@pytest.mark.parametrize(
    ("seam", "code"),
    [
        ("provider", "MALFORMED_RESPONSE"),
        ("storage", "STORAGE_READ_FAILED"),
        ("session", "STORAGE_READ_FAILED"),
        ("caller", "VALIDATION_INVALID_INPUT"),
        ("runtime", "VALIDATION_INVALID_INPUT"),
        ("tool", "TOOL_EXECUTION_FAILED"),
    ],
)
def test_broken_json_means_what_was_being_read(seam: Seam, code: str) -> None:
    """A provider's answer, a stored row, a caller's input."""
    broken = raised_by(lambda: json.loads("{"))
    assert classify_error(broken, seam=seam).code == code


class Order(pydantic.BaseModel):
    """Something that pydantic checks."""

    count: int
    password: str


def rejected(value: Any) -> Exception:
    """Return what pydantic raises at *value*."""
    return raised_by(lambda: Order.model_validate(value, strict=True))


def test_what_pydantic_rejects() -> None:
    """Missing, of the wrong type, or otherwise wrong; the input itself is not quoted."""
    missing = classify_error(rejected({"count": 1}), seam="caller")
    mistyped = classify_error(rejected({"count": "hush", "password": 7}), seam="caller")
    both = classify_error(rejected({"count": "hush"}), seam="caller")

    assert (missing.code_num, missing.message) == (7002, "password: Field required")
    assert mistyped.code_num == 7003
    assert "hush" not in mistyped.message
    assert both.code_num == 7001
    assert classify_error(rejected({}), seam="provider").code == "MALFORMED_RESPONSE"
    assert classify_error(rejected({}), seam="storage").code == "STORAGE_READ_FAILED"
    assert classify_error(rejected({}), seam="tool").code == "TOOL_EXECUTION_FAILED"
    assert try_classify(rejected({}), seam="tool") is None


def test_many_violations_are_bounded() -> None:
    """And one about the whole value has a place too."""
    many = raised_by(lambda: pydantic.TypeAdapter(list[int]).validate_python(["x"] * 25))
    told = classify_error(many, seam="runtime").message
    assert told.endswith("; and 5 more")
    whole = raised_by(lambda: pydantic.TypeAdapter(int).validate_python("x"))
    assert classify_error(whole, seam="runtime").message.startswith("value: ")


def test_a_validation_error_of_another_kind_is_skipped() -> None:
    """When it cannot say what is wrong."""
    odd = foreign("pydantic", "ValidationError")("x")
    error = classify_error(odd, seam="runtime")
    assert (error.code, error.context["skipped_classifiers"]) == ("UNKNOWN", "pydantic")
