"""The errors of the catalogue, of model calls and of the system, and the guards for them."""

import errno as _errno
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, Unpack

from dsh_llm._catalogue import error_info
from dsh_llm._harness_error import ErrorFields, HarnessError
from dsh_llm._verdicts import Effect

__all__ = [
    "INVARIANT",
    "Effect",
    "ErrorFields",
    "HarnessCodedError",
    "HarnessError",
    "LlmError",
    "SystemCallError",
    "is_harness_coded_error",
    "is_harness_error",
    "is_violation",
]

INVARIANT: Final = "INVARIANT"
"""Code of a broken event contract; such an error is never turned into a tool result."""


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
        return f"[{self.code_num or self.code}] {super().__str__()}"


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
    Met at the *seam* `tool`, it is a tool whose execution failed (1003); elsewhere it has no row.
    """

    def __init__(self, error: OSError, *, seam: str | None = None) -> None:
        """Wrap *error*, which has an errno, and keep it as the cause."""
        number = error.errno or 0
        super().__init__(str(error), _errno.errorcode.get(number, f"ERRNO_{number}"), cause=error)
        self.errno = error.errno
        self.strerror = error.strerror
        self.filename = error.filename
        if seam is not None:
            self.seam = seam


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
