"""The public ways to change a container: one trial for each."""

import operator
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import Any, Final, TypeAlias

Trial: TypeAlias = tuple[str, Callable[[Any, Any], object]]
"""What it is called, and the attempt: of the container, with a value to put in."""

PROBES: Final = (object(), 0, 1)
"""Values to put in: a stranger, and two numbers, for the containers that hold nothing else."""


def trials_for(part: object) -> Sequence[Trial]:
    """Return what to try on *part*; nothing if it is no container."""
    if isinstance(part, tuple):
        return ()
    if isinstance(part, Mapping):
        return _MAPPING
    if isinstance(part, Sequence):
        return _SEQUENCE
    return _SET if isinstance(part, AbstractSet) else ()


def _first(part: Any) -> Any:
    return next(iter(part))


def _backwards() -> Callable[[object], int]:
    numbers = count()
    return lambda _: -next(numbers)


_KEY: Final = "dsh probe"

_MAPPING: Final[Sequence[Trial]] = (
    ("new[key] =", lambda part, probe: operator.setitem(part, _KEY, probe)),
    ("[key] =", lambda part, probe: operator.setitem(part, _first(part), probe)),
    ("del [key]", lambda part, _: operator.delitem(part, _first(part))),
    ("update", lambda part, probe: part.update({_KEY: probe})),
    ("setdefault", lambda part, probe: part.setdefault(_KEY, probe)),
    ("|=", lambda part, probe: part.__ior__({_KEY: probe})),
    ("pop", lambda part, _: part.pop(_first(part))),
    ("popitem", lambda part, _: part.popitem()),
    ("clear", lambda part, _: part.clear()),
    ("move_to_end", lambda part, _: part.move_to_end(_first(part))),
)

_SEQUENCE: Final[Sequence[Trial]] = (
    ("[0] =", lambda part, probe: operator.setitem(part, 0, probe)),
    ("[:] =", lambda part, probe: operator.setitem(part, slice(None), [probe, probe])),
    ("del [0]", lambda part, _: operator.delitem(part, 0)),
    ("append", lambda part, probe: part.append(probe)),
    ("extend", lambda part, probe: part.extend([probe])),
    ("insert", lambda part, probe: part.insert(0, probe)),
    ("+=", lambda part, probe: part.__iadd__([probe])),
    ("+= bytes", lambda part, _: part.__iadd__(b"\0")),
    ("*=", lambda part, _: part.__imul__(2)),
    ("pop", lambda part, _: part.pop()),
    ("remove", lambda part, _: part.remove(_first(part))),
    ("clear", lambda part, _: part.clear()),
    ("reverse", lambda part, _: part.reverse()),
    ("sort", lambda part, _: part.sort(key=_backwards())),
    ("appendleft", lambda part, probe: part.appendleft(probe)),
    ("extendleft", lambda part, probe: part.extendleft([probe])),
    ("popleft", lambda part, _: part.popleft()),
    ("rotate", lambda part, _: part.rotate(1)),
)

_SET: Final[Sequence[Trial]] = (
    ("add", lambda part, probe: part.add(probe)),
    ("update", lambda part, probe: part.update({probe})),
    ("|=", lambda part, probe: part.__ior__({probe})),
    ("^=", lambda part, probe: part.__ixor__({probe})),
    ("&=", lambda part, _: part.__iand__(set())),
    ("-=", lambda part, _: part.__isub__(set(part))),
    ("discard", lambda part, _: part.discard(_first(part))),
    ("remove", lambda part, _: part.remove(_first(part))),
    ("pop", lambda part, _: part.pop()),
    ("clear", lambda part, _: part.clear()),
    ("difference_update", lambda part, _: part.difference_update(set(part))),
    ("intersection_update", lambda part, _: part.intersection_update(set())),
    ("symmetric_difference_update", lambda part, probe: part.symmetric_difference_update({probe})),
)
