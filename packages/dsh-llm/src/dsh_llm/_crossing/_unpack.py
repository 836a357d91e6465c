"""From a record back to an error, whatever the record says and whoever wrote it."""

import math
from collections.abc import Callable, Mapping
from types import GetSetDescriptorType
from typing import Any, Final, cast

from dsh_llm._crossing._classes import OS_FIELDS, blank, find_builtin, find_named_tuple, find_ours
from dsh_llm._crossing._pack import CARRIED_NAME, FIELDS, TOLD
from dsh_llm._crossing._trace import CARRIED
from dsh_llm._crossing._values import MARK, MAX_LEVEL
from dsh_llm._scrub import LEFT_OUT
from dsh_llm._text import described


def unpack(base: type[Any], remote: type[Any], record: Mapping[str, Any]) -> BaseException:
    """Build the error of a *record* that came in a pickle; modules may be imported for it."""
    return _Unpacker(base, remote, binary=True).error(record)


def from_record(base: type[Any], remote: type[Any], record: object) -> Any:
    """Build an error of ours from a *record* that came as data; nothing is imported or unpickled.

    Total: what is missing or of a wrong type is left at its default, what is unknown is skipped.
    """
    unpacker = _Unpacker(base, remote, binary=False)
    error = unpacker.error(record)
    return error if isinstance(error, base) else unpacker.ours(remote, _mapping(record))


class _Unpacker:
    def __init__(self, base: Any, remote: Any, *, binary: bool) -> None:
        self._base = base
        self._remote = remote
        self._binary = binary
        self._level = 0

    def error(self, record: object) -> BaseException:
        data = _mapping(record)
        if not data:
            data = {"message": f"no record of an error: {described(record)}"[:_SHOWN]}
        paths = [path for path in _listed(data.get("classes")) if isinstance(path, str)]
        return self._known(paths, data) or self._foreign(data)

    def _known(self, paths: list[str], data: Mapping[str, Any]) -> BaseException | None:
        for path in paths:
            ours = find_ours(path, self._base, may_import=self._binary)
            if ours is not None:
                return self.ours(ours, data)
            builtin = find_builtin(path)
            if builtin is not None:
                return self._builtin(builtin, data)
        return self.ours(self._base, data) if paths else None

    def _foreign(self, data: Mapping[str, Any]) -> BaseException:
        error = self._opened(data.get("pickle"), None)
        if not isinstance(error, BaseException):
            return self.ours(self._remote, data)
        return self._caused(error, data)

    def ours(self, kind: type[Any], data: Mapping[str, Any]) -> Any:
        error = blank(kind)
        self._base.__init__(error, _str(data.get("message"), ""), _str(data.get("code"), "UNKNOWN"))
        self._restore(error, data)
        self._set_fields(error, data)
        error.args = tuple(self.items(data.get("args"))) or (error.message,)
        name = _str(data.get("name"), kind.__name__)
        if name != kind.__name__:
            error.__dict__[CARRIED_NAME] = name
        # Invariant: set even to None, for a process pool hangs a cause of its own in later.
        _try_set(error, "cause", self.value(data.get("cause")))
        return self._linked(error, data)

    def _set_fields(self, error: Any, data: Mapping[str, Any]) -> None:
        for key, holder in FIELDS.items():
            value = self.value(data.get(key))
            if key in data and _FITS[key](value):
                error.__dict__[holder] = value

    def _builtin(self, kind: type[BaseException], data: Mapping[str, Any]) -> BaseException:
        try:
            error = self._built(kind, data)
        except Exception:  # noqa: BLE001  # Why: a record may name arguments that the class refuses
            return self.ours(self._remote, data)
        self._restore(error, data)
        return self._caused(error, data)

    def _built(self, kind: type[BaseException], data: Mapping[str, Any]) -> BaseException:
        if not issubclass(kind, BaseExceptionGroup):
            return kind(*self.items(data.get("args")))
        members = [self._deeper(self.error, one) for one in _listed(data.get("members"))]
        whole = all(isinstance(one, Exception) for one in members)
        return cast("Any", kind if whole else BaseExceptionGroup)(
            _str(data.get("message"), ""), members
        )

    def _restore(self, error: BaseException, data: Mapping[str, Any]) -> None:
        for name, value in _mapping(data.get("own")).items():
            if name not in TOLD and _is_free(type(error), name):
                _try_set(error, name, self.value(value))
        if isinstance(error, OSError):
            for name, value in _mapping(data.get("os")).items():
                if name in OS_FIELDS:
                    _try_set(error, name, self.value(value))

    def _caused(self, error: BaseException, data: Mapping[str, Any]) -> BaseException:
        cause = self.value(data.get("cause"))
        if isinstance(cause, BaseException):
            error.__cause__ = cause
        return self._linked(error, data)

    def _linked(self, error: BaseException, data: Mapping[str, Any]) -> BaseException:
        notes = [note for note in _listed(data.get("notes")) if isinstance(note, str)]
        if notes:
            error.__notes__ = notes
        trace = _str(data.get("traceback"), "")
        if trace:
            _try_set(error, CARRIED, trace)
        if "during" in data:
            error.__context__ = self._deeper(self.error, data["during"])
        return error

    def value(self, value: Any) -> Any:
        """Return what *value*, a part of a record, stands for."""
        return self._deeper(self._value, value)

    def _deeper(self, read: Callable[[Any], Any], value: Any) -> Any:
        if self._level > MAX_LEVEL + 2:
            return self._remote("LeftOut", LEFT_OUT) if read == self.error else LEFT_OUT
        self._level += 1
        try:
            return read(value)
        finally:
            self._level -= 1

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            data = cast("dict[str, Any]", value)
            return self._marked(data) if MARK in data else self._dict(data)
        return self.items(cast("object", value)) if isinstance(value, (list, tuple)) else value

    def _dict(self, value: dict[str, Any]) -> dict[str, Any]:
        return {key: self.value(item) for key, item in value.items()}

    def items(self, value: object) -> list[Any]:
        return [self.value(item) for item in _listed(value)]

    def _marked(self, value: dict[str, Any]) -> Any:
        read = _READERS.get(_str(value[MARK], ""))
        try:
            return self._dict(value) if read is None else read(self, value)
        except Exception:  # noqa: BLE001  # Why: a mark that makes no sense is an ordinary mapping
            return self._dict(value)

    def named(self, value: dict[str, Any]) -> Any:
        items: dict[str, Any] = self._dict(value["of"])
        kind = find_named_tuple(value["class"], may_import=self._binary)
        if kind is None or set(kind._fields) != set(items):
            return tuple(items.values())
        return cast("Any", tuple).__new__(kind, [items[name] for name in kind._fields])

    def pairs(self, value: dict[str, Any]) -> Any:
        return {self.value(key): self.value(item) for key, item in value["of"]}

    def parcel(self, value: dict[str, Any]) -> Any:
        return self._opened(value["of"], value.get("text"))

    def _opened(self, data: object, text: Any) -> Any:
        # Invariant: only what came inside a pickle is unpickled, never data.
        if not self._binary or not isinstance(data, bytes):
            return text
        import pickle

        try:
            return pickle.loads(data)  # noqa: S301  # Why: it came inside a pickle that is being loaded
        except Exception:  # noqa: BLE001  # Why: the class may be missing here; the text tells what it was
            return text


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else []


def _str(value: object, default: str) -> str:
    return value if isinstance(value, str) else default


def _is_free(kind: type, name: str) -> bool:
    # Why: a record may not replace what the class does, nor what the language keeps.
    held: object = getattr(kind, name, None)
    taken = callable(held) or isinstance(held, (property, GetSetDescriptorType))
    return not taken and not name.startswith("__")


def _try_set(error: BaseException, name: str, value: Any) -> None:
    try:
        setattr(error, name, value)
    except Exception:  # noqa: BLE001  # Why: a property without a setter, in this version of the class
        error.__dict__[name] = value


def _is_flag(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_delay(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value is None
    return math.isfinite(value) and value >= 0


_SHOWN: Final = 200
_FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "id": lambda value: isinstance(value, str),
    "context": lambda value: isinstance(value, dict),
    "retryable": _is_flag,
    "retry_after": _is_delay,
    "effect": lambda value: isinstance(value, str) and value in {"none", "unknown", "done"},
    "scope": _is_text,
    "signal": _is_text,
    "recovery": _is_text,
    "server_retryable": _is_flag,
    "attempts": lambda value: isinstance(value, tuple),
}
_READERS: Final[dict[str, Callable[[_Unpacker, dict[str, Any]], Any]]] = {
    "error": lambda self, value: self.error(value["of"]),
    "tuple": lambda self, value: tuple(self.items(value["of"])),
    "set": lambda self, value: set(self.items(value["of"])),
    "frozenset": lambda self, value: frozenset(self.items(value["of"])),
    "bytes": lambda _, value: value["of"].encode("latin-1"),
    "int": lambda _, value: int(value["of"], 16),
    "float": lambda _, value: float(value["of"]),
    "dict": _Unpacker.pairs,
    "named": _Unpacker.named,
    "pickle": _Unpacker.parcel,
}
