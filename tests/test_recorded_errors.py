"""Every recorded error body of a real provider has the right code, and one that means something.

The recordings are not part of this repository; they are looked for beside the checkout.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from dsh_llm import LlmError, classify_error, error_info

RECORDING = Path(__file__).parents[2] / "shared" / "data" / "provider_traffic" / "errors.jsonl"

pytestmark = pytest.mark.skipif(
    not RECORDING.is_file(), reason="the recorded errors are not beside this checkout"
)

BY_NAME: Final = {
    "invalid_api_key": "AUTH",
    "authentication_error": "AUTH",
    "rate_limit_error": "RATE_LIMIT",
    "RateLimitReached": "RATE_LIMIT",
    "model_not_found": "MODEL_NOT_FOUND",
    "not_found_error": "MODEL_NOT_FOUND",
    "DeploymentNotFound": "MODEL_NOT_FOUND",
    "context_length_exceeded": "CONTEXT_WINDOW_EXCEEDED",
    "too_many_prompt_tokens": "CONTEXT_WINDOW_EXCEEDED",
}
BY_WORDS: Final = {
    "maximum context length": "CONTEXT_WINDOW_EXCEEDED",
    "prompt is too long": "CONTEXT_WINDOW_EXCEEDED",
    "prompt too long": "CONTEXT_WINDOW_EXCEEDED",
    "Incorrect API key provided": "AUTH",
}
"""What a reader of the body says; of the others the status says it."""
BY_STATUS: Final = {400: "INVALID_REQUEST", 401: "AUTH", 404: "MODEL_NOT_FOUND", 429: "RATE_LIMIT"}
NO_ROUTE: Final = {"Not Found", '{"error":{"code":"404","message": "Resource not found"}}'}


class Recorded(NamedTuple):
    """One recorded failure."""

    provider: str
    status: int
    headers: dict[str, str]
    body: str


class ResponseError(Exception):
    """What an HTTP library raises for it."""

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(f"{recorded.provider}: HTTP {recorded.status}")
        self.status_code = recorded.status
        self.headers = recorded.headers
        self.body = parsed(recorded.body)


def parsed(body: str) -> Any:
    """Return *body* as SDKs hand it on."""
    try:
        return json.loads(body)
    except ValueError:
        return body


def recorded() -> Iterator[Recorded]:
    """Yield every recorded failure."""
    with RECORDING.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            headers, body = row["response_headers"], row["response_body"]
            yield Recorded(row["provider"], row["status"], headers, body)


def right_code(one: Recorded) -> str:
    """Return the code as a reader of *one* gives it."""
    if one.status == 404 and one.body.strip() in NO_ROUTE:
        return "HTTP_404"
    for names, quote in ((BY_NAME, '"'), (BY_WORDS, "")):
        for name, code in names.items():
            if f"{quote}{name}{quote}" in one.body:
                return code
    return BY_STATUS[one.status]


def test_every_recorded_error_body_has_the_right_code(record_property: Any) -> None:
    """As an independent reading of its names, words and status has it; none is unknown."""
    table: Counter[str] = Counter()
    for one in recorded():
        error = classify_error(ResponseError(one), seam="provider")
        assert isinstance(error, LlmError)
        assert error.code == right_code(one), one
        assert error.code != "UNKNOWN"
        assert error.code == "HTTP_404" or error_info(error.code) is not None
        assert (error.status, bool(error.message)) == (one.status, True)
        table[
            f"{one.provider} {one.status} {' '.join(one.body.split())[:150]} -> {error.code}"
        ] += 1
    for line, count in sorted(table.items()):
        print(f"{count} x {line}")  # noqa: T201  # Why: the table belongs into the report
    record_property("recorded_errors", table.total())
    assert table


def test_what_the_recorded_servers_said_about_another_try_is_heeded() -> None:
    """`x-should-retry` and `retry-after` of a real 429."""
    limited = [one for one in recorded() if one.status == 429]
    verdicts = {
        one.provider: classify_error(ResponseError(one), seam="provider") for one in limited
    }
    assert all(error.retryable is True for error in verdicts.values())
    assert verdicts["azure-openai"].retry_after == 0.0
