"""Whatever is raised becomes an error with a code, and data for the log, and nothing else fails."""

import asyncio
import json
from typing import Any

import pytest
from dsh_agent import to_error
from dsh_llm import (
    GroupError,
    HarnessError,
    LlmError,
    SystemCallError,
    error_data,
    freeze_json,
)
from hypothesis import given
from hypothesis import strategies as st


class Hostile(Exception):  # noqa: N818  # Why: it is what it is called
    """Refuses to be looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


class Foreign(BaseException):
    """Neither an `Exception` nor one of the interpreter's own."""


def test_an_exception_passes_through() -> None:
    """The very object is returned, ours or not."""
    for error in (ValueError("x"), HarnessError("x", "BOOM"), Hostile()):
        assert to_error(error) is error


@pytest.mark.parametrize(
    "raised", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3), Foreign("x")]
)
def test_what_stops_a_process_is_recorded_as_aborted(raised: BaseException) -> None:
    """For the record it is `ABORTED` with the original as its cause."""
    error = to_error(raised)

    assert isinstance(error, HarnessError)
    assert (error.code, error.cause) == ("ABORTED", raised)
    assert str(error)


@pytest.mark.parametrize(
    ("thrown", "text"),
    [
        ("text", "text"),
        ("", "str"),
        (None, "None"),
        (5, "5"),
        ({"a": 1}, "{'a': 1}"),
        (Hostile, str(Hostile)),
    ],
)
def test_anything_else_becomes_unknown(thrown: object, text: str) -> None:
    """An object that is no exception is kept as the cause of an `UNKNOWN`."""
    error = to_error(thrown)

    assert isinstance(error, HarnessError)
    assert (str(error), error.code, error.cause) == (text, "UNKNOWN", thrown)


def test_an_object_that_cannot_say_its_text_still_gives_an_error() -> None:
    """A raising `__str__` is named, not raised."""

    class Silent:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert str(to_error(Silent())) == "<unprintable Silent>"
    assert error_data(Hostile())["message"] == "<unprintable Hostile>"


def test_data_has_name_code_number_and_message() -> None:
    """A code that the catalogue knows brings its number."""
    assert error_data(LlmError("wait", "RATE_LIMIT", 429)) == {
        "name": "LlmError",
        "code": "RATE_LIMIT",
        "message": "wait",
        "number": 5003,
        "chain": [],
    }
    assert error_data(HarnessError("x", "MY_OWN")) == {
        "name": "HarnessError",
        "code": "MY_OWN",
        "message": "x",
        "chain": [],
    }


def test_a_foreign_exception_keeps_its_name() -> None:
    """A plain exception is `UNKNOWN` under the name of its own class."""
    assert error_data(ValueError("bad")) == {
        "name": "ValueError",
        "code": "UNKNOWN",
        "message": "bad",
        "chain": [],
    }
    assert error_data(KeyError())["message"] == "KeyError"


def test_an_error_of_the_system_has_the_name_of_its_errno() -> None:
    """An `OSError` is coded by its number; one without a number is `UNKNOWN`."""
    data = error_data(FileNotFoundError(2, "No such file"))

    assert (data["name"], data["code"]) == ("FileNotFoundError", "ENOENT")
    assert error_data(OSError("no number"))["code"] == "UNKNOWN"
    assert error_data(SystemCallError(OSError(13, "denied")))["code"] == "EACCES"


def chain_of(error: object) -> list[str]:
    """Return the messages of the chain."""
    return [link["message"] for link in error_data(error)["chain"]]


def raised(error: Exception, *, by: BaseException | None = None, amid: bool = False) -> Exception:
    """Return *error* as it is after having been raised from, or amid, another."""
    with pytest.raises(type(error)) as caught:
        raise_it(error, by, amid=amid)
    return caught.value


def raise_it(error: Exception, by: BaseException | None, *, amid: bool) -> None:
    """Raise *error*, from another or while another is handled."""
    if not amid:
        raise error from by
    try:
        int("context")
    except ValueError:
        raise error  # noqa: B904  # Why: the implicit context is what is tested


def test_the_chain_has_every_cause_in_order() -> None:
    """Causes that are exceptions or objects, `from` and implicit contexts, are links."""
    inner = raised(ValueError("inner"), by=OSError(5, "I/O error"))
    outer = HarnessError("outer", "BOOM", cause=inner)

    assert chain_of(outer) == ["inner", "[Errno 5] I/O error"]
    assert error_data(outer)["chain"][1]["code"] == "EIO"
    assert chain_of(HarnessError("x", "BOOM", cause="just text")) == ["just text"]
    assert "context" in chain_of(raised(KeyError("k"), amid=True))[0]
    assert chain_of(raised(KeyError("k"))) == []
    assert chain_of("no exception") == []


def test_a_chain_that_goes_round_ends() -> None:
    """A cycle of causes is cut where it comes back."""
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one

    assert chain_of(one) == ["two"]


def test_a_long_chain_is_cut() -> None:
    """The log keeps eight links."""
    error = ValueError("0")
    for number in range(20):
        error = HarnessError(str(number), "X", cause=error)

    assert len(chain_of(error)) == 8


def test_a_hostile_cause_is_a_link_like_any_other() -> None:
    """An exception that raises at every look does not hide what it caused."""
    assert chain_of(raised(ValueError("x"), by=Hostile())) == ["<unprintable Hostile>"]


@pytest.mark.parametrize("code", [5, None, ["x"], float("nan")])
def test_a_code_that_is_no_text_is_unknown(code: Any) -> None:
    """The record always has a code to route on, and it is always JSON."""
    error = HarnessError("x", "A")
    error.code = code
    data = error_data(error)

    assert (data["code"], data["name"], data["message"]) == ("UNKNOWN", "HarnessError", "x")
    freeze_json(data)


def test_the_data_is_json_whatever_is_raised() -> None:
    """What goes to the log can always be written."""
    for thrown in (
        Hostile(),
        Foreign(),
        object(),
        "\ud800",
        b"x",
        ExceptionGroup("g", [KeyError()]),
    ):
        assert json.loads(json.dumps(error_data(thrown))) == error_data(thrown)


class Masked:
    """Does not even say what it is."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_the_most_hostile_object_gives_an_error_with_a_code() -> None:
    """Asked for nothing, huge, or part of itself: there is always a text and a code."""
    cycle: list[Any] = []
    cycle.append(cycle)
    for thrown in (Masked(), cycle, "x" * 1_000_000, type("Empty", (), {"__str__": None})()):
        error = to_error(thrown)
        assert isinstance(error, HarnessError)
        assert (error.code, bool(str(error))) == ("UNKNOWN", True)
        assert len(error_data(thrown)["message"]) <= 16_384


def test_a_group_that_holds_a_cancellation_is_led_by_its_worst_member() -> None:
    """Such a group is no `Exception`; it is recorded with everyone in it."""
    members = [asyncio.CancelledError(), LlmError("no", "AUTH"), LlmError("wait", "RATE_LIMIT")]
    error = to_error(BaseExceptionGroup("several", members))

    assert isinstance(error, GroupError)
    assert (error.code, [one.code for one in error.errors if isinstance(one, HarnessError)]) == (
        "AUTH",
        ["AUTH", "RATE_LIMIT", "ABORTED"],
    )
    data = error_data(BaseExceptionGroup("several", members))
    assert [link["code"] for link in data["members"]] == ["ABORTED", "AUTH", "RATE_LIMIT"]


THROWN = st.recursive(
    st.none() | st.text() | st.binary() | st.floats() | st.builds(ValueError, st.text()),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x) | st.builds(KeyError, x),
)


@given(THROWN)
def test_any_object_gives_an_error_with_a_code(thrown: object) -> None:
    """What is raised is recorded under a code that is text, and as JSON."""
    error = to_error(thrown)
    data = error_data(error)

    assert isinstance(error, Exception)
    assert isinstance(data["code"], str)
    freeze_json(data)
