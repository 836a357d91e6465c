"""The form of a value inside a record: JSON, with a mark for what JSON does not have."""

import math
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, cast

from dsh_llm._crossing._classes import path_of
from dsh_llm._scrub import LEFT_OUT
from dsh_llm._secret_text import scrub_text
from dsh_llm._secrets import holds_secret_name
from dsh_llm._text import described

MARK: Final = "$"
"""The key of a mapping that stands for something else."""
MAX_LEVEL: Final = 100
"""Deepest nesting that a record has, through all its errors."""
MAX_PARCEL: Final = 64 * 1024
"""Bytes that the pickle of one foreign value may have."""
MAX_TEXT: Final = 2_000
MAX_BITS: Final = 10_000
"""Longest integer that is written out: JSON readers, Python's too, refuse much longer ones."""

_parcels: Final[ContextVar[int]] = ContextVar("dsh_parcels", default=0)
_MAX_PARCELS: Final = 3


class ValuePacker:
    """Writes scrubbed values; errors among them by *pack_error*."""

    def __init__(self, pack_error: Callable[[BaseException], Any], *, binary: bool) -> None:
        """Write for a pickle if *binary*, else for JSON."""
        self._pack_error = pack_error
        self._binary = binary
        self._level = 0

    def value(self, value: Any) -> Any:
        """Return *value* as a record holds it."""
        if self._level >= MAX_LEVEL:
            return LEFT_OUT
        self._level += 1
        try:
            return self._value(value)
        finally:
            self._level -= 1

    def _value(self, value: Any) -> Any:
        kind = cast("type[Any]", type(value))
        if kind in _PLAIN:
            return value
        write = _WRITERS.get(kind)
        if write is not None:
            return write(self, value)
        if issubclass(kind, BaseException):
            return {MARK: "error", "of": self._pack_error(value)}
        named = issubclass(kind, tuple) and hasattr(cast("Any", kind), "_fields")
        return _named_tuple(self, value) if named else self.foreign(value)

    def foreign(self, value: object) -> Any:
        """Return the pickle of *value* if it may and can be one, else its text."""
        text = scrub_text(described(value))[:MAX_TEXT]
        parcel = parcel_of(value) if self._binary else b""
        return {MARK: "pickle", "of": parcel, "text": text} if parcel else text


def parcel_of(value: object) -> bytes:
    """Return the pickle of *value*; nothing if there is none, or if it may hold a secret."""
    import pickle

    token = _parcels.set(_parcels.get() + 1)
    try:
        # Why: an object that leads back to the error would be pickled inside itself, again and
        # again.
        data = pickle.dumps(value) if _parcels.get() <= _MAX_PARCELS else b""
    except Exception:  # noqa: BLE001  # Why: any failure to pickle means "send its text instead"
        return b""
    finally:
        _parcels.reset(token)
    return data if len(data) <= MAX_PARCEL and _clean(data) else b""


def _clean(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    # Why: the pickle of a pydantic error holds what its model was given, whatever that was.
    if "from_exception_data" in text:
        return False
    return not holds_secret_name(text) and scrub_text(text) == text


def _int(_: ValuePacker, value: int) -> Any:
    return value if value.bit_length() <= MAX_BITS else {MARK: "int", "of": hex(value)}


def _float(_: ValuePacker, value: float) -> Any:
    return value if math.isfinite(value) else {MARK: "float", "of": repr(value)}


def _bytes(_: ValuePacker, value: bytes) -> Any:
    return {MARK: "bytes", "of": value.decode("latin-1")}


def _dict(packer: ValuePacker, value: dict[Any, Any]) -> Any:
    if MARK not in value and all(type(key) is str for key in value):
        return {key: packer.value(item) for key, item in value.items()}
    pairs = [[packer.value(key), packer.value(item)] for key, item in value.items()]
    return {MARK: "dict", "of": pairs}


def _list(packer: ValuePacker, value: list[Any]) -> Any:
    return [packer.value(item) for item in value]


def _tuple(packer: ValuePacker, value: tuple[Any, ...]) -> Any:
    return {MARK: "tuple", "of": [packer.value(item) for item in value]}


def _set(packer: ValuePacker, value: set[Any] | frozenset[Any]) -> Any:
    # Why: equal sets have equal records.
    items = sorted((packer.value(item) for item in value), key=repr)
    return {MARK: type(value).__name__, "of": items}


def _named_tuple(packer: ValuePacker, value: Any) -> Any:
    kind: Any = value.__class__
    fields = {name: packer.value(item) for name, item in zip(kind._fields, value, strict=True)}
    return {MARK: "named", "class": path_of(kind), "of": fields}


_PLAIN: Final = frozenset({str, bool, type(None)})
_WRITERS: Final[dict[type, Callable[[ValuePacker, Any], Any]]] = {
    int: _int,
    float: _float,
    bytes: _bytes,
    dict: _dict,
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _set,
}
