"""Crossing: what arrives of an error in another process, or out of JSON."""

import asyncio
import copy
import enum
import json
import math
import pickle
import sys
import threading
from decimal import Decimal
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import httpx2
import openai
import pytest
from dsh_llm import (
    FrozenDict,
    HarnessError,
    LlmError,
    RemoteError,
    SystemCallError,
    traceback_text,
)

E = TypeVar("E", bound=BaseException)


class Color(enum.Enum):
    RED = 1


class OddError(HarnessError):
    """Has a constructor of its own, a slot, and a property that looks like a field."""

    __slots__ = ("grade",)

    def __init__(self, *, first: int, second: str) -> None:
        super().__init__(f"{first} and {second}", "ODD")
        self.grade = first
        self.second = second

    @property
    def level(self) -> int:
        return self.grade


class DomainError(ValueError):
    """A foreign exception that pickles."""


class Unpicklable(Exception):  # noqa: N818  # Why: an example
    code = "THEIR_CODE"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("never")


class NeedsTwo(Exception):  # noqa: N818  # Why: an example
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __reduce__(self) -> tuple[Any, ...]:
        raise RuntimeError("no pickle")


class HostileError(HarnessError):
    """Raises wherever it is asked."""

    @property
    def name(self) -> str:
        raise RuntimeError("no name")

    @property
    def cause(self) -> object:
        raise RuntimeError("no cause")

    @cause.setter
    def cause(self, value: object) -> None:
        raise RuntimeError(f"no cause: {value}")


def pickled(error: HarnessError, protocol: int | None = None) -> Any:
    """Return what arrives of *error* in a place that shares nothing with this one."""
    return pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  # Why: our own bytes


def written(error: HarnessError) -> HarnessError:
    """Return what is read back of *error* from JSON."""
    return HarnessError.from_dict(json.loads(json.dumps(error.to_dict(), allow_nan=False)))


def thrown(error: E) -> E:
    """Return *error*, with a traceback."""
    try:
        raise error
    except type(error) as caught:
        return caught


WAYS = pytest.mark.parametrize("way", [pickled, written])


@WAYS
def test_an_odd_constructor_a_slot_and_a_property_cross(way: Any) -> None:
    """The constructor is not called, so its signature does not matter."""
    back = way(OddError(first=1, second="b"))
    assert type(back) is OddError
    assert (back.grade, back.level, back.second, back.message) == (1, 1, "b", "1 and b")
    assert copy.copy(back).grade == 1


@WAYS
def test_a_class_that_the_far_side_cannot_find_crosses_as_its_base(way: Any) -> None:
    """A class made inside a function arrives as the nearest findable one, with its own name."""

    class LocalError(LlmError, KeyError):
        pass

    back = way(LocalError("gone", "GONE", 503))
    assert type(back) is LlmError
    assert (back.name, back.code, back.status) == ("LocalError", "GONE", 503)
    again = way(back)
    assert (again.name, repr(again)) == ("LocalError", "LocalError('gone', 'GONE')")


def test_a_pickle_brings_its_class_unless_the_far_side_lacks_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The module is imported there; a broken one costs the class, not the error."""
    source = "from dsh_llm import HarnessError\nclass FarError(HarnessError): pass\n"
    (tmp_path / "far_module.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    far = __import__("far_module")
    data = pickle.dumps(far.FarError("m", "FAR"))
    record = far.FarError("m", "FAR").to_dict()
    del sys.modules["far_module"], far.FarError
    assert type(pickle.loads(data)).__name__ == "FarError"  # noqa: S301  # Why: our own bytes
    del sys.modules["far_module"]
    (tmp_path / "far_module.py").write_text("raise RuntimeError", encoding="utf-8")
    broken = pickle.loads(data)  # noqa: S301  # Why: our own bytes
    assert isinstance(broken, HarnessError)
    assert (broken.name, broken.code) == ("FarError", "FAR")
    assert HarnessError.from_dict(record).name == "FarError"


@WAYS
@pytest.mark.parametrize(
    "cause",
    [
        FileNotFoundError(2, "No such file", "a.txt"),
        OSError(18, "cross-device", "a", None, "b"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        KeyError("k"),
        TimeoutError(),
        StopIteration(5),
        KeyboardInterrupt(),
        SystemExit(3),
        asyncio.CancelledError("stop"),
        SyntaxError("bad", ("f.py", 1, 2, "x", 1, 3)),
    ],
    ids=lambda cause: type(cause).__name__ + str(getattr(cause, "errno", "")),
)
def test_builtin_causes_come_back_as_themselves(way: Any, cause: BaseException) -> None:
    """Class, arguments, text, and whatever was put on them."""
    cause.__notes__ = ["a note"]
    vars(cause)["extra"] = [1, "x"]
    back = way(HarnessError("a", "A", cause=cause)).cause
    assert type(back) is type(cause)
    assert (str(back), repr(back), back.args) == (str(cause), repr(cause), cause.args)
    assert (vars(back)["extra"], back.__notes__) == ([1, "x"], ["a note"])
    assert getattr(back, "filename2", None) == getattr(cause, "filename2", None)


def test_a_builtin_that_refuses_its_recorded_arguments_is_a_remote_error() -> None:
    """The record may be of another version of Python, or made up."""
    error = HarnessError("a", "A", cause=UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"))
    record = error.to_dict()
    record["cause"]["of"]["args"] = []
    back = HarnessError.from_dict(record).cause
    assert isinstance(back, RemoteError)
    assert back.name == "UnicodeDecodeError"


def foreign(cause: object, way: Any) -> RemoteError:
    """Return the remote error that *cause* becomes, once and twice crossed."""
    back = way(HarnessError("a", "A", cause=cause))
    again = way(back)
    assert back.to_dict() == again.to_dict()
    assert isinstance(again.cause, RemoteError)
    return again.cause


@WAYS
def test_a_foreign_cause_that_cannot_cross_is_told_by_name_message_and_code(way: Any) -> None:
    """Also after two hops; nothing else of it is taken along."""
    why = Unpicklable("why")
    why.__cause__ = ValueError("deeper")
    back = foreign(why, way)
    assert (back.name, back.message, back.code) == ("Unpicklable", "why", "THEIR_CODE")
    assert isinstance(back.__cause__, ValueError)
    needy = foreign(NeedsTwo("x", "y"), way)
    assert (needy.name, needy.message, needy.code) == ("NeedsTwo", "x and y", "UNKNOWN")


@WAYS
def test_an_error_of_a_providers_sdk_is_told_without_its_request(way: Any) -> None:
    """The SDK's own pickle cannot be opened, and its request holds the key."""
    request = httpx2.Request("POST", "http://host/v1", headers={"Authorization": "Bearer k-1234"})
    response = httpx2.Response(429, request=request)
    cause = openai.RateLimitError("slow down", response=response, body={"code": "slow"})
    back = foreign(cause, way)
    assert (back.name, back.message, back.code) == ("RateLimitError", "slow down", "slow")
    assert b"k-1234" not in pickle.dumps(HarnessError("a", "A", cause=cause))


def test_a_foreign_cause_that_pickles_crosses_as_itself() -> None:
    """With its notes and causes; data tells it by name."""
    cause = DomainError("why")
    cause.add_note("a note")
    cause.__cause__ = KeyError("k")
    error = HarnessError("a", "A", cause=cause)
    back = pickled(error).cause
    assert type(back) is DomainError
    assert (str(back), back.__notes__, str(back.__cause__)) == ("why", ["a note"], "'k'")
    assert isinstance(written(error).cause, RemoteError)


@WAYS
def test_a_cause_that_is_no_exception_crosses_as_a_value(way: Any) -> None:
    """It stays on `cause` and is no `__cause__`."""
    back = way(HarnessError("a", "A", cause={"status": 1}))
    assert (back.cause, back.__cause__) == ({"status": 1}, None)


@WAYS
def test_a_value_whose_text_raises_crosses_as_the_name_of_its_class(way: Any) -> None:
    """Nothing more can be said of it."""
    assert way(HarnessError("a", "A", cause=Hostile())).cause == "Hostile"


def test_what_is_not_json_crosses_a_process_as_itself_if_it_can_and_else_as_its_text() -> None:
    """One value that cannot cross does not take the others along."""
    lock = threading.Lock()
    context = {"lock": lock, "color": Color.RED, "n": Decimal("1.5"), "f": FrozenDict(a=[1])}
    error = HarnessError("a", "A", context=context | {"nan": math.nan, "huge": 1 << 20_000})
    back, read = pickled(error).context, written(error).context
    assert back["lock"] == read["lock"] == f"lock: {lock}"
    assert (back["color"], back["n"]) == (Color.RED, Decimal("1.5"))
    assert (read["color"], read["n"]) == ("Color: Color.RED", "Decimal: 1.5")
    for arrived in (back, read):
        assert arrived["f"] == {"a": [1]} or arrived["f"] == {"a": (1,)}
        assert math.isnan(arrived["nan"])
        assert arrived["huge"] == 1 << 20_000


def test_a_large_value_crosses_as_its_text() -> None:
    """A response's body in a foreign object does not make every pickle as large."""
    back = pickled(HarnessError("a", "A", context={"n": Decimal("1" * 100_000)}))
    assert back.context["n"] == f"Decimal: {'1' * 100_000}"[:2_000]


def test_a_value_that_does_not_load_there_crosses_as_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The far side may lack the class."""
    module = ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)

    class Thing:
        def __str__(self) -> str:
            return "a thing"

    kind = Thing
    kind.__module__, kind.__qualname__ = "only_here", "Thing"
    monkeypatch.setattr(module, "Thing", kind, raising=False)
    named = NamedTuple("Pair", [("a", int)])  # noqa: UP014  # Why: a class of another module
    named.__module__ = "only_here"
    monkeypatch.setattr(module, "Pair", named, raising=False)
    data = pickle.dumps(HarnessError("a", "A", context={"thing": kind(), "pair": named(1)}))
    monkeypatch.delitem(sys.modules, "only_here")
    back = pickle.loads(data)  # noqa: S301  # Why: our own bytes
    assert back.context == {"thing": "Thing: a thing", "pair": (1,)}


@WAYS
def test_groups_keep_their_members(way: Any) -> None:
    """At any depth, each as itself, with codes and notes."""
    leaf = LlmError("slow", "RATE_LIMIT", 429)
    leaf.add_note("rung 1")
    inner = ExceptionGroup("inner", [leaf, OSError(2, "gone")])
    group = BaseExceptionGroup("outer", [inner, asyncio.CancelledError()])
    back: Any = way(HarnessError("a", "A", cause=group)).cause
    assert type(back) is BaseExceptionGroup
    assert (back.message, type(back.exceptions[1])) == ("outer", asyncio.CancelledError)
    arrived: Any = back.exceptions[0]
    assert (type(arrived), str(arrived)) == (ExceptionGroup, "inner (2 sub-exceptions)")
    assert (arrived.exceptions[0].status, arrived.exceptions[0].__notes__) == (429, ["rung 1"])
    assert isinstance(arrived.exceptions[1], FileNotFoundError)


class OwnGroup(ExceptionGroup[Exception]):
    """A foreign subclass."""


def test_a_group_of_another_class_keeps_its_members_and_loses_its_class() -> None:
    """The members matter more."""
    back: Any = written(HarnessError("a", "A", cause=OwnGroup("own", [ValueError("v")]))).cause
    assert type(back) is ExceptionGroup
    assert str(back.exceptions[0]) == "v"


def test_a_group_can_arrive_with_members_that_its_class_does_not_take() -> None:
    """What was an `Exception` may be none there; an empty group is told by name."""
    record = HarnessError("a", "A", cause=ExceptionGroup("g", [ValueError()])).to_dict()
    record["cause"]["of"]["members"] = [{"classes": ["builtins:KeyboardInterrupt"]}]
    assert type(HarnessError.from_dict(record).cause) is BaseExceptionGroup
    record["cause"]["of"]["members"] = []
    assert isinstance(HarnessError.from_dict(record).cause, RemoteError)


@WAYS
def test_a_chain_is_followed_for_eight_links(way: Any) -> None:
    """The last one is told without its own cause."""
    error = HarnessError("0", "LINK", context={"n": 0})
    for n in range(1, 40):
        error = HarnessError(str(n), "LINK", cause=error, context={"n": n})
    back = way(error)
    for n in range(39, 30, -1):
        assert (back.message, back.context) == (str(n), {"n": n})
        back = back.cause
    assert (back.message, back.code, back.cause, back.context) == ("30", "LINK", None, {})


@WAYS
def test_a_cycle_ends_where_it_comes_back(way: Any) -> None:
    """A cause of itself, a member of itself, a value that holds it."""
    first, second = HarnessError("first", "A"), HarnessError("second", "B")
    first.cause, second.cause = second, first
    first.context["self"] = first
    first.context["foreign"] = holder = DomainError("holds it")
    vars(holder)["held"] = first
    back = way(first)
    assert (back.cause.message, back.cause.cause.message) == ("second", "first")
    assert back.cause.cause.cause is None
    assert back.context["self"].message == "first"


def test_a_wide_group_is_told_in_bounded_space() -> None:
    """Members beyond a thousand are told by name and message."""
    group = ExceptionGroup("wide", [ValueError(str(n)) for n in range(1_500)])
    back: Any = written(HarnessError("a", "A", cause=group)).cause
    assert type(back) is ExceptionGroup
    assert len(back.exceptions) == 1_500


@WAYS
def test_every_error_of_a_chain_keeps_its_id(way: Any) -> None:
    """Also one that nobody had asked for it: what was reported here is not reported again there."""
    inner, member = HarnessError("inner", "A"), HarnessError("member", "A")
    back = way(HarnessError("a", "A", cause=inner, context={"member": member}))
    assert (back.cause.id, back.context["member"].id) == (inner.id, member.id)


@WAYS
def test_deep_values_are_cut(way: Any) -> None:
    """A bottomless context does not stop the error, in one link or in many."""
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    error = HarnessError("0", "LINK", context={"deep": deep})
    for _ in range(8):
        error = HarnessError("n", "LINK", cause=error, context={"deep": deep})
    assert way(error).code == "LINK"
    nested: Any = HarnessError("inmost", "LINK", context={"deep": deep})
    for _ in range(50):
        nested = [nested]
    assert way(HarnessError("n", "LINK", context={"nested": nested})).code == "LINK"


def test_deep_data_is_cut() -> None:
    """Data that is nested without end is read as far as a record goes."""
    record: dict[str, Any] = {"code": "INNER"}
    for _ in range(300):
        record = {
            "code": "OUTER",
            "during": record,
            "classes": ["dsh_llm._harness_error:HarnessError"],
        }
    assert HarnessError.from_dict(record).code == "OUTER"
    nested: Any = 1
    for _ in range(300):
        nested = [nested]
    assert HarnessError.from_dict({"context": {"n": nested}}).context["n"]


def second_of_two() -> HarnessError:
    """Return an error that was raised while another was handled."""
    try:
        int("x")
    except ValueError:
        return thrown(HarnessError("second", "B"))
    return HarnessError("never", "A")


@WAYS
def test_what_was_being_handled_crosses_when_there_is_no_cause(way: Any) -> None:
    """`raise` inside an `except` clause is told; `from None` is not."""
    error = second_of_two()
    back = way(error)
    assert (type(back.__context__), back.cause) == (ValueError, None)
    error.__suppress_context__ = True
    assert way(error).__context__ is None


@WAYS
def test_the_traceback_crosses_as_text_and_grows_with_each_process(way: Any) -> None:
    """Where it was raised is still known after two hops, of the cause too."""
    cause = thrown(ValueError("why"))
    error = thrown(HarnessError("a", "A", cause=cause))
    twice = way(way(error))
    assert "in thrown" in traceback_text(twice)
    assert "in thrown" in traceback_text(twice.cause)
    both = thrown(twice)
    assert traceback_text(both).count("in thrown") == 2
    assert traceback_text(HarnessError("a", "A")) == ""


def test_the_traceback_that_a_pool_hung_in_is_found() -> None:
    """A process pool takes the traceback off and makes its text the cause."""
    text = 'Traceback: File "far.py", line 1, in far'
    error = HarnessError("a", "A")
    kind: Any = type("_RemoteTraceback", (Exception,), {})
    error.__cause__ = kind()
    error.__cause__.tb = text  # type: ignore[union-attr]  # Why: as the pool does
    assert traceback_text(error) == text


@WAYS
def test_a_hostile_error_still_crosses(way: Any) -> None:
    """What can be told of it is told, and that something could not."""
    back = way(HostileError("m", "A"))
    assert (back.message, back.code) == ("m", "A")
    assert back.__notes__ == ["no full record: no cause"]


def test_a_foreign_copy_of_the_class_crosses_as_the_base() -> None:
    """With its name, code and message: the brand counts."""
    kind = type("VendoredError", (Exception,), {"__harness_error__": True})
    kind.__module__ = __name__
    globals()["VendoredError"] = kind
    error = kind("m")
    vars(error).update(code="THEIRS", message="m", name="VendoredError", retryable=True)
    back = written(HarnessError("a", "A", cause=error)).cause
    assert type(back) is HarnessError
    assert (back.name, back.code, back.message) == ("VendoredError", "THEIRS", "m")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_does(protocol: int) -> None:
    """Old ones too."""
    error = SystemCallError(FileNotFoundError(2, "No such file", "a.txt"))
    assert pickled(error, protocol).to_dict() == error.to_dict()


def test_a_deep_copy_has_its_own_context_and_shares_what_nothing_can_copy() -> None:
    """A lock in the context does not stop the copy, and a cycle stays one."""
    lock = threading.Lock()
    error = HarnessError("a", "A", context={"lock": lock, "n": [1]}, attempts=(lock,))
    error.context["self"] = error
    twin = copy.deepcopy(error)
    assert twin.context["lock"] is twin.attempts[0] is lock
    assert twin.context["n"] is not error.context["n"]
    assert twin.context["self"] is twin


def test_a_cause_given_by_raise_from_is_the_cause() -> None:
    """`raise ... from` and `cause=` mean the same, also after crossing."""
    reason = ValueError("why")
    with pytest.raises(HarnessError) as caught:
        raise HarnessError("a", "A") from reason
    assert caught.value.cause is reason
    assert str(pickled(caught.value).cause) == "why"


def test_a_remote_error_can_be_made_by_hand() -> None:
    """For other ways across a boundary."""
    error = RemoteError("TheirError", "m")
    assert (error.name, error.code, str(error)) == ("TheirError", "UNKNOWN", "m")
