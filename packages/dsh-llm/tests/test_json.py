"""Frozen JSON: nobody can change it, and nothing that JSON does not have gets in."""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from dsh_llm import FrozenDict, HarnessError, JsonValueError, TextBlock, freeze_json, thaw_json
from hypothesis import given
from hypothesis import strategies as st

Json = Any

json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Lone surrogates too: models send them, cut from a pair.
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __format__(self, spec: str) -> str:
        raise RuntimeError("no format")


class Odd(int):
    def __int__(self) -> int:
        raise RuntimeError("no number")


class Half(float):
    def __float__(self) -> float:
        raise RuntimeError("no number")


class Masked(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise RuntimeError("no items")


class Broken(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise RuntimeError("no value")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class BrokenItems(Broken):
    def items(self) -> Any:
        return [1]


class Liar:
    @property
    def __class__(self) -> Any:  # type: ignore[override]  # Why: it lies
        raise RuntimeError("no class")


class Point(NamedTuple):
    x: int


@given(json_values)
def test_freezing_keeps_the_content(value: Json) -> None:
    """Thawed it is the same value, and as JSON text it is the same text."""
    frozen = freeze_json(value)
    assert thaw_json(frozen) == value
    assert json.dumps(frozen) == json.dumps(value)
    assert freeze_json(frozen) == frozen


@given(json_values)
def test_what_is_frozen_crosses_and_copies(value: Json) -> None:
    """Pickle gives an equal frozen value; a copy is the value itself."""
    frozen = freeze_json({"value": value})
    back = pickle.loads(pickle.dumps(frozen))  # noqa: S301  # Why: our own bytes
    assert back == frozen
    assert type(back) is FrozenDict
    assert copy.copy(frozen) is frozen
    assert copy.deepcopy(frozen) is frozen
    assert copy.deepcopy({"a": frozen})["a"] is frozen


@given(json_values)
def test_the_original_may_change_afterwards(value: Json) -> None:
    """A frozen value shares nothing that could change with what it was made from."""
    source: dict[str, Any] = {"value": [value], "more": {"value": value}}
    frozen = freeze_json(source)
    before = json.dumps(frozen)
    source["value"].append("x")
    source["more"].clear()
    assert json.dumps(frozen) == before


MUTATORS: dict[str, Callable[[Any], object]] = {
    "setitem": lambda d: d.__setitem__("a", 2),
    "delitem": lambda d: d.__delitem__("a"),
    "pop": lambda d: d.pop("a"),
    "popitem": lambda d: d.popitem(),
    "clear": lambda d: d.clear(),
    "update": lambda d: d.update(a=2),
    "update from nothing": lambda d: d.update(),
    "setdefault": lambda d: d.setdefault("b", 2),
    "in-place or": lambda d: d.__ior__({"b": 2}),
    "attribute": lambda d: setattr(d, "extra", 1),
    "fromkeys": lambda d: d.fromkeys(["a"], 1),
}


@pytest.mark.parametrize("change", MUTATORS.values(), ids=MUTATORS.keys())
@pytest.mark.parametrize("content", [{}, {"a": 1}], ids=["empty", "filled"])
def test_no_mutator_works(change: Callable[[Any], object], content: dict[str, int]) -> None:
    """Each of them raises, on an empty object too, and changes nothing."""
    frozen = freeze_json(content)
    with pytest.raises((TypeError, AttributeError)):
        change(frozen)
    assert frozen == content


@pytest.mark.parametrize("content", [{}, {"a": 1}], ids=["empty", "filled"])
def test_a_second_init_changes_nothing(content: dict[str, int]) -> None:
    """Calling `__init__` again is no way in."""
    frozen = freeze_json(content)
    frozen.__init__({"b": 2})
    assert frozen == content


def test_reading_gives_things_of_ones_own() -> None:
    """`copy` and `|` make plain dicts, and arrays are tuples."""
    frozen = freeze_json({"a": [1]})
    mine = frozen.copy()
    mine["b"] = 2
    joined = frozen | {"b": 2}
    assert mine == joined == {"a": (1,), "b": 2}
    assert frozen == {"a": (1,)}


def test_a_frozen_dict_can_be_built_like_a_dict() -> None:
    """It freezes what `dict` would make of the arguments, deep."""
    assert FrozenDict({"a": [1]}, b={"c": []}) == {"a": (1,), "b": {"c": ()}}
    assert type(FrozenDict([("a", {})])["a"]) is FrozenDict
    with pytest.raises(JsonValueError) as caught:
        FrozenDict({1: 2})
    assert caught.value.code == "NOT_JSON"


def test_subclasses_become_the_plain_type() -> None:
    """Enums, and subclasses that misbehave, leave only their value."""
    value = {Loud("key"): [Colour.RED, Level.HIGH, Loud("a"), Odd(5), Half(0.5), Masked([1])]}
    frozen = freeze_json(value)
    assert frozen == {"key": ("red", 3, "a", 5, 0.5, (1,))}
    assert [type(key) for key in frozen] == [str]
    assert [type(item) for item in frozen["key"]] == [str, int, str, int, float, tuple]


def test_other_mappings_become_objects() -> None:
    """Whatever is a mapping is an object; order is kept."""
    value = MappingProxyType({"b": 1, "a": 2})
    assert list(freeze_json(value).items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        (math.nan, "", "is nan"),
        ({"a": math.inf}, "a", "is inf"),
        ({"a": {"b": [0, 1, -math.inf]}}, "a.b[2]", "is -inf"),
        ([{"a": b"x"}], "[0].a", "is a bytes"),
        ({"a": {1, 2}}, "a", "is a set"),
        (Decimal(1), "", "is a Decimal"),
        (datetime.now(UTC), "", "is a datetime"),
        (iter([1]), "", "is a list_iterator"),
        (Point(1), "", "is a Point"),
        ({"blocks": [TextBlock("a")]}, "blocks[0]", "is a TextBlock"),
        (object, "", "is a type"),
        ({1: 2}, "", "has a key that is a int"),
        ({"a": {None: 2}}, "a", "has a key that is a NoneType"),
        ({"a": [10**4000]}, "a[0]", "is an integer of more than 4000 digits"),
        (-(10**4000), "", "is an integer of more than 4000 digits"),
        ({"a": Broken()}, "a", "cannot be read: RuntimeError: no value"),
        (BrokenItems(), "", "cannot be read: TypeError"),
    ],
)
def test_what_json_does_not_have_is_refused_with_its_place(
    value: object, path: str, problem: str
) -> None:
    """The error is coded, and says where in the value the trouble is."""
    with pytest.raises(JsonValueError) as caught:
        freeze_json(value)
    assert (caught.value.code, caught.value.path) == ("NOT_JSON", path)
    assert caught.value.context == {"path": path}
    assert str(caught.value).startswith(f"{path or 'value'} {problem}")
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, HarnessError)


def test_a_value_that_lies_about_its_class_is_refused() -> None:
    """The value is never asked what it is, as value or as key."""
    with pytest.raises(JsonValueError, match="is a Liar"):
        freeze_json([Liar()])
    with pytest.raises(JsonValueError, match="has a key that is a Liar"):
        freeze_json({Liar(): 1})


def test_a_mapping_that_cannot_be_read_is_the_cause() -> None:
    """The foreign error is kept."""
    with pytest.raises(JsonValueError) as caught:
        freeze_json(Broken())
    assert isinstance(caught.value.cause, RuntimeError)


def test_the_longest_integer_can_be_written() -> None:
    """What is accepted, `json.dumps` can write."""
    longest = 10**4000 - 1
    assert json.loads(json.dumps(freeze_json([longest, -longest]))) == [longest, -longest]


def nested(depth: int) -> Any:
    """Return lists and objects in turn, *depth* deep."""
    value: Any = 1
    for n in range(depth):
        value = [value] if n % 2 else {"k": value}
    return value


def test_nesting_is_bounded() -> None:
    """200 levels pass, 201 do not, nor do a hundred thousand."""
    assert thaw_json(freeze_json(nested(200))) == nested(200)
    for depth in (201, 100_000):
        with pytest.raises(JsonValueError, match="is nested deeper than 200"):
            freeze_json(nested(depth))


def test_a_cycle_is_refused() -> None:
    """A value that contains itself ends at the depth limit, with a message of bearable length."""
    value: dict[str, Any] = {}
    value["again"] = [value]
    with pytest.raises(JsonValueError, match="deeper than") as caught:
        freeze_json(value)
    assert len(str(caught.value)) < 200
    assert caught.value.path.startswith("again[0].again[0]")


def test_a_lone_surrogate_is_kept() -> None:
    """Half a pair is legal in JSON text, and no reason to lose a message."""
    frozen = freeze_json({"text": "\ud83d"})
    assert json.loads(json.dumps(frozen)) == frozen


def test_thawing_gives_plain_values_that_may_change() -> None:
    """Objects are dicts again, arrays are lists."""
    thawed = thaw_json(freeze_json({"a": [{"b": (1,)}]}))
    thawed["a"][0]["b"].append(2)
    assert thawed == {"a": [{"b": [1, 2]}]}
    assert type(thawed) is dict
