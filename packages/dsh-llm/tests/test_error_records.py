"""Records of errors: any error is read back equal, and any data is read as some error."""

import json
import pickle
import sys
from typing import Any, NamedTuple

import pytest
from dsh_llm import Attempt, HarnessError, LlmError, RemoteError, SystemCallError
from hypothesis import given
from hypothesis import strategies as st


class Point(NamedTuple):
    x: int
    y: int


def pickled(error: HarnessError) -> Any:
    """Return what arrives of *error* in a place that shares nothing with this one."""
    return pickle.loads(pickle.dumps(error))  # noqa: S301  # Why: our own bytes


def written(error: HarnessError) -> HarnessError:
    """Return what is read back of *error* from JSON."""
    return HarnessError.from_dict(json.loads(json.dumps(error.to_dict(), allow_nan=False)))


WAYS = pytest.mark.parametrize("way", [pickled, written])

_KEYS = st.text(alphabet="abcdefgh$", max_size=4)
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary(max_size=4)
) | st.text(alphabet="abcxyz \ud800é", max_size=8)
_HASHABLE = st.integers() | _KEYS
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(_KEYS, inner, max_size=3)
        | st.dictionaries(_HASHABLE, inner, max_size=3)
        | st.frozensets(_HASHABLE, max_size=3)
        | st.sets(_HASHABLE, max_size=3)
    ),
    max_leaves=8,
)


def _inner(code: str, cause: object) -> HarnessError:
    return HarnessError("inner", code, cause=cause)


_CAUSES = st.recursive(
    st.none()
    | st.sampled_from([OSError(2, "gone", "a.txt"), KeyError("k"), ValueError()])
    | st.builds(Point, st.integers(), st.integers()),
    lambda inner: st.builds(_inner, st.text(max_size=5), inner),
    max_leaves=3,
)
_ATTEMPTS = st.builds(Attempt, st.just("m"), st.just("TIMEOUT"), seconds=st.none())
_ERRORS = st.builds(
    HarnessError,
    st.text(alphabet="abcxyz é", max_size=10),
    st.sampled_from(["TIMEOUT", "NEW_CODE", ""]),
    cause=_CAUSES,
    context=st.dictionaries(_KEYS, _VALUES, max_size=3),
    retryable=st.none() | st.booleans(),
    retry_after=st.none() | st.floats(0, 1e9),
    effect=st.sampled_from([None, "none", "unknown", "done"]),
    scope=st.none() | st.just("turn"),
    signal=st.none() | st.just("host-signal"),
    attempts=st.lists(_ATTEMPTS, max_size=2).map(tuple),
)


@WAYS
@given(error=_ERRORS, notes=st.lists(st.text(alphabet="abc", max_size=3), max_size=2))
def test_any_error_crosses_whole(way: Any, error: HarnessError, notes: list[str]) -> None:
    """Whatever the context, the chain and the fields: there and back is equal, twice too."""
    for note in notes:
        error.add_note(note)
    back = way(error)
    assert back.to_dict() == error.to_dict() == way(back).to_dict()
    for name in ("message", "code", "id", "context", "attempts", "signal", "args", "retry_after"):
        assert getattr(back, name) == getattr(error, name)
    assert (type(back.cause), str(back.cause)) == (type(error.cause), str(error.cause))
    assert getattr(back, "__notes__", []) == getattr(error, "__notes__", [])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
_MARKED = st.fixed_dictionaries(
    {
        "$": st.sampled_from(
            [
                "error",
                "tuple",
                "set",
                "frozenset",
                "bytes",
                "int",
                "float",
                "dict",
                "named",
                "pickle",
            ]
        )
        | _JSON,
        "of": _JSON,
    }
)
_PATHS = [["builtins:OSError"], ["dsh_llm:LlmError"], ["dsh_llm:SystemCallError"], []]
_RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "v": _JSON,
        "name": _JSON,
        "classes": st.sampled_from([["builtins:OSError"], ["dsh_llm._errors:LlmError"], []])
        | _JSON,
        **dict.fromkeys(
            ["code", "message", "id", "context", "retryable", "retry_after", "effect", "cause"],
            _JSON | _MARKED,
        ),
        **dict.fromkeys(
            ["scope", "signal", "recovery", "attempts", "args", "notes", "traceback"],
            _JSON | _MARKED,
        ),
        "os": st.dictionaries(st.sampled_from(["errno", "filename", "args"]), _JSON),
        "own": st.dictionaries(
            st.sampled_from(["message", "to_dict", "__class__", "__dict__", "status", "id"]), _JSON
        ),
        "during": _JSON,
        "members": _JSON,
    },
)


@given(_RECORDS | _JSON | _MARKED)
def test_reading_is_total(record: Any) -> None:
    """Whatever the data says, there is an error with texts, typed fields and its methods."""
    error = HarnessError.from_dict(record)
    assert isinstance(error, HarnessError)
    assert isinstance(error.message + error.code + error.name + error.id, str)
    assert isinstance(error.context, dict)
    assert isinstance(error.attempts, tuple)
    assert error.retryable in {True, False, None}
    assert json.dumps(error.to_dict())


def test_a_record_of_a_newer_peer_keeps_what_is_known_of_it() -> None:
    """A later version, an unknown code and unknown fields are no obstacle."""
    record: dict[str, Any] = {
        "v": 99,
        "code": "FROM_THE_FUTURE",
        "message": "m",
        "name": "NewError",
        "more": {},
    }
    error = written(HarnessError.from_dict(record | {"classes": ["dsh_new.errors:NewError"]}))
    assert (error.code, error.message, error.name) == ("FROM_THE_FUTURE", "m", "NewError")
    assert type(error) is HarnessError
    assert HarnessError.from_dict(record).name == "NewError"


def test_a_record_that_is_none_says_so() -> None:
    """Data of a wrong kind becomes an error about it."""
    error = HarnessError.from_dict(["no record"])
    assert error.message == "no record of an error: list: ['no record']"
    assert error.code == "UNKNOWN"


def test_reading_data_imports_and_unpickles_nothing() -> None:
    """Data may come from anybody: what is not loaded is not found, and no pickle is opened."""
    parcel = {"$": "pickle", "of": b"cos\nsystem\n(S'true'\ntR.", "text": "a Color"}
    record = {
        "classes": ["this.module_is_not_loaded:SomeError", "colorsys:Oops"],
        "context": {"color": parcel, "none": {"$": "pickle", "of": b"", "x": 1}},
        "message": "m",
    }
    error = HarnessError.from_dict(record)
    assert error.context == {"color": "a Color", "none": None}
    assert "this" not in sys.modules
    assert "colorsys" not in sys.modules


def test_data_finds_only_errors_of_ours_and_builtin_exceptions() -> None:
    """A class that is neither is not built, wherever it is loaded."""
    for path in ("subprocess:Popen", "builtins:object", "builtins:eval", f"{__name__}:Point"):
        assert type(HarnessError.from_dict({"classes": [path], "name": "X"})) is HarnessError
    # A builtin exception is no error of ours either, at the top.
    assert type(HarnessError.from_dict({"classes": ["builtins:OSError"]})) is RemoteError


def test_a_record_cannot_replace_what_the_class_does() -> None:
    """Methods, properties and the language's own attributes are out of its reach."""
    own: dict[str, Any] = {
        "to_dict": 1,
        "info": 2,
        "__dict__": {},
        "__class__": 3,
        "args": 4,
        "status": 5,
    }
    classes = ["dsh_llm:SystemCallError"]
    error: Any = HarnessError.from_dict(
        {"classes": classes, "own": own, "os": {"errno": 2, "x": 1}}
    )
    assert (type(error), error.errno, error.status, error.info) == (SystemCallError, 2, 5, None)
    assert not hasattr(error, "x")
    assert error.to_dict()["own"] == {"status": 5}


def test_a_class_that_moved_inside_its_distribution_is_found() -> None:
    """Modules with an underscore move between versions, classes keep their names."""
    record = LlmError("m", "TIMEOUT", 408).to_dict()
    record["classes"][0] = "dsh_llm._where_it_was:LlmError"
    assert type(HarnessError.from_dict(record)) is LlmError
