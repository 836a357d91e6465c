"""From argument text to plain JSON values; what is not an object of JSON values is refused."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from dsh_tools._calls import RawArguments
from dsh_tools._errors import ToolArgsError
from dsh_tools._text import compact, shorten
from dsh_tools._violations import Path, Violation

MAX_DEPTH: Final = 100
"""Deepest nesting of arguments; far below the interpreter's own limit."""

MAX_DIGITS: Final = 640
"""Longest integer, in digits: the most that no setting of the interpreter can refuse."""

_TOO_BIG: Final = 10**MAX_DIGITS
_NOT_AN_OBJECT: Final = Violation((), "must be an object")
_TOO_DEEP: Final = f"is nested deeper than {MAX_DEPTH} levels"


def parse_arguments(raw: RawArguments, *, nullary: bool) -> dict[str, Any]:
    """Return *raw* as a fresh tree of plain dicts, lists and scalars.

    Empty text is `{}`; `null` is so only for a *nullary* tool, one without parameters. An object
    that was encoded twice is unwrapped once. Of duplicate keys the last wins.

    Raises:
        ToolArgsError: `INVALID_ARGS` for what is no JSON object, and for values that JSON does
            not have.
    """
    value: object = _decoded(raw) if isinstance(raw, str) else raw
    if isinstance(raw, str) and isinstance(value, str):
        value = _unwrapped(value)
    if value is None and nullary:
        return {}
    if not isinstance(value, Mapping):
        raise ToolArgsError((_NOT_AN_OBJECT.text,))
    return _plain_object(cast("Mapping[object, object]", value))


class _HugeNumber:
    """Stands for an integer that was not converted."""

    def __init__(self, digits: int) -> None:
        self.digits = digits


def _integer(text: str) -> int | _HugeNumber:
    digits = len(text.removeprefix("-"))
    return int(text) if digits <= MAX_DIGITS else _HugeNumber(digits)


_DECODER: Final = json.JSONDecoder(parse_int=_integer)


def _decoded(text: str) -> object:
    if not text.strip():
        return {}
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ToolArgsError((Violation((), _syntax(error)).text,)) from error
    except RecursionError as error:
        raise ToolArgsError((Violation((), _TOO_DEEP).text,)) from error


def _syntax(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].strip()
    near = f"near {json.dumps(shorten(rest, 20))}" if rest else "where the text ends"
    return f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}, {near}"


def _unwrapped(text: str) -> object:
    # Why: models encode the object twice; what is inside any other string is no business of ours.
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return text


def _plain_object(value: Mapping[object, object]) -> dict[str, Any]:
    found: list[Violation] = []
    tree = _object(value, (), found)
    if found:
        raise ToolArgsError(each.text for each in found)
    return tree


def _plain(value: object, path: Path, found: list[Violation]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path, found)
    if isinstance(value, (int, float)):
        return _number(value, path, found)
    return _container(value, path, found)


def _container(value: object, path: Path, found: list[Violation]) -> Any:
    if len(path) >= MAX_DEPTH:
        found.append(Violation(path, _TOO_DEEP))
    elif isinstance(value, Mapping):
        return _object(cast("Mapping[object, object]", value), path, found)
    elif isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        return [_plain(item, (*path, n), found) for n, item in enumerate(items)]
    else:
        found.append(Violation(path, _foreign(value)))
    return None


def _object(value: Mapping[object, object], path: Path, found: list[Violation]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            found.append(Violation(path, f"has a key that is no text: {shorten(repr(key))}"))
            continue
        _text(key, (*path, key), found)
        tree[str.__str__(key)] = _plain(item, (*path, key), found)
    return tree


def _text(value: str, path: Path, found: list[Violation]) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        lone = compact(f"U+{ord(value[error.start]):04X}")
        found.append(Violation(path, f"has half of a surrogate pair, {lone}, which is no text"))
    return str.__str__(value)


def _number(value: float, path: Path, found: list[Violation]) -> int | float:
    if isinstance(value, int):
        if abs(value) >= _TOO_BIG:
            found.append(Violation(path, f"must be a number of at most {MAX_DIGITS} digits"))
        return int(value)
    if not math.isfinite(value):
        found.append(Violation(path, "must be a finite number"))
    return float(value)


def _foreign(value: object) -> str:
    if isinstance(value, _HugeNumber):
        return f"must be a number of at most {MAX_DIGITS} digits, not {value.digits}"
    return f"is a {type(value).__name__}, which JSON does not have"
