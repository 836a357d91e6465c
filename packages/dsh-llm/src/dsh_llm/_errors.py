"""The one error base: a stable code beside the text, a cause that is kept, and a brand."""

import errno as _errno
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypedDict, TypeGuard, Unpack

from dsh_llm._catalogue import ErrorInfo, error_info
from dsh_llm._crossing import deep_twin_of, pack, twin_of

Effect: TypeAlias = Literal["none", "unknown", "done"]
"""Whether the failed action may have happened: not at all, nobody knows, or it did."""

INVARIANT: Final = "INVARIANT"
"""Code of a broken event contract; such an error is never turned into a tool result."""


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
        retryable: `True`, `False`, or `None` when nobody knows.
        retry_after: Seconds that the far side asked to wait, else `None`.
        effect: Whether the action may have happened, else `None`.
        scope: How much fails with it (`"call"`, `"step"`, `"turn"`, `"session"`, `"account"`).
        signal: A host's own discriminator for streams, opaque to dsh.
        attempts: One record for each attempt that was made before giving up.
    """

    __harness_error__: ClassVar[bool] = True

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
        """Build the error; nothing is computed from the arguments until it is asked for."""
        Exception.__init__(self, message)
        self.message = message
        self.code = code
        if cause is not None:
            self.cause = cause
        self.context: dict[str, Any] = dict(context) if context else {}
        self.retryable = retryable
        self.retry_after = retry_after
        self.effect: Effect | None = effect
        self.scope = scope
        self.signal = signal
        self.attempts = attempts

    def __str__(self) -> str:
        """Return the message alone, whatever builtin the subclass also inherits."""
        return self.message

    def __repr__(self) -> str:
        return f"{self.name}({self.message!r}, {self.code!r})"

    @property
    def cause(self) -> object:
        """What lies behind it: an exception (then also `__cause__`) or any object, else `None`."""
        # Why: `raise ... from error` sets only __cause__, and a process pool overwrites it.
        return self.__dict__.get("_cause", self.__cause__)

    @cause.setter
    def cause(self, value: object) -> None:
        self._cause = value
        if isinstance(value, BaseException):
            self.__cause__ = value

    @property
    def name(self) -> str:
        """The subclass's name, kept as data when the class itself could not be rebuilt."""
        carried = self.__dict__.get("_carried_name")
        return carried if isinstance(carried, str) else type(self).__name__

    @property
    def info(self) -> ErrorInfo | None:
        """The catalogue's row for the code, or `None`: an unknown code is legal."""
        return error_info(self.code)

    @property
    def code_num(self) -> int | None:
        """The catalogue's number for the code, or `None`."""
        return self.info.number if self.info else None

    @property
    def recovery(self) -> str | None:
        """What a person does about it, from the catalogue, or `None`."""
        return self.info.recovery if self.info else None

    @property
    def docs(self) -> str | None:
        """Link to the code's entry in the documentation, or `None`."""
        return self.info.docs if self.info else None

    def __copy__(self) -> Self:
        return twin_of(self, self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Why: the cause stays live, it may hold sockets and locks that nothing can copy.
        return deep_twin_of(self, memo, live="_cause")

    def __reduce__(self) -> tuple[Any, ...]:
        return pack(self, self.name, self.__dict__ | {"_cause": self.cause})


class HarnessCodedError(HarnessError):
    """The catalogue's own throwable: `str()` is `[2001] Session not found`.

    Keywords that the base does not know are context. `error_code` is the row's key.

    Raises:
        HarnessError: `VALIDATION_INVALID_INPUT` when the catalogue has no such row.
    """

    def __init__(
        self,
        key: str | int,
        /,
        *,
        cause: object = None,
        context: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        effect: Effect | None = None,
        scope: str | None = None,
        signal: str | None = None,
        attempts: tuple[Any, ...] = (),
        **more: Any,
    ) -> None:
        """Look *key* (a key, a code or a number) up and take title and code from the row."""
        row = error_info(key)
        if row is None:
            raise HarnessError(f"no catalogue row for {key!r}", "VALIDATION_INVALID_INPUT")
        super().__init__(
            row.title,
            row.key,
            cause=cause,
            context={**(context or {}), **more},
            retryable=retryable,
            retry_after=retry_after,
            effect=effect,
            scope=scope,
            signal=signal,
            attempts=attempts,
        )

    @property
    def error_code(self) -> str:
        """The row's key, the same string as `code`."""
        return self.code

    def __str__(self) -> str:
        return f"[{self.code_num}] {self.message}"


class LlmError(HarnessError):
    """A model call failed: at the provider, on the wire, or in what came back.

    `status` is the HTTP status when there was a response, `request_id` the provider's own id.
    """

    def __init__(
        self,
        message: str,
        code: str,
        status: int | None = None,
        *,
        request_id: str | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        """Take the base's keywords too, as *fields*."""
        super().__init__(message, code, **fields)
        self.status = status
        self.request_id = request_id


class SystemCallError(HarnessError, OSError):
    """The operating system refused; the code is the errno's name (`ENOENT`, `EACCES`).

    Who acts: whoever named the file, or the machine's owner. Old `except OSError` still matches.
    """

    def __init__(self, error: OSError) -> None:
        """Wrap *error*, which has an errno, and keep it as the cause."""
        number = error.errno or 0
        super().__init__(str(error), _errno.errorcode.get(number, f"ERRNO_{number}"), cause=error)
        self.errno = error.errno
        self.strerror = error.strerror
        self.filename = error.filename


def is_harness_error(value: object) -> TypeGuard[HarnessError]:
    """Tell whether *value* is a `HarnessError`, of this copy of the class or a foreign one.

    Total: a hostile object (a lying `__class__`, a raising `code`) is simply not one.
    """
    kind = type(value)
    if issubclass(kind, HarnessError):
        return True
    if not issubclass(kind, BaseException):
        return False
    try:
        texts = (getattr(value, name) for name in ("code", "message", "name"))
        branded = getattr(kind, "__harness_error__", None) is True
        return branded and all(isinstance(text, str) for text in texts)
    except Exception:  # noqa: BLE001  # Why: whatever a foreign attribute raises means "not ours"
        return False


def is_harness_coded_error(value: object) -> TypeGuard[HarnessCodedError]:
    """Tell whether *value* is the catalogue's own throwable."""
    return issubclass(type(value), HarnessCodedError)


def is_violation(value: object) -> bool:
    """Tell whether *value* reports a broken invariant, whichever package raised it."""
    return is_harness_error(value) and value.code == INVARIANT
