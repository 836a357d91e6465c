"""The live checker: a plugin that judges each row before it is committed."""

from collections.abc import Iterable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from dsh_llm import (
    AGENT_STATUS,
    SESSION_APPEND,
    SESSION_CLOSED,
    SESSION_CREATED,
    Context,
    LogEvent,
    LogSession,
    ObservedAgent,
    Rule,
)

from dsh_invariants import _freeze
from dsh_invariants._engine import Engine
from dsh_invariants._errors import InvariantError, Violation
from dsh_invariants._registry import rules as rules_of

STATUS_CHANGES: Final = "INV-STATUS-001"  # a status is never announced twice in a row
DISPOSED_IS_LAST: Final = "INV-STATUS-002"  # no status follows `disposed`
FROZEN: Final = "INV-FREEZE-001"  # nobody can change what is logged


def invariants(ctx: Context, *, freeze: bool = False, rules: Iterable[Rule] | None = None) -> None:
    """Watch every session and agent of the tree of *ctx*; a plugin, options by `partial`.

    A row that breaks a rule is vetoed: its append raises `InvariantError`. A row that closes
    something is committed all the same, and its session keeps the error. A session that is
    met in its middle is replayed first; a violation in there is raised at its next append, and
    also from `session/created`. Rows that another listener vetoes leave no trace. A session that
    is closed inside a turn, and a status that repeats or follows `disposed`, are raised from the
    signal that tells of them. Sessions and agents are told apart by identity and weakly held.

    With *freeze*, every row (and at the first sight of a session, its whole log) is tried for
    ways to change it, which is slow. *rules* are used in place of those of the profile `dsh`.

    Disposing the scope ends all of it.
    """
    watch = _Sessions(tuple(rules_of() if rules is None else rules), freeze=freeze)
    statuses = _Statuses()
    ctx.on(SESSION_CREATED, watch.created)
    # Why: first, since a row that closes something is committed also when an earlier listener
    # vetoes it, and would not be judged in time.
    ctx.on(SESSION_APPEND, watch.append, first=True)
    ctx.on(SESSION_CLOSED, watch.closed)
    ctx.on(AGENT_STATUS, statuses.changed)


class _Sessions:
    def __init__(self, rules: Sequence[Rule], *, freeze: bool) -> None:
        self._rules = rules
        self._freeze = freeze
        self._logs: WeakKeyDictionary[LogSession, _Log] = WeakKeyDictionary()

    def created(self, session: LogSession) -> None:
        log = self._log(session)
        log.catch_up(session.events)
        _raise_first(session, log.missed)

    def append(self, session: LogSession, event: LogEvent) -> None:
        found = self._log(session).judge(session.events, event)
        if self._freeze:
            found += _changeable(event, event.seq)
        _raise_first(session, found)

    def closed(self, session: LogSession) -> None:
        log = self._logs.pop(session, None)
        if log is not None:
            _raise_first(session, log.finish(session.events))

    def _log(self, session: LogSession) -> "_Log":
        log = self._logs.get(session)
        if log is None:
            log = self._logs[session] = _Log(Engine(self._rules, live=True))
            if self._freeze:
                log.missed += _changeable(session.events, 0)
        return log


class _Log:
    """The rules on one session. What they have taken is what the log has, and nothing else."""

    __slots__ = ("_engine", "_judged", "_taken", "_watched", "missed")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._taken = 0
        self._judged: LogEvent | None = None
        self._watched = False
        self.missed: list[Violation] = []

    def judge(self, events: Sequence[LogEvent], event: LogEvent) -> list[Violation]:
        """Return what *event* would break, and before it what was missed."""
        self.catch_up(events)
        self._judged, self._watched = event, True
        found, self.missed = self.missed, []
        return found + self._engine.look(event)

    def catch_up(self, events: Sequence[LogEvent]) -> None:
        """Take what was committed since; what nobody has judged yet is judged now."""
        judged, self._judged = self._judged, None
        while self._taken < len(events):
            event = events[self._taken]
            self._taken += 1
            if judged is not None and _same(event, judged):
                self._engine.take(event)
            else:
                self.missed += self._engine.feed(event)
            judged = None

    def finish(self, events: Sequence[LogEvent]) -> list[Violation]:
        """Return what was missed and what is wrong with the end of a log that was appended to."""
        self.catch_up(events)
        ended = self._engine.finish(self._taken - 1) if self._watched else []
        return self.missed + ended


def _same(one: LogEvent, other: LogEvent) -> bool:
    return one is other or (one.seq, one.type, one.data) == (other.seq, other.type, other.data)


class _Statuses:
    def __init__(self) -> None:
        self._last: WeakKeyDictionary[ObservedAgent, str] = WeakKeyDictionary()

    def changed(self, agent: ObservedAgent, status: str) -> None:
        last = self._last.get(agent)
        self._last[agent] = status
        where = {"agent": agent.id}
        if last == status:
            text = f"no-op transition: agent {agent.id!r} is {status!r} already"
            raise InvariantError(STATUS_CHANGES, text, context=where)
        if last == "disposed":
            text = f"agent {agent.id!r} left terminal state disposed for {status!r}"
            raise InvariantError(DISPOSED_IS_LAST, text, context=where)


def _changeable(value: object, seq: int) -> list[Violation]:
    return [
        Violation(FROZEN, seq, f"logged data can be changed, {place}")
        for place in _freeze.freeze(value)
    ]


def _raise_first(session: LogSession, found: Sequence[Violation]) -> None:
    if not found:
        return
    rule, seq, message = found[0]
    where = {"session": session.id, "violations": tuple(found)}
    text = f"{message} (session {session.id!r}, seq {seq})"
    raise InvariantError(rule, text, context=where)
