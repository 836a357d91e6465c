"""Bounds on numbers, texts and sizes: each keyword of a schema as a test and its words."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple


class Limit(NamedTuple):
    """A bound: whether a value breaks it, and what to say then."""

    broken: Callable[[Any], bool]
    words: str


def limits_of(schema: Mapping[str, Any]) -> list[Limit]:
    """Return the bounds that *schema* sets; one that is not about a value's kind lets it pass."""
    return [rule(schema[word]) for word, rule in _RULES.items() if word in schema]


def is_number(value: object) -> bool:
    """Tell whether JSON calls *value* a number: a bool is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(broken: Callable[[Any, Any], bool], words: str) -> Callable[[Any], Limit]:
    def rule(bound: Any) -> Limit:
        def test(value: Any) -> bool:
            return is_number(value) and broken(value, bound)

        return Limit(test, f"{words} {bound}")

    return rule


def _least(kind: type, noun: str, nouns: str) -> Callable[[int], Limit]:
    def rule(bound: int) -> Limit:
        def test(value: Any) -> bool:
            return isinstance(value, kind) and _size(value) < bound

        return Limit(test, f"must have at least {bound} {noun if bound == 1 else nouns}")

    return rule


def _most(kind: type, noun: str, nouns: str) -> Callable[[int], Limit]:
    def rule(bound: int) -> Limit:
        def test(value: Any) -> bool:
            return isinstance(value, kind) and _size(value) > bound

        return Limit(test, f"must have at most {bound} {noun if bound == 1 else nouns}")

    return rule


def _size(value: Any) -> int:
    return len(value)


def _no_multiple(value: Any, step: Any) -> bool:
    # Why: 0.3 is a multiple of 0.1 to everybody but binary arithmetic; the tolerance is pydantic's.
    if isinstance(value, int) and isinstance(step, int):
        return value % step != 0
    rest = abs(math.fmod(value, step))
    tolerance = abs(value) / 1e9
    return rest > tolerance and abs(rest - step) > tolerance


def _pattern(pattern: str) -> Limit:
    matches = matcher(pattern)

    def test(value: Any) -> bool:
        return isinstance(value, str) and not matches(value)

    return Limit(test, f"must match the pattern {pattern}")


def _format(name: str) -> Limit:
    form = _FORMATS.get(name, _ANY_FORM)

    def test(value: Any) -> bool:
        return isinstance(value, str) and not form.match(value)

    return Limit(test, f"must be a {name} in ISO 8601 form")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for *pattern*, in linear time.

    A pattern that needs backtracking is no test here; whoever wrote it has it tested elsewhere.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError:
        return lambda _: True


_ANY_FORM: Final = re.compile("")

# Why: pydantic takes a number in a text for a point in time, and a time for a date.
_FORMATS: Final = {
    "date": re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII),
    "date-time": re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}", re.ASCII),
    "time": re.compile(r"\d{2}:\d{2}", re.ASCII),
    "duration": re.compile(r"[+-]?P", re.ASCII),
}

_RULES: Final[Mapping[str, Callable[[Any], Limit]]] = {
    "minimum": _number(lambda value, bound: value < bound, "must be at least"),
    "maximum": _number(lambda value, bound: value > bound, "must be at most"),
    "exclusiveMinimum": _number(lambda value, bound: value <= bound, "must be greater than"),
    "exclusiveMaximum": _number(lambda value, bound: value >= bound, "must be less than"),
    "multipleOf": _number(_no_multiple, "must be a multiple of"),
    "minLength": _least(str, "character", "characters"),
    "maxLength": _most(str, "character", "characters"),
    "pattern": _pattern,
    "format": _format,
    "minItems": _least(list, "item", "items"),
    "maxItems": _most(list, "item", "items"),
    "minProperties": _least(dict, "property", "properties"),
    "maxProperties": _most(dict, "property", "properties"),
}
