"""JSON values that nobody can change: what the log holds and what crosses our seams."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, Self, TypeAlias, cast, final

from dsh_llm._domain_errors import CallerTypeError
from dsh_llm._errors import HarnessError
from dsh_llm._text import described

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)

MAX_JSON_DEPTH: Final = 200
"""Deepest nesting that `freeze_json` accepts; far below the interpreter's recursion limit."""

MAX_JSON_DIGITS: Final = 4000
"""Longest integer that `freeze_json` accepts; Python writes no more than 4300 digits."""


class JsonValueError(HarnessError, ValueError):
    """Say which part of a value is not JSON; `path` is where (`"a.b[2]"`, empty at the top).

    Who acts: whoever passed the value in. Code `NOT_JSON`.
    """

    def __init__(self, path: str, problem: str, *, cause: object = None) -> None:
        """Keep *path* as an attribute and, cut short, in the message."""
        where = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}..."
        text = f"{where or 'value'} {problem}"
        super().__init__(text, "NOT_JSON", cause=cause, context={"path": path})
        self.path = path


@final
class FrozenDict(dict[str, Any]):
    """A JSON object without mutators: equal to a `dict` of the same items, and hash-free.

    Every value inside is frozen too, see `freeze_json`. `json.dumps`, `pickle`, `copy` and
    `deepcopy` accept it; a copy is the object itself.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Freeze what `dict` would make of the arguments; raises as `freeze_json` does."""
        return cast("Self", freeze_json(dict(*args, **kwargs)))

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Do nothing: `__new__` has filled it, and nobody fills it again."""

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise CallerTypeError("a FrozenDict cannot be changed: build a new one")

    __setitem__ = __delitem__ = _refuse
    pop = popitem = clear = update = setdefault = __ior__ = _refuse  # type: ignore[assignment]  # Why: a mutator here only ever refuses

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


def freeze_json(value: object) -> Any:
    """Return a deep, immutable copy of *value*: `FrozenDict` for objects, tuples for arrays.

    A `FrozenDict` is returned as it is, at no cost. Subclasses of `str`, `int`, `float` and `list`
    become the plain type.

    Raises:
        JsonValueError: `NOT_JSON`, with the path, for a type that JSON does not have (named tuples
            among them), a key that is no string, NaN and infinities, an integer of more than
            `MAX_JSON_DIGITS`, nesting deeper than `MAX_JSON_DEPTH` (cycles end there), and a
            mapping that cannot be read.
    """
    try:
        return _freeze(value, 0)
    except _Refusal as refusal:
        path = "".join(reversed(refusal.steps)).removeprefix(".")
        raise JsonValueError(path, refusal.problem, cause=refusal.__cause__) from None


def thaw_json(value: Any) -> Any:
    """Return plain dicts and lists with the same content; the caller may change them."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: thaw_json(item) for key, item in items}
    if isinstance(value, (tuple, list)):
        return [thaw_json(item) for item in cast("Sequence[Any]", value)]
    return value


class _Refusal(Exception):  # noqa: N818  # Why: never leaves this module
    # Why: the path is put together on the way out, so that a good value pays nothing for it.
    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[str] = []


def _freeze(value: object, depth: int) -> Any:
    # Why: kinds by type(), never isinstance(), which asks the value for its __class__.
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if issubclass(kind, (int, float)):
        return _freeze_number(value)
    if depth >= MAX_JSON_DEPTH:
        raise _Refusal(f"is nested deeper than {MAX_JSON_DEPTH}")
    if kind is dict or issubclass(kind, Mapping):
        return _freeze_object(cast("Mapping[object, object]", value), depth)
    if kind is tuple or issubclass(kind, list):
        return _freeze_array(value, depth)
    if issubclass(kind, str):
        return str.__str__(cast("str", value))
    raise _Refusal(f"is a {kind.__name__}, which JSON does not have")


def _freeze_number(value: Any) -> int | float:
    if isinstance(value, int):
        if not -_TOO_BIG < (plain := int.__int__(value)) < _TOO_BIG:
            raise _Refusal(f"is an integer of more than {MAX_JSON_DIGITS} digits")
        return plain
    number = float.__float__(value)
    if not math.isfinite(number):
        raise _Refusal(f"is {number}, which JSON does not have")
    return number


def _freeze_object(value: Mapping[object, object], depth: int) -> FrozenDict:
    frozen: dict[str, Any] = {}
    for key, item in _items(value):
        if not issubclass(type(key), str):
            raise _Refusal(f"has a key that is a {type(key).__name__} and no string")
        name = str.__str__(cast("str", key))
        try:
            frozen[name] = _freeze(item, depth + 1)
        except _Refusal as refusal:
            refusal.steps.append(f".{name}")
            raise
    return _trusted(frozen)


def _items(value: Mapping[object, object]) -> list[tuple[object, object]]:
    try:
        return [(key, item) for key, item in value.items()]
    except Exception as error:  # Why: it may be anybody's class
        raise _Refusal(f"cannot be read: {described(error)}") from error


def _freeze_array(value: Any, depth: int) -> tuple[Any, ...]:
    # Why: a list is read past any method that a subclass has overridden.
    items = cast("Sequence[object]", value if type(value) is tuple else list[Any].copy(value))
    frozen: list[Any] = []
    for item in items:
        try:
            frozen.append(_freeze(item, depth + 1))
        except _Refusal as refusal:
            refusal.steps.append(f"[{len(frozen)}]")
            raise
    return tuple(frozen)


def _trusted(items: dict[str, Any]) -> FrozenDict:
    frozen: FrozenDict = dict.__new__(FrozenDict)
    dict[str, Any].update(frozen, items)  # Invariant: every value in *items* is frozen
    return frozen


_SHOWN: Final = 120
_TOO_BIG: Final = 10**MAX_JSON_DIGITS
_AS_THEY_ARE: Final[frozenset[type]] = frozenset({str, bool, type(None), FrozenDict})
