"""Validation by type: JSON decides, all violations at once, in the reference's words."""

import asyncio
import datetime as dt
import decimal
import uuid
from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional

import pytest
from dsh_llm import thaw_json
from dsh_tools import (
    Tool,
    ToolArgsError,
    ToolContext,
    ToolDefinitionError,
    ToolRegistry,
    define_tool,
)
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    Tag,
    WithJsonSchema,
    model_validator,
)

CONTEXT = ToolContext("call-1", "probe")


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    TEXT = "x"
    NUMBER = 2


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str


class Node(BaseModel):
    value: int
    kids: "list[Node]" = []


class Even(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def _ordered(self) -> "Even":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Tagged(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    word: str = Field(pattern=r"^(?=a)")


def even(value: int) -> int:
    """Refuse odd numbers, as a tool's author would."""
    if value % 2:
        raise ValueError("must be even")
    return value


def of(annotation: Any, **options: Any) -> Tool:
    """Define a tool with one required parameter `x` of this type."""

    def probe(x: Any) -> Any:
        return x

    probe.__annotations__["x"] = annotation
    return define_tool(probe, **options)


def value(annotation: Any, sent: Any, **options: Any) -> Any:
    """Return what the body gets for `x`."""
    return of(annotation, **options).bind({"x": sent}, CONTEXT).kwargs["x"]


def faults(annotation: Any, sent: Any, **options: Any) -> list[str]:
    """Return the violations that `x` has."""
    with pytest.raises(ToolArgsError) as caught:
        of(annotation, **options).bind({"x": sent}, CONTEXT)
    return list(caught.value.violations)


ACCEPTED: list[tuple[Any, Any, Any]] = [
    (int, 1, 1),
    (int, 1.0, 1),
    (int, -(10**500), -(10**500)),
    (int, 1e300, int(1e300)),
    (float, 1, 1.0),
    (float, 0.5, 0.5),
    (str, "1", "1"),
    (bool, True, True),
    (None, None, None),
    (Any, [1.0, {"a": None}], [1.0, {"a": None}]),
    (int | str, "1", "1"),
    (bool | int, 1, 1),
    (int | None, None, None),
    (Literal[1, "x"], 1.0, 1),
    (Level, 2.0, Level.HIGH),
    (Mixed, 2, Mixed.NUMBER),
    (list[int], [1, 2.0], [1, 2]),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [], ()),
    (Pair, [1], Pair(1)),
    (set[int], [1, 2], {1, 2}),
    (dict[str, int], {"a": 1.0}, {"a": 1}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (dict[Annotated[str, Field(pattern="^a")], int], {"ab": 1}, {"ab": 1}),
    (Annotated[float, Field(multiple_of=0.1)], 0.3, 0.3),
    (Annotated[str, Field(pattern="^a+$", min_length=1, max_length=3)], "aa", "aa"),
    (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
    (decimal.Decimal, 1, decimal.Decimal(1)),
    (dt.date, "2020-01-02", dt.date(2020, 1, 2)),
    (dt.datetime, "2020-01-02T03:04:05", dt.datetime(2020, 1, 2, 3, 4, 5)),  # noqa: DTZ001  # Why: what was sent has no zone
    (dt.time, "03:04", dt.time(3, 4)),
    (dt.timedelta, "P1D", dt.timedelta(days=1)),
    (uuid.UUID, str(uuid.UUID(int=1)), uuid.UUID(int=1)),
    (Path, "a/b", Path("a/b")),
    (bytes, "é", "é".encode()),
    (Json[int], "3", 3),
    (Tagged, {"word": "ab"}, Tagged(word="ab")),
    (Node, {"value": 1, "kids": [{"value": 2.0}]}, Node(value=1, kids=[Node(value=2)])),
    (Annotated[int, AfterValidator(even)], 4, 4),
    (Annotated[Any, WithJsonSchema({"items": {"type": "integer"}})], "text", "text"),
    (Annotated[Any, WithJsonSchema({"required": ["a"]})], "text", "text"),
    (Annotated[int, WithJsonSchema({"type": ["integer", "null"]})], 4, 4),
    (Annotated[int, WithJsonSchema({"allOf": [{"type": "integer"}, {"minimum": 4}]})], 4, 4),
]


@pytest.mark.parametrize(
    ("annotation", "sent", "got"), ACCEPTED, ids=map(str, range(len(ACCEPTED)))
)
def test_what_the_schema_means_arrives_as_the_type(annotation: Any, sent: Any, got: Any) -> None:
    """JSON's equality decides: 1.0 is an integer and a member; the body gets the exact type."""
    result = value(annotation, sent)
    assert result == got
    assert type(result) is type(got)


REFUSED: list[tuple[Any, Any, str]] = [
    (int, "1", "must be an integer"),
    (int, True, "must be an integer"),
    (int, 1.5, "must be an integer"),
    (float, "1", "must be a number"),
    (float, False, "must be a number"),
    (float, 10**400, "must be a number that a 64-bit float can hold"),
    (str, 1, "must be a string"),
    (bool, 1, "must be a boolean"),
    (bool, "true", "must be a boolean"),
    (list[int], {}, "must be an array"),
    (dict[str, int], [], "must be an object"),
    (None, 0, "must be null"),
    (int | None, "x", "must be an integer or null"),
    (int | str | None, [], "must be an integer, a string or null"),
    (Literal["red", "green"], "blue", 'must be one of ["red","green"]'),
    (Literal["red", "green"], 1, "must be a string"),
    (Literal["red"], "blue", 'must be one of ["red"]'),
    (Literal[1], True, "must be an integer"),
    (Literal[1, "x"], True, 'must be one of [1,"x"]'),
    (Literal[True, "x"], 1, 'must be one of [true,"x"]'),
    (Literal["a"] | None, "b", 'must be one of ["a"] or null'),
    (Literal["a"] | Annotated[Literal["b"], Field()], "c", 'must be one of ["a","b"]'),
    (Level, 9, "must be one of [1,2]"),
    (Level, True, "must be an integer"),
    (Mixed, True, 'must be one of ["x",2]'),
    (set[int], [1, 1.0], "must not have an item twice"),
    (set[Any], [{"a": [1]}, {"a": [1.0]}], "must not have an item twice"),
    (Pair, {"left": 1}, "must be an array"),
    (tuple[int, str], [1], "must have at least 2 items"),
    (tuple[int, str], [1, "a", 2], "must have at most 2 items"),
    (Annotated[list[int], Field(min_length=1)], [], "must have at least 1 item"),
    (Annotated[dict[str, int], Field(min_length=1)], {}, "must have at least 1 property"),
    (
        Annotated[dict[str, int], Field(max_length=1)],
        {"a": 1, "b": 2},
        "must have at most 1 property",
    ),
    (Annotated[str, Field(min_length=2)], "a", "must have at least 2 characters"),
    (Annotated[str, Field(max_length=1)], "ab", "must have at most 1 character"),
    (Annotated[str, Field(pattern="^a+$")], "b", "must match the pattern ^a+$"),
    (Annotated[int, Field(ge=1)], 0, "must be at least 1"),
    (Annotated[int, Field(le=1)], 2, "must be at most 1"),
    (Annotated[int, Field(gt=1)], 1, "must be greater than 1"),
    (Annotated[int, Field(lt=1)], 1, "must be less than 1"),
    (Annotated[int, Field(multiple_of=5)], 7, "must be a multiple of 5"),
    (Annotated[float, Field(multiple_of=0.5)], 0.7, "must be a multiple of 0.5"),
    (Optional[Annotated[int, Field(ge=1)]], 0, "must be at least 1"),  # noqa: UP045  # Why: pyright knows no | there
    (dt.date, "1764460800", "must be a date in ISO 8601 form"),
    (dt.date, "2020-01-01T00:00:00", "must be a date in ISO 8601 form"),
    (dt.datetime, "1764460800", "must be a date-time in ISO 8601 form"),
    (dt.datetime, "2020-01-01", "must be a date-time in ISO 8601 form"),
    (dt.time, "3600", "must be a time in ISO 8601 form"),
    (dt.timedelta, "1 day", "must be a duration in ISO 8601 form"),
    (Annotated[int, AfterValidator(even)], 3, "is refused: must be even"),
    (Even, {"low": 2, "high": 1}, "is refused: low is above high"),
    (Json[int], "{", "is refused: Invalid JSON: EOF while parsing an object at line 1 column 1"),
    (
        Annotated[int, WithJsonSchema({"type": ["integer", "null"]})],
        "a",
        "must be an integer or null",
    ),
    (
        Annotated[int, WithJsonSchema({"allOf": [{"type": "integer"}, {"minimum": 4}]})],
        3,
        "must be at least 4",
    ),
    (
        Annotated[Any, WithJsonSchema({"oneOf": [{"type": "integer"}, {"minimum": 4}]})],
        5,
        "must fit one alternative, not 2 of them",
    ),
    (
        Annotated[Any, WithJsonSchema({"oneOf": [{"type": "integer"}, {"type": "null"}]})],
        "a",
        "must be an integer or null",
    ),
]


@pytest.mark.parametrize(
    ("annotation", "sent", "words"), REFUSED, ids=map(str, range(len(REFUSED)))
)
def test_what_the_schema_excludes_is_refused_in_words(
    annotation: Any, sent: Any, words: str
) -> None:
    """One violation, with the path; JSON types are strict, formats are their standard's."""
    assert faults(annotation, sent) == [f'"x" {words}']


@pytest.mark.parametrize(
    ("annotation", "sent", "violations"),
    [
        (dt.date, "2020-13-45", ["must be a valid date"]),
        (uuid.UUID, "nope", ["must be a valid UUID"]),
        (decimal.Decimal, "NaN", ["must be a finite number"]),
        (Tagged, {"word": "b"}, ["must match pattern"]),
    ],
)
def test_what_only_the_type_knows_is_refused_in_its_words(
    annotation: Any, sent: Any, violations: list[str]
) -> None:
    """Formats are checked by pydantic, and may be stricter than the schema."""
    (sentence,) = faults(annotation, sent)
    assert violations[0] in sentence
    assert sentence.startswith('"x')


NESTED: list[tuple[Any, Any, list[str]]] = [
    (list[int], [1, "a", True], ['"x[1]" must be an integer', '"x[2]" must be an integer']),
    (tuple[int, str], ["a", 1], ['"x[0]" must be an integer', '"x[1]" must be a string']),
    (dict[str, int], {"a": "b"}, ['"x.a" must be an integer']),
    (
        dict[int, str],
        {"a": "b"},
        ['"x.a" must be a valid integer, unable to parse string as an integer'],
    ),
    (dict[Literal["a"], int], {"b": 1}, ['"x.b" has a name that must be one of ["a"]']),
    (Node, {"value": 1, "kids": [{"value": "2"}]}, ['"x.kids[0].value" must be an integer']),
    (Dog, {}, ['missing required property "x.kind"', 'missing required property "x.breed"']),
    (Dog | None, {"kind": "dog"}, ['missing required property "x.breed"']),
    (Cat | Dog, {"kind": "dog"}, ['missing required property "x.breed"']),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"kind": "dog"},
        ['missing required property "x.breed"'],
    ),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"kind": "fox"},
        ['"x.kind" must be one of ["cat","dog"]'],
    ),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {}, ['missing required property "x.kind"']),
    (
        Optional[Annotated[Cat | Dog, Field(discriminator="kind")]],  # noqa: UP045  # Why: as above
        "cat",
        ['"x" must be an object or null'],
    ),
    (Iterable[int], ["a"], ['"x[0]" must be an integer']),
    (
        Annotated[
            dict[str, Any],
            WithJsonSchema({"type": "object", "properties": {"a": {}}, "required": ["a", "b"]}),
        ],
        {"a": 1},
        ['missing required property "x.b"'],
    ),
    (
        Annotated[dict[str, Any], WithJsonSchema({"properties": {"a": False}})],
        {"a": 1},
        ['"x.a" must be left out: there is no such property'],
    ),
]


@pytest.mark.parametrize(
    ("annotation", "sent", "violations"), NESTED, ids=map(str, range(len(NESTED)))
)
def test_paths_lead_to_the_fault(annotation: Any, sent: Any, violations: list[str]) -> None:
    """Through objects, arrays, unions, references; the alternative that was meant is reported."""
    assert faults(annotation, sent) == violations


def test_a_discriminator_that_is_a_function_needs_exactly_one_fit() -> None:
    """The schema says "exactly one", and that is what is checked."""
    pet = Annotated[
        Annotated[Cat, Tag("c")] | Annotated[Dog, Tag("d")],
        Discriminator(lambda given: "c" if given["kind"] == "cat" else "d"),
    ]
    assert value(pet, {"kind": "cat"}) == Cat(kind="cat")
    assert faults(pet, {"kind": "fox"})


@define_tool
def many(
    c: int,
    a: Annotated[int, AfterValidator(even)],
    d: dt.date,
    b: str = "b",
) -> None:
    """Take a few."""
    del a, b, c, d


def test_all_violations_come_at_once_in_the_order_of_declaration() -> None:
    """Those of the schema and those of the types together, whatever order the model chose."""
    with pytest.raises(ToolArgsError) as caught:
        many.bind({"b": 1, "d": "2020-13-01", "a": 3}, CONTEXT)
    c, a, d, b = caught.value.violations
    assert (c, b) == ('missing required property "c"', '"b" must be a string')
    assert a == '"a" is refused: must be even'
    assert d.startswith('"d" must be a valid date')


def test_a_fault_is_reported_once() -> None:
    """What the schema has told of a value, its type does not tell again."""
    assert faults(Even, {"low": "1", "high": 0}) == ['"x.low" must be an integer']
    assert faults(int | Annotated[str, AfterValidator(str.strip)], []) == [
        '"x" must be an integer or a string'
    ]


def test_an_authors_validator_is_not_blamed_for_a_fault_that_is_known() -> None:
    """It met a value that the schema excludes; without such a fault its exception is its own."""

    def stripped(given: Any) -> Any:
        return given.strip()

    annotation = Annotated[str, BeforeValidator(stripped)]
    assert value(annotation, " a ") == "a"
    assert faults(annotation, 1) == ['"x" must be a string']

    def broken(given: str) -> str:
        return str(1 // len(given[:0]))

    tool = of(Annotated[str, AfterValidator(broken)])
    result = asyncio.run(ToolRegistry([tool]).execute("probe", {"x": "a"}))
    assert (result.is_error, result.error) == (True, None)


def test_keys_that_the_schema_does_not_name_are_dropped_or_refused() -> None:
    """At the top and in every model, in the schema and in the check."""
    assert value(Dog, {"kind": "dog", "breed": "lab", "age": 3}) == Dog(kind="dog", breed="lab")
    strict = of(Dog, extra="forbid")
    schema = thaw_json(strict.parameters)
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Dog"]["additionalProperties"] is False
    with pytest.raises(ToolArgsError) as caught:
        strict.bind({"x": {"kind": "dog", "breed": "lab", "age": 3}, "y": 1}, CONTEXT)
    assert caught.value.violations == (
        '"x.age" must be left out: there is no such property',
        '"y" must be left out: there is no such property',
    )
    assert "additionalProperties" not in of(Dog).parameters


def test_coercion_is_for_tools_that_ask_for_it() -> None:
    """Then pydantic's lenient rules hold, in words like the others; NaN stays out."""
    assert value(int, "1", coerce=True) == 1
    assert value(bool, "yes", coerce=True) is True
    assert faults(int, "one", coerce=True) == [
        '"x" must be a valid integer, unable to parse string as an integer'
    ]
    assert faults(float, "nan", coerce=True) == ['"x" must be a finite number']
    assert faults(tuple[int, int], [1], coerce=True) == ['missing required property "x[1]"']
    assert faults(Cat, [], coerce=True) == ['"x" must be an object']
    with pytest.raises(ToolArgsError, match='missing required property "x"'):
        of(int, coerce=True).bind("{}", CONTEXT)


def test_extra_keys_that_a_model_forbids_itself_are_refused() -> None:
    """With coercion too, where pydantic alone decides."""

    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        a: int

    for coerce in (False, True):
        assert faults(Closed, {"a": 1, "b": 2}, coerce=coerce) == [
            '"x.b" must be left out: there is no such property'
        ]


UNCHECKED: list[tuple[dict[str, Any], str]] = [
    ({"not": {}}, "'not'"),
    ({"type": "text"}, "'text'"),
    ({"$ref": "http://elsewhere"}, "http://elsewhere"),
    ({"items": [{}]}, ""),
]


@pytest.mark.parametrize(("schema", "named"), UNCHECKED)
def test_a_schema_that_would_be_shown_but_not_checked_is_refused(
    schema: dict[str, Any], named: str
) -> None:
    """What the model sees is what is checked, or the tool is not defined."""
    with pytest.raises(ToolDefinitionError) as caught:
        of(Annotated[int, WithJsonSchema(schema)])
    assert "parameter 'x'" in str(caught.value)
    assert named in str(caught.value)


def test_an_integer_validator_runs_on_the_meant_value() -> None:
    """A before-validator sees 1 for 1.0: the value is read as the schema means it."""
    seen: list[object] = []

    def note(given: object) -> object:
        seen.append(given)
        return given

    checks: Callable[[object], object] = note
    assert value(Annotated[int, BeforeValidator(checks)], 1.0) == 1
    assert [type(each) for each in seen] == [int]
