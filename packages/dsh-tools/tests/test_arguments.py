"""Argument text that a model made up: what is read, and what is refused with one clear sentence."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from dsh_tools import Tool, ToolArgsError, ToolContext, ToolRegistry, define_tool

CONTEXT = ToolContext("call-1", "probe")


@define_tool
def probe(a: Any = None, b: int = 2) -> object:
    """Give back what came in."""
    return a, b


@define_tool
def ping() -> str:
    """Say pong."""
    return "pong"


def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments back."""
    return arguments


RAW = Tool.raw("raw", "", {"type": "object", "properties": {"a": {}}}, echo)


def given(arguments: Any, tool: Tool = probe) -> Mapping[str, Any]:
    """Return what a typed body would get."""
    return tool.bind(arguments, CONTEXT).kwargs


def refusal(arguments: Any, tool: Tool = probe) -> str:
    """Return the one violation of a call."""
    with pytest.raises(ToolArgsError) as caught:
        tool.bind(arguments, CONTEXT)
    (sentence,) = caught.value.violations
    return sentence


@pytest.mark.parametrize("arguments", ["", "  \n", "{}", {}])
@pytest.mark.parametrize("tool", [probe, ping])
def test_empty_text_is_an_empty_object(arguments: Any, tool: Tool) -> None:
    """Models that have nothing to say send nothing."""
    assert given(arguments, tool) == ({"a": None, "b": 2} if tool is probe else {})


@pytest.mark.parametrize("arguments", ["null", None])
def test_null_is_an_object_only_for_a_tool_without_parameters(arguments: Any) -> None:
    """For a tool that takes something it is one clear violation."""
    assert given(arguments, ping) == {}
    assert refusal(arguments) == '"arguments" must be an object'


@pytest.mark.parametrize("arguments", ["[]", '["q"]', '"q"', "7", "true", [], 8.5, b"{}"])
@pytest.mark.parametrize("tool", [probe, RAW])
def test_what_is_no_object_is_refused(arguments: Any, tool: Tool) -> None:
    """Also for a tool that checks its own arguments: there is nothing to hand over."""
    assert refusal(arguments, tool) == '"arguments" must be an object'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1', "is not valid JSON: Expecting ',' delimiter at line 1, column 8, where the"),
        ('{"a":\n 1 2}', "is not valid JSON: Expecting ',' delimiter at line 2, column 4, near"),
        ("```json\n{}\n```", 'is not valid JSON: Expecting value at line 1, column 1, near "```js'),
        ("{'a': None}", "is not valid JSON: Expecting property name"),
        ('{"a": 1} tail', 'is not valid JSON: Extra data at line 1, column 10, near "tail"'),
        ("\ufeff{}", "is not valid JSON: Expecting value at line 1, column 1"),
        ("\ud835", 'is not valid JSON: Expecting value at line 1, column 1, near "\\ud835"'),
    ],
)
def test_text_that_is_not_json_says_where(text: str, sentence: str) -> None:
    """Line, column, what was expected, and what stands there; the body never runs on a guess."""
    assert refusal(text).startswith(f'"arguments" {sentence}')


def test_a_cut_text_is_not_an_empty_object() -> None:
    """A destructive default must not fill in for what the model was about to say."""
    ran: list[str] = []

    @define_tool
    def wipe(scope: str = "all") -> None:
        ran.append(scope)

    result = asyncio.run(ToolRegistry([wipe]).execute("wipe", '{"scope": "tmp"'))
    assert result.error == ("ToolArgsError", "INVALID_ARGS")
    assert ran == []


def test_of_duplicate_keys_the_last_wins() -> None:
    """As in every common reader of JSON."""
    assert given('{"b": 1, "b": 3}')["b"] == 3


def test_an_object_that_was_encoded_twice_is_unwrapped_once() -> None:
    """But not three times, and no other text is looked into."""
    assert given('"{\\"b\\": 1}"')["b"] == 1
    assert refusal('"\\"{}\\""') == '"arguments" must be an object'
    assert refusal('"not json"') == '"arguments" must be an object'
    assert refusal('"[1]"') == '"arguments" must be an object'
    assert refusal(f'"{"[" * 5000}"') == '"arguments" must be an object'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_must_be_finite(number: str) -> None:
    """Tokens that JSON does not have, and numbers that become infinite, are refused by path."""
    assert refusal(f'{{"a": [{{"x": {number}}}]}}') == '"a[0].x" must be a finite number'


def test_a_number_of_thousands_of_digits_is_a_violation() -> None:
    """Whatever limit the interpreter has: converting it is what a denial of service looks like."""
    sentence = '"b" must be a number of at most 640 digits, not 5000'
    assert refusal(f'{{"b": {"9" * 5000}}}') == sentence
    assert refusal(f'{{"b": -{"9" * 5000}}}') == sentence
    assert refusal({"b": 10**640}) == '"b" must be a number of at most 640 digits'
    assert given(f'{{"b": {"9" * 640}}}')["b"] == 10**640 - 1


def test_deep_nesting_is_a_violation() -> None:
    """At a fixed depth, and in a text that no parser gets through."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert refusal({"a": deep}).endswith("is nested deeper than 100 levels")
    assert refusal("[" * 100_000) == '"arguments" is nested deeper than 100 levels'
    assert refusal(f'{{"a": {"[" * 200}{"]" * 200}}}').endswith("deeper than 100 levels")
    nested = f'{{"a": {"[" * 99}{"]" * 99}}}'
    assert isinstance(given(nested)["a"], list)


def test_half_of_a_surrogate_pair_is_refused_by_path() -> None:
    """It is no text; a whole pair is."""
    assert refusal('{"a": "x\\ud835"}') == (
        '"a" has half of a surrogate pair, "U+D835", which is no text'
    )
    assert "half of a surrogate pair" in refusal('{"a": {"\\ud835": 1}}')
    assert given('{"a": "\\ud835\\udd04"}')["a"] == "\U0001d504"


def test_values_that_json_does_not_have_are_named() -> None:
    """An object that a listener or a host passes in is held to the same rules."""
    with pytest.raises(ToolArgsError) as caught:
        probe.bind({"a": [{1, 2}, {1: 2}], "b": object()}, CONTEXT)
    assert caught.value.violations == (
        '"a[0]" is a set, which JSON does not have',
        '"a[1]" has a key that is no text: 1',
        '"b" is a object, which JSON does not have',
    )


def test_subclasses_of_json_types_become_plain() -> None:
    """A tuple is an array, an enum that is a text is a text."""
    from enum import IntEnum, StrEnum

    class Color(StrEnum):
        RED = "red"

    class Level(IntEnum):
        LOW = 1

    values = RAW.bind({"a": (Color.RED, Level.LOW, 1.5, None)}, CONTEXT).args[0]
    assert values == {"a": ["red", 1, 1.5, None]}
    assert [type(each) for each in values["a"]] == [str, int, float, type(None)]


def test_a_tool_cannot_change_what_its_caller_holds() -> None:
    """The body gets a tree of its own."""
    sent = {"opts": {"a": 1}}

    @define_tool
    def eat(opts: dict[str, Any]) -> str:
        opts.clear()
        return "ok"

    def clear(arguments: dict[str, Any]) -> None:
        arguments.clear()

    raw = Tool.raw("raw", "", {}, clear)
    registry = ToolRegistry([eat, raw])
    asyncio.run(registry.execute("eat", sent))
    asyncio.run(registry.execute("raw", sent))
    assert sent == {"opts": {"a": 1}}


def test_a_long_path_and_many_violations_are_bounded_in_the_message() -> None:
    """The model is told the first fifty; the error has them all."""

    @define_tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    with pytest.raises(ToolArgsError) as caught:
        total.bind({"numbers": ["x"] * 70}, CONTEXT)
    assert len(caught.value.violations) == 70
    assert str(caught.value).endswith("; and 20 more")
    assert len(refusal({"a": {"k" * 5000: {1}}})) < 300
