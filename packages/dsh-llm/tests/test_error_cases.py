"""Reported mistakes of harnesses about a provider's failures, each as one small answer of it."""

import asyncio
import copy
import json
import pickle
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

import pytest
from dsh_llm import Advice, LlmError, Message, ModelRequest, TextBlock, advise
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import FakeClock, LoopbackServer, Reply

REQUEST = ModelRequest("m", [Message("user", (TextBlock("hi"),))])
NOW = 4_096_250_880_000  # Wed, 21 Oct 2099 07:28:00 GMT
HTML = "<!DOCTYPE html><h1>Bad gateway</h1>"


class Met(NamedTuple):
    """What a caller meets: the error, and the advice about it."""

    error: LlmError
    advice: Advice


def meet(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Met:
    """Answer one call with *body*; whatever comes, it is one request and one coded error."""
    raw = body if isinstance(body, str) else json.dumps(body)
    error = asyncio.run(_failed(Reply(status, headers or {}, (raw.encode(),))))
    return Met(error, advise(error))


async def _failed(reply: Reply) -> LlmError:
    async with LoopbackServer([reply]) as server:
        adapter = OpenAIAdapter("m", base_url=server.url, clock=FakeClock(NOW))
        async with aclosing(adapter):
            with pytest.raises(LlmError) as caught:
                _ = [chunk async for chunk in adapter.stream(REQUEST)]
    assert len(server.received) == 1
    return caught.value


@pytest.mark.parametrize("status", [500, 502, 503, 520, 521, 522, 523, 524, 529])
def test_an_overloaded_server_is_tried_again(status: int) -> None:
    """With its own status, never as something unknown."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    error, advice = meet(status, body)
    assert (error.code, error.status, advice.retry) == ("SERVER", status, True)
    assert advice.after is not None


def test_spent_money_is_no_rate_limit() -> None:
    """Both come as 429; only the second is worth a wait, of as long as it says."""
    message = "Out of credit."
    spent = meet(
        429,
        {
            "error": {
                "message": message,
                "type": "insufficient_quota",
                "code": "insufficient_quota",
            }
        },
    )
    slow = meet(
        429,
        {"error": {"message": "Slow.", "type": "requests", "code": "rate_limit_exceeded"}},
        {"retry-after": "2"},
    )
    assert (spent.error.code, spent.error.status, spent.advice.retry) == ("QUOTA", 429, False)
    assert (slow.error.code, slow.advice.retry, slow.advice.after) == ("RATE_LIMIT", True, 2.0)


@pytest.mark.parametrize(
    "message",
    [
        "Quota exceeded for quota metric 'Requests per minute'",
        "You exceeded your current quota, please retry in 5 s",
        "Resource has been exhausted (e.g. check quota).",
    ],
)
def test_a_passing_limit_that_says_quota_is_a_rate_limit(message: str) -> None:
    """Vendors write so of limits per minute; without an exact code it is retried."""
    error, advice = meet(429, {"error": {"message": message}})
    assert (error.code, advice.retry) == ("RATE_LIMIT", True)


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, {"message": "insufficient quota here", "code": "insufficientquota"}, "QUOTA"),
        (402, {"message": "Insufficient Balance"}, "QUOTA"),
        (400, {"message": "temperature is too high"}, "INVALID_REQUEST"),
        (401, {"message": "no such key"}, "AUTH"),
        (400, {"message": "refused by the content policy"}, "CONTENT_FILTER"),
    ],
)
def test_what_does_not_pass_is_not_tried_again(
    status: int, error: dict[str, str], code: str
) -> None:
    """Not the spent quota that comes as 400, and none of the others."""
    found, advice = meet(status, {"error": error})
    assert (found.code, found.status, advice.retry) == (code, status, False)


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Wed, 21 Oct 2099 07:28:05 GMT", 5.0),
        ("Wed, 21 Oct 2099 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2099", None),
        ("tomorrow", None),
    ],
)
def test_a_date_to_wait_for_counts_from_now(date: str, seconds: float | None) -> None:
    """Never a negative wait, and what is no date says nothing."""
    error, advice = meet(429, {"error": {"message": "slow"}}, {"retry-after": date})
    assert error.retry_after == seconds
    assert advice.retry
    assert advice.after is not None
    assert advice.after >= 0


def test_a_wait_of_an_hour_stops_this_run() -> None:
    """The time is kept for whoever is told."""
    error, advice = meet(429, {"error": {"message": "slow"}}, {"retry-after": "3600"})
    assert (error.retry_after, advice.retry, advice.after) == (3600.0, False, 3600.0)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "context_length_exceeded", "message": "at most 8192, you asked for 9000"}),
        (400, {"message": "maximum context length is 8192 tokens, you asked for 9000"}),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8 maximum"}),
        (400, {"message": "Input tokens exceed the configured limit of 1000 tokens."}),
        (400, {"message": "prompt too long; exceeded max context length by 9 tokens"}),
        (400, {"message": "Your input exceeds the context window of this model."}),
        (400, {"message": "The input token count (9) exceeds the maximum number of tokens (8)."}),
        (400, {"message": "Input is too long for requested model."}),
        (400, {"message": "the request exceeds the available context size"}),
        (400, {"message": "Your request exceeded model token limit: 8192 (requested: 9000)"}),
        (400, {"message": "The number of tokens in your prompt exceeds the model limit"}),
        (400, {"message": "`inputs` tokens + `max_new_tokens` must be <= 4096"}),
        (400, {"message": "Range of input length should be [1, 6000]"}),
        (400, {"message": "input length and `max_tokens` exceed context limit: 9 + 8 > 8"}),
        (400, {"message": "Context size has been exceeded."}),
        (400, {"message": "The conversation does not fit into the context window."}),
        (400, {"message": "context length of only 4096 tokens, which is not enough"}),
        (400, {"message": "invalid params, context window exceeds limit"}),
        (400, {"message": "The prompt is longer than the model's context length"}),
        (413, {"message": "request too large"}),
    ],
)
def test_an_overflow_is_one_in_every_providers_words(status: int, error: dict[str, str]) -> None:
    """With the original status, and not sent again unchanged."""
    found, advice = meet(status, {"error": error})
    assert (found.code, found.status) == ("CONTEXT_WINDOW_EXCEEDED", status)
    assert (advice.retry, advice.action) == (False, "compact")


@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: context window must be int",
        "`messages` field: context_length parameter unknown",
        "max_context_length is not a known parameter",
        "the context limit has to be positive",
    ],
)
def test_a_wrong_parameter_about_the_context_is_no_overflow(message: str) -> None:
    """A shorter request would be refused in the same way, so nothing is compacted."""
    found, advice = meet(400, {"error": {"message": message}})
    assert (found.code, advice.retry) == ("INVALID_REQUEST", False)
    assert advice.action != "compact"


def test_a_failure_inside_a_success_is_that_failure() -> None:
    """Whole or as an event of a stream, with the status that it names."""
    limited = meet(200, {"id": "g1", "error": {"code": 429, "message": "upstream limit"}})
    assert (limited.error.code, limited.error.status) == ("RATE_LIMIT", 429)
    lost = meet(200, 'data: {"error":{"message":"capacity","code":502}}\n\ndata: [DONE]\n\n')
    assert (lost.error.code, lost.error.status, lost.advice.retry) == ("SERVER", 502, True)
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    typed = meet(200, f"event: error\ndata: {json.dumps(busy)}\n\n")
    assert (typed.error.code, typed.advice.retry) == ("SERVER", True)


def test_html_is_no_answer() -> None:
    """Its excerpt is bounded, and no error of a parser escapes."""
    gateway, empty = meet(502, HTML + "x" * 10_000), meet(500, "")
    assert (gateway.error.code, gateway.error.status) == ("SERVER", 502)
    assert "Bad gateway" in gateway.error.message
    assert len(gateway.error.message) < 300
    assert (empty.error.code, empty.error.status) == ("SERVER", 500)
    assert meet(200, "<!DOCTYPE html>login").error.code == "MALFORMED_RESPONSE"
    wrapped = meet(200, {"data": {"choices": []}, "success": True})
    assert wrapped.error.code == "MALFORMED_RESPONSE"


def test_an_error_survives_pickle_and_copy() -> None:
    """With class, code, status, wait and verdict."""
    busy = {"error": {"message": "busy", "type": "overloaded_error"}}
    error, advice = meet(529, busy, {"retry-after": "3"})
    for twin in (
        pickle.loads(pickle.dumps(error)),  # noqa: S301  # Why: our own bytes
        copy.copy(error),
        copy.deepcopy(error),
    ):
        assert type(twin) is LlmError
        assert (twin.code, twin.status, str(twin)) == (error.code, error.status, str(error))
        assert (twin.retry_after, twin.retryable) == (3.0, True)
        assert advise(twin) == advice
