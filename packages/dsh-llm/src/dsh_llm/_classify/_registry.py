"""The classifiers in their order: stage by stage, a host's before the built-in ones."""

from _thread import RLock
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final, NamedTuple

from dsh_llm._classify._evidence import Seam
from dsh_llm._classify._rule import (
    SEAMS,
    STAGES,
    Classifier,
    ClassifierError,
    Stage,
    Test,
    phrases_of,
    require_seen,
    require_valid,
    test_of,
)


class Ready(NamedTuple):
    """A rule that can be asked."""

    rule: Classifier
    seams: frozenset[Seam]
    test: Test


class _Registry:
    """The rules of this process.

    Invariant: readers see a whole order or the one before it; `order` is replaced, never changed.
    """

    def __init__(self) -> None:
        self.order: dict[tuple[Stage, Seam], tuple[Ready, ...]] | None = None
        self._host: tuple[Ready, ...] = ()
        self._built_in: tuple[Ready, ...] = ()
        self._lock = RLock()

    def rules_of(self, stage: Stage, seam: Seam) -> tuple[Ready, ...]:
        """Return the rules of *stage* at *seam*, in the order in which they are asked."""
        return (self.order or self._arrange()).get((stage, seam), ())

    def add(self, rules: Sequence[Classifier]) -> tuple[Ready, ...]:
        """Take *rules* in, all or none."""
        with self._lock:
            self._arrange()
            for rule in rules:
                require_valid(rule)
            known = [ready.rule for ready in self._host]
            _require_new([*known, *(ready.rule for ready in self._built_in)], rules)
            ordered = [*known, *rules, *(ready.rule for ready in self._built_in)]
            require_seen(rule for rule in ordered if phrases_of(rule))
            added = tuple(map(_ready, rules))
            self._host += added
            self._arrange()
            return added

    def remove(self, gone: Sequence[Ready]) -> None:
        """Forget *gone*; rules that are not there any more do not matter."""
        with self._lock:
            self._host = tuple(one for one in self._host if not any(one is each for each in gone))
            self._arrange()

    def _arrange(self) -> dict[tuple[Stage, Seam], tuple[Ready, ...]]:
        with self._lock:
            if not self._built_in:
                from dsh_llm._classify._built_in import BUILT_IN

                self._built_in = tuple(map(_ready, BUILT_IN))
            every = (*self._host, *self._built_in)
            self.order = {
                (stage, seam): tuple(one for one in every if _is_of(one, stage, seam))
                for stage, seam in product(STAGES, SEAMS)
            }
            return self.order


REGISTRY: Final = _Registry()


def _is_of(ready: Ready, stage: Stage, seam: Seam) -> bool:
    return ready.rule.stage == stage and (not ready.seams or seam in ready.seams)


def _ready(rule: Classifier) -> Ready:
    return Ready(rule, frozenset(rule.seams), test_of(rule))


def _require_new(known: Iterable[Classifier], rules: Iterable[Classifier]) -> None:
    names = {rule.name for rule in known}
    for rule in rules:
        if rule.name in names:
            raise ClassifierError(rule.name, "the name is taken")
        names.add(rule.name)
