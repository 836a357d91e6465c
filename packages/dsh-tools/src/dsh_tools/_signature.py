"""A function's parameters, and the arguments of a call of it."""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dsh_tools._calls import ToolContext
from dsh_tools._errors import ToolDefinitionError

EMPTY: Final = inspect.Parameter.empty
"""The default of a parameter that has none."""

_FIRST: Final = inspect.Parameter.POSITIONAL_ONLY
_EITHER: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD
_REST: Final = inspect.Parameter.VAR_POSITIONAL
_NAMED_REST: Final = inspect.Parameter.VAR_KEYWORD


class Bound(NamedTuple):
    """The arguments of one call of a body."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


Binder: TypeAlias = Callable[[Any, ToolContext], Bound]
"""Puts validated arguments and the context where the body takes them."""


class Parameter(NamedTuple):
    """One parameter, its annotation resolved where it was written.

    `is_context` means that the call's context is handed in, whatever the model says.
    """

    name: str
    annotation: Any
    default: Any
    kind: Any
    is_context: bool


def read_parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of *function*.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for what has no signature, or an annotation that is no
            type.
    """
    if inspect.isclass(function):
        raise ToolDefinitionError(f"the class {function.__name__!r} is no function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"cannot read the signature: {error}", cause=error) from error
    namespace = _namespace(function)
    return [_read(each, namespace) for each in signature.parameters.values()]


def fields_of(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters that the model fills in.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for one that no property can stand for.
    """
    for name, _, _, kind, _ in parameters:
        if kind in {_REST, _NAMED_REST}:
            raise ToolDefinitionError(f"parameter {name!r} takes any number of values: name each")
        if parameters[0].name == name and name in {"self", "cls"}:
            raise ToolDefinitionError(f"parameter {name!r}: define the tool from the bound method")
    return [each for each in parameters if not each.is_context]


def by_name(parameters: Sequence[Parameter]) -> Binder:
    """Bind a mapping of values by the names of *parameters*."""

    def bind(values: Any, context: ToolContext) -> Bound:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for each in parameters:
            value = context if each.is_context else values[each.name]
            if each.kind is _FIRST:
                args.append(value)
            else:
                kwargs[each.name] = value
        return Bound(tuple(args), kwargs)

    return bind


def as_one(parameters: Sequence[Parameter]) -> Binder:
    """Bind the arguments as one value: the first parameter.

    The context goes to the parameters annotated with `ToolContext`, and to a second positional
    parameter without a default.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for a body that cannot be called so.
    """
    named = [each.name for each in parameters if each.is_context]
    positional = [each for each in parameters if each.kind in {_FIRST, _EITHER, _REST}]
    if not positional or positional[0].is_context:
        raise ToolDefinitionError("the body must take the arguments as its first parameter")
    second = positional[1] if len(positional) > 1 else None
    if second is not None and second.default is EMPTY and second.kind is not _REST:
        others = [name for name in named if name != second.name]
        return lambda value, context: Bound((value, context), dict.fromkeys(others, context))
    return lambda value, context: Bound((value,), dict.fromkeys(named, context))


def _read(parameter: inspect.Parameter, namespace: dict[str, Any]) -> Parameter:
    name, kind = parameter.name, parameter.kind
    annotation = _resolved(name, parameter.annotation, namespace)
    return Parameter(name, annotation, parameter.default, kind, _is_context(annotation))


def _resolved(name: str, annotation: Any, namespace: dict[str, Any]) -> Any:
    if annotation is EMPTY:
        return Any
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        return typing.get_type_hints(holder, namespace, include_extras=True)[name]
    except Exception as error:
        # Why: an annotation is code; whatever it raises, it is no type.
        text = f"cannot resolve the annotation of parameter {name!r}: {error}"
        raise ToolDefinitionError(text, cause=error) from error


def _namespace(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = typing.cast("functools.partial[Any]", function).func
    if not inspect.isroutine(function) and not hasattr(function, "__wrapped__"):
        function = type(function).__call__
    return getattr(inspect.unwrap(function), "__globals__", {})


def _is_context(annotation: Any) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return ToolContext in typing.get_args(annotation)
    return annotation is ToolContext
