"""The JSON Schema that the model is shown: what pydantic says, without its noise."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, cast

from dsh_llm import JsonValueError, freeze_json

Extra: TypeAlias = Literal["drop", "forbid"]
"""What becomes of keys that the schema does not name."""

_MAPS: Final = ("properties", "patternProperties", "$defs")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "propertyNames", "contentSchema")


def tidy(schema: Mapping[str, Any], extra: Extra) -> dict[str, Any]:
    """Return *schema* with an object at the top, without titles and defaults that are no JSON.

    With *extra* `"forbid"` every object with named properties says that there are no others.
    """
    top = _tidied(schema, extra)
    if "$ref" in top:
        definition = top["$defs"][top.pop("$ref").rpartition("/")[2]]
        top = {**definition, **top}
    return top


def _tidied(node: Any, extra: Extra) -> Any:
    if not isinstance(node, Mapping):
        return node
    clean = {key: item for key, item in cast("Mapping[str, Any]", node).items() if key != "title"}
    if "default" in clean and not _is_json(clean["default"]):
        del clean["default"]
    for key in clean.keys() & _MAPS:
        clean[key] = {name: _tidied(each, extra) for name, each in clean[key].items()}
    for key in clean.keys() & _LISTS:
        clean[key] = [_tidied(each, extra) for each in clean[key]]
    for key in clean.keys() & _SINGLE:
        clean[key] = _tidied(clean[key], extra)
    if extra == "forbid" and "properties" in clean:
        clean.setdefault("additionalProperties", False)
    return clean


def _is_json(value: object) -> bool:
    try:
        freeze_json(value)
    except JsonValueError:
        return False
    return True
