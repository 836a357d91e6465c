"""Profiles, registered rules, and rules that are written against the leaf alone."""

import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any, cast

import pytest
from dsh_invariants import (
    InvariantError,
    LogRule,
    StagedState,
    check_log,
    invariants,
    register_rule,
    rules,
)
from dsh_invariants.testing import Entry, FakeSession, event_of, rows
from dsh_llm import SESSION_APPEND, Context, HarnessError, LogEvent, LogSession, Rule


class Pairs:
    """A rule that knows nothing of this package: opened things are closed, one at a time."""

    id = "OWN-PAIR-001"
    sentence = "What is opened is closed."

    def start(self) -> "PairsState":
        return PairsState()


class PairsState:
    def __init__(self) -> None:
        self.open: list[int] = []

    def feed(self, event: LogEvent) -> Iterable[str]:
        if event.type == "own/open":
            if self.open:
                yield f"opened twice, first at {self.open[0]}"
            self.open.append(event.seq)
        if event.type == "own/close":
            self.open.clear()

    def finish(self) -> Iterable[str]:
        return [f"opened at {seq}, never closed" for seq in self.open]


OPEN: Entry = ("own/open", {})
CLOSE: Entry = ("own/close", {})


def test_rule_of_the_leaf_works_offline_and_live() -> None:
    """It needs no base class and no list of types."""
    rule: Rule = Pairs()
    log = rows(OPEN, CLOSE, OPEN, OPEN)
    assert check_log(log[:2], rules=[rule]) == []
    assert [one.seq for one in check_log(log, rules=[rule])] == [3, 3, 3]
    ctx = Context()
    ctx.use(partial(invariants, rules=[rule]))
    session = FakeSession(ctx)
    for kind, data in (OPEN, CLOSE, OPEN):
        session.append(kind, data)
    with pytest.raises(InvariantError, match="opened twice, first at 2"):
        session.append(*OPEN)
    session.close()
    assert "opened at 2, never closed" in str(session.kept[0])


def test_rule_of_the_leaf_is_not_moved_by_a_vetoed_row() -> None:
    """It judges with a copy, and the copy is kept only if the row is committed."""
    ctx = Context()
    ctx.use(partial(invariants, rules=[Pairs()]))

    def refuse(_session: LogSession, event: LogEvent) -> None:
        if event.data.get("refused"):
            raise HarnessError("no", "NO")

    ctx.on(SESSION_APPEND, refuse)
    session = FakeSession(ctx, seed=rows(OPEN, CLOSE))
    for _ in range(2):
        with pytest.raises(HarnessError, match="no"):
            session.append("own/open", {"refused": True})
    session.append(*OPEN)
    session.append(*CLOSE)


def test_rule_of_the_leaf_takes_a_row_that_was_committed_as_a_copy() -> None:
    """It is shown the committed event."""

    class Copying(FakeSession):
        @property
        def events(self) -> Any:
            return tuple(event._replace(time=0) for event in super().events)

    ctx = Context()
    ctx.use(partial(invariants, rules=[Pairs()]))
    session = Copying(ctx)
    session.append(*OPEN)
    with pytest.raises(InvariantError, match="opened twice, first at 0"):
        session.append(*OPEN)


def test_registered_rule_judges_logs_of_dsh_until_it_is_disposed() -> None:
    """It comes last in `dsh` and `strict`; the disposer may be called twice."""
    rule = Pairs()
    dispose = register_rule(rule)
    try:
        assert rules()[-1] is rule
        assert rules("strict")[-1] is rule
        assert rule not in rules("reference")
        assert [one.rule for one in check_log(rows(OPEN, OPEN, CLOSE))] == ["OWN-PAIR-001"]
    finally:
        dispose()
    assert rule not in rules()
    again = register_rule(Pairs())
    dispose()
    assert rules()[-1].id == "OWN-PAIR-001"
    again()


def test_ids_of_rules_are_unique() -> None:
    """A rule with a taken id is refused, and the old one stays."""
    dispose = register_rule(Pairs())
    try:
        for rule in (Pairs(), *rules(), *rules("reference")):
            with pytest.raises(HarnessError) as caught:
                register_rule(rule)
            assert caught.value.code == "DUPLICATE_RULE"
    finally:
        dispose()


def test_unknown_profile_is_refused() -> None:
    """The error names the ones that there are."""
    with pytest.raises(HarnessError, match="dsh, strict, reference") as caught:
        check_log([], profile=cast("Any", "loose"))
    assert caught.value.code == "UNKNOWN_PROFILE"


def test_base_of_states_says_nothing_by_itself() -> None:
    """A subclass overrides what it needs; `feed` looks, then takes."""

    class Counting(StagedState):
        taken = 0

        def look(self, event: LogEvent) -> Iterable[str]:
            yield f"{event.type} after {self.taken}"

        def take(self, event: LogEvent) -> None:
            self.taken = event.seq + 1

    (row,) = rows(OPEN)
    event = event_of(row)
    plain, counting = StagedState(), Counting()
    assert (plain.feed(event), plain.finish()) == ((), ())
    assert counting.feed(event) == ("own/open after 0",)
    assert counting.feed(event) == ("own/open after 1",)


def test_rule_is_shown_the_types_that_it_reads() -> None:
    """Without `reads` it is shown all."""
    seen: list[str] = []

    class Seeing(StagedState):
        def look(self, event: LogEvent) -> Iterable[str]:
            seen.append(event.type)
            return ()

    log = rows(OPEN, CLOSE)
    one = LogRule("OWN-SEE-001", "Sees one.", Seeing, frozenset({"own/close"}))
    check_log(log, rules=[one])
    check_log(log, rules=[one._replace(reads=None)])
    assert seen == ["own/close", "own/open", "own/close"]


def test_import_is_light() -> None:
    """Nothing heavy is imported for a check."""
    code = "import dsh_invariants, sys; print({'asyncio', 'logging', 'pydantic'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
