"""The live plugin: vetoes, replay, containment, independence, and disposal without a trace."""

import asyncio
import copy
import gc
import pickle
import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from dsh_invariants import InvariantError, LogRule, Violation, check_log, invariants, rules
from dsh_invariants.testing import (
    Entry,
    FakeAgent,
    FakeEvent,
    FakeSession,
    answer,
    call,
    result,
    rows,
    step,
    turn,
)
from dsh_llm import (
    SESSION_APPEND,
    SESSION_EVENT,
    Context,
    HarnessError,
    LogEvent,
    LogSession,
    is_violation,
)

CALLED = answer(calls=[("k1", "probe", "{}")])
WHOLE = turn(1, step(1, CALLED, [call("k1"), result("k1")]))
START: Entry = ("turn/start", {"turn": 1})
STEP: Mapping[str, Any] = {"turn": 1, "step": 1}
BEGUN: list[Entry] = [START, ("step/start", STEP)]
OTHER: Entry = ("assistant/message", {"turn": 1, "step": 2, "content": []})
TEXT = {"type": "text-delta", "index": 0, "text": ""}
CHUNK: Entry = ("assistant/chunk", {**STEP, "chunk": TEXT})


def watched(**options: Any) -> Context:
    """Return a context that the plugin watches."""
    ctx = Context()
    ctx.use(partial(invariants, **options))
    return ctx


def append(session: FakeSession, *entries: Entry) -> None:
    """Append entries one by one."""
    for kind, data in entries:
        session.append(kind, data)


def vetoed(session: FakeSession, entry: Entry) -> InvariantError:
    """Return the veto of an entry, which must not get into the log."""
    before = len(session.events)
    with pytest.raises(InvariantError) as caught:
        session.append(*entry)
    assert len(session.events) == before
    return caught.value


def test_good_log_is_not_disturbed() -> None:
    """A whole turn, a second one and their end raise nothing (INV-001, INV-011)."""
    session = FakeSession(watched(freeze=True))
    append(session, *WHOLE, *turn(2))
    session.close()
    assert session.kept == []


@pytest.mark.parametrize(
    ("before", "entry", "text"),
    [
        ([START], ("turn/start", {"turn": 2}), "turn 1 is still open"),
        ([START], ("step/start", {"turn": 2, "step": 1}), "open turn is 1"),
        ([START], CHUNK, "open is turn 1/step none"),
        (BEGUN, ("step/start", STEP), "while step 1 is still open"),
        (
            BEGUN,
            OTHER,
            "open is turn 1/step 1",
        ),
    ],
)
def test_violation_is_vetoed(before: list[Entry], entry: Entry, text: str) -> None:
    """The append raises, the row is not in the log (INV-002, -004, -006, -013, -015)."""
    session = FakeSession(watched())
    append(session, *before)
    error = vetoed(session, entry)
    assert text in error.message
    assert error.context["session"] == "s-1"


def test_vetoed_row_leaves_no_trace() -> None:
    """After the veto the right row is accepted, again and again."""
    session = FakeSession(watched())
    append(session, START)
    for _ in range(3):
        vetoed(session, ("turn/start", {"turn": 2}))
        vetoed(session, CHUNK)
    append(session, *WHOLE[1:], *turn(2))
    assert session.kept == []


@pytest.mark.parametrize(
    ("before", "entry", "text"),
    [
        ([START], ("turn/end", {"turn": 2}), "does not match open turn 1"),
        (BEGUN, ("turn/end", {"turn": 1}), "while step 1 is still open"),
        (BEGUN, ("step/end", {"turn": 1, "step": 2}), "step 1"),
        (BEGUN, result("k1"), "no prior tool/call in this step"),
        (WHOLE[:-3], ("step/end", STEP), "has no result by step/end"),
    ],
)
def test_closing_row_is_committed_all_the_same(
    before: list[Entry], entry: Entry, text: str
) -> None:
    """Its session keeps the error, once (INV-003, -005, -007, -008, -012)."""
    session = FakeSession(watched())
    append(session, *before, entry)
    assert session.events[-1].type == entry[0]
    (kept,) = session.kept
    assert text in str(kept)
    session.append("plugin/own", {})
    assert len(session.kept) == 1


def test_result_for_an_earlier_step_has_no_call() -> None:
    """Calls are forgotten at step/end (INV-014)."""
    session = FakeSession(watched())
    append(session, *WHOLE[:-1], *step(2, answer(step=2))[:-1], result("k1", step=2))
    assert "no prior tool/call in this step" in str(session.kept[0])


def test_error_says_what_is_broken() -> None:
    """It is a coded HarnessError that names rule and place, and crosses processes (INV-028)."""
    session = FakeSession(watched())
    error = vetoed(session, ("turn/start", {"turn": 5}))
    assert (error.name, error.code, error.rule) == ("InvariantError", "INVARIANT", "INV-TURN-003")
    assert error.message == "invariant violated: turn/start 5, expected 1 (session 's-1', seq 0)"
    assert error.context["violations"] == (
        Violation("INV-TURN-003", 0, "turn/start 5, expected 1"),
    )
    assert is_violation(error)
    assert isinstance(error, HarnessError)
    twin = copy.copy(pickle.loads(pickle.dumps(error)))  # noqa: S301  # Why: our own bytes
    assert isinstance(twin, InvariantError)
    assert (twin.rule, twin.message) == (error.rule, error.message)
    assert twin.context == error.context


def test_sessions_are_independent() -> None:
    """Each has its own open turn (INV-010)."""
    ctx = watched()
    one, two = FakeSession(ctx, "one"), FakeSession(ctx, "two")
    append(one, START)
    append(two, *WHOLE)
    vetoed(one, ("turn/start", {"turn": 2}))
    append(one, *WHOLE[1:])


def bad_seed() -> list[dict[str, Any]]:
    """Return a log with a repeated number and a nested turn."""
    seed = [dict(row) for row in rows(*turn(1)[:-1], *turn(2))]
    seed[1]["seq"] = 0
    return seed


def test_bad_seed_is_told_when_the_session_is_made_and_at_its_next_append() -> None:
    """The signal's failure and the next append both carry every violation (INV-009)."""
    session = FakeSession(watched(), seed=bad_seed())
    (told,) = session.kept
    error = vetoed(session, ("turn/start", {"turn": 3}))
    for each in (told, error):
        assert isinstance(each, InvariantError)
        assert [rule for rule, _, _ in each.context["violations"]] == [
            "INV-SEQ-001",
            "INV-TURN-001",
        ]
    append(session, *turn(3))


def test_late_plugin_replays_first() -> None:
    """Used in the middle of a step, it knows what is open (INV-016)."""
    ctx = Context()
    session = FakeSession(ctx)
    append(session, *WHOLE[:4])
    ctx.use(invariants)
    append(session, WHOLE[4])
    vetoed(session, ("turn/start", {"turn": 2}))
    append(session, *WHOLE[5:])


def test_late_plugin_raises_what_it_missed() -> None:
    """A violation from before it came is raised at the first append that it sees."""
    ctx = Context()
    session = FakeSession(ctx)
    append(session, START, ("turn/start", {"turn": 2}))
    ctx.use(invariants)
    error = vetoed(session, CHUNK)
    assert (error.rule, error.context["violations"][0].seq) == ("INV-TURN-001", 1)


def test_plugin_that_is_used_again_goes_on() -> None:
    """Disposed and used again in mid-step, it accepts the next row and vetoes a wrong one."""

    async def main() -> None:
        ctx = Context()
        first = ctx.use(invariants)
        session = FakeSession(ctx)
        append(session, *WHOLE[:4])
        await first.aclose()
        ctx.use(invariants)
        append(session, WHOLE[4])
        vetoed(session, ("turn/start", {"turn": 2}))

    asyncio.run(main())


def test_row_that_another_listener_vetoes_leaves_no_trace() -> None:
    """The rules move on only with the log."""
    ctx = watched()

    def refuse(_session: LogSession, event: LogEvent) -> None:
        if event.data.get("refused"):
            raise HarnessError("no", "NO")

    ctx.on(SESSION_APPEND, refuse)
    session = FakeSession(ctx)
    for _ in range(2):
        with pytest.raises(HarnessError, match="no"):
            session.append("turn/start", {"turn": 1, "refused": True})
    append(session, *WHOLE)
    assert session.kept == []


def test_row_that_was_not_shown_is_judged_afterwards() -> None:
    """A listener that jumps the queue can hide a closing row, for a while only."""
    ctx = watched()
    hidden = ctx.on(SESSION_APPEND, _veto, first=True)
    session = FakeSession(ctx, seed=rows(START))
    session.append("turn/end", {"turn": 2})
    hidden()
    error = vetoed(session, ("plugin/own", {}))
    assert error.rule == "INV-TURN-002"
    session.append("plugin/own", {})


def _veto(_session: LogSession, _event: LogEvent) -> None:
    raise HarnessError("no", "NO")


def test_row_that_is_committed_as_a_copy_is_the_row_that_was_judged() -> None:
    """A session may make the committed event anew; a violation is still raised once."""

    class Copying(FakeSession):
        @property
        def events(self) -> tuple[FakeEvent, ...]:
            return tuple(event._replace(time=event.time + 1) for event in super().events)

    session = Copying(watched())
    append(session, START, ("turn/end", {"turn": 2}), ("plugin/own", {}))
    assert len(session.kept) == 1


def test_append_from_inside_a_listener_is_judged_in_the_order_of_the_log() -> None:
    """A listener that answers a row with another one breaks nothing."""
    ctx = Context()

    def echo(session: LogSession, event: LogEvent) -> None:
        if event.type == "turn/start" and isinstance(session, FakeSession):
            append(session, *WHOLE[1:])

    ctx.on(SESSION_EVENT, echo)
    ctx.use(invariants)
    session = FakeSession(ctx)
    append(session, START)
    assert check_log([_row(event) for event in session.events]) == []
    append(session, *turn(2)[:1])


def _row(event: FakeEvent) -> Mapping[str, Any]:
    return {"seq": event.seq, "time": event.time, "type": event.type, "data": event.data}


def test_session_that_is_closed_inside_a_turn_is_told() -> None:
    """Only if rows were appended while the plugin watched; one that was read is not judged."""
    ctx = watched()
    session = FakeSession(ctx)
    append(session, *WHOLE[:4])
    session.close()
    (kept,) = session.kept
    assert isinstance(kept, InvariantError)
    assert kept.rule == "INV-TURN-004"
    session.close()
    read = FakeSession(ctx, seed=rows(*WHOLE[:4]))
    read.close()
    assert len(session.kept) + len(read.kept) == 1


@pytest.mark.parametrize("statuses", [["idle", "running", "idle", "disposed"], ["disposed"]])
def test_statuses_that_change_are_fine(statuses: list[str]) -> None:
    """The first status that is seen is the baseline (INV-022, INV-023)."""
    agent = FakeAgent(watched())
    assert [agent.become(status) for status in statuses] == [()] * len(statuses)


def test_status_that_repeats_is_told() -> None:
    """The failure comes back to whoever announced it (INV-024)."""
    agent = FakeAgent(watched())
    agent.become("running")
    (error,) = agent.become("running")
    assert isinstance(error, InvariantError)
    assert error.rule == "INV-STATUS-001"
    assert "no-op transition" in error.message
    assert error.context == {"agent": "a-1"}


def test_disposed_is_terminal() -> None:
    """A status after it is told (INV-025)."""
    agent = FakeAgent(watched())
    agent.become("disposed")
    (error,) = agent.become("idle")
    assert isinstance(error, InvariantError)
    assert error.rule == "INV-STATUS-002"
    assert "left terminal state disposed" in error.message


def test_agents_are_independent() -> None:
    """Agents are told apart by identity, whatever their ids (INV-026)."""
    ctx = watched()
    one, two = FakeAgent(ctx), FakeAgent(ctx)
    assert [one.become("disposed"), two.become("idle"), two.become("running")] == [()] * 3


def test_disposal_ends_all_of_it() -> None:
    """Violations pass, others still hear of them once, and nothing is kept (INV-027, -029)."""

    async def main() -> None:
        ctx = Context()
        scope = ctx.use(partial(invariants, freeze=True))
        heard: list[int] = []
        ctx.on(SESSION_EVENT, lambda _, event: heard.append(event.seq))
        session, agent = FakeSession(ctx), FakeAgent(ctx)
        append(session, START)
        agent.become("idle")
        await scope.aclose()
        append(session, START, START)
        assert agent.become("idle") == ()
        assert heard == [0, 1, 2]
        assert session.kept == []

    asyncio.run(main())


def test_plugin_keeps_no_session_and_no_agent_alive() -> None:
    """Both are weakly held; a closed session is forgotten."""
    ctx = watched()
    session, agent = FakeSession(ctx), FakeAgent(ctx)
    append(session, *WHOLE)
    agent.become("running")
    refs = [weakref.ref(session), weakref.ref(agent)]
    del session, agent
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


class Loose(FakeSession):
    """Hands out the list that is its log."""

    @property
    def events(self) -> Any:
        return self.__dict__.setdefault("loose", [*super().events])


def test_freeze_tries_each_row_and_at_first_the_whole_log() -> None:
    """What can be changed is a violation, and is as it was (INV-017 to INV-020)."""
    session = Loose(watched(freeze=True), seed=rows(*WHOLE))
    (kept,) = session.kept
    assert isinstance(kept, InvariantError)
    assert kept.rule == "INV-FREEZE-001"
    assert "value: [0] =" in kept.message
    assert len(session.events) == len(WHOLE)
    ctx = watched(freeze=True)
    event = FakeEvent(0, 0, "plugin/own", {"deep": [1]})  # type: ignore[arg-type]  # Why: the fault that is looked for
    with pytest.raises(InvariantError, match=r"\.data: new\[key\] ="):
        ctx.check(SESSION_APPEND, FakeSession(ctx), event)
    assert event.data == {"deep": [1]}
    watched().check(SESSION_APPEND, FakeSession(ctx), event)


def test_rules_of_ones_own_are_used_in_place_of_the_profile() -> None:
    """Only they judge."""
    chosen: list[LogRule] = [rule for rule in rules() if isinstance(rule, LogRule)][:1]
    session = FakeSession(watched(rules=chosen))
    append(session, *[START] * 3)
    with pytest.raises(InvariantError, match="seq is 9, expected 3"):
        session.append_row({"seq": 9, "time": 0, "type": "turn/start", "data": {}})
