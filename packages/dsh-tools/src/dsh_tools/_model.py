"""Arguments by type: pydantic describes them, the description is checked, pydantic converts.

This is the one module that imports pydantic's models; it is imported with the first typed tool.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from dsh_tools._errors import ToolArgsError, ToolDefinitionError
from dsh_tools._schema import Extra, tidy
from dsh_tools._schema_check import compile_schema
from dsh_tools._text import error_text
from dsh_tools._violations import Path, Violation

_SENTENCE: Final = re.compile(r"[A-Z][\w ]*? (?:should|must) (?P<rest>.*)", re.DOTALL)
_RAISED: Final = re.compile(r"(?:Value error|Assertion failed), ")


class _Schema(GenerateJsonSchema):
    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: what cannot be shown is left out, and what is shown is what is checked."""


class Validator(NamedTuple):
    """Checks arguments against `schema` and converts them into the type behind it."""

    schema: Mapping[str, Any]
    adapter: TypeAdapter[Any]
    check: Any

    def __call__(self, tree: dict[str, Any]) -> Any:
        """Return the value that *tree*, plain JSON values, describes.

        Raises:
            ToolArgsError: `INVALID_ARGS` with all violations, in the order of declaration.
            Exception: What a validator of the tool's author raises beside the errors of pydantic.
        """
        found: list[Violation] = []
        meant = tree if self.check is None else self.check(tree, (), found)
        value: Any = None
        try:
            value = self.adapter.validate_json(json.dumps(meant))
        except ValidationError as error:
            found.extend(_beside(found, _translated(error, tree)))
        except Exception:
            # Why: the author's validator was given a value whose fault is known already.
            if not found:
                raise
        if found:
            raise ToolArgsError(self._sentences(found))
        return value

    def _sentences(self, found: Sequence[Violation]) -> Iterable[str]:
        order = {name: n for n, name in enumerate(self.schema.get("properties", ()))}
        place = sorted(
            found, key=lambda each: order.get(each.path[0], len(order)) if each.path else -1
        )
        return dict.fromkeys(each.text for each in place)


def validator_of(kind: Any, extra: Extra, *, coerce: bool) -> Validator:
    """Return the validator of *kind*: a model, a dataclass, a typed dict.

    With *coerce* pydantic's lenient rules decide alone, else the schema does.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for a type that no JSON object describes.
    """
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        schema = tidy(adapter.json_schema(schema_generator=_Schema), extra)
        check = None if coerce else compile_schema(schema)
    except ToolDefinitionError:
        raise
    except Exception as error:  # Why: pydantic has many ways to refuse a type
        raise refused(error) from error
    if schema.get("type") != "object":
        raise ToolDefinitionError("arguments must be an object with named properties")
    return Validator(schema, adapter, check)


def refused(error: Exception) -> ToolDefinitionError:
    """Return the refusal of a type, in the first line of pydantic's own words."""
    return ToolDefinitionError(error_text(error).partition("\n")[0], cause=error)


def _beside(known: Sequence[Violation], more: Iterable[Violation]) -> list[Violation]:
    """Return those of *more* that are about other arguments than *known*."""
    told = {each.path[:1] for each in known} | {() for _ in known[:1]}
    return [each for each in more if each.path[:1] not in told]


def _translated(error: ValidationError, tree: dict[str, Any]) -> Iterable[Violation]:
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        missing = each["type"].startswith("missing")
        yield Violation(_place(each["loc"], tree, missing=missing), "" if missing else _words(each))


def _place(loc: Path, tree: Any, *, missing: bool) -> Path:
    """Return the part of pydantic's *loc* that is a path: it also names types and validators."""
    path: list[str | int] = []
    value = tree
    for part in loc:
        if isinstance(value, dict) and part in value:
            value = cast("dict[Any, Any]", value)[part]
            path.append(part)
        elif isinstance(value, list) and part in range(len(cast("list[Any]", value))):
            value = cast("list[Any]", value)[cast("int", part)]
            path.append(part)
    return (*path, loc[-1]) if missing else tuple(path)


def _words(error: Any) -> str:
    message: str = error["msg"]
    if error["type"] == "extra_forbidden":
        return "must be left out: there is no such property"
    if sentence := _SENTENCE.match(message):
        return f"must {sentence['rest']}"
    return f"is refused: {_RAISED.sub('', message, count=1)}"
