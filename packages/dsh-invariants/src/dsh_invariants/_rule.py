"""How a rule is written: a record that a person can read, and a state that looks, then takes."""

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dsh_llm import LogEvent, RuleState

Rows = tuple[Mapping[str, Any], ...]


class LogRule(NamedTuple):
    """A rule as data; it satisfies `dsh_llm.Rule`.

    A rule of any other class is as good. These two attributes are optional in one: without
    `reads` it is shown every row, without `example` it explains itself by its sentence alone.
    """

    id: str
    """Stable name, `INV-<family>-<number>`."""
    sentence: str
    """The relation in one sentence."""
    begin: Callable[[], RuleState]
    """Makes the state for a new log."""
    reads: frozenset[str] | None = None
    """Types of the rows that it has to be shown, `None` for all."""
    example: Rows = ()
    """A small log that breaks this rule and no other."""

    def start(self) -> RuleState:
        """Begin on a new log."""
        return self.begin()


class StagedState:
    """Base of the states that can judge a row before it is committed, at no cost.

    A row is looked at once, and taken only if it gets into the log. A subclass overrides `look`,
    and what else it needs of `take` and `finish`; none of them raises, whatever the row holds.
    """

    __slots__ = ()

    def look(self, event: LogEvent) -> Iterable[str]:  # noqa: ARG002  # Why: a rule on a log's end has nothing to say here
        """Return one sentence for each violation that *event* would be; change nothing."""
        return ()

    def take(self, event: LogEvent) -> None:
        """Move on over *event*, also over one that is a violation."""

    def finish(self) -> Iterable[str]:
        """Return what is wrong with a log that ends here."""
        return ()

    def feed(self, event: LogEvent) -> Iterable[str]:
        """Look at *event* and take it."""
        found = tuple(self.look(event))
        self.take(event)
        return found


class LiftedState(StagedState):
    """Makes any state a staged one: it looks with a deep copy, which it keeps if the row comes."""

    __slots__ = ("_looked", "_state", "_twin")

    def __init__(self, state: RuleState) -> None:
        """Wrap *state*."""
        self._state = self._twin = state
        self._looked: LogEvent | None = None

    def look(self, event: LogEvent) -> Iterable[str]:
        self._looked, self._twin = event, copy.deepcopy(self._state)
        return tuple(self._twin.feed(event))

    def take(self, event: LogEvent) -> None:
        if event is self._looked:
            self._state = self._twin
        else:
            tuple(self._state.feed(event))
        self._looked = None

    def finish(self) -> Iterable[str]:
        return self._state.finish()


class FedState(StagedState):
    """Looks by taking at once: enough for a log that is complete, where every row comes."""

    __slots__ = ("_state",)

    def __init__(self, state: RuleState) -> None:
        """Wrap *state*."""
        self._state = state

    def look(self, event: LogEvent) -> Iterable[str]:
        return self._state.feed(event)

    def finish(self) -> Iterable[str]:
        return self._state.finish()


def staged(state: RuleState, *, live: bool) -> StagedState:
    """Return *state*, wrapped if it is not staged itself; *live* if a row may not come."""
    if isinstance(state, StagedState):
        return state
    return LiftedState(state) if live else FedState(state)
