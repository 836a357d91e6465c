"""Many rules on one log; each row goes to the rules that read its type."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from dsh_llm import LogEvent, Rule

from dsh_invariants._errors import Violation
from dsh_invariants._rule import StagedState, staged

_Running: TypeAlias = tuple[Rule, StagedState]


class _Readers(NamedTuple):
    """What is called for rows of one type; an inherited method does nothing and is left out."""

    look: tuple[tuple[str, Callable[[LogEvent], Iterable[str]]], ...]
    take: tuple[Callable[[LogEvent], None], ...]


class Engine:
    """Runs rules over one log. What it keeps does not grow with the log, only with a step."""

    __slots__ = ("_always", "_by_type", "_running")

    def __init__(self, rules: Iterable[Rule], *, live: bool) -> None:
        """Start each of *rules* on an empty log; *live* if rows are looked at that may not come."""
        self._running = [(rule, staged(rule.start(), live=live)) for rule in rules]
        types = {kind for rule, _ in self._running for kind in reads(rule) or ()}
        self._by_type = {kind: _readers(self._running, kind) for kind in types}
        self._always = _readers(self._running, None)

    def look(self, event: LogEvent) -> list[Violation]:
        """Return what *event* would break; nothing changes."""
        return [
            Violation(rule, event.seq, message)
            for rule, look in self._by_type.get(event.type, self._always).look
            for message in look(event)
        ]

    def take(self, event: LogEvent) -> None:
        """Move on over *event*, which was looked at and is in the log now."""
        for take in self._by_type.get(event.type, self._always).take:
            take(event)

    def feed(self, event: LogEvent) -> list[Violation]:
        """Return what *event* breaks, and move on over it."""
        found = self.look(event)
        self.take(event)
        return found

    def finish(self, seq: int) -> list[Violation]:
        """Return what is wrong with a log that ends after row *seq*."""
        return [
            Violation(rule.id, seq, message)
            for rule, state in self._running
            for message in state.finish()
        ]


def reads(rule: Rule) -> frozenset[str] | None:
    """Return the row types that *rule* has to be shown, `None` for all."""
    return getattr(rule, "reads", None)


def _readers(running: Iterable[_Running], kind: str | None) -> _Readers:
    """Return the readers of rows of type *kind*; `None` is every type that no rule names."""
    shown = [(rule.id, state) for rule, state in running if _is_shown(rule, kind)]
    return _Readers(
        tuple((name, state.look) for name, state in shown if _has(state, "look")),
        tuple(state.take for _, state in shown if _has(state, "take")),
    )


def _is_shown(rule: Rule, kind: str | None) -> bool:
    types = reads(rule)
    return types is None or kind in types


def _has(state: StagedState, method: str) -> bool:
    return getattr(type(state), method) is not getattr(StagedState, method)
