"""Tools from typed functions: what becomes of a signature, and what the body gets."""

import asyncio
import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from dsh_llm import AbortController, thaw_json
from dsh_tools import Tool, ToolContext, ToolDefinitionError, ToolRegistry, define_tool
from pydantic import AliasChoices, Field


def schema_of(tool: Tool) -> Any:
    """Return the schema as plain JSON."""
    return thaw_json(tool.parameters)


def answer(tool: Tool, arguments: Any = "{}") -> str:
    """Return the text that a call gives back."""
    (block,) = asyncio.run(ToolRegistry([tool]).execute(tool.name, arguments)).content
    assert block.type == "text"
    return block.text


@define_tool
def head(path: str, lines: int = 10) -> str:
    """The first lines
    of a text file.

    More about it.

    Args:
        path: File to read,
            as text.
        lines (int, optional): How many lines.
    """  # noqa: D205  # Why: a first paragraph of two lines is the case
    return f"{path}:{lines}"


def test_signature_and_docstring_make_the_tool() -> None:
    """Name, first paragraph, a property for each parameter with its text and default."""
    assert (head.name, head.description) == ("head", "The first lines of a text file.")
    assert head.schema == ("head", head.description, head.parameters, None)
    assert schema_of(head) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File to read, as text."},
            "lines": {"type": "integer", "description": "How many lines.", "default": 10},
        },
        "required": ["path"],
    }
    assert repr(head) == "Tool('head')"


def test_the_decorated_name_is_still_the_function() -> None:
    """Calling it calls the body, without validation; its metadata are the function's."""
    assert head("a", lines=3) == "a:3"
    assert head.__name__ == "head"
    assert head.function is head.__wrapped__
    assert not head.concurrency_safe


def test_options_override_what_the_function_says() -> None:
    """As a decorator with options, and in the call form."""

    @define_tool(name="first", description="D.", strict=True, concurrency_safe=True)
    def ignored() -> None:
        """Something else."""

    assert ignored.schema[:2] == ("first", "D.")
    assert (ignored.strict, ignored.concurrency_safe) == (True, True)
    assert define_tool(head.function, name="again").name == "again"
    assert define_tool(name="third", execute=head.function).name == "third"


@pytest.mark.parametrize(
    "docstring",
    [
        "Do.\n\nParameters\n----------\na : int\n    The first.\n",
        "Do.\n\n:param a: The first.\n",
        "Do.\n\nArgs:\n    a: The first.\n    other: Nobody.\n",
    ],
    ids=["numpy", "sphinx", "google"],
)
def test_argument_texts_come_from_the_usual_styles(docstring: str) -> None:
    """A text about an argument that does not exist is ignored."""

    def probe(a: int) -> int:
        return a

    probe.__doc__ = docstring
    tool = define_tool(probe)
    assert tool.description == "Do."
    assert schema_of(tool)["properties"] == {"a": {"type": "integer", "description": "The first."}}


def test_a_function_without_docstring_has_no_description() -> None:
    """And a parameter without annotation takes anything."""

    def probe(a: Any = 1) -> Any:
        return a

    del probe.__annotations__["a"]
    tool = define_tool(probe)
    assert tool.description == ""
    assert schema_of(tool)["properties"] == {"a": {"default": 1}}
    assert answer(tool, {"a": [None]}) == "[null]"


def test_what_an_annotation_says_wins_over_the_docstring() -> None:
    """Constraints, alias and description from `Field`, in the annotation or as the default."""

    @define_tool
    def probe(
        x: Annotated[int, Field(alias="externalX", ge=1, description="Mine.")],
        y: int = Field(3, le=5),
        z: Annotated[list[int], Field(default_factory=list)] = Field(min_length=0),  # noqa: B008  # Why: a field as the default is the case
    ) -> object:
        """Do.

        Args:
            x: The docstring's.
            y: The other.
            z: A list.
        """
        return [x, y, z]

    assert schema_of(probe)["properties"] == {
        "externalX": {"type": "integer", "minimum": 1, "description": "Mine."},
        "y": {"type": "integer", "maximum": 5, "default": 3, "description": "The other."},
        "z": {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 0,
            "description": "A list.",
        },
    }
    assert answer(probe, {"externalX": 1}) == "[1,3,[]]"
    assert answer(probe, {"externalX": 0}).endswith('"externalX" must be at least 1')


def test_names_that_pydantic_uses_itself_are_ordinary() -> None:
    """The body gets values, not bound methods, and nobody warns."""

    @define_tool
    def probe(schema: str, json: str, copy: bool, model_config: str, _hidden: int = 1) -> object:  # noqa: FBT001  # Why: a tool's arguments come by name
        return [schema, json, copy, model_config, _hidden]

    sent = {"schema": "s", "json": "j", "copy": True, "model_config": "c", "_hidden": 2}
    assert answer(probe, sent) == '["s","j",true,"c",2]'


def test_every_kind_of_parameter_is_filled_in() -> None:
    """Positional-only, either, keyword-only."""

    @define_tool
    def find(uid: int, /, field: str = "name", *, deep: bool = False) -> str:
        return f"{uid}:{field}:{deep}"

    assert list(schema_of(find)["properties"]) == ["uid", "field", "deep"]
    assert answer(find, {"uid": 7}) == "7:name:False"


def test_the_context_is_injected_and_never_shown() -> None:
    """By type, wherever it stands; the model cannot set it."""

    @define_tool
    def where(
        a: int, ctx: ToolContext, *, again: "ToolContext | None", more: Annotated[ToolContext, "x"]
    ) -> object:
        assert again is ctx is more
        return [a, ctx.name, ctx.call_id, ctx.signal is signal, ctx.agent, ctx.session]

    signal = AbortController().signal
    assert list(schema_of(where)["properties"]) == ["a"]
    sent = {"a": 1, "ctx": "mine"}
    work = ToolRegistry([where]).execute(
        "where", sent, call_id="c1", signal=signal, agent="agent", session="session"
    )
    (block,) = asyncio.run(work).content
    assert block[0] == '[1,"where","c1",true,"agent","session"]'


def test_a_context_inside_another_type_is_a_parameter_like_any() -> None:
    """Only the type itself is injected."""

    def probe(contexts: list[ToolContext]) -> None:
        del contexts

    with pytest.raises(ToolDefinitionError, match="parameter 'contexts'"):
        define_tool(probe)


class Box:
    """A class with a method that is a tool."""

    def __init__(self) -> None:
        self.n = 5

    def get(self, k: int) -> int:
        """Get k."""
        return self.n + k


class Adder:
    """Adds one."""

    def __call__(self, a: int) -> int:
        """Add."""
        return a + 1


def multiply(x: int, y: int) -> int:
    """Multiply.

    Args:
        x: The first.
        y: The second.
    """
    return x * y


def test_methods_partials_and_callable_objects_are_functions() -> None:
    """Each under its own name, without what is bound already."""
    bound = define_tool(Box().get)
    assert (bound.name, list(schema_of(bound)["properties"])) == ("get", ["k"])
    assert answer(bound, {"k": 1}) == "6"
    double = define_tool(functools.partial(multiply, 2))
    assert (double.name, double.description) == ("multiply", "Multiply.")
    assert schema_of(double)["properties"]["y"]["description"] == "The second."
    assert answer(double, {"y": 4}) == "8"
    tripled = define_tool(functools.partial(multiply, y=3))
    assert schema_of(tripled)["required"] == ["x"]
    assert answer(tripled, {"x": 2}) == "6"
    adder = define_tool(Adder(), name="adder")
    assert (adder.description, answer(adder, {"a": 1})) == ("Adds one.", "2")


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate, and keep the signature."""

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


def test_a_decorated_function_keeps_its_signature() -> None:
    """Through `wraps`, and through the standard library's cache."""
    assert answer(define_tool(wrapped(multiply)), {"x": 2, "y": 3}) == "6"
    cached = functools.cache(multiply)
    assert answer(define_tool(cached), {"x": 2, "y": 4}) == "8"


def test_annotations_that_are_text_are_resolved_where_they_were_written() -> None:
    """Names of the function's own module, whatever module defines the tool."""

    def probe(mode: "Literal['a', 'b']", box: "Annotated[int, Field(ge=1)]" = 1) -> None:
        del mode, box

    assert schema_of(define_tool(probe))["properties"] == {
        "mode": {"type": "string", "enum": ["a", "b"]},
        "box": {"type": "integer", "minimum": 1, "default": 1},
    }


def test_defaults_that_are_no_json_are_used_but_not_shown() -> None:
    """The model sees no made-up default, the body gets the real one."""
    marker = object()

    @define_tool
    def probe(a: Any = marker, b: float = float("inf"), c: int | Callable[[], int] = 1) -> bool:
        del c
        return a is marker and b == float("inf")

    assert schema_of(probe)["properties"] == {
        "a": {},
        "b": {"type": "number"},
        "c": {"type": "integer", "default": 1},
    }
    assert answer(probe) == "true"


def test_one_of_several_aliases_is_the_one_that_is_shown() -> None:
    """What the model saw is what counts."""

    @define_tool
    def probe(a: Annotated[int, Field(validation_alias=AliasChoices("x", "y"))]) -> int:
        return a

    assert answer(probe, {"x": 1}) == "1"
    assert answer(probe, {"y": 1}).endswith('missing required property "x"')


# -- what cannot be a tool ---------------------------------------------------------------------


def _variadic(*values: int) -> None: ...
def _named(**options: int) -> None: ...
def _method(self: Any) -> None: ...
def _unresolved(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # Why: the case
def _class(a: int, b: Box) -> None: ...
def _callable(a: int, b: Callable[[], int]) -> None: ...
def _pattern(a: int, b: Annotated[str, Field(pattern="(")]) -> None: ...
def _twice(a: Annotated[int, Field(alias="b")], b: int) -> None: ...


_method.__annotations__.clear()


REFUSED: list[tuple[Any, str]] = [
    (_variadic, "parameter 'values'"),
    (_named, "parameter 'options'"),
    (_method, "parameter 'self'"),
    (_unresolved, "parameter 'a'"),
    (_class, "parameter 'b'"),
    (_callable, "parameter 'b'"),
    (_pattern, "parameter 'b'"),
    (Box, "class 'Box'"),
    (7, "signature"),
    (max, "signature"),
    (_twice, "one name"),
    (lambda: None, "'<lambda>' is no tool name"),
]


@pytest.mark.parametrize(("function", "named"), REFUSED)
def test_what_cannot_be_a_tool_is_refused_by_name(function: Any, named: str) -> None:
    """At definition, coded, with the parameter that is at fault."""
    name = None if "tool name" in named else "probe"
    with pytest.raises(ToolDefinitionError) as caught:
        define_tool(function, name=name)
    assert caught.value.code == "INVALID_TOOL"
    assert named in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "résumé", "x" * 65, "a.b", "a\n", 7])
def test_a_name_is_one_that_every_provider_takes(name: Any) -> None:
    """One bad name would make every request fail."""
    with pytest.raises(ToolDefinitionError, match="is no tool name"):
        define_tool(head.function, name=name)
    with pytest.raises(ToolDefinitionError, match="is no tool name"):
        Tool.raw(name, "", {}, print)


def test_a_callable_without_a_name_must_be_given_one() -> None:
    """Its class's name would say nothing."""
    with pytest.raises(ToolDefinitionError, match="no name of its own"):
        define_tool(Adder())


def test_an_unknown_extra_is_refused() -> None:
    """A misspelt option does not silently mean the default."""
    with pytest.raises(ToolDefinitionError, match="extra"):
        define_tool(head.function, extra="ignore")  # type: ignore[arg-type]  # Why: the case
