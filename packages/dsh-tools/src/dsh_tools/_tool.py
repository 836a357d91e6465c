"""A tool: what the model is shown of a function, and how a call's arguments become its own."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic

from dsh_llm import FrozenDict, JsonValueError, ToolSchema, freeze_json

from dsh_tools._arguments import parse_arguments
from dsh_tools._calls import RawArguments, ToolContext
from dsh_tools._errors import ToolDefinitionError
from dsh_tools._names import require_name
from dsh_tools._signature import Binder, Bound, as_one, read_parameters

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    # Why: with defaults, plain `Tool` is any tool; at run time the import would cost asyncio's.
    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any)
else:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")


class Tool(Generic[P, R]):
    """A function that a model can call; made by `define_tool` or `Tool.raw`.

    Calling it calls the function, without validation.

    Attributes:
        function: The body.
        schema: What the model is shown.
        concurrency_safe: Whether calls of it may run beside other calls.
        is_async: Whether the body runs in the event loop; any other runs in a thread.
    """

    def __init__(
        self,
        function: Callable[P, R],
        schema: ToolSchema,
        validate: Callable[[dict[str, Any]], Any],
        binder: Binder,
        *,
        concurrency_safe: bool = False,
    ) -> None:
        """Put the parts together: *validate* checks plain JSON values, *binder* places them."""
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self.__name__ = schema.name
        self.function = function
        self.schema = schema
        self.concurrency_safe = concurrency_safe
        self.is_async = _is_async(function)
        self._validate = validate
        self._binder = binder

    @staticmethod
    def raw(
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        execute: Callable[Q, S],
        *,
        strict: bool | None = None,
        concurrency_safe: bool = False,
    ) -> "Tool[Q, S]":
        """Make a tool whose JSON Schema is shown as it is, and which checks its own arguments.

        *execute* gets the arguments as a plain dict, and the `ToolContext` if it takes it.

        Raises:
            ToolDefinitionError: `INVALID_TOOL` for a bad name, a schema that is no JSON object, or
                a body that takes no arguments.
        """
        schema = ToolSchema(require_name(name), description, frozen_schema(parameters), strict)
        binder = as_one(read_parameters(execute))
        return Tool(execute, schema, unchecked, binder, concurrency_safe=concurrency_safe)

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.schema.name

    @property
    def description(self) -> str:
        """What the model is told of it; may be empty."""
        return self.schema.description

    @property
    def parameters(self) -> FrozenDict:
        """The JSON Schema of its arguments."""
        return self.schema.parameters

    @property
    def strict(self) -> bool | None:
        """Whether the provider is to enforce the schema; `None` when the author did not say."""
        return self.schema.strict

    def bind(self, arguments: RawArguments, context: ToolContext) -> Bound:
        """Return the arguments of the body for a call with *arguments*, parsed and validated.

        Raises:
            ToolArgsError: `INVALID_ARGS` with all violations.
        """
        nullary = not self.parameters.get("properties")
        tree = parse_arguments(arguments, nullary=nullary)
        return self._binder(self._validate(tree), context)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def frozen_schema(parameters: Mapping[str, Any]) -> FrozenDict:
    """Return an immutable copy of a JSON Schema.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for what is no JSON object.
    """
    try:
        schema: object = freeze_json(parameters)
    except JsonValueError as error:
        raise ToolDefinitionError(f"the schema is no JSON: {error}", cause=error) from error
    if not isinstance(schema, FrozenDict):
        raise ToolDefinitionError("the schema must be an object")
    return schema


def _is_async(body: Any) -> bool:
    return inspect.iscoroutinefunction(body) or inspect.iscoroutinefunction(type(body).__call__)


def unchecked(tree: dict[str, Any]) -> dict[str, Any]:
    """Accept any arguments: the tool checks its own."""
    return tree
