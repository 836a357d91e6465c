"""Central tracking of failures: one row an occurrence, told to every sink, once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dsh_llm._advice import Kind, advise, plain_of
from dsh_llm._chain import MAX_TEXT, native
from dsh_llm._harness_error import HarnessError
from dsh_llm._projections import summary_of
from dsh_llm._scrub import scrub
from dsh_llm._text import shortened, text_of
from dsh_llm._verdicts import wait_of

MAX_SEEN: Final = 10_000
"""Occurrences that a propagator remembers, so that none is told twice."""


class ErrorRecord(NamedTuple):
    """One failure as it is kept: plain values, no exception, no secret.

    It has the verdict, not only the evidence, so that reading it later decides the same.
    """

    id: str
    """The occurrence's own id, the same as on the error."""
    time: int
    """Epoch milliseconds."""
    name: str
    code: str
    code_num: int | None
    message: str
    kind: Kind
    alert: bool
    """Whether the person on duty is to be called; never for an outcome."""
    retryable: bool | None
    retry_after: float | None
    effect: str | None
    scope: str | None
    attempts: tuple[str, ...]
    """What was tried before giving up, a few words each."""
    cause: str
    """The chain of causes on one line, empty without any."""
    classified_by: str | None
    """The classifier that gave the code, if it was not raised with it."""
    session: str | None
    turn: int | None


def error_record(
    x: object, time: int, *, session: str | None = None, turn: int | None = None
) -> ErrorRecord:
    """Return the row for *x*, anything that was raised, at *time* (epoch milliseconds). Total."""
    error = native(x)
    try:
        return _record(x, error, time, session, turn)
    except Exception:  # noqa: BLE001  # Why: an error whose properties raise must still be told
        return _record(x, plain_of(error), time, session, turn)


def _record(
    x: object, error: HarnessError, time: int, session: str | None, turn: int | None
) -> ErrorRecord:
    advice = advise(error)
    by = error.context.get("classified_by")
    return ErrorRecord(
        id=_id_of(x, error),
        time=time,
        name=error.name if error is x else type(x).__name__,
        code=scrub(error.code),
        code_num=error.code_num,
        message=shortened(scrub(text_of(error)), MAX_TEXT),
        kind=advice.kind,
        alert=advice.alert,
        retryable=error.retryable,
        retry_after=wait_of(error.retry_after),
        effect=error.effect,
        scope=scrub(error.scope),
        attempts=tuple(scrub(text_of(attempt)) for attempt in error.attempts),
        cause=summary_of(error),
        classified_by=by if isinstance(by, str) else None,
        session=scrub(session),
        turn=turn,
    )


class ErrorPropagator:
    """Tells every failure to every sink, once an occurrence.

    Sinks are called in order with the `ErrorRecord`. What one raises is counted in `failed` and
    stops nobody; a `KeyboardInterrupt` goes through. Outcomes are told with `alert` false.
    """

    def __init__(
        self,
        sinks: Iterable[Callable[[ErrorRecord], object]],
        clock: Callable[[], int] | None = None,
    ) -> None:
        """Tell *sinks*, with times from *clock* (epoch milliseconds), else the system's."""
        self._sinks = tuple(sinks)
        self._clock = clock or _now
        self._counts: Counter[str] = Counter()
        self._seen: dict[str, ErrorRecord] = {}
        self.failed = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """How many occurrences of each code were reported, outcomes too. A live view."""
        return MappingProxyType(self._counts)

    def report(
        self, x: object, *, session: str | None = None, turn: int | None = None
    ) -> ErrorRecord:
        """Tell the sinks of *x*, anything that was raised, and return its row.

        An occurrence that was reported before is not told again: its first row is returned. Never
        raises: when the clock does, the time is the system's.
        """
        record = error_record(x, self._time(), session=session, turn=turn)
        if record.id in self._seen:
            return self._seen[record.id]
        self._seen[record.id] = record
        if len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        self._counts[record.code] += 1
        for sink in self._sinks:
            self._tell(sink, record)
        return record

    def _time(self) -> int:
        try:
            return self._clock()
        except Exception:  # noqa: BLE001  # Why: a clock that fails must not hide the failure
            return _now()

    def _tell(self, sink: Callable[[ErrorRecord], Any], record: ErrorRecord) -> None:
        try:
            sink(record)
        except Exception:  # noqa: BLE001  # Why: a sink may fail in any way, the others still hear
            self.failed += 1


def _now() -> int:
    import time

    return time.time_ns() // 1_000_000


def _id_of(x: object, error: HarnessError) -> str:
    if error is x or not issubclass(type(x), BaseException):
        return error.id
    # Why: a foreign exception that is reported twice is one occurrence, and only it lives as long.
    try:
        return vars(x).setdefault("_dsh_error_id", error.id)
    except Exception:  # noqa: BLE001  # Why: a hostile exception hides its fields, each look is one more
        return error.id
