"""What is known of a failure before it has a code: the exception, the response, their words."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast

from dsh_llm._classify._body import ErrorReport, parse_body, read_report
from dsh_llm._classify._lazy import lazy
from dsh_llm._errors import is_harness_error
from dsh_llm._text import text_of

Seam: TypeAlias = Literal[
    "provider", "tool", "storage", "session", "caller", "sync", "job", "runtime"
]
"""Where a failure was met; the same exception means different things at different seams."""

MAX_WORDS: Final = 4096
"""Characters that phrases are looked for in."""

_STATUSES: Final = range(400, 600)
_STATUS_NAMES: Final = ("status_code", "status")
_REQUEST_ID_HEADERS: Final = (
    "x-request-id",
    "request-id",
    "x-deepseek-request-id",
    "apim-request-id",
    "x-amzn-requestid",
)
_LAZY_RESPONSES: Final = frozenset({"httpx.Response", "httpx2.Response"})
"""Responses whose `text` never reads from the network: it raises instead."""


_NO_REPORT: Final = ErrorReport()


class Evidence:
    """A failure as classifiers see it; each part is looked up when it is first asked for.

    Attributes:
        error: What was raised, `None` for a bare response.
        seam: Where it was met.
        sent: Whether something had left before: at the provider the request, at the caller's seam
            a credential, at the storage what was to be written; `None` when nobody says.
    """

    def __init__(self, error: object, seam: Seam, *, sent: bool | None = None) -> None:
        """Look at *error*, which may be hostile: an attribute that raises is not there."""
        self.error = error
        self.seam: Seam = seam
        self.sent = sent

    @lazy
    def kinds(self) -> frozenset[str]:
        """Names of the error's classes with the top package: `openai.APITimeoutError`."""
        return kinds_of(type(self.error))

    @lazy
    def errno(self) -> int | None:
        """The error number of an `OSError`."""
        number = peek(self.error, "errno") if issubclass(type(self.error), OSError) else None
        return number if type(number) is int else None

    @lazy
    def marks(self) -> frozenset[str | int]:
        """The kinds, and the errno if there is one."""
        return self.kinds if self.errno is None else self.kinds | {self.errno}

    @lazy
    def status(self) -> int | None:
        """The HTTP status, when it is one of a failure: the response's, else the body's."""
        if self._is_bare:
            return None
        return self._http_status() or self.report.status

    @lazy
    def headers(self) -> Mapping[str, str]:
        """The response's headers, with names in lower case."""
        for holder in () if self._is_bare else (self.error, self.response):
            found = peek(holder, "headers")
            if found is not None:
                return _lowered(found)
        return {}

    @lazy
    def request_id(self) -> str | None:
        """The far side's own id of the request."""
        own = None if self._is_bare else peek(self.error, "request_id")
        if isinstance(own, str) and own:
            return own
        return request_id_of(self.headers)

    @lazy
    def report(self) -> ErrorReport:
        """What the body says, or the error's own attributes when there is no body."""
        if self._is_bare:
            return _NO_REPORT
        body = self.body
        if body:
            return _read(body)
        texts = (peek(self.error, key) for key in ("code", "type", "param"))
        code, kind, param = (text if isinstance(text, str) else "" for text in texts)
        return ErrorReport(code=code, type=kind, param=param)

    @lazy
    def body(self) -> Any:
        """The response's body, parsed if it is JSON; `None` when nobody has read it."""
        own = peek(self.error, "body")
        if isinstance(own, (dict, list, str)):
            return cast("Any", own)
        response = self.response
        if isinstance(response, Mapping):
            return _lowered_keys(cast("Mapping[Any, Any]", response).get("Error"))
        if kinds_of(type(response)) & _LAZY_RESPONSES:
            text = peek(response, "text")
            return parse_body(text) if isinstance(text, str) else None
        return None

    @lazy
    def message(self) -> str:
        """The far side's own words, else the error's text; never empty."""
        return self.report.message or text_of(self.error)

    @lazy
    def words(self) -> str:
        """The beginning of the message, in lower case and with spaces for `-` and `_`."""
        return spaced(self.message[:MAX_WORDS].lower())

    @lazy
    def response(self) -> object:
        """The response that an SDK's error holds, or `None`."""
        return peek(self.error, "response")

    @lazy
    def _is_bare(self) -> bool:
        # Why: most failures are the interpreter's own exceptions, which never came with a response.
        kind = type(self.error)
        builtin = peek(kind, "__module__") == "builtins" and issubclass(kind, BaseException)
        return builtin and not vars(self.error)

    def _http_status(self) -> int | None:
        names = _STATUS_NAMES
        if "urllib.HTTPError" in self.kinds:
            names = (*names, "code")
        for holder in (self.error, self.response):
            for name in names:
                number = peek(holder, name)
                if type(number) is int and number in _STATUSES:
                    return number
        return None


class ResponseEvidence(Evidence):
    """The evidence of a response, or of a body in the middle of one; there is no exception."""

    def __init__(
        self, body: Any, status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Take what came from a provider; *body* is parsed if it is JSON."""
        super().__init__(None, "provider")
        report = _read(body)
        self.__dict__ |= {
            "body": body,
            "report": report,
            "status": status or report.status,
            "headers": _lowered(headers or {}),
            "message": report.message,
        }


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the far side's own id of the request, or `None`; names are taken as they are."""
    return next((found for key in _REQUEST_ID_HEADERS if (found := headers.get(key))), None)


def spaced(text: str) -> str:
    """Return *text* with spaces for `-` and `_`: providers write `rate_limit` as they like."""
    return text.replace("_", " ").replace("-", " ")


def is_ours(x: object) -> bool:
    """Tell whether *x* is a `HarnessError` with a code that can be read."""
    # Why: nobody checks what a subclass has for its code.
    return is_harness_error(x) and isinstance(peek(x, "code"), str)


def peek(holder: object, name: str) -> object:
    """Return an attribute, or `None`: also when looking at it raises."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001  # Why: whatever a foreign attribute raises means "not there"
        return None


def kinds_of(kind: type) -> frozenset[str]:
    """Return the names of *kind* and its bases, each with its top package."""
    try:
        return _kinds_of(kind)
    except Exception:  # noqa: BLE001  # Why: a metaclass may refuse to be looked at, or to be hashed
        return frozenset()


def _read(body: object) -> ErrorReport:
    try:
        return read_report(body)
    except Exception:  # noqa: BLE001  # Why: a body may be nested too deeply, or of a hostile class
        return ErrorReport()


@lru_cache(maxsize=512)
def _kinds_of(kind: type) -> frozenset[str]:
    pairs = ((str(one.__module__), one.__name__) for one in kind.__mro__)
    return frozenset(f"{module.partition('.')[0]}.{name}" for module, name in pairs)


def _lowered(headers: object) -> Mapping[str, str]:
    try:
        items = cast("Mapping[object, object]", headers).items()
        return {str(key).lower(): str(value) for key, value in items}
    except Exception:  # noqa: BLE001  # Why: headers of a foreign kind are no headers
        return {}


def _lowered_keys(fields: object) -> object:
    if not isinstance(fields, Mapping):
        return None
    return {str(key).lower(): value for key, value in cast("Mapping[Any, Any]", fields).items()}
