"""The reference's own schema form: a map from a property's name to what it must be.

A property has `type` (string, number, boolean, object, array) and maybe `required`, `description`,
`enum`, `default`, `properties` (of an object) and `items` (of an array).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from dsh_llm import FrozenDict, JsonValueError, freeze_json, unreachable

from dsh_tools._checks import key_of
from dsh_tools._errors import ToolArgsError, ToolDefinitionError
from dsh_tools._schema import Extra
from dsh_tools._text import compact
from dsh_tools._violations import Path, Violation

_UNKNOWN: Final = "must be left out: there is no such property"


class SpecValidator:
    """Checks arguments against a spec, and drops or refuses the keys that it does not name."""

    def __init__(self, spec: Mapping[str, Any], extra: Extra) -> None:
        """Take a copy of *spec*.

        Raises:
            ToolDefinitionError: `INVALID_TOOL` for what is no map of properties.
        """
        self._spec = _frozen(spec)
        self._extra: Extra = extra
        self.schema = _object_schema(self._spec, extra)

    def __call__(self, tree: dict[str, Any]) -> dict[str, Any]:
        """Return *tree* without undeclared keys.

        Raises:
            ToolArgsError: `INVALID_ARGS` with all violations, in the order of declaration.
            UnreachableError: `UNREACHABLE` for a value of a property whose type is unknown.
        """
        found = list(self._faults_of(self._spec, tree, ()))
        if found:
            raise ToolArgsError(each.text for each in found)
        return _pruned(self._spec, tree)

    def _faults_of(
        self, spec: Mapping[str, Any], value: dict[str, Any], path: Path
    ) -> Iterator[Violation]:
        for name, prop in spec.items():
            if name in value:
                yield from self._faults(prop, value[name], (*path, name))
            elif prop.get("required") is True:
                yield Violation((*path, name))
        if self._extra == "forbid":
            yield from (Violation((*path, key), _UNKNOWN) for key in value if key not in spec)

    def _faults(self, prop: Mapping[str, Any], value: Any, path: Path) -> Iterator[Violation]:
        match prop.get("type"):
            case "string" | "number" | "boolean" as kind:
                yield from _scalar_faults(kind, prop, value, path)
            case "object":
                yield from self._object_faults(prop, value, path)
            case "array":
                yield from self._array_faults(prop, value, path)
            case kind:
                unreachable(kind, "validateArgs")

    def _object_faults(
        self, prop: Mapping[str, Any], value: Any, path: Path
    ) -> Iterator[Violation]:
        if not isinstance(value, dict):
            yield Violation(path, "must be an object")
        elif "properties" in prop:
            yield from self._faults_of(prop["properties"], cast("dict[str, Any]", value), path)

    def _array_faults(self, prop: Mapping[str, Any], value: Any, path: Path) -> Iterator[Violation]:
        if not isinstance(value, list):
            yield Violation(path, "must be an array")
        elif "items" in prop:
            for n, item in enumerate(cast("list[Any]", value)):
                yield from self._faults(prop["items"], item, (*path, n))


def _scalar_faults(
    kind: str, prop: Mapping[str, Any], value: Any, path: Path
) -> Iterator[Violation]:
    wanted = {"string": str, "number": (int, float), "boolean": bool}[kind]
    if not isinstance(value, wanted) or (kind == "number" and isinstance(value, bool)):
        yield Violation(path, f"must be a {kind}")
    elif "enum" in prop and key_of(value) not in {key_of(each) for each in prop["enum"]}:
        yield Violation(path, f"must be one of {compact(prop['enum'])}")


def _frozen(spec: Mapping[str, Any]) -> FrozenDict:
    try:
        frozen: FrozenDict = freeze_json(spec)
    except JsonValueError as error:
        raise ToolDefinitionError(f"the parameters are no JSON: {error}", cause=error) from error
    _require_props(frozen)
    return frozen


def _require_props(spec: object) -> None:
    if not isinstance(spec, FrozenDict):
        raise ToolDefinitionError("properties must be a map from name to property")
    for name, prop in spec.items():
        if not isinstance(prop, FrozenDict):
            text = f"parameter {name!r} is no property; give a JSON Schema as raw_schema"
            raise ToolDefinitionError(text)
        _require_parts(name, prop)


def _require_parts(name: str, prop: FrozenDict) -> None:
    if _has(prop, "object", "properties"):
        _require_props(prop["properties"])
    if _has(prop, "array", "items"):
        _require_props(FrozenDict({f"{name}[]": prop["items"]}))


def _has(prop: Mapping[str, Any], kind: str, part: str) -> bool:
    return prop.get("type") == kind and part in prop


def _object_schema(spec: Mapping[str, Any], extra: Extra) -> dict[str, Any]:
    required = [name for name, prop in spec.items() if prop.get("required") is True]
    return {
        "type": "object",
        "properties": {name: _prop_schema(prop, extra) for name, prop in spec.items()},
        **({"required": required} if required else {}),
        **({"additionalProperties": False} if extra == "forbid" else {}),
    }


def _prop_schema(prop: Mapping[str, Any], extra: Extra) -> dict[str, Any]:
    kept = {key: prop[key] for key in ("type", "description", "enum", "default") if key in prop}
    if not kept.get("description", True):
        del kept["description"]
    if _has(prop, "object", "properties"):
        kept |= _object_schema(prop["properties"], extra)
    if _has(prop, "array", "items"):
        kept["items"] = _prop_schema(prop["items"], extra)
    return kept


def _pruned(spec: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return {name: _pruned_value(spec[name], item) for name, item in value.items() if name in spec}


def _pruned_value(prop: Mapping[str, Any], value: Any) -> Any:
    if _has(prop, "object", "properties"):
        return _pruned(prop["properties"], value)
    if _has(prop, "array", "items"):
        return [_pruned_value(prop["items"], item) for item in value]
    return value
