"""Prove that a value cannot be changed, by trying."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast

from dsh_invariants._trials import PROBES, trials_for

_BASES: Final[tuple[Any, ...]] = (OrderedDict, dict, list, set, deque, bytearray)
_ATOMS: Final = (str, bytes, int, float, complex, type(None), type, range)


def freeze(value: object) -> list[str]:
    """Try every public way to change *value* or anything that can be reached from it.

    Return one line for each part that could be changed, where it is and what worked
    (`.data['content'][0]: update`); `[]` proves that nobody can. What was changed is put back.
    Frozen containers are searched too; cycles and shared parts are visited once. Public ways are
    item and attribute assignment, in-place operators and the mutators of the standard containers;
    names with an underscore and the base class's own methods (`dict.update(x)`) are not.
    """
    found: list[str] = []
    seen: dict[int, object] = {}
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, _ATOMS) or id(part) in seen:
            continue
        seen[id(part)] = part  # Invariant: kept alive, so that its id stays its own
        worked = _changed_by(part)
        if worked:
            found.append(f"{path or 'value'}: {worked}")
        waiting += [(path + step, inner) for step, inner in _inside(part)][::-1]
    return found


def _inside(part: Any) -> Iterator[tuple[str, object]]:
    if isinstance(part, Mapping):
        items = cast("Mapping[object, object]", part).items()
        yield from ((f"[{key!r}]", item) for key, item in items)
    elif isinstance(part, (Sequence, AbstractSet)):
        members = cast("Iterable[object]", part)
        yield from _items(members, getattr(members, "_fields", ()))
    whole = cast("object", part)
    yield from ((f".{name}", getattr(whole, name)) for name in _attributes(whole))


def _items(items: Iterable[object], names: Sequence[str]) -> Iterator[tuple[str, object]]:
    for n, item in enumerate(items):
        yield f".{names[n]}" if n < len(names) else f"[{n}]", item


def _attributes(part: object) -> list[str]:
    """Return the public attributes that hold data, and the properties that can be set."""
    names = dict.fromkeys(getattr(part, "__dict__", {}))
    for kind in type(part).__mro__:
        slots = vars(kind).get("__slots__", ())
        names |= dict.fromkeys((slots,) if isinstance(slots, str) else slots)
        names |= {name: None for name, one in vars(kind).items() if getattr(one, "fset", None)}
    return [name for name in names if not name.startswith("_") and hasattr(part, name)]


def _changed_by(part: Any) -> str:
    """Return the name of the first way that changed *part*, which is whole again, or nothing."""
    for probe in PROBES:
        for name, trial in trials_for(part):
            before = _contents(part)
            _works(lambda trial=trial, probe=probe: trial(part, probe))
            if not _same(before, _contents(part)):
                _restore(part, before)
                return name
    return next((f"assign .{name}" for name in _attributes(part) if _assigns(part, name)), "")


def _assigns(part: object, name: str) -> bool:
    return _works(lambda: setattr(part, name, getattr(part, name)))


def _works(action: Callable[[], object]) -> bool:
    try:
        action()
    except Exception:  # noqa: BLE001  # Why: whatever a frozen value raises, it has refused
        return False
    return True


def _contents(part: Any) -> list[Any]:
    if isinstance(part, Mapping):
        items = cast("Mapping[Any, Any]", part).items()
        return [one for pair in items for one in pair]
    return list(part)


def _same(before: Sequence[Any], after: Sequence[Any]) -> bool:
    # Why: by identity, except numbers, which an array makes anew for each look.
    return len(before) == len(after) and all(
        one is other or (type(one) in (int, float) and one == other)
        for one, other in zip(before, after, strict=True)
    )


def _restore(part: Any, before: Sequence[Any]) -> None:
    """Fill *part* with what it held, by its own methods or else by those of its base class."""
    own = cast("Any", type(part))
    for kind in (own, *(base for base in _BASES if isinstance(part, base))):
        if _works(lambda kind=kind: _refill(kind, part, before)) and _same(before, _contents(part)):
            return


def _refill(kind: Any, part: Any, before: Sequence[Any]) -> None:
    kind.clear(part)
    if isinstance(part, Mapping):
        for key, item in zip(before[::2], before[1::2], strict=True):
            kind.__setitem__(part, key, item)
    elif isinstance(part, Sequence):
        kind.extend(part, before)
    else:
        kind.__ior__(part, set(before))
