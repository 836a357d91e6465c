"""freeze: whatever can be changed is found, and is as it was."""

import copy
from collections import OrderedDict, UserDict, UserList, deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import pytest
from dsh_invariants import freeze
from dsh_llm import FrozenDict, freeze_json
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Frozen:
    value: Any


@dataclass
class Loose:
    value: Any


class Slotted:
    __slots__ = ("_own", "shown")

    def __init__(self, shown: Any) -> None:
        self.shown = shown
        self._own = 1


class OneSlot:
    __slots__ = "shown"  # noqa: PLC0205  # Why: a string is legal here, and is one name


class Property:
    _value = 1

    @property
    def value(self) -> int:
        return self._value

    @value.setter
    def value(self, value: int) -> None:
        self._value = value

    @property
    def fixed(self) -> int:
        return 1


def _named(value: object) -> str:
    return f"{type(value).__name__}-{len(repr(value))}"


EMPTY: Any = freeze_json(cast("Any", [{}, [], [{"a": [None]}]]))
LOOSE: list[Any] = [
    {"a": 1},
    [1, 2],
    {1, 2},
    bytearray(b"\0\1"),
    bytearray(),
    deque([1, 2]),
    OrderedDict(a=1, b=2),
    UserDict(a=1),
    UserList([1]),
    Loose(1),
    Slotted(1),
    Property(),
]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        b"bytes",
        (1, ("a", frozenset({1}))),
        MappingProxyType({"a": 1}),
        Frozen((1,)),
        Point(1, "y"),
        FrozenDict(a=[1, {"b": []}]),
        EMPTY,
        range(3),
        OneSlot(),
    ],
    ids=_named,
)
def test_what_nobody_can_change_is_proved(value: object) -> None:
    """Nothing is reported."""
    assert freeze(value) == []


@given(JSON)
def test_frozen_json_is_frozen(value: Any) -> None:
    """Whatever goes into a log cannot be changed there."""
    frozen = freeze_json(value)
    assert freeze(frozen) == []
    assert frozen == freeze_json(value)


@given(JSON)
def test_what_was_tried_is_put_back(value: Any) -> None:
    """Every list and object is reported, and holds what it held."""
    before = copy.deepcopy(value)
    found = freeze(value)
    assert value == before
    assert bool(found) == isinstance(value, (list, dict))


@pytest.mark.parametrize("value", LOOSE, ids=_named)
def test_what_can_be_changed_is_found(value: Any) -> None:
    """A line says what worked; the value is whole again."""
    before = repr(value)
    line, *_ = freeze(value)
    assert line.startswith("value: ")
    assert repr(value) == before


def test_line_says_where() -> None:
    """Keys, indices, fields and attributes lead to the part that can be changed."""
    assert freeze(({"a": Point(1, [])},)) == ["[0]: new[key] =", "[0]['a'].y: [:] ="]
    assert freeze(Frozen(({1},))) == ["value: assign .value", ".value[0]: add"][1:]
    assert freeze(Loose([1])) == ["value: assign .value", ".value: [0] ="]


def test_cycles_and_shared_parts_are_visited_once() -> None:
    """The search ends, and goes through frozen containers too (INV-020, INV-021)."""
    shared: list[Any] = []
    shared.append((shared, [1]))
    assert freeze((shared, shared)) == ["[0]: [0] =", "[0][0][1]: [0] ="]


def test_depth_is_no_limit() -> None:
    """A deep value is searched without recursion."""
    deep: Any = [1]
    for _ in range(10_000):
        deep = (deep,)
    (line,) = freeze(deep)
    assert line.endswith("[0]: [0] =")


MUTATORS = [
    "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__",
    "__ixor__", "append", "appendleft", "add", "clear", "difference_update", "discard", "extend",
    "extendleft", "insert", "intersection_update", "move_to_end", "pop", "popitem", "popleft",
    "remove", "reverse", "rotate", "setdefault", "sort", "symmetric_difference_update", "update",
]  # fmt: skip
CONTENTS: dict[Any, Any] = {
    dict: {"a": 1, "b": 2},
    OrderedDict: {"a": 1, "b": 2},
    list: [1, 2],
    deque: [1, 2],
    set: [1, 2],
    bytearray: [1, 2],
}
# An OrderedDict does these by its __setitem__, so they are refused with it.
INDIRECT = {(OrderedDict, one) for one in ("__ior__", "setdefault", "update")}
WAYS = [
    (base, one)
    for base in CONTENTS
    for one in MUTATORS
    if hasattr(base, one) and (base, one) not in INDIRECT
]


def half(base: Any, allowed: str) -> Any:
    """Return a filled instance of *base* that can be changed in one way only."""

    def refuse(*_: object, **__: object) -> None:
        raise TypeError(allowed)

    refused = {one: refuse for one in MUTATORS if one != allowed and hasattr(base, one)}
    value = type("Half", (base,), refused)()
    fill = getattr(base, "extend", getattr(base, "update", None))
    if hasattr(base, "keys"):
        for key in CONTENTS[base]:
            base.__setitem__(value, key, CONTENTS[base][key])
    elif fill is not None:
        fill(value, CONTENTS[base])
    return value


@pytest.mark.parametrize(("base", "allowed"), WAYS)
def test_one_way_is_enough(base: Any, allowed: str) -> None:
    """Every public way of every container is tried, and undone whatever else is refused."""
    value = half(base, allowed)
    (line,) = freeze(value)
    assert line.startswith("value: ")
    content = CONTENTS[base]
    assert list(value) == list(content)
    assert base is not dict or value == content


def test_what_cannot_be_put_back_is_reported_all_the_same() -> None:
    """A container without any means to fill it stays as the trial left it."""

    class Bag(UserList[int]):
        def clear(self) -> None:
            raise TypeError

    line, *_ = freeze(Bag([1]))
    assert line.startswith("value: ")
