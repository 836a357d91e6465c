"""Tools from a described type: pydantic models, dataclasses, typed dicts, raw JSON Schema."""

import asyncio
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import pytest
import typing_extensions
from dsh_llm import thaw_json
from dsh_tools import Tool, ToolContext, ToolDefinitionError, ToolRegistry, define_tool
from pydantic import BaseModel, ConfigDict, RootModel


class Order(BaseModel):
    """An order."""

    item: str
    count: int = 1


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list[str])


class Base(TypedDict):
    a: int


class Tree(Base, total=False):
    b: Required["int"]
    kids: "list[Tree]"
    note: NotRequired[Annotated[str | None, "a mark"]]


class Loose(TypedDict):
    a: int
    b: NotRequired[int]


Loose.__pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[attr-defined]  # Why: as pydantic documents it


class Recursive(BaseModel):
    kids: "list[Recursive]" = []


def show(arguments: Any) -> str:
    """Give back what came in, with its type."""
    return f"{type(arguments).__name__}: {arguments}"


def answer(tool: Tool, arguments: Any) -> str:
    """Return the text that a call gives back."""
    (block,) = asyncio.run(ToolRegistry([tool]).execute(tool.name, arguments)).content
    assert block.type == "text"
    return block.text


DESCRIBED: list[tuple[Any, Any, str]] = [
    (Order, {"item": "tea", "zzz": 1}, "Order: item='tea' count=1"),
    (Point, {"x": 1.0}, "Point: Point(x=1, tags=[])"),
    (Tree, {"a": 1, "b": 2, "zzz": 1}, "dict: {'a': 1, 'b': 2}"),
    (Recursive, {"kids": [{}]}, "Recursive: kids=[Recursive(kids=[])]"),
    (RootModel[dict[str, int]], {"a": 1}, "RootModel[dict[str, int]]: root={'a': 1}"),
]


@pytest.mark.parametrize(
    ("kind", "sent", "got"),
    DESCRIBED,
    ids=["model", "dataclass", "typed-dict", "recursive", "root-model"],
)
def test_the_body_gets_the_described_value(kind: Any, sent: Any, got: str) -> None:
    """One value of that very type, and nothing that it does not name."""
    assert answer(define_tool(show, parameters=kind), sent) == got


def test_the_schema_is_the_types_own_without_noise() -> None:
    """No titles; an object at the top, whose references can be resolved."""
    assert thaw_json(define_tool(show, parameters=Order).parameters) == {
        "type": "object",
        "description": "An order.",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["item"],
    }
    recursive = thaw_json(define_tool(show, parameters=Recursive).parameters)
    assert recursive["type"] == "object"
    assert recursive["properties"]["kids"]["items"] == {"$ref": "#/$defs/Recursive"}
    assert "Recursive" in recursive["$defs"]


def test_a_property_named_title_is_no_noise() -> None:
    """Only the keyword goes."""

    @define_tool
    def probe(title: str, properties: int = 1) -> None:
        del title, properties

    assert set(probe.parameters["properties"]) == {"title", "properties"}


def test_a_typed_dict_of_the_standard_library_is_understood() -> None:
    """Inherited keys, marks that are text, itself inside itself; on every supported Python."""
    tree = thaw_json(define_tool(show, parameters=Tree).parameters)
    assert sorted(tree["required"]) == ["a", "b"]
    assert tree["properties"]["kids"]["items"] == {"$ref": "#/$defs/Tree"}
    assert answer(define_tool(show, parameters=Loose), {"a": 1, "c": 2}) == "dict: {'a': 1, 'c': 2}"

    class Modern(typing_extensions.TypedDict):
        a: int

    assert answer(define_tool(show, parameters=Modern), {"a": 1}) == "dict: {'a': 1}"


def test_typed_dicts_are_found_inside_other_types() -> None:
    """Lists, unions of both spellings, tuples, annotated; declared dicts stay plain dicts."""

    @define_tool
    def probe(
        a: list[Loose],
        *,
        b: Loose | None = None,
        c: typing.Optional[Loose] = None,  # noqa: UP045  # Why: the other spelling is the case
        d: tuple[Loose, ...] = (),
        e: Annotated[dict[str, list[Loose]], "mark"] | None = None,
        f: Literal["x"] = "x",
        g: Callable[[int], Loose] | int = 1,
    ) -> object:
        del e, f, g
        return [type(a[0]).__name__, a, b, c, d]

    sent = {"a": [{"a": 1}], "b": {"a": 2}, "c": {"a": 3}, "d": [{"a": 4}]}
    assert answer(probe, sent) == '["dict",[{"a":1}],{"a":2},{"a":3},[{"a":4}]]'
    assert answer(probe, {"a": [{}]}).endswith('missing required property "a[0].a"')


@pytest.mark.parametrize("kind", [int, list[int], Order | None, object])
def test_arguments_must_be_described_as_an_object(kind: Any) -> None:
    """Anything else cannot be a tool's arguments."""
    with pytest.raises(ToolDefinitionError) as caught:
        define_tool(show, parameters=kind)
    assert caught.value.code == "INVALID_TOOL"
    assert "tool 'show'" in str(caught.value)


def test_a_type_that_nothing_describes_is_refused() -> None:
    """In the first line of pydantic's words."""
    with pytest.raises(ToolDefinitionError, match="schema"):
        define_tool(show, parameters=ToolRegistry)


# -- how a body takes its arguments ------------------------------------------------------------


def second(arguments: dict[str, Any], context: Any) -> object:
    """Take the context as the second parameter."""
    return [arguments, context.name]


def annotated(arguments: dict[str, Any], sep: str = "-", *, ctx: ToolContext) -> object:
    """Take the context by type."""
    return [arguments, sep, ctx.name]


def first(arguments: dict[str, Any], context: ToolContext) -> object:
    """Take the context as the second parameter, and by type."""
    return [arguments, context.name]


def optional(arguments: dict[str, Any], sep: str = "-") -> object:
    """Take no context."""
    return [arguments, sep]


def variadic(*arguments: Any) -> object:
    """Take whatever comes."""
    return list(arguments)


def rest(arguments: dict[str, Any], *others: Any) -> object:
    """Take the arguments, and nothing else comes."""
    return [arguments, list(others)]


@pytest.mark.parametrize(
    ("body", "got"),
    [
        (second, '[{"a":1},"raw"]'),
        (annotated, '[{"a":1},"-","raw"]'),
        (first, '[{"a":1},"raw"]'),
        (optional, '[{"a":1},"-"]'),
        (variadic, '[{"a":1}]'),
        (rest, '[{"a":1},[]]'),
    ],
)
def test_a_body_takes_the_context_if_it_wants(body: Any, got: str) -> None:
    """By type, or as a second parameter that has no default."""
    assert answer(Tool.raw("raw", "", {"type": "object"}, body), {"a": 1}) == got


def test_a_body_that_takes_no_arguments_is_refused() -> None:
    """They have to go somewhere."""

    def nothing() -> None: ...
    def context_only(ctx: ToolContext) -> None: ...

    bodies: list[Any] = [nothing, context_only]
    for body in bodies:
        with pytest.raises(ToolDefinitionError, match="first parameter"):
            Tool.raw("raw", "", {}, body)


# -- raw JSON Schema ---------------------------------------------------------------------------

RAW: dict[str, Any] = {
    "type": "object",
    "title": "T",
    "properties": {"a": {"not": {}}},
    "required": ["a"],
}


def test_a_raw_schema_is_shown_as_it_is_and_not_checked() -> None:
    """TOOLS-015, TOOLS-051: the tool validates its own input."""
    tools = [Tool.raw("show", "D.", RAW, show, strict=False), define_tool(show, raw_schema=RAW)]
    for tool in tools:
        assert thaw_json(tool.parameters) == RAW
        assert answer(tool, {"b": 1}) == "dict: {'b': 1}"
    assert tools[0].schema[1:] == ("D.", RAW | {"required": ("a",)}, False)


def test_a_raw_schema_is_copied() -> None:
    """Nobody can change what the model is shown."""
    schema: dict[str, Any] = {"properties": {}}
    tool = Tool.raw("raw", "", schema, show)
    schema["properties"]["a"] = {}
    assert tool.parameters == {"properties": {}}
    with pytest.raises(TypeError):
        tool.parameters["a"] = 1


@pytest.mark.parametrize("schema", [{"a": object()}, ["a"], {1: 2}])
def test_a_raw_schema_must_be_a_json_object(schema: Any) -> None:
    """It goes over the wire as it is."""
    with pytest.raises(ToolDefinitionError, match="schema"):
        Tool.raw("raw", "", schema, show)


@pytest.mark.parametrize("options", [{"parameters": Order}, {"coerce": True}, {"extra": "forbid"}])
def test_a_raw_schema_stands_alone(options: Any) -> None:
    """What would change or check it is refused."""
    with pytest.raises(ToolDefinitionError, match="raw_schema"):
        define_tool(show, raw_schema={}, **options)
