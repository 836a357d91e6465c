"""The one way out for values: whatever leaves the process or is shown goes through `scrub`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from dsh_llm._secret_text import scrub_text
from dsh_llm._secrets import MASK, is_number_name, is_secret_name

MAX_DEPTH: Final = 60
"""Deepest nesting that is looked into; what is deeper, or contains itself, is left out."""

LEFT_OUT: Final = "…"
"""What stands for a part that was left out."""


def scrub(value: Any) -> Any:
    """Return *value* without secrets: containers are rebuilt, other objects come back as they are.

    Taken out of texts and bytes, at any depth: registered secrets (see `register_secret`), tokens
    of known formats, bearer and basic credentials, private keys, the credentials in a URL, and what
    a text says behind a secret's name (`password=...`, `"api_key": "..."`). Taken out of mappings,
    named tuples and lists of pairs: whatever stands under a secret's name. Subclasses of the
    builtin containers become the builtin. Never raises; a second time it changes nothing.
    """
    return _Scrubber().scrubbed(value, 0)


def is_secret_key(key: object) -> bool:
    """Tell whether a mapping's *key*, a text or bytes, is the name of a secret."""
    if isinstance(key, bytes):
        return is_secret_name(key.decode("latin-1"))
    return isinstance(key, str) and is_secret_name(key)


class _Scrubber:
    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def scrubbed(self, value: Any, depth: int) -> Any:
        kind = cast("type[object]", type(value))
        if kind in _HARMLESS:
            return value
        if issubclass(kind, str):
            return scrub_text(value)
        if issubclass(kind, bytes):
            return scrub_text(bytes.decode(value, "latin-1")).encode("latin-1")
        change = next((change for base, change in _CONTAINERS if issubclass(kind, base)), None)
        return value if change is None else self._container(value, change, depth)

    def _container(self, value: Any, change: "_Change", depth: int) -> Any:
        if id(value) in self._made:
            return self._made[id(value)]
        # Why: what is met again while it is being made contains itself.
        self._made[id(value)] = LEFT_OUT
        made = self._changed(value, change, depth) if depth < MAX_DEPTH else LEFT_OUT
        self._made[id(value)] = made
        return made

    def _changed(self, value: Any, change: "_Change", depth: int) -> Any:
        try:
            return change(self, value, depth + 1)
        except Exception:  # noqa: BLE001  # Why: anybody's container may refuse to be read
            return f"<unreadable {type(value).__name__}>"

    def of_mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        items = value.items() if not isinstance(value, dict) else dict[Any, Any].items(value)
        return dict(self._named(key, item, depth) for key, item in items)

    def of_tuple(self, value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
        kind = type(value)
        names: tuple[str, ...] | None = getattr(kind, "_fields", None)
        if names is None:
            return tuple(self._items(value, depth))
        items = zip(names, value, strict=True)
        make = cast("Any", tuple).__new__
        return make(kind, [self._named(name, item, depth)[1] for name, item in items])

    def of_list(self, value: list[Any], depth: int) -> list[Any]:
        return self._items(list[Any].copy(value), depth)

    def of_set(self, value: Any, depth: int) -> Any:
        kind: type = set if issubclass(type(value), set) else frozenset
        return kind(self._items(tuple(value), depth))

    def _items(self, items: Sequence[Any], depth: int) -> list[Any]:
        if items and all(_is_pair(item) for item in items):
            return [self._pair(item, depth) for item in items]
        return [self.scrubbed(item, depth) for item in items]

    def _pair(self, pair: Any, depth: int) -> Any:
        name, item = pair
        return type(pair)(self._named(name, item, depth))

    def _named(self, name: Any, item: Any, depth: int) -> tuple[Any, Any]:
        left = self.scrubbed(name, depth)
        secret = is_secret_key(name) or is_secret_key(left)
        # Why: `tokens: 7` is a count.
        if secret and isinstance(left, str) and is_number_name(left) and _only_numbers(item):
            return left, item
        return (left, _hidden(item) if secret else self.scrubbed(item, depth))


def _only_numbers(item: Any) -> bool:
    if type(item) is dict:
        item = list(cast("dict[Any, Any]", item).values())
    items = cast("list[Any]", item) if type(item) in {list, tuple} else [item]
    return all(type(one) in _HARMLESS for one in items)


def _hidden(item: Any) -> Any:
    # Why: that there is none is no secret, and worth knowing.
    nothing = item is None or isinstance(item, bool) or (type(item) in _TEXTS and not item)
    return item if nothing else MASK


def _is_pair(item: object) -> bool:
    # Why: a list of pairs is how headers are often kept.
    if type(item) not in {tuple, list}:
        return False
    pair = cast("Sequence[object]", item)
    return len(pair) == 2 and isinstance(pair[0], (str, bytes))  # noqa: PLR2004  # Why: a pair is two


_Change = Callable[[_Scrubber, Any, int], Any]
_TEXTS: Final = frozenset({str, bytes})
_HARMLESS: Final = frozenset({int, float, bool, type(None), complex})
_CONTAINERS: Final[tuple[tuple[type, _Change], ...]] = (
    (Mapping, _Scrubber.of_mapping),
    (tuple, _Scrubber.of_tuple),
    (list, _Scrubber.of_list),
    (set, _Scrubber.of_set),
    (frozenset, _Scrubber.of_set),
)
