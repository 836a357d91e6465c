"""Rules on what comes in from outside: where in a turn it may stand."""

from collections.abc import Iterable
from typing import Final

from dsh_llm import LogEvent

from dsh_invariants._examples import K1, answer, call, result, rows, step, text, turn
from dsh_invariants._fields import (
    BOUNDARIES,
    CALL,
    CONTEXT,
    MESSAGE,
    RESULT,
    STEERING,
    STEP_START,
    TURN_END,
    TURN_START,
    USER,
    agrees,
    blocks,
    number,
    shown,
    string,
)
from dsh_invariants._rule import LogRule, StagedState
from dsh_invariants._rules._turns import PlacedState


def _misplaced(event: LogEvent, turn: int | None) -> Iterable[str]:
    named = number(event.data, "turn")
    if turn is None:
        return (f"{event.type} stands outside of any turn",)
    if not agrees(turn, named):
        return (f"{event.type} names turn {shown(named)}, open turn is {turn}",)
    return ()


class _UserFirst(PlacedState):
    __slots__ = ("_stepped",)

    def __init__(self) -> None:
        super().__init__()
        self._stepped = False

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != USER:
            return
        yield from _misplaced(event, self.at.turn)
        if self._stepped:
            yield "user/message comes after the first step of the turn"

    def take(self, event: LogEvent) -> None:
        super().take(event)
        if event.type == STEP_START:
            self._stepped = True
        elif event.type in (TURN_START, TURN_END):
            self._stepped = False


class _SteeringBetween(PlacedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != STEERING:
            return
        yield from _misplaced(event, self.at.turn)
        if self.at.step is not None:
            yield f"steering/message stands inside step {self.at.step}"


class _ContextAside(StagedState):
    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[str | None, None] = {}

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type == CONTEXT and self._open:
            first = next(iter(self._open))
            return (f"context/message stands between call {first!r:.80} and its result",)
        return ()

    def take(self, event: LogEvent) -> None:
        if event.type == MESSAGE:
            calls = blocks(event.data, "tool-call")
            self._open |= dict.fromkeys(string(block, "id") for block in calls)
        elif event.type == CALL:
            self._open[string(event.data, "call_id")] = None
        elif event.type == RESULT:
            self._open.pop(string(event.data, "call_id"), None)
        elif event.type in BOUNDARIES:
            self._open.clear()


_INPUT: Final = {"content": [text("more")], "source": {"kind": "user"}}
_STEERED: Final = ("steering/message", {"turn": 1} | _INPUT)
_CONTEXT: Final = ("context/message", _INPUT)

USER_FIRST: Final = LogRule(
    "INV-INPUT-001",
    "A user/message stands inside its turn, before the first step.",
    _UserFirst,
    BOUNDARIES | {USER},
    rows(("user/message", {"turn": 1} | _INPUT), *turn(1)),
)
STEERING_BETWEEN: Final = LogRule(
    "INV-INPUT-002",
    "A steering/message stands inside its turn, between steps.",
    _SteeringBetween,
    BOUNDARIES | {STEERING},
    rows(*turn(1, step(1, answer(), [_STEERED]))),
)
CONTEXT_ASIDE: Final = LogRule(
    "INV-INPUT-003",
    "A context/message does not stand between a call and its result.",
    _ContextAside,
    BOUNDARIES | {MESSAGE, CALL, RESULT, CONTEXT},
    rows(*turn(1, step(1, answer(calls=[K1]), [call("k1"), _CONTEXT, result("k1")]))),
)
