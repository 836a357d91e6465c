"""The base of every error: a stable code beside the text, and what is known of this occurrence."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypedDict, cast

from dsh_llm._catalogue import ErrorInfo, error_info
from dsh_llm._codes import docs_link
from dsh_llm._crossing import deep_twin_of, from_record, pack, to_record, twin_of, unpack
from dsh_llm._scrub import scrub
from dsh_llm._secret_text import scrub_text
from dsh_llm._text import text_of
from dsh_llm._verdicts import MAX_WAIT, Effect, effect_by_row, retryable_by_row, wait_of


class ErrorFields(TypedDict, total=False):
    """The base's keywords, for subclasses that pass them on."""

    cause: object
    context: Mapping[str, Any] | None
    retryable: bool | None
    retry_after: float | None
    effect: Effect | None
    scope: str | None
    signal: str | None
    attempts: tuple[Any, ...]


class HarnessError(Exception):
    """Base of every failure that dsh raises.

    Route on `(name, code)`, never on the text.

    Attributes:
        message: The text for people, without a prefix.
        code: Stable string; any value is legal, the catalogue knows some of them.
        context: Diagnostic values of this occurrence.
        retry_after: Seconds that the far side asked to wait, else `None`.
        signal: A host's own discriminator for streams, opaque to dsh.
        attempts: One record (see `Attempt`) for each try that was made before giving up.
        server_retryable: What the far side said about another try, else `None`.
        seam: Where it was met, when the row of the code depends on that, else `None`.
    """

    __harness_error__: ClassVar[bool] = True
    default_retryable: ClassVar[bool | None] = None
    """A subclass's own verdict, which outranks the catalogue's."""
    server_retryable: bool | None = None
    seam: str | None = None

    def __init__(
        self,
        message: str,
        code: str,
        *,
        cause: object = None,
        context: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        effect: Effect | None = None,
        scope: str | None = None,
        signal: str | None = None,
        attempts: tuple[Any, ...] = (),
    ) -> None:
        """Build the error; nothing is computed from the arguments until it is asked for.

        A *message* or a *code* that is no string is turned into its text, no code into `UNKNOWN`.
        """
        message = _text(message, "None")
        code = _text(code, "UNKNOWN")
        Exception.__init__(self, message)
        self.message = message
        self.code = code
        if cause is not None:
            self.cause = cause
        self.context: dict[str, Any] = dict(context) if context else {}
        self._retryable = retryable
        self.retry_after = retry_after
        self._effect: Effect | None = effect
        self._scope = scope
        self.signal = signal
        self.attempts = attempts

    def __str__(self) -> str:
        """Return the message alone, scrubbed, whatever builtin the subclass also inherits."""
        # Why: tracebacks print it, and a process pool sends those.
        return scrub_text(self.message)

    def __repr__(self) -> str:
        return scrub_text(f"{self.name}({self.message!r}, {self.code!r})")

    def add_note(self, note: str, /) -> None:
        """Add *note*, scrubbed, for tracebacks print it."""
        super().add_note(scrub_text(note))

    @property
    def cause(self) -> object:
        """What lies behind it: an exception (then also `__cause__`) or any object, else `None`."""
        # Why: `raise ... from error` sets only __cause__, and a process pool overwrites it.
        return self.__dict__.get("_cause", self.__cause__)

    @cause.setter
    def cause(self, value: object) -> None:
        self._cause = value
        # Why: isinstance would ask a hostile object for its class.
        if issubclass(type(value), BaseException):
            self.__cause__ = cast("BaseException", value)

    @property
    def name(self) -> str:
        """The subclass's name, kept as data when the class itself could not be rebuilt."""
        carried = self.__dict__.get("_carried_name")
        return carried if isinstance(carried, str) else type(self).__name__

    @property
    def id(self) -> str:
        """Identity of this occurrence, a UUID: made when first read, kept by copies and pickles."""
        made = self.__dict__.get("_id")
        if made is None:
            import uuid

            made = self._id = str(uuid.uuid4())
        return made

    @property
    def info(self) -> ErrorInfo | None:
        """The catalogue's row for the code where it was met, or `None`: any code is legal."""
        code = cast("object", self.code)
        return error_info(code, seam=self.seam) if isinstance(code, str) else None

    @property
    def code_num(self) -> int | None:
        """The catalogue's number for the code, or `None`."""
        return self.info.number if self.info else None

    @property
    def recovery(self) -> str | None:
        """What a person does about it: said of this occurrence, else the catalogue's, or `None`."""
        said = self.__dict__.get("_recovery")
        return said if said is not None or self.info is None else self.info.recovery

    @recovery.setter
    def recovery(self, value: str | None) -> None:
        self._recovery = value

    @property
    def docs(self) -> str | None:
        """Link to the row's entry in the documentation, else to the code's, or `None`."""
        code = cast("object", self.code)
        if self.info is not None:
            return self.info.docs
        return docs_link(code) if isinstance(code, str) else None

    @property
    def retryable(self) -> bool | None:
        """Whether the same request may succeed later; `None` when nobody knows.

        What was set on this error counts first, then a wait of over 120 seconds (which means no),
        what the far side said, the subclass, and at last the catalogue.
        """
        if self._retryable is not None:
            return self._retryable
        if (wait_of(self.retry_after) or 0) > MAX_WAIT:
            return False
        said = self.server_retryable
        verdict = self.default_retryable if said is None else said
        return retryable_by_row(self.info) if verdict is None else verdict

    @retryable.setter
    def retryable(self, value: bool | None) -> None:
        self._retryable = value

    @property
    def said_effect(self) -> Effect | None:
        """The effect as it was set on this error, `None` when the code alone speaks of it."""
        return self._effect

    @property
    def effect(self) -> Effect | None:
        """Whether the action may have happened: as set, else what the code says, or `None`."""
        return self._effect or effect_by_row(self.code, self.info)

    @effect.setter
    def effect(self, value: Effect | None) -> None:
        self._effect = value

    @property
    def scope(self) -> str | None:
        """How much fails with it: `call`, `step`, `turn`, `session` or `account`, or `None`.

        As set, else the catalogue's.
        """
        return self._scope if self._scope is not None or self.info is None else self.info.scope

    @scope.setter
    def scope(self, value: str | None) -> None:
        self._scope = value

    def to_tool_error(self) -> dict[str, str]:
        """Return exactly `name` and `code`, which is what a tool's result has of an error."""
        return {"name": self.name, "code": self.code}

    def to_event(self) -> dict[str, Any]:
        """Return the event of a stream: `type`, `error` (the message), `code`.

        `code` is the host's `signal` if there is one, else the code; `code_num` and `recovery` are
        there when they are known. Scrubbed.
        """
        event = {"type": "error", "error": self.message, "code": self.signal or self.code}
        known = {"code_num": self.code_num, "recovery": self.recovery}
        return scrub(event | {key: value for key, value in known.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return everything that this error carries as JSON values, scrubbed; see `from_dict`.

        `v` is the form's version. What is neither JSON nor a builtin container is its text, causes
        are followed for eight links. Never raises, whatever the error holds.
        """
        self._state()
        return to_record(self)

    @classmethod
    def from_dict(cls, data: object) -> "HarnessError":
        """Return the error that `to_dict` described, of its own class if that is loaded here.

        Else of the nearest base that is, under its old name. Nothing is imported. Total: what is
        missing, unknown or of a wrong type in *data* is left at its default, so records of other
        versions can be read. Causes come back as themselves if they are errors of ours or builtin
        exceptions, as `RemoteError` if not.
        """
        return from_record(HarnessError, RemoteError, data)

    def __copy__(self) -> Self:
        return twin_of(self, self._state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        self._state()
        # Why: the cause stays live, it may hold sockets and locks that nothing can copy.
        return deep_twin_of(self, memo, live="_cause")

    def __reduce__(self) -> tuple[Any, ...]:
        self._state()
        return pack(self, unpack, HarnessError, RemoteError)

    def _state(self) -> dict[str, Any]:
        # Invariant: a copy is the same occurrence, so the id exists before anything is copied.
        _ = self.id
        return self.__dict__


def _text(given: object, nothing: str) -> str:
    # Why: isinstance would ask a hostile object for its class.
    if issubclass(type(given), str):
        return cast("str", given)
    return nothing if given is None else text_of(given)


class RemoteError(HarnessError):
    """Stands for an exception of another process whose class cannot be rebuilt here.

    `name`, `message` and `code` are the original's; `code` is `UNKNOWN` when it had none.
    """

    def __init__(self, name: str, message: str, code: str = "UNKNOWN") -> None:
        """Carry the *name* of the original's class."""
        super().__init__(message, code)
        self._carried_name = name
