"""One truth: the JSON Schema that the model was shown, compiled into the check of its arguments."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from dsh_tools._checks import (
    KINDS,
    Check,
    any_of,
    anything,
    exactly_one_of,
    items_of,
    nothing,
    of_kind,
    one_of,
    properties_of,
    within,
)
from dsh_tools._errors import ToolDefinitionError
from dsh_tools._text import shorten
from dsh_tools._violations import Path, Violation

# Invariant: a keyword that restricts values is either compiled or refused, never shown for nothing.
_REFUSED: Final = frozenset(
    {
        "$dynamicRef",
        "contains",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "not",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_DEFS: Final = "#/$defs/"


def compile_schema(schema: Mapping[str, Any]) -> Check:
    """Return the check of *schema*, which may refer to its own `$defs`.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for a keyword that would be shown but not checked.
    """
    return _Compiler(schema.get("$defs", {})).compiled(schema)


class _Compiler:
    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs
        self._known: dict[str, Check] = {}

    def compiled(self, schema: Any) -> Check:
        if isinstance(schema, bool):
            return anything if schema else nothing
        node = cast("Mapping[str, Any]", schema)
        if unknown := sorted(_REFUSED & node.keys()):
            raise ToolDefinitionError(f"cannot check the schema keyword {unknown[0]!r}")
        gates = list(self._gates(node))
        rest = [within(node), self._items(node), self._properties(node)]
        return _in_turn(gates, [each for each in rest if each is not anything])

    def _gates(self, node: Mapping[str, Any]) -> Sequence[Check]:
        gates: list[Check] = []
        if "$ref" in node:
            gates.append(self._reference(node["$ref"]))
        if "type" in node:
            gates.append(of_kind(_kinds(node["type"])))
        if "const" in node:
            gates.append(one_of([node["const"]]))
        if "enum" in node:
            gates.append(one_of(node["enum"]))
        return gates + self._combined(node)

    def _combined(self, node: Mapping[str, Any]) -> list[Check]:
        gates = [self.compiled(each) for each in node.get("allOf", ())]
        if "anyOf" in node:
            gates.append(any_of([self.compiled(each) for each in node["anyOf"]]))
        if "oneOf" in node:
            tag = node.get("discriminator", {}).get("propertyName")
            gates.append(exactly_one_of([self.compiled(each) for each in node["oneOf"]], tag))
        return gates

    def _reference(self, ref: str) -> Check:
        name = ref.removeprefix(_DEFS)
        if name not in self._defs:
            raise ToolDefinitionError(f"cannot resolve the schema reference {shorten(ref)!r}")
        if name not in self._known:
            # Why: a schema may refer to itself: the name is known before its check is.
            self._known[name] = anything
            self._known[name] = self.compiled(self._defs[name])
        return self._late(name)

    def _late(self, name: str) -> Check:
        def check(value: Any, path: Path, found: list[Violation]) -> Any:
            return self._known[name](value, path, found)

        return check

    def _items(self, node: Mapping[str, Any]) -> Check:
        if not node.keys() & {"items", "prefixItems", "uniqueItems"}:
            return anything
        prefix = [self.compiled(each) for each in node.get("prefixItems", ())]
        rest = self.compiled(node.get("items", True))
        return items_of(prefix, rest, unique=node.get("uniqueItems") is True)

    def _properties(self, node: Mapping[str, Any]) -> Check:
        if not node.keys() & _ABOUT_PROPERTIES:
            return anything
        named = node.get("properties", {}).items()
        patterns = node.get("patternProperties", {}).items()
        return properties_of(
            {name: self.compiled(each) for name, each in named},
            node.get("required", ()),
            [(pattern, self.compiled(each)) for pattern, each in patterns],
            self.compiled(node.get("additionalProperties", True)),
            self.compiled(node.get("propertyNames", True)),
        )


_ABOUT_PROPERTIES: Final = frozenset(
    {"properties", "required", "patternProperties", "additionalProperties", "propertyNames"}
)


def _kinds(kind: str | Sequence[str]) -> Sequence[str]:
    kinds = [kind] if isinstance(kind, str) else kind
    for each in kinds:
        if each not in KINDS:
            raise ToolDefinitionError(f"cannot check the schema type {each!r}")
    return kinds


def _in_turn(gates: Sequence[Check], rest: Sequence[Check]) -> Check:
    def check(value: Any, path: Path, found: list[Violation]) -> Any:
        before = len(found)
        for each in gates:
            value = each(value, path, found)
            if len(found) > before:
                return value
        for each in rest:
            value = each(value, path, found)
        return value

    return check
