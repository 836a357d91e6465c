"""What the check of a JSON Schema is made of: kinds, members, alternatives, items, properties."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from dsh_tools._limits import is_number, limits_of, matcher
from dsh_tools._text import compact, listed
from dsh_tools._violations import Path, Violation, alternatives

Check: TypeAlias = Callable[[Any, Path, list[Violation]], Any]
"""Takes a value and where it is, appends what is wrong with it, and returns it as the schema means
it: 1.0 becomes 1 where an integer is wanted."""

KINDS: Final[Mapping[str, str]] = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}

_TYPES: Final[Mapping[str, type]] = {
    "string": str,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


def key_of(value: Any) -> object:
    """Return what two values share exactly if JSON calls them equal: 1 and 1.0, not 1 and true."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return frozenset((name, key_of(item)) for name, item in items)
    if isinstance(value, (list, tuple)):
        return tuple(key_of(item) for item in cast("Sequence[Any]", value))
    return (isinstance(value, bool), value)


def anything(value: Any, _path: Path, _found: list[Violation]) -> Any:
    """Let every value pass."""
    return value


def nothing(value: Any, path: Path, found: list[Violation]) -> Any:
    """Let no value pass."""
    found.append(Violation(path, "must be left out: there is no such property"))
    return value


def of_kind(kinds: Sequence[str]) -> Check:
    """Require one of the JSON types."""
    words = f"must be {listed([KINDS[kind] for kind in kinds], 'or')}"

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        for kind in kinds:
            if _is(kind, value):
                return _as(kind, value, path, found)
        found.append(Violation(path, words, mismatch=True))
        return value

    return check


def one_of(members: Sequence[Any]) -> Check:
    """Require one of the given values, strictly; return that very value."""
    known = {key_of(member): member for member in members}
    words = f"must be one of {compact(list(members))}"

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        key = key_of(value)
        if key in known:
            return known[key]
        found.append(Violation(path, words, mismatch=True))
        return value

    return check


def within(schema: Mapping[str, Any]) -> Check:
    """Require every bound that the schema sets on numbers, texts and sizes."""
    limits = limits_of(schema)

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        found.extend(Violation(path, each.words) for each in limits if each.broken(value))
        return value

    return check if limits else anything


def any_of(branches: Sequence[Check]) -> Check:
    """Require that one of *branches* fits; the first that does decides."""

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        failures: list[list[Violation]] = []
        for branch in branches:
            result, faults = _attempt(branch, value, path)
            if not faults:
                return result
            failures.append(faults)
        found.extend(alternatives(path, failures))
        return value

    return check


def exactly_one_of(branches: Sequence[Check], tag: str | None) -> Check:
    """Require that exactly one of *branches* fits; the property *tag* tells which one is meant."""

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        tried = [_attempt(branch, value, path) for branch in branches]
        fitting = [result for result, faults in tried if not faults]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            found.append(Violation(path, f"must fit one alternative, not {len(fitting)} of them"))
        else:
            found.extend(_tagged(path, tag, [faults for _, faults in tried]))
        return value

    return check


def items_of(prefix: Sequence[Check], rest: Check, *, unique: bool) -> Check:
    """Check an array's items: the first ones each by its own check, the others by *rest*."""

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        if not isinstance(value, list):
            return value
        items = cast("list[Any]", value)
        checks = [*prefix[: len(items)], *[rest] * (len(items) - len(prefix))]
        pairs = zip(checks, items, strict=True)
        result = [each(item, (*path, n), found) for n, (each, item) in enumerate(pairs)]
        if unique and len({key_of(item) for item in items}) < len(items):
            found.append(Violation(path, "must not have an item twice"))
        return result

    return check


def properties_of(
    named: Mapping[str, Check],
    required: Sequence[str],
    patterns: Sequence[tuple[str, Check]],
    others: Check,
    names: Check,
) -> Check:
    """Check an object's properties, in the order of declaration; then the undeclared ones."""
    needed = frozenset(required)
    undeclared = [name for name in required if name not in named]
    matchers = [(matcher(pattern), each) for pattern, each in patterns]

    def extra(name: str) -> Check:
        return next((each for matches, each in matchers if matches(name)), others)

    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, Any]", value)
        result = dict(given)
        for name in (*named, *undeclared):
            if name in given:
                result[name] = named.get(name, anything)(given[name], (*path, name), found)
            elif name in needed:
                found.append(Violation((*path, name)))
        for name in given:
            _, faults = _attempt(names, name, (*path, name))
            found.extend(each._replace(words=f"has a name that {each.words}") for each in faults)
            if name not in named:
                result[name] = extra(name)(given[name], (*path, name), found)
        return result

    return check


def _attempt(branch: Check, value: Any, path: Path) -> tuple[Any, list[Violation]]:
    faults: list[Violation] = []
    return branch(value, path, faults), faults


def _tagged(path: Path, tag: str | None, failures: list[list[Violation]]) -> list[Violation]:
    if tag is None:
        return alternatives(path, failures)
    place = (*path, tag)
    at_tag = [[fault for fault in faults if fault.path == place] for faults in failures]
    if not all(at_tag):
        meant = [each for each, wrong in zip(failures, at_tag, strict=True) if not wrong]
        return alternatives(path, meant)
    return alternatives(place, at_tag) if at_tag[0][0].words else at_tag[0]


def _is(kind: str, value: Any) -> bool:
    if kind == "number":
        return is_number(value)
    if kind == "integer":
        return is_number(value) and value % 1 == 0
    return isinstance(value, _TYPES[kind])


def _as(kind: str, value: Any, path: Path, found: list[Violation]) -> Any:
    if kind == "integer":
        return int(value)
    if kind == "number":
        try:
            float(value)
        except OverflowError:
            found.append(Violation(path, "must be a number that a 64-bit float can hold"))
    return value
