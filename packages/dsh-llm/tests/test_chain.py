"""What lies behind a failure, for people and for the log."""

import json
from typing import Any

import pytest
from dsh_llm import (
    GroupError,
    HarnessError,
    LlmError,
    error_chain,
    error_data,
    error_link,
    mend_surrogates,
    text_of,
)
from hypothesis import given
from hypothesis import strategies as st


class HostileError(Exception):
    """Refuses to be looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    @property
    def code(self) -> str:
        raise RuntimeError("no code")


class UntraceableError(Exception):
    @property
    def __cause__(self) -> Any:  # type: ignore[reportIncompatibleVariableOverride]  # Why: hostile on purpose
        raise RuntimeError("no cause")


def chained(*texts: str) -> Exception:
    """Return an error with a cause for each but the first of *texts*."""
    error: Any = None
    for text in reversed(texts):
        outer = ValueError(text)
        outer.__cause__ = error
        error = outer
    return error


def test_a_chain_is_one_line() -> None:
    """From what was seen to what lies behind it; any object can be a cause."""
    assert error_chain(chained("a", "b", "c")) == "a: b: c"
    assert error_chain(HarnessError("a", "A", cause={"status": 1})) == "a: {'status': 1}"
    assert error_chain("text") == "text"
    assert error_chain(KeyError()) == "KeyError"


def test_a_cause_that_only_repeats_is_left_out() -> None:
    """Wrappers often quote what they wrap."""
    assert error_chain(chained("a", "a", "b")) == "a: b"
    assert error_chain(chained("connection failed: reset", "reset")) == "connection failed: reset"


def test_members_of_a_group_stand_in_brackets() -> None:
    """With their own causes; of very many the first are told."""
    group = ExceptionGroup("two", [chained("a", "b"), ExceptionGroup("in", [ValueError("c")])])
    assert error_chain(group) == "two (2 sub-exceptions) [a: b; c]".replace(
        " (2 sub-exceptions)", ""
    )
    many = ExceptionGroup("many", [ValueError(str(n)) for n in range(20)])
    assert error_chain(many).endswith("12 more]")
    assert error_chain(GroupError("g", "G", [ValueError("a")])) == "g: ValueError: a"


def test_a_chain_that_goes_round_ends() -> None:
    """Through causes, and through the members of a group."""
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert error_chain(one) == "one: two"
    group = ExceptionGroup("g", [one])
    two.__cause__ = group
    assert error_chain(group) == "g [one: two]"


def test_a_long_chain_is_cut() -> None:
    """What was seen and eight causes, each of a length that can be read."""
    assert error_chain(chained(*map(str, range(20)))) == "0: 1: 2: 3: 4: 5: 6: 7: 8"
    assert len(error_chain(ValueError("x" * 100_000))) == 2_000


@pytest.mark.parametrize("hostile", [HostileError(), UntraceableError("x"), HostileError])
def test_the_chain_of_a_hostile_object_is_told(hostile: object) -> None:
    """Nothing is raised, and the class is named."""
    assert error_chain(hostile)
    assert error_data(hostile)["code"] == "UNKNOWN"


def test_no_secret_is_told() -> None:
    """Neither in the line nor in the data."""
    key = "sk-" + "a1B2" * 12
    error = HarnessError(f"bad {key}", "AUTH", cause=ValueError(f"key {key}"))
    assert key not in error_chain(error)
    assert key not in json.dumps(error_data(error))


def test_data_of_a_group_has_its_members() -> None:
    """Under the code of the worst, in `error_data` as in `error_link`."""
    group = ExceptionGroup("two", [LlmError("slow", "RATE_LIMIT"), LlmError("no", "AUTH")])
    link = error_link(group)
    assert (link["name"], link["code"], link["number"]) == ("ExceptionGroup", "AUTH", 5002)
    assert link["message"] == "two: LlmError: no; LlmError: slow"
    assert [member["code"] for member in link["members"]] == ["RATE_LIMIT", "AUTH"]
    grouped = HarnessError("x", "X", cause=GroupError("g", "G", [ValueError("a")]))
    assert error_data(grouped)["chain"][0]["members"][0]["message"] == "a"


def test_a_huge_message_is_cut_in_the_log() -> None:
    """A megabyte of text tells nobody anything."""
    assert len(error_link(ValueError("x" * 1_000_000))["message"]) == 16_384


@given(st.recursive(st.text() | st.none() | st.floats(), lambda x: st.lists(x) | st.tuples(x)))
def test_the_data_of_any_object_is_json(thrown: object) -> None:
    """With a code that is text."""
    data = error_data(thrown)
    assert isinstance(data["code"], str)
    assert json.loads(json.dumps(data)) == data
    assert isinstance(error_chain(thrown), str)


def test_texts_are_never_empty_and_always_sendable() -> None:
    """Text, else a `message`, else the class; halves of a pair are joined or replaced."""

    class ToldError(Exception):
        message = "told"

    class MuteError(Exception):
        message = 7

    assert text_of(ToldError()) == "told"
    assert text_of(MuteError()) == "MuteError"
    assert text_of(ValueError(" ")) == "ValueError"
    assert text_of(HostileError()) == "<unprintable HostileError>"
    assert text_of("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"
    assert mend_surrogates("plain") == "plain"
