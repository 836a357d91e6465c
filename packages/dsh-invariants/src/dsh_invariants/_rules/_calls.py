"""Rules on tool calls: what the model asked for, what was called, and what came back."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from dsh_llm import LogEvent

from dsh_invariants._examples import K1, answer, call, result, rows, step, turn
from dsh_invariants._fields import (
    BOUNDARIES,
    CALL,
    CHUNK,
    MESSAGE,
    RESULT,
    blocks,
    chunk_kind,
    mapping,
    string,
)
from dsh_invariants._rule import LogRule, StagedState

NEVER_RAN: Final = frozenset({"ABORTED_BEFORE_DISPATCH", "TOOL_NOT_STARTED"})
"""Codes of the results that say that a call was never made, so that no tool/call is due."""


class _ResultHasCall(StagedState):
    __slots__ = ("_asked", "_called")

    def __init__(self) -> None:
        self._asked: set[str | None] = set()
        self._called: set[str | None] = set()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != RESULT:
            return ()
        call_id = string(event.data, "call_id")
        if call_id is None or call_id in self._called or self._was_refused(call_id, event.data):
            return ()
        return (f"tool/result {call_id!r:.80} has no prior tool/call in this step",)

    def take(self, event: LogEvent) -> None:
        if event.type == CALL:
            self._called.add(string(event.data, "call_id"))
        elif event.type == MESSAGE:
            self._asked |= {string(block, "id") for block in blocks(event.data, "tool-call")}
        elif event.type in BOUNDARIES:
            self._asked.clear()
            self._called.clear()

    def _was_refused(self, call_id: str, data: Mapping[str, Any]) -> bool:
        code = string(mapping(data, "error"), "code")
        return code in NEVER_RAN and call_id in self._asked


class _OneResult(StagedState):
    __slots__ = ("_answered", "_each", "_open")

    def __init__(self, *, each: bool) -> None:
        """With *each*, a call without a result is a violation too."""
        self._each = each
        self._open: dict[str, None] = {}
        self._answered: set[str] = set()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type in BOUNDARIES:
            missing = self._open if self._each else ()
            return [f"tool/call {one!r:.80} has no result by {event.type}" for one in missing]
        call_id = string(event.data, "call_id")
        if event.type == RESULT and call_id in self._answered:
            return (f"tool/result {call_id!r:.80} is one more for a call that has its result",)
        return ()

    def take(self, event: LogEvent) -> None:
        call_id = string(event.data, "call_id")
        if event.type in BOUNDARIES:
            self._open.clear()
            self._answered.clear()
        elif call_id is None:
            return
        elif event.type == CALL:
            self._answered.discard(call_id)
            self._open[call_id] = None
        else:
            self._open.pop(call_id, None)
            self._answered.add(call_id)


class _CallWasAsked(StagedState):
    __slots__ = ("_asked", "_called")

    def __init__(self) -> None:
        self._asked: dict[str, Mapping[str, Any]] = {}
        self._called: set[str] = set()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type == MESSAGE:
            return _ambiguous(blocks(event.data, "tool-call"), self._asked)
        call_id = string(event.data, "call_id")
        if event.type != CALL or call_id is None:
            return ()
        if call_id in self._called:
            return (f"tool/call {call_id!r:.80} is the second with this id in the step",)
        return _unasked(call_id, event.data, self._asked.get(call_id))

    def take(self, event: LogEvent) -> None:
        if event.type == MESSAGE:
            self._asked |= {
                one: block for block in blocks(event.data, "tool-call") if (one := _id(block))
            }
        elif event.type == CALL:
            self._called.add(_id(event.data, "call_id"))
        else:
            self._asked.clear()
            self._called.clear()


def _ambiguous(asked: Iterable[Mapping[str, Any]], known: Iterable[str]) -> Iterator[str]:
    seen = set(known)
    for block in asked:
        call_id = _id(block)
        if not call_id or not string(block, "name"):
            yield f"assistant/message has a tool call without id or name: {call_id!r:.80}"
        elif call_id in seen:
            yield f"assistant/message has two tool calls with the id {call_id!r:.80}"
        seen.add(call_id)


def _unasked(
    call_id: str, made: Mapping[str, Any], asked: Mapping[str, Any] | None
) -> Iterable[str]:
    if asked is None:
        return (f"tool/call {call_id!r:.80} is not in the step's assistant/message",)
    return [
        f"tool/call {call_id!r:.80} has another {key} than its block in the assistant/message"
        for key in ("name", "arguments")
        if made.get(key) != asked.get(key)
    ]


def _id(data: Mapping[str, Any], key: str = "id") -> str:
    return string(data, key) or ""


class _AskedIsAnswered(StagedState):
    __slots__ = ("_asked", "_cut", "_known")

    def __init__(self) -> None:
        self._asked: dict[str, None] = {}
        self._known: set[str] = set()
        self._cut = False

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type not in BOUNDARIES or self._cut:
            return ()
        return [
            f"call {one!r:.80} of the assistant/message has no result by {event.type}"
            for one in self._asked
            if one not in self._known
        ]

    def take(self, event: LogEvent) -> None:
        data = event.data
        if event.type == CHUNK:
            # Why: what the length limit may have cut must not run, so nothing is owed for it.
            self._cut = self._cut or (chunk_kind(event) == "finish" and _is_cut(data))
        elif event.type == MESSAGE:
            self._asked |= dict.fromkeys(_id(block) for block in blocks(data, "tool-call"))
        elif event.type in BOUNDARIES:
            self._asked.clear()
            self._known.clear()
            self._cut = False
        else:
            self._known.add(_id(data, "call_id"))


def _is_cut(data: Mapping[str, Any]) -> bool:
    return mapping(mapping(data, "chunk"), "reason").get("kind") == "max-tokens"


_ASKED: Final = answer(calls=[K1])
_SECOND: Final = rows(*turn(1, step(1, _ASKED, [call("k1"), result("k1"), result("k1")])))

RESULT_HAS_CALL: Final = LogRule(
    "INV-CALL-001",
    "A tool/result answers a tool/call of the same step, or says that the call was never made.",
    _ResultHasCall,
    BOUNDARIES | {MESSAGE, CALL, RESULT},
    rows(*turn(1, step(1, answer(), [result("k9")]))),
)
ONE_RESULT_EACH: Final = LogRule(
    "INV-CALL-002",
    "Each tool/call has exactly one tool/result by the end of its step.",
    partial(_OneResult, each=True),
    BOUNDARIES | {CALL, RESULT},
    _SECOND,
)
CALL_WAS_ASKED: Final = LogRule(
    "INV-CALL-003",
    "Call ids are unique in a step; a tool/call has id, name and arguments of a call in the "
    "step's assistant/message.",
    _CallWasAsked,
    BOUNDARIES | {MESSAGE, CALL},
    rows(*turn(1, step(1, _ASKED, [call("k1", arguments='{"n": 1}'), result("k1")]))),
)
ASKED_IS_ANSWERED: Final = LogRule(
    "INV-CALL-004",
    "Each call in an assistant/message has a result by the end of the step, unless the length "
    "limit cut the message.",
    _AskedIsAnswered,
    BOUNDARIES | {CHUNK, MESSAGE, CALL, RESULT},
    rows(*turn(1, step(1, _ASKED))),
)
ONE_RESULT: Final = LogRule(
    "INV-CALL-005",
    "A tool/call has at most one tool/result.",
    partial(_OneResult, each=False),
    BOUNDARIES | {CALL, RESULT},
    _SECOND,
)
