"""From an error to its record: everything it carries, as scrubbed data."""

from collections.abc import Callable
from typing import Any, Final

from dsh_llm._crossing._classes import os_fields, paths_of, slots
from dsh_llm._crossing._trace import CARRIED, traceback_text
from dsh_llm._crossing._values import MARK, ValuePacker, parcel_of
from dsh_llm._scrub import scrub
from dsh_llm._secret_text import scrub_text
from dsh_llm._text import text_of

FORM: Final = 1
"""Version of the record's form; readers take later ones too, for what they know of them."""
MAX_LINKS: Final = 8
"""Causes behind causes that a record follows; the last one is told without its own."""
MAX_ERRORS: Final = 1_000
"""Errors that one record has room for; those beyond are told without what they carry."""

FIELDS: Final = {
    "id": "_id",
    "context": "context",
    "retryable": "_retryable",
    "retry_after": "retry_after",
    "effect": "_effect",
    "scope": "_scope",
    "signal": "signal",
    "recovery": "_recovery",
    "server_retryable": "server_retryable",
    "attempts": "attempts",
}
"""The base's fields: the record's name of each, and the attribute that holds it."""
CARRIED_NAME: Final = "_carried_name"
TOLD: Final = frozenset(
    {*FIELDS.values(), "message", "code", "_cause", "__notes__", CARRIED, CARRIED_NAME}
)
"""Attributes that have a place of their own in the record."""


def to_record(error: BaseException, *, binary: bool = False) -> dict[str, Any]:
    """Return the record of *error*, for JSON unless *binary*. Never raises."""
    return {"v": FORM, **_Packer(binary=binary).record(error)}


def pack(error: BaseException, rebuild: Callable[..., Any], *classes: type) -> tuple[Any, ...]:
    """Return what `__reduce__` returns: *rebuild*, and what it needs besides *classes*."""
    return (rebuild, (*classes, to_record(error, binary=True)))


_NOTHING: Final[tuple[Any, ...]] = ("", None, [], {}, b"", {MARK: "tuple", "of": []})


class _Packer:
    def __init__(self, *, binary: bool) -> None:
        self._binary = binary
        self._values = ValuePacker(self.record, binary=binary)
        self._above: list[BaseException] = []
        self._count = 0

    def record(self, error: BaseException) -> dict[str, Any]:
        self._count += 1
        cut = len(self._above) > MAX_LINKS or self._count > MAX_ERRORS
        paths, ours = paths_of(type(error))
        told = {"classes": paths} | _identity(error, ours=ours)
        if cut or any(error is one for one in self._above):
            return told | {"cut": True}
        self._above.append(error)
        try:
            return told | self._rest(error, foreign=not paths, ours=ours)
        except Exception as failure:  # noqa: BLE001  # Why: a hostile attribute must not hide the error
            return told | {"notes": [f"no full record: {scrub_text(text_of(failure))}"]}
        finally:
            self._above.pop()

    def _rest(self, error: BaseException, *, foreign: bool, ours: bool) -> dict[str, Any]:
        rest: dict[str, Any] = {"pickle": self._parcel(error)} if foreign else {}
        # Why: a foreign class is not rebuilt, and what it holds may be a whole connection.
        rest |= {} if foreign else self._state(error, FIELDS if ours else {})
        rest |= self._links(error, getattr(error, "cause", None) if ours else error.__cause__)
        rest["notes"] = scrub(list(getattr(error, "__notes__", ())))
        rest["traceback"] = traceback_text(error)
        return {key: value for key, value in rest.items() if value not in _NOTHING}

    def _parcel(self, error: BaseException) -> bytes:
        return parcel_of(error) if self._binary else b""

    def _state(self, error: BaseException, fields: dict[str, str]) -> dict[str, Any]:
        # Invariant: a copy is the same occurrence, so the id exists before anything is copied.
        _text(error, "id")
        held = slots(error) | error.__dict__
        state: dict[str, Any] = {key: held.get(name) for key, name in fields.items()}
        state["own"] = {name: value for name, value in held.items() if name not in TOLD}
        state["args"] = [] if error.args == (held.get("message"),) else list(error.args)
        state["os"] = os_fields(error)
        told = {key: value for key, value in state.items() if value is not None}
        return {key: self._values.value(item) for key, item in scrub(told).items()}

    def _links(self, error: BaseException, cause: object) -> dict[str, Any]:
        links: dict[str, Any] = {"cause": self._values.value(scrub(cause))}
        if cause is None and not error.__suppress_context__ and error.__context__ is not None:
            links["during"] = self.record(error.__context__)
        if isinstance(error, BaseExceptionGroup):
            links["members"] = [self.record(one) for one in _members(error)]
        return links


def _identity(error: BaseException, *, ours: bool) -> dict[str, Any]:
    kind = type(error)
    told = {"name": (_text(error, "name") if ours else "") or kind.__name__}
    own_words = ours or issubclass(kind, BaseExceptionGroup)
    message = _text(error, "message") if own_words else text_of(error)
    told["message"] = scrub_text(message)
    code = _text(error, "code")
    return told | {"code": scrub_text(code)} if code or ours else told


def _members(group: Any) -> tuple[BaseException, ...]:
    return group.exceptions


def _text(error: BaseException, name: str) -> str:
    try:
        found = getattr(error, name, None)
    except Exception:  # noqa: BLE001  # Why: a hostile property must not hide the error
        return ""
    return str.__str__(found) if isinstance(found, str) else ""
