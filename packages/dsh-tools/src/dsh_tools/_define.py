"""`define_tool`: the front door, for typed functions and for described ones."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast, overload

from dsh_llm import ToolSchema

from dsh_tools._docstring import argument_texts, first_paragraph
from dsh_tools._errors import ToolDefinitionError
from dsh_tools._names import name_of, require_name
from dsh_tools._signature import Binder, as_one, by_name, fields_of, read_parameters
from dsh_tools._spec import SpecValidator
from dsh_tools._tool import P, R, Tool, frozen_schema, unchecked

if TYPE_CHECKING:
    from dsh_tools._schema import Extra


class _Options(NamedTuple):
    name: str | None
    description: str | None
    parameters: Any
    raw_schema: Mapping[str, Any] | None
    strict: bool | None
    coerce: bool
    extra: "Extra"
    concurrency_safe: bool


class _Described(NamedTuple):
    schema: Mapping[str, Any]
    validate: Callable[[dict[str, Any]], Any]
    binder: Binder


@overload
def define_tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = ...,
    description: str | None = ...,
    parameters: Any = ...,
    raw_schema: Mapping[str, Any] | None = ...,
    strict: bool | None = ...,
    coerce: bool = ...,
    extra: "Extra" = ...,
    concurrency_safe: bool = ...,
) -> Tool[P, R]: ...
@overload
def define_tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    parameters: Any = ...,
    raw_schema: Mapping[str, Any] | None = ...,
    execute: Callable[P, R],
    strict: bool | None = ...,
    coerce: bool = ...,
    extra: "Extra" = ...,
    concurrency_safe: bool = ...,
) -> Tool[P, R]: ...
@overload
def define_tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    parameters: Any = ...,
    raw_schema: Mapping[str, Any] | None = ...,
    strict: bool | None = ...,
    coerce: bool = ...,
    extra: "Extra" = ...,
    concurrency_safe: bool = ...,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def define_tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    raw_schema: Mapping[str, Any] | None = None,
    execute: Callable[..., Any] | None = None,
    strict: bool | None = None,
    coerce: bool = False,
    extra: "Extra" = "drop",
    concurrency_safe: bool = False,
) -> Any:
    """Make a tool of a function; usable as a decorator, with or without options.

    From a typed function alone: its signature is the schema, its docstring the description, and
    each parameter is one argument. A parameter annotated with `ToolContext` gets the context of
    the call and is not shown.

    With *parameters* (a pydantic model, a dataclass, a `TypedDict`, or the reference's schema
    form: a map from name to property) or *raw_schema* (a JSON Schema, shown as it is and not
    checked) the function takes the arguments as one value, and a `ToolContext` if it wants.

    Args:
        function: The body, sync or async. `execute` is the same by name.
        name: What the model calls it; the function's own name otherwise.
        description: What the model is told; the first paragraph of the docstring otherwise.
        parameters: What describes the arguments, when the signature does not.
        raw_schema: A JSON Schema of the arguments, instead of *parameters*.
        execute: The body, in the call form.
        strict: Ask the provider to enforce the schema; not mentioned when `None`.
        coerce: Accept what pydantic can convert, as `"1"` for 1.
        extra: `"drop"` keys that the schema does not name, or `"forbid"` them.
        concurrency_safe: Whether calls may run beside other calls.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for what cannot be a tool; the message names the
            parameter that is at fault.
    """
    options = _Options(
        name, description, parameters, raw_schema, strict, coerce, extra, concurrency_safe
    )
    body = execute if function is None else function
    if body is None:
        return partial(_define, options=options)
    return _define(body, options)


def _define(function: Callable[..., Any], options: _Options) -> Tool[..., Any]:
    name = require_name(name_of(function) if options.name is None else options.name)
    try:
        schema, validate, binder = _described(function, options)
        frozen = frozen_schema(schema)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"tool {name!r}: {error}", cause=error) from error
    described = ToolSchema(name, _description(function, options), frozen, options.strict)
    safe = options.concurrency_safe
    return Tool(function, described, validate, binder, concurrency_safe=safe)


def _description(function: Callable[..., Any], options: _Options) -> str:
    if options.description is not None:
        return options.description
    return first_paragraph(_docstring(function))


def _docstring(function: Any) -> str | None:
    # Why: the docstring of a partial is that of `partial`.
    return getattr(function, "func", function).__doc__


def _described(function: Callable[..., Any], options: _Options) -> _Described:
    if options.extra not in {"drop", "forbid"}:
        raise ToolDefinitionError(f'extra must be "drop" or "forbid", not {options.extra!r}')
    if options.raw_schema is not None:
        return _raw(function, options, options.raw_schema)
    if options.parameters is None:
        return _from_signature(function, options)
    if isinstance(options.parameters, Mapping):
        return _from_spec(function, options)
    return _from_type(function, options)


def _from_signature(function: Callable[..., Any], options: _Options) -> _Described:
    parameters = read_parameters(function)
    fields = fields_of(parameters)
    from dsh_tools._fields import signature_validator

    texts = argument_texts(_docstring(function))
    validator = signature_validator(fields, texts, options.extra, coerce=options.coerce)
    return _Described(validator.schema, validator, by_name(parameters))


def _from_type(function: Callable[..., Any], options: _Options) -> _Described:
    binder = as_one(read_parameters(function))
    from dsh_tools._model import validator_of
    from dsh_tools._typeddicts import portable

    kind = portable(options.parameters)
    validator = validator_of(kind, options.extra, coerce=options.coerce)
    return _Described(validator.schema, validator, binder)


def _from_spec(function: Callable[..., Any], options: _Options) -> _Described:
    if options.coerce:
        raise ToolDefinitionError("coerce needs typed parameters")
    spec = cast("Mapping[str, Any]", options.parameters)
    validator = SpecValidator(spec, options.extra)
    return _Described(validator.schema, validator, as_one(read_parameters(function)))


def _raw(function: Callable[..., Any], options: _Options, schema: Mapping[str, Any]) -> _Described:
    if options.parameters is not None or options.coerce or options.extra != "drop":
        raise ToolDefinitionError("raw_schema is shown as it is: nothing else describes arguments")
    return _Described(schema, unchecked, as_one(read_parameters(function)))
