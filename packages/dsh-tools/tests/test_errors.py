"""The seam's own errors: classes, codes, messages, and that they survive pickling."""

import pickle

import pytest
from dsh_llm import HarnessError, is_harness_error
from dsh_tools import ToolArgsError, ToolDefinitionError, ToolNotFoundError


def test_a_tool_that_is_not_there() -> None:
    """TOOLS-004: class, code, attribute, message; an old `except KeyError` still matches."""
    error = ToolNotFoundError("nope")
    assert isinstance(error, HarnessError)
    assert isinstance(error, KeyError)
    assert (error.name, error.code, error.tool_name) == (
        "ToolNotFoundError",
        "UNKNOWN_TOOL",
        "nope",
    )
    assert str(error) == 'unknown tool "nope"'
    assert error.code_num == 1001


def test_the_nearest_names_come_first() -> None:
    """In any case and with stray blanks, twenty of them."""
    known = ["write_file", "list_files", "head"]
    assert "known tools, nearest first: head, " in str(ToolNotFoundError(" HAED", known))
    many = [f"tool_{n}" for n in range(30)]
    text = str(ToolNotFoundError("tool_29", many))
    assert "nearest first: tool_29, " in text
    assert text.endswith(" and 10 more")


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_said_to_be_empty(name: str) -> None:
    """Known names or not."""
    assert str(ToolNotFoundError(name)) == f'unknown tool "{name}": the name is empty'
    assert "the name is empty; known tools" in str(ToolNotFoundError(name, ["a"]))


def test_a_hostile_name_is_bounded_and_can_be_sent() -> None:
    """Whatever the model made up, the message is short UTF-8."""
    text = str(ToolNotFoundError("\ud835" * 10_000, ["a"]))
    assert len(text) < 200
    assert text.encode()


def test_two_violations_are_one_message() -> None:
    """TOOLS-047: joined by semicolons; the list is kept."""
    error = ToolArgsError(["a", "b"])
    assert isinstance(error, ValueError)
    assert (error.name, error.code, error.violations) == (
        "ToolArgsError",
        "INVALID_ARGS",
        ("a", "b"),
    )
    assert str(error) == "invalid arguments: a; b"
    assert error.code_num == 1002


@pytest.mark.parametrize(
    "error",
    [
        ToolNotFoundError("x", ["y"]),
        ToolArgsError(["a"]),
        ToolDefinitionError("no"),
        ToolDefinitionError("no", "DUPLICATE_TOOL"),
    ],
)
def test_errors_survive_pickling(error: HarnessError) -> None:
    """Class, code, text and attributes are the same on the other side."""
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301  # Why: our own bytes
    assert is_harness_error(twin)
    assert (type(twin), str(twin), twin.code) == (type(error), str(error), error.code)
    for attribute in ("violations", "tool_name", "effect"):
        assert getattr(twin, attribute, None) == getattr(error, attribute, None)
