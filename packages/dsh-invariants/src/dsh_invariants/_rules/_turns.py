"""Rules on how turns and steps open, close, and are numbered."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from dsh_llm import LogEvent

from dsh_invariants._counter import Counter
from dsh_invariants._examples import answer, rows, step, turn
from dsh_invariants._fields import (
    BOUNDARIES,
    CALL,
    CHUNK,
    MESSAGE,
    RESULT,
    STEP_END,
    STEP_START,
    TURN_END,
    TURN_START,
    UNNAMED,
    USAGE,
    Position,
    agrees,
    number,
    shown,
)
from dsh_invariants._rule import LogRule, StagedState


class PlacedState(StagedState):
    """Knows which turn and which step is open."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        """Begin outside of any turn."""
        self.at = Position()

    def take(self, event: LogEvent) -> None:
        if event.type in BOUNDARIES:
            self.at = self.at.after(event)


class _OneTurn(PlacedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type == TURN_START and self.at.turn is not None:
            opened = shown(number(event.data, "turn"))
            return (f"turn/start {opened}, but turn {self.at.turn} is still open",)
        return ()


class _TurnCloses(PlacedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != TURN_END:
            return
        ended = number(event.data, "turn")
        turn, step = self.at
        if turn is None or not agrees(turn, ended):
            yield f"turn/end {shown(ended)} does not match open turn {shown(turn)}"
        if step is not None:
            yield f"turn/end {shown(ended)} while step {step} is still open"


class _TurnsCount(StagedState):
    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = Counter(0)

    def look(self, event: LogEvent) -> Iterable[str]:
        return _miscounted(event, "turn", self._count)

    def take(self, event: LogEvent) -> None:
        _count(event, "turn", self._count)


class _ClosedAtEnd(PlacedState):
    __slots__ = ()

    def finish(self) -> Iterable[str]:
        turn, step = self.at
        if turn is not None or step is not None:
            return (f"the log ends inside turn {shown(turn)}/step {shown(step)}",)
        return ()


class _StepOpens(PlacedState):
    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type != STEP_START:
            return
        opened = shown(number(event.data, "step"))
        named = number(event.data, "turn")
        turn, step = self.at
        if turn is None or not agrees(turn, named):
            yield f"step/start {opened} names turn {shown(named)}, open turn is {shown(turn)}"
        if step is not None:
            yield f"step/start {opened} while step {step} is still open"


class _StepsCount(StagedState):
    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = Counter(0)

    def look(self, event: LogEvent) -> Iterable[str]:
        return () if event.type == TURN_START else _miscounted(event, "step", self._count)

    def take(self, event: LogEvent) -> None:
        if event.type == TURN_START:
            self._count = Counter(0)
        else:
            _count(event, "step", self._count)


def _miscounted(event: LogEvent, key: str, counter: Counter) -> Iterable[str]:
    found = number(event.data, key)
    if found is None or counter.fits(found):
        return ()
    return (f"{event.type} {found}, expected {counter.expected}",)


def _count(event: LogEvent, key: str, counter: Counter) -> None:
    found = number(event.data, key)
    counter.take(counter.expected if found is None else found)


_Pair = tuple[int, int]


class _Place(NamedTuple):
    """Where rows belong: the open turn, and the pair of numbers that rows of the step carry."""

    turn: int | None = None
    pair: _Pair | None = None
    other: _Pair | None = None
    """Another name of the step, as long as no row has shown which one is right."""
    sure: bool = False
    closed: _Pair | None = None


class _InOpenStep(StagedState):
    """Judges rows by the step that they name.

    When the opening row and the first row after it differ, either may be the wrong one. The next
    row decides, so that one wrong number is one violation and not one a row.
    """

    __slots__ = ("_place",)

    def __init__(self) -> None:
        self._place = _Place()

    def look(self, event: LogEvent) -> Iterable[str]:
        if event.type in _OPENING or self._fits(self._named(event)):
            return ()
        named = number(event.data, "turn"), number(event.data, "step")
        place = self._place
        pair = (place.turn, None) if place.pair is None else place.pair
        return (f"{event.type} names {_at(named)}, open is {_at(pair)}",)

    def take(self, event: LogEvent) -> None:
        if event.type == TURN_START:
            opened = number(event.data, "turn")
            self._place = self._place._replace(turn=UNNAMED if opened is None else opened)
        elif event.type == TURN_END:
            self._place = _Place()
        elif event.type == STEP_START:
            self._place = self._opened(event)
        else:
            self._settle(self._named(event))
        if event.type == STEP_END:
            self._place = _Place(self._place.turn, closed=self._place.pair)

    def _named(self, event: LogEvent) -> _Pair:
        data = event.data
        turn, step = number(data, "turn"), number(data, "step")
        if turn is not None and step is not None:
            return turn, step
        open_turn, open_step = self._place.pair or (UNNAMED, UNNAMED)
        return (open_turn if turn is None else turn), (open_step if step is None else step)

    def _fits(self, named: _Pair) -> bool:
        pair = self._place.pair
        if pair is None:
            return False
        if named in (pair, self._place.other):
            return True
        return agrees(pair[0], named[0]) and agrees(pair[1], named[1])

    def _opened(self, event: LogEvent) -> _Place:
        turn = self._place.turn
        named, step = number(event.data, "turn"), number(event.data, "step")
        step = UNNAMED if step is None else step
        own = turn if named is None else named
        other = None if turn is None or turn == own else (turn, step)
        return _Place(turn, (UNNAMED if own is None else own, step), other)

    def _settle(self, named: _Pair) -> None:
        place = self._place
        if place.sure and place.pair == named:
            return
        if place.pair is None:
            self._reopen(named)
        elif self._fits(named):
            self._place = place._replace(pair=named, other=None, sure=True)
        elif not place.sure and place.other is None:
            self._place = place._replace(other=named)

    def _reopen(self, named: _Pair) -> None:
        # Why: a row of a step that has not been yet means that the step's own start is missing; a
        # row of the step that has just been closed is late, and so is the next.
        turn = self._place.turn
        if turn is not None and agrees(turn, named[0]) and named != self._place.closed:
            self._place = _Place(turn, named, sure=True)


def _at(named: tuple[int | None, int | None]) -> str:
    return f"turn {shown(named[0])}/step {shown(named[1])}"


_OPENING: Final = frozenset({TURN_START, TURN_END, STEP_START})
_IN_STEP: Final = frozenset({STEP_END, CHUNK, MESSAGE, CALL, RESULT, USAGE})
_ONE_STEP: Final = step(1, answer())

ONE_TURN: Final = LogRule(
    "INV-TURN-001",
    "A turn starts only when no turn is open.",
    _OneTurn,
    BOUNDARIES,
    rows(*turn(1)[:-1], *turn(2)),
)
TURN_CLOSES: Final = LogRule(
    "INV-TURN-002",
    "A turn/end names the open turn, and no step is open.",
    _TurnCloses,
    BOUNDARIES,
    rows(*turn(1)[:-1], ("turn/end", {"turn": 2, "reason": {"kind": "completed"}})),
)
TURNS_COUNT: Final = LogRule(
    "INV-TURN-003",
    "Turns are numbered from 1 without a gap.",
    _TurnsCount,
    frozenset({TURN_START}),
    rows(*turn(1), *turn(3)),
)
CLOSED_AT_END: Final = LogRule(
    "INV-TURN-004",
    "A log does not end inside a turn or a step.",
    _ClosedAtEnd,
    BOUNDARIES,
    rows(*turn(1)[:-1]),
)
STEP_OPENS: Final = LogRule(
    "INV-STEP-001",
    "A step/start names the open turn, and no step is open.",
    _StepOpens,
    BOUNDARIES,
    rows(*turn(1, step(1)[:-1], step(2))),
)
STEPS_COUNT: Final = LogRule(
    "INV-STEP-002",
    "The steps of a turn are numbered from 1 without a gap.",
    _StepsCount,
    frozenset({TURN_START, STEP_START}),
    rows(*turn(1, step(2))),
)
IN_OPEN_STEP: Final = LogRule(
    "INV-STEP-003",
    "What belongs to a step names exactly the open turn and step.",
    _InOpenStep,
    BOUNDARIES | _IN_STEP,
    rows(*turn(1, _ONE_STEP[:-1], [("step/end", {"turn": 1, "step": 2})])),
)
