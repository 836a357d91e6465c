"""Errors: what they carry, how they print, and that copies keep it, here and in other processes."""

import copy
import errno
import multiprocessing
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from dsh_llm import (
    GroupError,
    HarnessCodedError,
    HarnessError,
    JsonValueError,
    LlmError,
    SystemCallError,
    UnreachableError,
    advise,
    classify_error,
    is_harness_coded_error,
    is_harness_error,
    is_violation,
    to_problem,
)


class MissingKeyError(HarnessError, KeyError):
    """Refines a builtin that quotes its argument."""


class BrokenDiskError(HarnessError, OSError):
    """Refines a builtin that formats two arguments."""


class LateError(HarnessError, TimeoutError):
    """Refines a builtin that is an `OSError` itself."""


EXAMPLES: dict[type[HarnessError], Callable[[], HarnessError]] = {
    HarnessError: lambda: HarnessError("disk is gone", "DISK_GONE", retryable=False, scope="call"),
    HarnessCodedError: lambda: HarnessCodedError("SESSION_NOT_FOUND", session="s-1"),
    LlmError: lambda: LlmError("slow down", "RATE_LIMIT", 429, request_id="r-1", retry_after=2.5),
    SystemCallError: lambda: SystemCallError(FileNotFoundError(errno.ENOENT, "No such", "a.txt")),
    JsonValueError: lambda: JsonValueError("a.b", "is a set"),
    UnreachableError: lambda: UnreachableError("unreachable variant: 1", "UNREACHABLE"),
    GroupError: lambda: GroupError(
        "two failed", "GATHER_FAILED", [ValueError("a"), OSError(5, "b")]
    ),
    MissingKeyError: lambda: MissingKeyError("no key 'a'", "NO_KEY"),
    BrokenDiskError: lambda: BrokenDiskError("disk is gone", "DISK_GONE"),
    LateError: lambda: LateError("too late", "TIMEOUT"),
}


def example(kind: type[HarnessError]) -> HarnessError:
    """Return an error of *kind* with everything that an error can carry."""
    error = EXAMPLES[kind]()
    error.context["extra"] = {"n": [1, 2]}
    error.add_note("seen in a test")
    if error.cause is None:
        error.cause = ValueError("the reason")
    return error


def state(error: BaseException) -> dict[str, Any]:
    """Return what must survive a copy; exceptions as their class and text."""
    assert isinstance(error, HarnessError)
    fields = {key: value for key, value in vars(error).items() if key != "_cause"}
    fields["cause"] = error.cause
    fields["os"] = [getattr(error, name, None) for name in ("errno", "strerror", "filename")]
    return {key: _comparable(value) for key, value in fields.items()} | {
        "class": type(error),
        "text": str(error),
        "repr": repr(error),
        "args": error.args,
    }


def _comparable(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_comparable(item) for item in value]  # type: ignore[misc]  # Why: any members
    return (type(value), str(value)) if isinstance(value, BaseException) else value


def crossed(error: HarnessError, protocol: int | None = None) -> Any:
    """Return what arrives of *error* in a place that shares nothing with this one."""
    return pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  # Why: our own bytes


def returned(error: HarnessError) -> HarnessError:
    """Run in another process and hand *error* back."""
    return error


def raised(error: HarnessError) -> None:
    """Run in another process and raise *error*."""
    raise error


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_pickle_keeps_everything(kind: type[HarnessError], protocol: int) -> None:
    """Class, code, message, context, cause, notes and own fields survive every pickle protocol."""
    error = example(kind)
    assert state(crossed(error, protocol)) == state(error)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_a_copy_keeps_everything_and_the_live_cause(
    kind: type[HarnessError], clone: Callable[[HarnessError], HarnessError]
) -> None:
    """A copy is another error of the same class with the same content and the very same cause."""
    error = example(kind)
    twin = clone(error)
    assert twin is not error
    assert state(twin) == state(error)
    assert twin.cause is error.cause
    assert twin.__cause__ is error.__cause__


def test_a_deep_copy_has_its_own_context() -> None:
    """Changing the copy's context does not reach the original."""
    error = HarnessError("a", "A", context={"list": [1]})
    copy.deepcopy(error).context["list"].append(2)
    assert error.context == {"list": [1]}


def test_a_deep_copy_shares_what_nothing_can_copy() -> None:
    """A lock in the context does not stop the copy."""
    lock = threading.Lock()
    error = HarnessError("a", "A", context={"lock": lock, "n": [1]})
    error.context["self"] = error
    twin = copy.deepcopy(error)
    assert twin.context["lock"] is lock
    assert twin.context["n"] is not error.context["n"]
    assert twin.context["self"] is twin


def test_errors_cross_a_real_process_boundary(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spawned pool returns and raises every class whole, though it overwrites `__cause__`."""
    # Why: the children import this file by its name from there.
    monkeypatch.setattr(sys, "path", [str(pytestconfig.rootpath), *sys.path])
    errors = [example(kind) for kind in EXAMPLES]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for error, back in zip(errors, pool.map(returned, errors), strict=True):
            assert state(back) == state(error)
        for error in errors:
            failure = pool.submit(raised, error).exception()
            assert failure is not None
            assert state(failure) == state(error)
        failure = pool.submit(raised, HarnessError("no cause", "A")).exception()
        assert isinstance(failure, HarnessError)
        assert failure.cause is None


def test_a_class_that_the_far_side_cannot_find_crosses_as_its_base() -> None:
    """A class made inside a function arrives as the nearest importable one, with its own name."""

    class LocalError(LlmError, KeyError):
        pass

    error = LocalError("gone", "GONE", 503)
    back = crossed(error)
    assert type(back) is LlmError
    assert (back.name, back.code, back.status) == ("LocalError", "GONE", 503)
    again = crossed(back)
    assert (again.name, repr(again)) == ("LocalError", "LocalError('gone', 'GONE')")


def test_an_error_that_contains_itself_still_crosses() -> None:
    """A cycle ends in a text instead of an endless pickle."""
    error = HarnessError("a", "A")
    error.context["self"] = error
    assert crossed(error).code == "A"


def test_a_cause_given_by_raise_from_is_the_cause() -> None:
    """`raise ... from` and `cause=` mean the same, also after crossing."""
    reason = ValueError("why")
    with pytest.raises(HarnessError) as caught:
        raise HarnessError("a", "A") from reason
    assert caught.value.cause is reason
    assert str(crossed(caught.value).cause) == "why"


def test_a_cause_can_be_any_object() -> None:
    """Only an exception becomes `__cause__`; anything else is kept beside it."""
    error = HarnessError("a", "A", cause={"status": 1})
    assert error.cause == {"status": 1}
    assert error.__cause__ is None
    assert HarnessError("a", "A").cause is None


def test_llm_030_llm_error_is_an_error_with_name_and_code() -> None:
    """LLM-030: `LlmError` has its name, message and code."""
    error = LlmError("bad key", "AUTH")
    assert isinstance(error, Exception)
    assert (error.name, error.message, error.code, str(error)) == (
        "LlmError",
        "bad key",
        "AUTH",
        "bad key",
    )
    assert (error.status, error.request_id, error.retry_after) == (None, None, None)


def test_llm_031_llm_error_with_a_status() -> None:
    """LLM-031: it is a `HarnessError` and has the HTTP status."""
    error = LlmError("bad key", "AUTH", 401, request_id="r", retry_after=1.0, effect="none")
    assert (error.code, error.status, error.request_id) == ("AUTH", 401, "r")
    assert (error.retry_after, error.effect) == (1.0, "none")
    assert isinstance(error, HarnessError)
    assert is_harness_error(error)


def test_llm_032_harness_error_with_a_cause() -> None:
    """LLM-032: name, code and the very cause; plain errors and strings are not ours."""
    reason = ValueError("why")
    error = HarnessError("a", "A", cause=reason)
    assert (error.name, error.code) == ("HarnessError", "A")
    assert error.cause is reason
    assert error.__cause__ is reason
    assert is_harness_error(error)
    assert not is_harness_error(reason)
    assert not is_harness_error("a")


def test_the_catalogue_is_read_through_the_error() -> None:
    """Number, recovery and docs come from the code's row, and are `None` without one."""
    known = HarnessError("a", "INVALID_ARGS")
    assert known.code_num == 1002
    assert known.info is not None
    assert known.recovery == known.info.recovery
    assert known.docs == known.info.docs
    unknown = HarnessError("a", "DISK_GONE")
    assert (unknown.info, unknown.code_num, unknown.recovery, unknown.docs) == (None,) * 4


@pytest.mark.parametrize("kind", [MissingKeyError, BrokenDiskError, LateError, UnreachableError])
def test_a_refined_builtin_prints_the_plain_message(kind: type[HarnessError]) -> None:
    """Neither quotes nor `[Errno ...]`, and old `except` clauses still match."""
    error = kind("it's gone", "GONE")
    assert str(error) == "it's gone"
    assert repr(error) == f"{kind.__name__}(\"it's gone\", 'GONE')"
    with pytest.raises(kind.__mro__[2]):
        raise error


def test_system_call_error_names_its_errno() -> None:
    """The code is the errno's name, the fields of `OSError` are kept."""
    error = SystemCallError(PermissionError(errno.EACCES, "Permission denied", "a.txt"))
    assert isinstance(error, OSError)
    assert (error.code, error.errno, error.filename) == ("EACCES", errno.EACCES, "a.txt")
    assert str(error) == f"[Errno {errno.EACCES}] Permission denied: 'a.txt'"
    assert SystemCallError(OSError(99999, "odd")).code == "ERRNO_99999"
    assert SystemCallError(OSError("no number")).code == "ERRNO_0"


def test_coded_error_prints_number_and_title() -> None:
    """A key, a code or a number finds the row; other keywords are context."""
    error = HarnessCodedError("SESSION_NOT_FOUND", session="s-1")
    assert str(error) == "[2001] Session not found"
    assert (error.message, error.code, error.error_code) == (
        "Session not found",
        "SESSION_NOT_FOUND",
        "SESSION_NOT_FOUND",
    )
    assert error.context == {"session": "s-1"}
    assert HarnessCodedError(2001).code == "SESSION_NOT_FOUND"
    assert str(HarnessCodedError("INVALID_ARGS")) == "[1002] Tool validation failed"


def test_coded_error_takes_the_keywords_of_the_base() -> None:
    """They are no context, except the context itself, which joins the rest."""
    reason = ValueError("why")
    error = HarnessCodedError(
        5003, cause=reason, retryable=True, retry_after=3.0, context={"a": 1}, b=2
    )
    assert (error.cause, error.retryable, error.retry_after) == (reason, True, 3.0)
    assert error.context == {"a": 1, "b": 2}


@pytest.mark.parametrize("key", ["NO_SUCH_KEY", 9999, True])
def test_coded_error_refuses_an_unknown_key(key: str | int) -> None:
    """A row that does not exist is the caller's mistake, coded."""
    with pytest.raises(HarnessError) as caught:
        HarnessCodedError(key)
    assert caught.value.code == "VALIDATION_INVALID_INPUT"


def test_the_guards_tell_classes_apart() -> None:
    """`is_harness_coded_error` narrows to the catalogue's throwable, `is_violation` to a code."""
    assert is_harness_coded_error(HarnessCodedError(2001))
    assert not is_harness_coded_error(HarnessError("a", "SESSION_NOT_FOUND"))
    assert is_violation(HarnessError("a", "INVARIANT"))
    assert not is_violation(HarnessError("a", "A"))
    assert not is_violation("INVARIANT")


def test_a_foreign_copy_of_the_class_is_recognised_by_its_brand() -> None:
    """An error of another copy of this package counts as ours."""
    assert is_harness_error(_foreign(code="A", message="a", name="X"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        HarnessError,
        _foreign_class := type("Foreign", (Exception,), {"__harness_error__": True}),
        pytest.param(_foreign_class(), id="no fields"),
    ],
)
def test_what_only_looks_like_one_is_not_ours(value: object) -> None:
    """Classes, and branded errors without text fields, are not harness errors."""
    assert not is_harness_error(value)


def test_the_guard_is_total_on_hostile_objects() -> None:
    """Raising attributes, a lying class and a lying brand never raise out of the guard."""
    for value in (_Hostile(), _HostileError(), _Liar(), _foreign(code=1, message="a", name="b")):
        assert not is_harness_error(value)
        assert not is_harness_coded_error(value)


class _Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __reduce__(self) -> tuple[Any, ...]:
        raise RuntimeError("no pickle")


class _HostileError(Exception):  # Why: an example
    __harness_error__ = True

    @property
    def code(self) -> str:
        raise RuntimeError("no code")


class _Liar:
    @property
    def __class__(self) -> Any:  # type: ignore[override]  # Why: it lies
        return HarnessError


def _foreign(**fields: object) -> Exception:
    error = _foreign_class()
    vars(error).update(fields)
    return error


@pytest.mark.parametrize(
    "failure", [FileNotFoundError(2, "x"), TimeoutError(errno.ETIMEDOUT, "x"), OSError(9999, "x")]
)
def test_an_errno_at_the_tool_seam_is_a_failed_execution(failure: OSError) -> None:
    """It is row 1003 in every form and after every round trip, and nowhere else."""
    error = classify_error(failure, seam="tool")
    crossings = (crossed(error), copy.copy(error), HarnessError.from_dict(error.to_dict()))
    for one in (error, *crossings):
        assert isinstance(one, SystemCallError)
        assert (one.seam, one.code_num, one.retryable, one.scope) == ("tool", 1003, True, "call")
        assert one.recovery == HarnessCodedError(1003).recovery
        assert (to_problem(one)["code_num"], to_problem(one)["status"]) == (1003, 500)
        assert one.to_event()["code_num"] == 1003
        first, second = advise(one), advise(one, attempt=2)
        assert (first.retry, first.alert, first.action) == (True, False, "inspect_cause")
        assert not second.retry
    assert SystemCallError(failure).code_num is None
