"""What observers of a session need: shapes and event constants, without any logic."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from dsh_llm._kernel import Check, Gather, Signal


class LogEvent(Protocol):
    """One row of a session's log; nobody can change it."""

    @property
    def seq(self) -> int:
        """Position in the log, from 0, without gaps."""
        ...

    @property
    def time(self) -> int:
        """Epoch milliseconds; may step backwards."""
        ...

    @property
    def type(self) -> str:
        """What happened, `turn/start` and its kind; an open set."""
        ...

    @property
    def data(self) -> Mapping[str, Any]:
        """JSON values, immutable."""
        ...


class LogSession(Protocol):
    """A session as an observer sees it."""

    @property
    def id(self) -> str:
        """Unique among the sessions of one store."""
        ...

    @property
    def events(self) -> Sequence[LogEvent]:
        """The log so far; a view, not a copy."""
        ...


class ObservedAgent(Protocol):
    """An agent as an observer sees it."""

    @property
    def id(self) -> str:
        """Unique among the agents of one harness."""
        ...

    @property
    def status(self) -> str:
        """`idle`, `running` or `disposed`."""
        ...


class RuleState(Protocol):
    """A rule at work on one log."""

    def feed(self, event: LogEvent) -> Iterable[str]:
        """Take the next event; return one sentence for each violation.

        A violation must not stop it: it goes on from a state that fits what it has seen.
        """
        ...

    def finish(self) -> Iterable[str]:
        """Return what is wrong with a log that ends here."""
        ...


class Rule(Protocol):
    """One relation over a session's events."""

    @property
    def id(self) -> str:
        """Stable name, `INV-SEQ-001`."""
        ...

    @property
    def sentence(self) -> str:
        """The relation in one sentence that a person can read."""
        ...

    def start(self) -> RuleState:
        """Begin on a new log."""
        ...


SESSION_CREATED: Final[Signal[[LogSession]]] = Signal("session/created")
"""A session exists, with the events it was seeded with."""

SESSION_APPEND: Final[Check[[LogSession, LogEvent]]] = Check("session/append")
"""*event* is about to be committed; raising vetoes it, except on a row that closes something."""

SESSION_EVENT: Final[Signal[[LogSession, LogEvent]]] = Signal("session/event")
"""*event* was committed."""

SESSION_FLUSH: Final[Gather[[LogSession]]] = Gather("session/flush")
"""A turn has ended: whoever buffers writes now, and is waited for."""

SESSION_CLOSED: Final[Signal[[LogSession]]] = Signal("session/closed")
"""A session will get no more events in this process."""

AGENT_STATUS: Final[Signal[[ObservedAgent, str]]] = Signal("agent/status")
"""The agent's status has changed to the one given."""

CLOSING_TYPES: Final = frozenset({"tool/result", "error", "step/end", "turn/end"})
"""Rows that close something: a veto is kept and raised later, but they commit all the same."""
