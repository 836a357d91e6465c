"""What a body returned or raised, as the model is told and as the log keeps it."""

import asyncio
import datetime as dt
import decimal
import errno
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import pytest
from dsh_llm import (
    FrozenDict,
    HarnessError,
    ImageBlock,
    LlmError,
    ReasoningBlock,
    TextBlock,
    UnknownBlock,
)
from dsh_tools import Tool, ToolErrorInfo, ToolExecutionResult, ToolRegistry
from pydantic import BaseModel, model_serializer


def run(body: Callable[[], Any]) -> ToolExecutionResult:
    """Run one call of a raw tool, which needs no types."""

    async def execute(_arguments: object) -> Any:
        return body()

    tool = Tool.raw("probe", "", {}, execute)
    return asyncio.run(ToolRegistry([tool]).execute("probe", ""))


def returned(value: Any) -> ToolExecutionResult:
    """Run a body that returns *value*."""
    return run(lambda: value)


def raised(error: BaseException) -> ToolExecutionResult:
    """Run a body that raises *error*."""

    def body() -> None:
        raise error

    return run(body)


def text_of(result: ToolExecutionResult) -> str:
    """Return the one text of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


class Color(StrEnum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: str


@dataclass
class Item:
    n: int


class Model(BaseModel):
    n: int


class Moody(BaseModel):
    @model_serializer
    def write(self) -> str:
        """Refuse."""
        raise RuntimeError("not today")


TEXTS: list[tuple[Any, str]] = [
    ("text", "text"),
    ("", ""),
    (None, ""),
    (Color.RED, "red"),
    ("bold \ud835 half", "bold \ufffd half"),
    ("\ud835\udd04", "\U0001d504"),
    (3, "3"),
    (True, "true"),
    ([], "[]"),
    ((), "[]"),
    ([1, "a", None], '[1,"a",null]'),
    ({"mean": float("nan"), "hi": float("inf")}, '{"mean":"NaN","hi":"Infinity"}'),
    ({"at": dt.datetime(2024, 3, 15)}, '{"at":"2024-03-15T00:00:00"}'),  # noqa: DTZ001  # Why: without a zone is the case
    (decimal.Decimal("1.10"), '"1.10"'),
    (b"bytes", '"bytes"'),
    (Item(1), '{"n":1}'),
    ([Model(n=2)], '[{"n":2}]'),
    (Pair(1, "r"), '[1,"r"]'),
    ({1, 2}, "[1,2]"),
    (10**5000, "1" + "0" * 5000),
    ({"é": 1}, '{"é":1}'),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=map(str, range(len(TEXTS))))
def test_a_value_becomes_text(value: Any, text: str) -> None:
    """Text as it is, everything else as strict JSON; whatever it is, UTF-8 can carry it."""
    result = returned(value)
    assert (text_of(result), result.is_error) == (text, False)
    assert text.encode() is not None


BLOCKS: list[tuple[Any, tuple[Any, ...]]] = [
    (TextBlock("a", "ephemeral"), (TextBlock("a", "ephemeral"),)),
    (TextBlock("\ud835"), (TextBlock("\ufffd"),)),
    ([TextBlock("a"), ImageBlock("http://x")], (TextBlock("a"), ImageBlock("http://x"))),
    (
        (ReasoningBlock("r"), UnknownBlock(FrozenDict(type="x"))),
        (ReasoningBlock("r"), UnknownBlock(FrozenDict(type="x"))),
    ),
]


@pytest.mark.parametrize(("value", "content"), BLOCKS, ids=map(str, range(len(BLOCKS))))
def test_blocks_stay_as_they_are(value: Any, content: tuple[Any, ...]) -> None:
    """One, or a list of them."""
    assert returned(value).content == content


def test_a_list_with_something_else_in_it_is_json() -> None:
    """A block among other values is a value."""
    assert json.loads(text_of(returned([TextBlock("a"), 1])))[1] == 1


def cyclic() -> list[Any]:
    """Return a list that contains itself."""
    items: list[Any] = []
    items.append(items)
    return items


def numbers() -> Iterator[int]:
    """Yield one."""
    yield 1


async def later() -> AsyncIterator[int]:
    """Yield one."""
    yield 1


UNWRITABLE: list[Any] = [
    object(),
    b"\xff",
    cyclic(),
    {"a": "\ud835"},
    numbers(),
    later(),
    iter([1]),
    Moody(),
    Item,
]


@pytest.mark.parametrize("value", UNWRITABLE, ids=map(str, range(len(UNWRITABLE))))
def test_what_cannot_be_written_is_a_coded_error(value: Any) -> None:
    """Never a representation as a success; the body has done its work, and that is said."""
    result = returned(value)
    assert result.error == ToolErrorInfo("HarnessError", "INVALID_TOOL_OUTPUT")
    assert f"a {type(value).__name__}, as JSON: " in text_of(result)
    assert result.failure is not None
    assert result.failure["effect"] == "done"


def test_a_result_is_written_when_it_arrives() -> None:
    """What the body changes afterwards does not reach the log."""
    cache = {"n": 1}
    result = returned(cache)
    cache["n"] = 2
    assert text_of(result) == '{"n":1}'


# -- failures ----------------------------------------------------------------------------------


class SilentError(Exception):
    """Has no text."""


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class TellingError(Exception):
    def __init__(self) -> None:
        self.message = "denied by object"


class NumberedError(Exception):
    def __init__(self) -> None:
        self.message = 7


MESSAGES: list[tuple[BaseException, str]] = [
    (ValueError("exploded"), "exploded"),
    (HarnessError("disk full", "ENOSPC"), "disk full"),
    (SilentError(), "SilentError"),
    (ValueError("  "), "ValueError"),
    (TimeoutError(), "TimeoutError"),
    (AssertionError(), "AssertionError"),
    (HostileError(), "<unprintable HostileError>"),
    (TellingError(), "denied by object"),
    (NumberedError(), "NumberedError"),
    (ValueError("half \ud835"), "half \ufffd"),
    (
        ExceptionGroup("outer", [ExceptionGroup("inner", [ValueError("bad page")]), SilentError()]),
        "outer: ValueError: bad page; SilentError: SilentError",
    ),
]


@pytest.mark.parametrize(("error", "message"), MESSAGES, ids=map(str, range(len(MESSAGES))))
def test_an_exception_becomes_its_message(error: BaseException, message: str) -> None:
    """TOOLS-003, TOOLS-029, TOOLS-050: never empty, never a second exception, members named."""
    result = raised(error)
    assert (text_of(result), result.is_error) == (f"Error: {message}", True)


def test_only_what_has_a_code_has_an_error() -> None:
    """TOOLS-049: our own errors, and the system's; a code attribute of others does not count."""
    assert raised(HarnessError("disk full", "ENOSPC")).error == ("HarnessError", "ENOSPC")
    assert raised(LlmError("slow", "TIMEOUT")).error == ("LlmError", "TIMEOUT")
    plain = ValueError("x")
    plain.code = "NOPE"  # type: ignore[attr-defined]  # Why: the case
    assert raised(plain).error is None


def test_an_error_of_the_system_is_coded_by_its_number() -> None:
    """Every subclass of OSError that has one; without one it is an ordinary exception."""
    for number in (errno.ENOENT, errno.EACCES, errno.ECONNREFUSED, errno.ETIMEDOUT):
        result = raised(OSError(number, "text", "file"))
        assert result.error == ToolErrorInfo("SystemCallError", errno.errorcode[number])
        assert text_of(result) == f"Error: [Errno {number}] text: 'file'"
    assert raised(OSError("no number")).error is None
    assert raised(OSError("text", "text")).error is None
    timed_out = ToolErrorInfo("HarnessError", "TOOL_TIMEOUT")
    assert raised(TimeoutError("slow")).error == timed_out


class ForeignError(Exception):
    """A copy of the base from another installation: the brand is what counts."""

    __harness_error__ = True
    name = "ForeignError"
    message = "from afar"
    code = "FOREIGN"
    effect = object()


def test_a_foreign_copy_of_the_base_counts() -> None:
    """By its brand; what it has of its own is not trusted to be JSON."""
    result = raised(ForeignError("from afar"))
    assert (result.error, text_of(result)) == (("ForeignError", "FOREIGN"), "Error: from afar")
    assert result.failure is not None
    assert result.failure["traceback"].startswith("no record: effect is a object")


def test_the_log_keeps_what_the_model_is_not_told() -> None:
    """The chain of causes with codes, and a traceback that ends in the body."""

    def missing() -> None:
        raise FileNotFoundError(2, "gone", "f")

    def body() -> None:
        try:
            missing()
        except FileNotFoundError as error:
            raise HarnessError("no config", "NO_CONFIG", cause=error, effect="none") from error

    failure = run(body).failure
    assert failure is not None
    assert failure["chain"] == (
        {"name": "HarnessError", "message": "no config", "code": "NO_CONFIG"},
        {"name": "FileNotFoundError", "message": "[Errno 2] gone: 'f'", "code": "ENOENT"},
    )
    assert failure["effect"] == "none"
    assert "in body" in failure["traceback"]


def chain_of(error: BaseException) -> list[str]:
    """Return the names in the chain of a failure."""
    failure = raised(error).failure
    assert failure is not None
    return [each["name"] for each in failure["chain"]]


def test_the_chain_follows_what_python_shows() -> None:
    """Cause before context, no suppressed one, any object as a cause, no circles, nine links."""
    implicit = ValueError("x")
    implicit.__context__ = KeyError("y")
    assert chain_of(implicit) == ["ValueError", "KeyError"]
    implicit.__suppress_context__ = True
    assert chain_of(implicit) == ["ValueError"]
    assert chain_of(HarnessError("x", "X", cause={"status": 500})) == ["HarnessError", "dict"]
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert chain_of(first) == ["ValueError", "ValueError"]
    long = ValueError("0")
    for n in range(20):
        outer = ValueError(str(n))
        outer.__cause__ = long
        long = outer
    assert len(chain_of(long)) == 9


class UntraceableError(Exception):
    @property
    def __cause__(self) -> BaseException | None:  # type: ignore[reportIncompatibleVariableOverride]  # Why: hostile on purpose
        raise RuntimeError("no cause")


def test_a_traceback_is_bounded_and_never_a_second_failure() -> None:
    """Its end is what counts."""
    failure = raised(ValueError("x" * 50_000)).failure
    assert failure is not None
    assert len(failure["traceback"]) == 8_000
    hostile = raised(UntraceableError("x"))
    assert text_of(hostile) == "Error: x"
    assert hostile.failure == {"chain": (), "traceback": "no record: no cause"}
