"""Failures at the provider: each becomes one coded `LlmError`, whatever shape it has."""

import asyncio
import json
import pickle
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import pytest
from dsh_llm import (
    FinishChunk,
    Llm,
    LlmError,
    Message,
    ModelRequest,
    TextBlock,
    TextDelta,
    scrub,
)
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import FakeClock, LoopbackServer, Reply

REQUEST = ModelRequest("m", [Message("user", (TextBlock("hi"),))])
KEY = "sk-secret-0123456789"
NOW = 1_700_000_000_000  # Tue, 14 Nov 2023 22:13:20 GMT


def fails(
    status: int, body: Any, headers: Mapping[str, str] | None = None, *, key: str = KEY
) -> LlmError:
    """Return the error of a call that is answered with *body*, exactly one request long."""
    raw = (body if isinstance(body, str) else json.dumps(body)).encode()
    return asyncio.run(_fails(Reply(status, headers or {}, (raw,)), key))


async def _fails(reply: Reply, key: str) -> LlmError:
    async with LoopbackServer([reply]) as server:
        adapter = OpenAIAdapter("m", base_url=server.url, api_key=key, clock=FakeClock(NOW))
        async with aclosing(adapter):
            with pytest.raises(LlmError) as raised:
                _ = [chunk async for chunk in adapter.stream(REQUEST)]
    assert len(server.received) == 1
    return raised.value


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"error": {"message": "temperature must be at most 2"}}, "INVALID_REQUEST"),
        (
            400,
            {"error": {"code": "context_length_exceeded", "message": "too much"}},
            "CONTEXT_WINDOW_EXCEEDED",
        ),
        (
            400,
            {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}},
            "CONTEXT_WINDOW_EXCEEDED",
        ),
        (
            400,
            {"error": {"message": "Input tokens exceed the configured limit of 1000 tokens."}},
            "CONTEXT_WINDOW_EXCEEDED",
        ),
        (
            400,
            {"error": {"type": "exceed_context_size_error", "code": 400}},
            "CONTEXT_WINDOW_EXCEEDED",
        ),
        (
            400,
            {
                "error": {
                    "message": "insufficient quota for this account",
                    "code": "insufficientquota",
                }
            },
            "QUOTA",
        ),
        (400, {"error": {"message": "you reached your monthly limit"}}, "QUOTA"),
        (400, {"error": {"message": "blocked by our content policy"}}, "CONTENT_FILTER"),
        (400, {"error": {"code": "content_filter"}}, "CONTENT_FILTER"),
        (400, {"error": {"code": "model_not_found"}}, "MODEL_NOT_FOUND"),
        (401, {"error": {"message": "no such key"}}, "AUTH"),
        (403, {"detail": "not yours"}, "AUTH"),
        (403, {"message": "usage limit reached"}, "QUOTA"),
        (402, {"error": {"message": "Insufficient Balance"}}, "QUOTA"),
        (402, {"error": {"message": "rate limit, try again later"}}, "RATE_LIMIT"),
        (404, {"error": "model 'nope' not found"}, "MODEL_NOT_FOUND"),
        (404, {"error": {"message": "gone", "param": "model"}}, "MODEL_NOT_FOUND"),
        (404, {"detail": "Not Found"}, "HTTP_404"),
        (408, "", "TIMEOUT"),
        (409, "", "HTTP_409"),
        (413, {"error": {"message": "request too large"}}, "CONTEXT_WINDOW_EXCEEDED"),
        (
            413,
            {"error": {"message": "tokens per minute", "code": "rate_limit_exceeded"}},
            "CONTEXT_WINDOW_EXCEEDED",
        ),
        (418, "short and stout", "HTTP_418"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}, "bad"]}, "INVALID_REQUEST"),
        (429, {"error": {"message": "Out of credit.", "code": "insufficient_quota"}}, "QUOTA"),
        (429, {"error": {"message": "quota exceeded for requests per minute"}}, "RATE_LIMIT"),
        (429, {"error": {"code": "rate_limit_exceeded"}}, "RATE_LIMIT"),
        (500, "", "SERVER"),
        (502, "<!DOCTYPE html><h1>Bad gateway</h1>", "SERVER"),
        (504, "", "TIMEOUT"),
        (524, "", "SERVER"),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            "SERVER",
        ),
    ],
)
def test_a_response_that_is_no_success_is_coded_and_keeps_its_status(
    status: int, body: Any, code: str
) -> None:
    """Exact names count first, then the status, and words only where a status allows them."""
    error = fails(status, body)
    assert (error.code, error.status) == (code, status)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": " No such key. "}}, "No such key."),
        (
            {"error": "bad_credentials", "message": "Bad credentials"},
            "bad_credentials: Bad credentials",
        ),
        ({"error": "text alone"}, "text alone"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"detail": "Not Found"}, "Not Found"),
        (
            {"detail": [{"msg": "field required"}, {"loc": 1}, "bad"]},
            'field required; {"loc": 1}; bad',
        ),
        ({"error": {"message": {"detail": "deep"}}}, '{"detail": "deep"}'),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "slow\n down"}}},
            "Provider returned error: slow down",
        ),
        ({"error": {"message": "x" * 5000}}, "x" * 1000),
        ({}, "HTTP 400: no message"),
        ([], "HTTP 400: no message"),
        (7, "HTTP 400: no message"),
        ("", "HTTP 400: no message"),
        ("Not \n Found", "HTTP 400: Not Found"),
        ("<html><style>b {}</style><h1>Bad</h1> <p>gateway", "HTTP 400: Bad gateway"),
        ("y" * 300, f"HTTP 400: {'y' * 200}..."),
    ],
)
def test_the_message_is_the_providers_own_and_bounded(body: Any, message: str) -> None:
    """Every usual shape is read; of what is no JSON an excerpt is shown."""
    assert fails(400, body).message == message


def test_the_providers_own_names_and_the_request_id_are_kept() -> None:
    """Support asks for them."""
    body = {"error": {"message": "no", "code": "weird", "type": "odd", "param": "messages[0]"}}
    error = fails(400, body, {"x-request-id": "req-1"})
    assert error.request_id == "req-1"
    assert error.context == {
        "classified_by": "provider.status",
        "provider_code": "weird",
        "provider_type": "odd",
        "provider_param": "messages[0]",
    }
    assert error.cause is None or KEY not in repr(error.cause)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:25 GMT"}, 5.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:25 -0000"}, 5.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:15 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Tue, 99 Nov 2023 22:13:15 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_never_negative_and_absent_when_malformed(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Milliseconds, seconds and dates are understood."""
    assert fails(429, {"error": {"message": "slow"}}, headers).retry_after == seconds


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        ({"id": "g1", "error": {"code": 429, "message": "upstream limit"}}, "RATE_LIMIT", 429),
        ({"error": {"code": "502", "message": "capacity"}}, "SERVER", 502),
        ({"error": {"code": True, "message": "capacity"}}, "UNKNOWN", None),
        ({"object": "error", "message": "no", "code": 400}, "INVALID_REQUEST", 400),
        ({"error": {"type": "authentication_error"}}, "AUTH", None),
        ({"error": {"message": "maximum context length is 10"}}, "CONTEXT_WINDOW_EXCEEDED", None),
        ([{"error": {"message": "rate limit"}}], "RATE_LIMIT", None),
        ({"choices": [{"error": {"code": 503, "message": "upstream"}}]}, "SERVER", 503),
        ({"error": {"unheard": "of"}}, "UNKNOWN", None),
    ],
)
def test_an_error_in_the_body_of_a_success_is_that_error(
    body: Any, code: str, status: int | None
) -> None:
    """Whether it is the whole body or an event of a stream."""
    error = fails(200, body, {"x-request-id": "req-1"})
    assert (error.code, error.status, error.request_id) == (code, status, "req-1")
    if isinstance(body, dict):
        event = fails(200, f"data: {json.dumps(body)}\n\n")
        assert (event.code, event.status) == (code, status)


def test_an_error_in_the_middle_of_a_stream_comes_after_what_was_said() -> None:
    """Deltas are live, and what follows the error is not looked at."""
    said = 'data: {"choices":[{"index":0,"delta":{"content":"Par"}}]}\n\n'
    busy = 'data: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    body = (said + "event: error\n" + busy + said + "data: [DONE]\n\n").encode()

    async def main() -> None:
        async with (
            LoopbackServer([Reply(pieces=(body,))]) as server,
            aclosing(OpenAIAdapter("m", base_url=server.url)) as adapter,
        ):
            llm = Llm()
            llm.register("m", adapter)
            chunks = [chunk async for chunk in llm.stream(REQUEST)]
        assert [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)] == ["Par"]
        last = chunks[-1]
        assert isinstance(last, FinishChunk)
        assert (last.reason.code, last.reason.message) == ("SERVER", "busy")

    asyncio.run(main())


def test_an_error_event_may_have_any_data() -> None:
    """Its name says enough."""
    assert fails(200, "event: error\ndata: it broke\n\n").message == "it broke"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<!DOCTYPE html><p>Please log in", "neither JSON nor an event stream: Please log in"),
        ("Not Found", "neither JSON nor an event stream: Not Found"),
        ('{"choices": [', "neither JSON nor an event stream"),
        ('{"data": {"choices": []}, "success": true}', "the answer has no choices"),
        ('{"choices": []}', "the answer has no choices"),
        ('{"choices": {"a": 1}}', "choices is not a list"),
        ("[1, 2]", "the answer is not an object"),
        ("data: {oops\n\n", "an event is not JSON: {oops"),
        ("data: " + "[" * 100_000 + "\n\n", "an event is not JSON"),
        ("data: 7\n\n", "an event is not an object: 7"),
        ('data: {"choices": [null]}\n\n', "a choice is not an object: None"),
        ('data: {"choices": [{"delta": "x"}]}\n\n', "a delta is not an object"),
        (
            'data: {"choices": [{"delta": {"tool_calls": [null]}}]}\n\n',
            "a tool call is not an object",
        ),
        ('data: {"choices": [{"delta": {"tool_calls": "x"}}]}\n\n', "tool_calls is not a list"),
    ],
)
def test_a_body_that_makes_no_sense_is_a_malformed_response(body: str, message: str) -> None:
    """With a bounded excerpt, and no error of the parser's own."""
    error = fails(200, body)
    assert error.code == "MALFORMED_RESPONSE"
    assert message in error.message
    assert len(error.message) < 250


def test_a_stream_of_comments_alone_was_cut_off() -> None:
    """It was a stream at least."""
    assert fails(200, ": waiting\n\n").code == "STREAM_CLOSED"


def test_the_key_is_in_no_part_of_an_error() -> None:
    """Not when the server echoes it either."""
    body = {"error": {"message": f"Incorrect API key {KEY}", "code": f"{KEY}"}}
    for status in (401, 200):
        error = fails(status, body)
        shown = (
            f"{error!r} {error} {error.context} {error.args} {error.cause!r} {error.__context__!r}"
        )
        assert KEY not in shown + repr(pickle.loads(pickle.dumps(error)))  # noqa: S301  # Why: our own bytes
        assert "***" in error.message
    assert fails(401, {"error": {"message": "a k in it"}}, key="k").message == "a k in it"


def test_the_adapters_credentials_are_kept_out_of_everything_that_leaves() -> None:
    """Its key, and what its own headers hold under a secret's name, however opaque."""
    key, token = "opaque-key-of-nobody", "opaque-token-of-nobody"
    headers = {"X-Auth-Token": token, "X-Plan": "opaque-plan-of-nobody"}
    OpenAIAdapter("m", base_url="http://x.test", api_key=key, extra_headers=headers)
    assert scrub(f"{key} {token} opaque-plan-of-nobody") == "*** *** opaque-plan-of-nobody"


def test_an_error_crosses_processes_whole() -> None:
    """Code, status, request id and the wait survive pickling."""
    error = fails(529, {"error": {"message": "busy"}}, {"x-request-id": "r", "retry-after": "3"})
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301  # Why: our own bytes
    assert (twin.code, twin.status, twin.request_id, twin.retry_after, str(twin)) == (
        "SERVER",
        529,
        "r",
        3.0,
        "busy",
    )
