"""Typed dicts of the standard library, made over for pydantic.

Before 3.12 `typing.TypedDict` forgets which keys are required when classes inherit, and pydantic
accepts only the backport's. The values are plain dicts either way.
"""

import functools
import types
import typing
from typing import Any, cast

import typing_extensions

_MARKS = (typing.Required, typing.NotRequired)


def portable(annotation: Any, known: dict[Any, Any] | None = None) -> Any:
    """Return *annotation* with each typed dict of `typing` replaced by its twin."""
    known = {} if known is None else known
    if typing.is_typeddict(annotation):
        return _twin(annotation, known)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        inner, *metadata = args
        return typing.Annotated[(portable(inner, known), *metadata)]
    if not args or origin is typing.Literal:
        return annotation
    return _rebuilt(annotation, origin, tuple(_argument(each, known) for each in args))


def _argument(argument: Any, known: dict[Any, Any]) -> Any:
    # Why: a Callable's parameters are a list, which no typed dict can be in.
    return portable(argument, known) if not isinstance(argument, list) else cast("Any", argument)


def _rebuilt(annotation: Any, origin: Any, args: tuple[Any, ...]) -> Any:
    if args == typing.get_args(annotation):
        return annotation
    if origin is types.UnionType:
        return functools.reduce(_either, args)
    if hasattr(annotation, "copy_with"):
        return annotation.copy_with(args)
    return origin[args]


def _either(left: Any, right: Any) -> Any:
    return left | right


def _twin(kind: Any, known: dict[Any, Any]) -> Any:
    if kind not in known:
        twin: Any = typing_extensions.TypedDict(kind.__name__, {})  # type: ignore[reportArgumentType]  # Why: the name is the original's, known at run time only
        # Why: a typed dict may contain itself, so it is known before its keys are.
        known[kind] = twin
        hints = typing.get_type_hints(kind, include_extras=True)
        required = frozenset(key for key in hints if _is_required(kind, key, hints[key]))
        twin.__annotations__ = {key: portable(hint, known) for key, hint in hints.items()}
        twin.__required_keys__ = required
        twin.__optional_keys__ = frozenset(hints) - required
        twin.__doc__ = kind.__doc__
        twin.__pydantic_config__ = getattr(kind, "__pydantic_config__", {})
    return known[kind]


def _is_required(kind: Any, key: str, hint: Any) -> bool:
    # Why: the class itself does not see marks that are still text.
    if typing.get_origin(hint) in _MARKS:
        return typing.get_origin(hint) is typing.Required
    return key in kind.__required_keys__
