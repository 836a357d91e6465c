"""An error in the forms that other systems read."""

import json
from typing import Any

import pytest
from dsh_llm import (
    GroupError,
    HarnessCodedError,
    HarnessError,
    LlmError,
    to_jsonrpc,
    to_mcp_result,
    to_otel,
    to_problem,
)
from hypothesis import given
from hypothesis import strategies as st

LIMITED = LlmError("slow down", "RATE_LIMIT", 429, retry_after=2.5)
MINE = HarnessError("odd", "MY_OWN")
FORMS = [
    to_problem,
    to_otel,
    to_jsonrpc,
    to_mcp_result,
    HarnessError.to_event,
    HarnessError.to_tool_error,
]


def raised(error: HarnessError) -> HarnessError:
    """Return *error* with a traceback."""
    with pytest.raises(HarnessError) as caught:
        raise error
    return caught.value


def test_a_tool_error_has_name_and_code_alone() -> None:
    """Which is what a result and its row have."""
    assert LIMITED.to_tool_error() == {"name": "LlmError", "code": "RATE_LIMIT"}


def test_an_event_has_what_is_known() -> None:
    """The plain message; number and recovery of a known code; the host's own signal as code."""
    assert MINE.to_event() == {"type": "error", "error": "odd", "code": "MY_OWN"}
    error = HarnessCodedError("SESSION_NOT_FOUND", signal="PROVIDER_ERROR")
    assert error.to_event() == {
        "type": "error",
        "error": "Session not found",
        "code": "PROVIDER_ERROR",
        "code_num": 2001,
        "recovery": error.recovery,
    }


def test_a_problem_is_one_of_rfc_9457() -> None:
    """Type, title, status, detail, instance, and dsh's facts beside them."""
    problem = to_problem(LIMITED)
    assert (problem["type"], problem["title"]) == (LIMITED.docs, "Provider rate limited")
    assert (problem["detail"], problem["instance"]) == ("slow down", f"urn:uuid:{LIMITED.id}")
    assert (problem["code"], problem["code_num"], problem["retry_after"]) == (
        "RATE_LIMIT",
        5003,
        2.5,
    )
    assert LIMITED.info is not None
    assert problem.get("status") == LIMITED.info.http_status
    plain = to_problem(MINE)
    assert (plain["type"], plain["title"]) == ("about:blank", "MY_OWN")
    assert "status" not in plain
    several = to_problem(GroupError("two", "X", [ValueError("a"), KeyError("b")]))
    assert [one["detail"] for one in several["errors"]] == ["a", "'b'"]


def test_a_problem_has_the_status_of_its_row() -> None:
    """Where HTTP has a word for it."""
    assert to_problem(HarnessError("x", "SESSION_NOT_FOUND"))["status"] == 404


@pytest.mark.parametrize(
    ("code", "label"),
    [
        ("RATE_LIMIT", "RATE_LIMIT"),
        ("PROVIDER_RATE_LIMITED", "PROVIDER_RATE_LIMITED"),
        ("INVARIANT", "INVARIANT"),
        ("ENOENT", "ENOENT"),
        ("MY_OWN", "_OTHER"),
    ],
)
def test_the_type_for_telemetry_is_one_of_a_few(code: str, label: str) -> None:
    """Whatever codes are made up, the label is one of the tables' own."""
    assert to_otel(HarnessError("x", code))["error.type"] == label


def test_a_family_of_codes_has_one_label() -> None:
    """The number is left out, since anybody can make it up."""
    labels = {to_otel(HarnessError("x", f"HTTP_{n}"))["error.type"] for n in (418, 10_418)}
    assert len(labels) == 1


def test_attributes_are_flat() -> None:
    """Names of OpenTelemetry and plain values; no attribute for what is not known."""
    told = to_otel(raised(LlmError("slow", "RATE_LIMIT")))
    assert told["exception.type"].endswith(".LlmError")
    assert told["exception.message"] == "slow"
    assert "in raised" in told["exception.stacktrace"]
    assert (told["dsh.error.number"], told["dsh.severity"]) == (5003, "ERROR")
    assert all(isinstance(value, str | int) for value in told.values())
    assert to_otel(HarnessError("x", "ABORTED"))["dsh.severity"] == "INFO"
    assert {"exception.stacktrace", "dsh.error.number"}.isdisjoint(to_otel(MINE))


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("INVALID_ARGS", -32602),
        ("UNKNOWN_TOOL", -32602),
        ("VALIDATION_TYPE_MISMATCH", -32602),
        ("INVARIANT", -32603),
        ("UNKNOWN", -32603),
        ("RATE_LIMIT", -32000),
        ("MY_OWN", -32000),
    ],
)
def test_the_number_of_json_rpc_tells_whose_fault_it_is(code: str, number: int) -> None:
    """The caller's, ours, or the world's; the code itself is in the data."""
    answer = to_jsonrpc(HarnessError("x", code))
    assert (answer["code"], answer["message"], answer["data"]["code"]) == (number, "x", code)


def test_an_mcp_result_says_the_same_twice() -> None:
    """Clients drop the structured form of an error, so the text has every fact."""
    result = to_mcp_result(LIMITED)
    facts = result["structuredContent"]["error"]
    text = result["content"][0]["text"]
    assert result["isError"] is True
    assert text.splitlines()[0] == "Error: slow down"
    assert "may be retried: yes" in text
    for key in ("code", "code_num", "recovery", "retry_after", "effect"):
        assert str(facts[key]) in text
    assert "may be retried: no" in to_mcp_result(HarnessError("x", "AUTH"))["content"][0]["text"]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_has_a_secret(form: Any) -> None:
    """Whatever was written into the message."""
    key = "sk-" + "a1B2" * 12
    assert key not in json.dumps(form(raised(HarnessError(f"bad {key}", "AUTH"))))


class MuteError(HarnessError):
    """Refuses to say its text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("form", FORMS)
@given(code=st.text(), message=st.text())
def test_every_form_is_json_whatever_is_in_the_error(form: Any, code: str, message: str) -> None:
    """It can be written, and nothing raises."""
    for error in (HarnessError(message, code), MuteError(message, code)):
        json.dumps(form(error))


def test_telemetry_of_a_code_that_is_no_text() -> None:
    """Nobody checks what is assigned; it is one more of the others."""
    error: Any = HarnessError("x", "A")
    error.code = None
    assert to_otel(error)["error.type"] == "_OTHER"
