"""The reference's schema form: conversion, validation and messages (TOOLS-009 to -045)."""

import asyncio
from typing import Any

import pytest
from dsh_llm import thaw_json
from dsh_tools import Tool, ToolDefinitionError, ToolExecutionResult, ToolRegistry, define_tool

Spec = dict[str, Any]


def echo(arguments: Spec) -> Spec:
    """Give the arguments back."""
    return arguments


def tool_of(spec: Spec, **options: Any) -> Tool:
    """Define a tool that gives back what it got."""
    return define_tool(
        name="probe", description="A probe.", parameters=spec, execute=echo, **options
    )


def schema_of(spec: Spec, **options: Any) -> Any:
    """Return the schema as plain JSON."""
    return thaw_json(tool_of(spec, **options).parameters)


def call(spec: Spec, arguments: Any, **options: Any) -> ToolExecutionResult:
    """Call that tool."""
    return asyncio.run(ToolRegistry([tool_of(spec, **options)]).execute("probe", arguments))


def text_of(result: ToolExecutionResult) -> str:
    """Return the one text of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


def faults(spec: Spec, arguments: Any, **options: Any) -> list[str]:
    """Return the violations of a call, one by one."""
    result = call(spec, arguments, **options)
    if not result.is_error:
        return []
    assert result.error == ("ToolArgsError", "INVALID_ARGS")
    return text_of(result).removeprefix("Error: invalid arguments: ").split("; ")


# -- what the model is shown -------------------------------------------------------------------


def test_a_flat_spec_shows_descriptions_and_what_is_required() -> None:
    """TOOLS-009: per-property flags become one list, descriptions stay."""
    spec = {
        "path": {"type": "string", "required": True, "description": "Where."},
        "depth": {"type": "number", "description": "How deep."},
    }
    assert schema_of(spec) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "depth": {"type": "number", "description": "How deep."},
        },
        "required": ["path"],
    }


def test_an_empty_spec_has_no_properties() -> None:
    """TOOLS-010: nothing but the two keys."""
    assert schema_of({}) == {"type": "object", "properties": {}}


def test_a_nested_object_has_its_own_required_list() -> None:
    """TOOLS-011, TOOLS-025: the rule of the top holds at every object."""
    host = {"host": {"type": "string", "required": True}, "port": {"type": "number"}}
    spec = {
        "config": {"type": "object", "required": True, "properties": host},
        "bag": {"type": "object", "properties": {"any": {"type": "string"}}},
    }
    assert schema_of(spec) == {
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": {"host": {"type": "string"}, "port": {"type": "number"}},
                "required": ["host"],
            },
            "bag": {"type": "object", "properties": {"any": {"type": "string"}}},
        },
        "required": ["config"],
    }


@pytest.mark.parametrize(
    ("prop", "shown"),
    [
        (
            {"type": "string", "enum": ["a", "b"], "description": "Which."},
            {"type": "string", "enum": ["a", "b"], "description": "Which."},
        ),
        ({"type": "number", "default": 0}, {"type": "number", "default": 0}),
        ({"type": "string", "default": None}, {"type": "string", "default": None}),
        (
            {"type": "array", "items": {"type": "string", "required": True}},
            {"type": "array", "items": {"type": "string"}},
        ),
        (
            {"type": "string", "enum": ["a"], "default": "a"},
            {"type": "string", "enum": ["a"], "default": "a"},
        ),
        ({"type": "boolean", "description": ""}, {"type": "boolean"}),
        ({"type": "array"}, {"type": "array"}),
        ({"type": "object", "enum": ["a"]}, {"type": "object", "enum": ["a"]}),
        ({"type": "string", "required": "yes"}, {"type": "string"}),
        ({"type": "string", "items": {}, "properties": {}}, {"type": "string"}),
        (
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"host": {"type": "string", "required": True}},
                },
            },
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"host": {"type": "string"}},
                    "required": ["host"],
                },
            },
        ),
    ],
)
def test_a_property_shows_what_it_has_and_nothing_else(prop: Spec, shown: Spec) -> None:
    """TOOLS-016 to -018, -022 to -024, -028: only the keys that say something are shown."""
    assert schema_of({"it": prop}) == {"type": "object", "properties": {"it": shown}}


def test_a_spec_is_copied() -> None:
    """Changing the spec afterwards changes no tool."""
    spec: Spec = {"path": {"type": "string"}}
    tool = tool_of(spec)
    spec["path"]["type"] = "number"
    assert tool.parameters["properties"]["path"] == {"type": "string"}


@pytest.mark.parametrize("strict", [True, False])
def test_strict_is_shown_as_it_was_given(strict: bool) -> None:  # noqa: FBT001  # Why: a parametrized value
    """TOOLS-019, TOOLS-021: false is kept, too."""
    assert tool_of({}, strict=strict).schema.strict is strict


def test_strict_is_absent_when_it_was_not_given() -> None:
    """TOOLS-020: nobody said anything."""
    assert tool_of({}).strict is None


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"type": "object", "properties": {}}, "'type'"),
        ({"a": {"type": "object", "properties": {"b": 1}}}, "'b'"),
        ({"a": {"type": "object", "properties": []}}, "map"),
        ({"a": {"type": "array", "items": "string"}}, "'a[]'"),
        ({"a": {"type": "string", "default": object()}}, "a.default"),
    ],
)
def test_what_is_no_spec_is_refused_by_name(spec: Spec, named: str) -> None:
    """A JSON Schema given as a spec, and anything that is no property, is refused at definition."""
    with pytest.raises(ToolDefinitionError) as caught:
        tool_of(spec)
    assert caught.value.code == "INVALID_TOOL"
    assert named in str(caught.value)


def test_a_spec_cannot_be_coerced() -> None:
    """Leniency is pydantic's, and a spec has no types of Python."""
    with pytest.raises(ToolDefinitionError, match="coerce"):
        tool_of({}, coerce=True)


# -- what a call may say -----------------------------------------------------------------------

PATH = {"path": {"type": "string", "required": True}}


@pytest.mark.parametrize("arguments", ["null", '"text"', "[1]", "7", "true"])
def test_arguments_that_are_no_object_are_one_violation(arguments: str) -> None:
    """TOOLS-034: one sentence, whatever else it is."""
    assert faults(PATH, arguments) == ['"arguments" must be an object']


def test_valid_arguments_pass() -> None:
    """TOOLS-034, TOOLS-046: the result has no error."""
    assert call(PATH, {"path": "a"}, strict=True)[2:] == (False, None, None)


def test_a_missing_required_key_is_named() -> None:
    """TOOLS-035, TOOLS-045: in the reference's words, and the body does not run."""
    assert text_of(call(PATH, {})) == 'Error: invalid arguments: missing required property "path"'


def test_an_extra_key_is_no_violation_and_is_dropped() -> None:
    """TOOLS-036: the body gets what the schema names."""
    assert text_of(call(PATH, {"path": "a", "more": 1})) == '{"path":"a"}'


def test_undeclared_keys_are_dropped_at_every_declared_object() -> None:
    """A bare object is free-form and stays whole; null in an optional place is no absence."""
    inner = {"a": {"type": "string"}}
    spec = {
        "o": {"type": "object", "properties": inner},
        "l": {"type": "array", "items": {"type": "object", "properties": inner}},
        "free": {"type": "object"},
    }
    sent = {"o": {"a": "1", "b": 2}, "l": [{"b": 2}], "free": {"b": [None]}}
    assert text_of(call(spec, sent)) == '{"o":{"a":"1"},"l":[{}],"free":{"b":[null]}}'


def test_undeclared_keys_are_refused_on_demand() -> None:
    """`extra="forbid"` stands in the schema and in the check, at every declared object."""
    spec: Spec = {**PATH, "o": {"type": "object", "properties": {}}}
    schema = schema_of(spec, extra="forbid")
    assert schema["additionalProperties"] is False
    assert schema["properties"]["o"]["additionalProperties"] is False
    assert faults(spec, {"path": 1, "x": 2, "o": {"y": 3}}, extra="forbid") == [
        '"path" must be a string',
        '"o.y" must be left out: there is no such property',
        '"x" must be left out: there is no such property',
    ]


def test_a_default_is_shown_but_not_applied() -> None:
    """TOOLS-014, TOOLS-037: an absent optional key stays absent."""
    assert text_of(call({"n": {"type": "number", "default": 3}}, {})) == "{}"


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("string", 1, "must be a string"),
        ("string", None, "must be a string"),
        ("number", "1", "must be a number"),
        ("number", True, "must be a number"),
        ("boolean", 1, "must be a boolean"),
        ("object", [1], "must be an object"),
        ("array", "ab", "must be an array"),
    ],
)
def test_a_wrong_type_has_the_references_words(kind: str, value: Any, words: str) -> None:
    """TOOLS-038, TOOLS-042, TOOLS-043: and a bool is no number."""
    assert faults({"it": {"type": kind}}, {"it": value}) == [f'"it" {words}']


def test_an_enum_is_strict_and_lists_its_members() -> None:
    """TOOLS-039, TOOLS-040: a number never equals a text."""
    color = {"color": {"type": "string", "enum": ["red", "green"]}}
    assert faults(color, {"color": "red"}) == []
    assert faults(color, {"color": "blue"}) == ['"color" must be one of ["red","green"]']
    assert faults(color, {"color": 1}) == ['"color" must be a string']
    number = {"n": {"type": "number", "enum": ["1", "2"]}}
    assert faults(number, {"n": 1}) == ['"n" must be one of ["1","2"]']
    flag = {"b": {"type": "boolean", "enum": [1]}}
    assert faults(flag, {"b": True}) == ['"b" must be one of [1]']


def test_an_unknown_type_name_is_met_when_a_value_is() -> None:
    """TOOLS-041: a fault of the tool's author, coded; an absent value is no trouble."""
    spec = {"it": {"type": "strng"}}
    assert not call(spec, {}).is_error
    result = call(spec, {"it": "x"})
    assert text_of(result) == 'Error: unreachable variant in validateArgs: "strng"'
    assert result.error == ("UnreachableError", "UNREACHABLE")


def test_nested_paths_are_written_out() -> None:
    """TOOLS-042 to -044: objects with dots, arrays with positions, in the order of declaration."""
    host = {"host": {"type": "string", "required": True}}
    spec = {
        "config": {"type": "object", "properties": host},
        "tags": {"type": "array", "items": {"type": "string"}},
        "any": {"type": "array"},
        "servers": {"type": "array", "items": {"type": "object", "properties": host}},
    }
    good = {"config": {"host": "h"}, "tags": ["a"], "any": [1, None], "servers": [{"host": "h"}]}
    assert faults(spec, good) == []
    bad: Spec = {"servers": [{"host": "h"}, {}], "tags": ["a", 2], "config": {}}
    assert faults(spec, bad) == [
        'missing required property "config.host"',
        '"tags[1]" must be a string',
        'missing required property "servers[1].host"',
    ]


def test_a_tool_round_trips_its_arguments() -> None:
    """TOOLS-012: the body gets a plain dict of its own."""
    spec = {"text": {"type": "string", "required": True}}

    def upper(arguments: dict[str, str]) -> str:
        """Shout."""
        return arguments["text"].upper()

    tool = define_tool(upper, parameters=spec)
    result = asyncio.run(ToolRegistry([tool]).execute("upper", '{"text": "hi"}'))
    assert text_of(result) == "HI"
