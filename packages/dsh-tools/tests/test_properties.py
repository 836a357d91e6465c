"""Properties: the check and the shown schema agree, and nothing a model sends breaks anything."""

import asyncio
import inspect
import json
from typing import Annotated, Any, Literal, Optional, Union

import pytest
import typing_extensions
from dsh_llm import thaw_json
from dsh_tools import Tool, ToolArgsError, ToolContext, ToolRegistry, define_tool
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Field

CONTEXT = ToolContext("call-1", "probe")

# -- JSON values -------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([True, False, 0, 1, 2, 10**20])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, 1.0, 2.0, -1.0, "red", "1", ""])
    | words
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
)
hostile = st.recursive(
    scalars | st.floats() | st.text() | st.binary() | st.builds(object) | st.just(10**1000),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
)

# -- signatures --------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c", "schema", "self_", "_x", "model_dump"])
plain: st.SearchStrategy[Any] = st.sampled_from(
    [
        int,
        float,
        str,
        bool,
        None,
        Any,
        list,
        dict[str, Any],
        set[int],
        Literal["red", "green"],
        Literal[1, "1", True],
        Literal[1, "x"],
        Literal[True, "x"],
        Literal[0],
        Annotated[int, Field(ge=-2, lt=3)],
        Annotated[float, Field(gt=-1.5, le=2)],
        Annotated[str, Field(min_length=1, max_length=3)],
        Annotated[str, Field(pattern="^[a-z]+")],
    ]
)


@st.composite
def typed_dicts(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    """Draw a typed dict with required and optional keys."""
    fields = draw(st.dictionaries(names, st.tuples(inner, st.booleans()), max_size=3))
    marked = {
        name: typing_extensions.Required[kind] if needed else typing_extensions.NotRequired[kind]
        for name, (kind, needed) in fields.items()
    }
    return typing_extensions.TypedDict("Drawn", marked)  # type: ignore[reportArgumentType]  # Why: the keys are drawn


annotations: st.SearchStrategy[Any] = st.recursive(
    plain,
    lambda inner: (
        inner.map(lambda kind: list[kind])
        | inner.map(lambda kind: Annotated[list[kind], Field(min_length=1, max_length=2)])
        | inner.map(lambda kind: dict[str, kind])
        | inner.map(lambda kind: Optional[kind])  # noqa: UP045  # Why: the type is drawn
        | st.tuples(inner, inner).map(lambda pair: tuple[pair[0], pair[1]])
        | st.tuples(inner, inner).map(lambda pair: Union[pair[0], pair[1]])  # noqa: UP007  # Why: the types are drawn
        | typed_dicts(inner)
    ),
    max_leaves=5,
)


def tool_of(fields: dict[str, tuple[Any, bool]], **options: Any) -> Tool:
    """Define a tool whose parameters have these types, some with a default."""

    def probe(**_: Any) -> None:
        return

    probe.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind,
                default=inspect.Parameter.empty if required else None,
            )
            for name, (kind, required) in fields.items()
        ]
    )
    return define_tool(probe, **options)


def refusal(tool: Tool, sent: Any) -> ToolArgsError | None:
    """Return the refusal of a call, if it is one; anything else that is raised comes out."""
    try:
        tool.bind(sent, CONTEXT)
    except ToolArgsError as error:
        return error
    return None


signatures = st.dictionaries(names, st.tuples(annotations, st.booleans()), max_size=3)


class Meant:
    """Draws values that fit a schema, apart from a stray scalar here and there."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def arguments(self) -> st.SearchStrategy[dict[str, Any]]:
        """Draw arguments with every required key."""
        return self._object(self.schema)

    def value(self, schema: Any) -> st.SearchStrategy[Any]:
        """Draw a value for *schema*; one in four is a stray."""
        fits = self._fitting(schema)
        return st.one_of(fits, fits, fits, scalars)

    def _fitting(self, schema: Any) -> st.SearchStrategy[Any]:
        if "$ref" in schema:
            return self._fitting(self.schema["$defs"][schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return st.one_of([self._fitting(each) for each in schema["anyOf"]])
        if "enum" in schema or "const" in schema:
            return st.sampled_from(schema.get("enum", [schema.get("const")]))
        match schema.get("type"):
            case "array":
                return self._array(schema)
            case "object":
                return self._object(schema)
            case kind:
                return SIMPLE.get(kind, values)

    def _array(self, schema: Any) -> st.SearchStrategy[Any]:
        if "prefixItems" in schema:
            return st.tuples(*(self.value(each) for each in schema["prefixItems"])).map(list)
        return st.lists(self.value(schema.get("items", {})), max_size=2)

    def _object(self, schema: Any) -> st.SearchStrategy[Any]:
        if "properties" not in schema:
            extra = schema.get("additionalProperties")
            inner = self.value(extra) if isinstance(extra, dict) else values
            return st.dictionaries(words, inner, max_size=2)
        required = set(schema.get("required", ()))
        each = {name: self.value(part) for name, part in schema["properties"].items()}
        needed = {name: strategy for name, strategy in each.items() if name in required}
        others = {name: strategy for name, strategy in each.items() if name not in required}
        return st.fixed_dictionaries(needed, optional=others)


SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-3, 3) | st.sampled_from([1.0, 2.0]),
    "number": st.integers(-2, 3) | st.floats(-2, 3),
    "string": st.sampled_from(["", "a", "ab", "abcd", "A"]) | words,
    "boolean": st.booleans(),
    "null": st.none(),
}


@settings(max_examples=200)
@given(st.data(), signatures, st.sampled_from(["drop", "forbid"]))
def test_the_check_accepts_exactly_what_the_shown_schema_accepts(
    data: st.DataObject, fields: dict[str, tuple[Any, bool]], extra: Any
) -> None:
    """An independent validator reads the schema the same way, in both directions."""
    tool = tool_of(fields, extra=extra)
    schema = thaw_json(tool.parameters)
    sent = data.draw(Meant(schema).arguments())
    sent |= data.draw(st.dictionaries(names, values, max_size=1))
    validator: Any = Draft202012Validator(schema)
    fits = validator.is_valid(sent)
    if not fits:
        with pytest.raises(ToolArgsError):
            tool.bind(sent, CONTEXT)
        return
    bound = tool.bind(json.dumps(sent), CONTEXT)
    assert set(bound.kwargs) == set(fields)


@given(st.data(), signatures)
def test_a_required_key_that_is_dropped_is_named(
    data: st.DataObject, fields: dict[str, tuple[Any, bool]]
) -> None:
    """Whatever else is right or wrong."""
    tool = tool_of({"needed": (int, True), **fields})
    sent = data.draw(st.dictionaries(names, values, max_size=3))
    with pytest.raises(ToolArgsError) as caught:
        tool.bind(sent, CONTEXT)
    assert 'missing required property "needed"' in caught.value.violations


@given(st.data(), signatures, st.booleans())
def test_nothing_that_is_sent_breaks_the_check(
    data: st.DataObject,
    fields: dict[str, tuple[Any, bool]],
    coerce: bool,  # noqa: FBT001  # Why: a drawn value
) -> None:
    """Text, bytes, trees of anything: accepted, or refused with violations that can be sent."""
    tool = tool_of(fields, coerce=coerce)
    sent: Any = data.draw(
        st.text() | st.dictionaries(names | st.text(), hostile, max_size=3) | hostile
    )
    error = refusal(tool, sent)
    assert error is None or (error.violations and str(error).encode())


@given(st.text() | st.builds(json.dumps, values), signatures)
def test_a_call_always_has_one_result(text: str, fields: dict[str, tuple[Any, bool]]) -> None:
    """With a code whenever it failed, and content that any wire carries."""
    registry = ToolRegistry([Tool.raw("raw", "", {}, echo), tool_of(fields)])
    for name in ("raw", "probe"):
        result = asyncio.run(registry.execute(name, text, call_id="c"))
        assert result.call_id == "c"
        (block,) = result.content
        assert block.type == "text"
        assert block.text.encode() is not None


# -- the reference's schema form (TOOLS-052 to -057) -------------------------------------------

kinds = st.sampled_from(["string", "number", "boolean", "object", "array"])


def props(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a property, nested at most *depth* deep."""
    optional: dict[str, st.SearchStrategy[Any]] = {
        "required": st.booleans(),
        "description": words,
        "default": values,
        "enum": st.lists(words, min_size=1, max_size=3),
    }
    if depth:
        optional |= {"properties": specs(depth - 1), "items": props(depth - 1)}
    return st.fixed_dictionaries({"type": kinds}, optional=optional)


def specs(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a spec."""
    return st.dictionaries(words, props(depth), max_size=3)


def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments back."""
    return arguments


def spec_tool(spec: dict[str, Any]) -> Tool:
    """Define a tool from a spec."""
    return define_tool(echo, parameters=spec)


def assert_required(spec: dict[str, Any], schema: Any) -> None:
    """See that the required list is that of the flags, here and in every nested object."""
    flagged = [name for name, prop in spec.items() if prop.get("required") is True]
    assert schema.get("required", []) == flagged
    assert ("required" in schema) == bool(flagged)
    for name, prop in spec.items():
        if prop["type"] == "object" and "properties" in prop:
            assert_required(prop["properties"], schema["properties"][name])


@given(specs(2))
def test_the_required_list_is_that_of_the_flags(spec: dict[str, Any]) -> None:
    """TOOLS-052: at the top and in every nested object."""
    assert_required(spec, thaw_json(spec_tool(spec).parameters))


@given(specs(3), st.dictionaries(words, values, max_size=3) | values)
def test_a_spec_never_breaks_on_a_value(spec: dict[str, Any], sent: Any) -> None:
    """TOOLS-053, TOOLS-054, TOOLS-057: conversion never raises, validation only violations."""
    error = refusal(spec_tool(spec), json.dumps(sent))
    if error is None:
        twice = isinstance(sent, str) and sent.strip().startswith("{")
        assert isinstance(sent, dict) or twice or (sent is None and not spec)
    else:
        assert error.violations


def fitting(prop: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw a value that satisfies a property; there is one, unless an enum excludes them all."""
    match prop["type"]:
        case "string":
            return st.sampled_from(prop["enum"]) if "enum" in prop else words
        case "number":
            return st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "object":
            return satisfying(prop["properties"]) if "properties" in prop else st.just({"a": 1})
        case _:
            return st.lists(fitting(prop["items"]) if "items" in prop else values, max_size=2)


def satisfying(spec: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw arguments that satisfy a spec."""
    needed = {name: fitting(prop) for name, prop in spec.items() if prop.get("required") is True}
    others = {name: fitting(prop) for name, prop in spec.items() if name not in needed}
    return st.fixed_dictionaries(needed, optional=others)


def without_impossible(spec: dict[str, Any]) -> dict[str, Any]:
    """Drop the enums that no number or boolean can ever be a member of."""
    return {name: _possible(prop) for name, prop in spec.items()}


def _possible(prop: dict[str, Any]) -> dict[str, Any]:
    kept = {key: part for key, part in prop.items() if key != "enum" or prop["type"] == "string"}
    if "properties" in kept:
        kept["properties"] = without_impossible(kept["properties"])
    if "items" in kept:
        kept["items"] = _possible(kept["items"])
    return kept


@given(st.data(), specs(2).map(without_impossible))
def test_arguments_made_for_a_spec_pass_until_a_required_one_is_dropped(
    data: st.DataObject, spec: dict[str, Any]
) -> None:
    """TOOLS-055, TOOLS-056: then some violation names it."""
    tool = spec_tool(spec)
    sent = data.draw(satisfying(spec))
    assert set(tool.bind(sent, CONTEXT).args[0]) == set(sent)
    for name in [name for name, prop in spec.items() if prop.get("required") is True]:
        less = {key: value for key, value in sent.items() if key != name}
        with pytest.raises(ToolArgsError, match="missing required property"):
            tool.bind(less, CONTEXT)
