"""Every rule: a log that keeps it, a log that breaks only it, and what it says."""

from collections.abc import Sequence
from typing import Any

import pytest
from dsh_invariants import LogRule, Profile, Violation, check_log, rules
from dsh_invariants.testing import Entry, answer, call, result, rows, step, turn
from dsh_llm import Rule

CALLED = answer(calls=[("k1", "probe", "{}")])
INPUT = {"content": [{"type": "text", "text": "more"}], "source": {"kind": "user"}}
PROFILES: Sequence[Profile] = ("dsh", "strict", "reference")
EVERY = [pytest.param(p, rule, id=f"{p}-{rule.id}") for p in PROFILES for rule in rules(p)]


def chunk(kind: str, **fields: Any) -> Entry:
    """Return a chunk of the first step."""
    return "assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": kind, **fields}}


def message(*content: dict[str, Any]) -> Entry:
    """Return the first step's message."""
    return "assistant/message", {"turn": 1, "step": 1, "content": list(content)}


def block(call_id: Any, name: str = "probe") -> dict[str, Any]:
    """Return a tool-call block."""
    return {"type": "tool-call", "id": call_id, "name": name, "arguments": "{}"}


def finished(kind: str = "stop") -> Entry:
    """Return a finish chunk of the first step."""
    return chunk("finish", reason={"kind": kind})


def broken(*entries: Entry, profile: Profile = "dsh", live: bool = False) -> list[tuple[str, int]]:
    """Return rule and row of each violation in a log of entries."""
    return [(rule, seq) for rule, seq, _ in check_log(rows(*entries), profile=profile, live=live)]


def in_step(*entries: Entry) -> list[tuple[str, int]]:
    """Check the first step of a turn; its inside begins with row 3."""
    return broken(*turn(1, step(1, entries)))


def only(*entries: Entry) -> Violation:
    """Return the one violation of a log."""
    (violation,) = check_log(rows(*entries))
    return violation


@pytest.mark.parametrize(("profile", "rule"), EVERY)
def test_example_breaks_its_rule_once_and_no_other(profile: Profile, rule: Rule) -> None:
    """A rule's own example is a minimal counter-example."""
    assert isinstance(rule, LogRule)
    assert [one.rule for one in check_log(rule.example, profile=profile)] == [rule.id]


@pytest.mark.parametrize(("profile", "rule"), EVERY)
def test_rule_explains_itself(profile: Profile, rule: Rule) -> None:
    """A rule has a stable name and one sentence."""
    family, number = rule.id.removeprefix("INV-").split("-")
    assert family.isupper()
    assert number.isdigit()
    assert rule.sentence[0].isupper()
    assert rule.sentence.endswith(".")
    assert profile in PROFILES


def test_ids_are_unique_in_a_profile() -> None:
    """No two rules of a profile share a name."""
    for profile in PROFILES:
        ids = [rule.id for rule in rules(profile)]
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize("profile", PROFILES)
def test_whole_turns_are_well_formed(profile: Profile) -> None:
    """Turns with streams, calls, steering and context break nothing (INV-001, INV-011)."""
    log = rows(
        ("context/message", INPUT),
        *turn(
            1,
            step(1, CALLED, [call("k1"), result("k1", {"name": "HarnessError", "code": "X"})]),
            [("steering/message", {"turn": 1} | INPUT), ("context/message", INPUT)],
            step(2, answer(step=2), [("usage", {"turn": 1, "step": 2, "usage": {}})]),
        ),
        ("plugin/own", {}),
        *turn(2, step(1, answer(turn=2), turn=2)),
        *turn(3),
    )
    assert check_log(log, profile=profile) == []


def test_turn_that_starts_in_a_turn_is_named() -> None:
    """A turn/start says which turn is still open (INV-002)."""
    log = [*turn(1)[:2], *turn(2)]
    assert "turn 1 is still open" in only(*log).message


def test_turn_end_names_the_open_turn() -> None:
    """A turn/end for another turn, or for none, does not match (INV-003)."""
    end = ("turn/end", {"turn": 2})
    assert "does not match open turn 1" in only(*turn(1)[:2], end).message
    assert "does not match open turn none" in only(end).message


def test_turn_does_not_end_in_a_step() -> None:
    """A turn/end says which step is still open (INV-012)."""
    assert "while step 1 is still open" in only(*turn(1, step(1)[:1])).message


def test_step_start_names_the_open_turn() -> None:
    """A step/start for another turn, or for none, says which one is open (INV-004)."""
    assert "open turn is 1" in only(*turn(1, step(1, turn=2))).message
    orphan = ("step/start", {"turn": 1, "step": 1})
    violations = check_log(rows(orphan), live=True)
    assert [one.message for one in violations] == ["step/start 1 names turn 1, open turn is none"]


def test_step_does_not_start_in_a_step() -> None:
    """A step/start says which step is still open (INV-013)."""
    assert "while step 1 is still open" in only(*turn(1, step(1)[:1], step(2))).message


def test_rows_of_a_step_name_it() -> None:
    """A row for another step, or for none, says what is open (INV-005, INV-006, INV-015)."""
    wrong = ("step/end", {"turn": 1, "step": 2})
    assert "open is turn 1/step 1" in only(*turn(1, step(1)[:1], [wrong])).message
    assert "open is turn 1/step none" in only(*turn(1, [chunk("text-delta")])).message
    assert "open is turn none/step none" in only(chunk("text-delta")).message
    other: Entry = ("assistant/message", {"turn": 1, "step": 2, "content": []})
    assert in_step(other) == [("INV-STEP-003", 3)]


def test_numbers_count_from_one() -> None:
    """Turns count through the log and steps within a turn."""
    assert broken(*turn(2)) == [("INV-TURN-003", 0)]
    assert broken(*turn(1), *turn(1)) == [("INV-TURN-003", 3)]
    assert broken(*turn(1, step(1), step(3))) == [("INV-STEP-002", 4)]


def test_result_needs_a_call_of_its_own_step() -> None:
    """A result without a call, and one for an earlier step's call, is told so (INV-007, -014)."""
    first = step(1, CALLED, [call("k1"), result("k1")])
    late = step(2, answer(step=2), [result("k1", step=2)])
    violation = only(*turn(1, first, late))
    assert "no prior tool/call in this step" in violation.message
    assert violation.rule == "INV-CALL-001"


def test_call_without_a_result_is_reported_at_the_end_of_its_step() -> None:
    """A call has to be answered by step/end, and by any other row that ends the step (INV-008)."""
    assert in_step(*CALLED, call("k1")) == [("INV-CALL-002", 9)]
    unclosed = step(1, CALLED, [call("k1")])[:-1]
    assert ("INV-CALL-002", 9) in broken(*turn(1, unclosed))


def test_reference_allows_a_call_without_a_result() -> None:
    """The reference's rule is one-directional, but it allows one result only."""
    open_call = turn(1, step(1, CALLED, [call("k1")]))
    assert broken(*open_call, profile="reference") == []
    twice = turn(1, step(1, CALLED, [call("k1"), result("k1"), result("k1")]))
    assert broken(*twice, profile="reference") == [("INV-CALL-005", 10)]


def test_call_that_never_ran_needs_no_tool_call() -> None:
    """A result that says so may stand alone, once, for a call of the message."""
    refused = result("k1", {"name": "HarnessError", "code": "TOOL_NOT_STARTED"})
    assert in_step(*CALLED, refused) == []
    assert in_step(*CALLED, refused, refused) == [("INV-CALL-002", 9)]
    assert in_step(*answer(), refused) == [("INV-CALL-001", 7)]


def test_call_ids_are_unique_in_a_step() -> None:
    """Two calls, or two blocks, with one id are ambiguous; in two steps they are not."""
    answered = [call("k1"), result("k1")]
    assert in_step(*CALLED, *answered, *answered) == [("INV-CALL-003", 10)]
    twice = message(block("k1"), block("k1"))
    assert in_step(twice, *answered) == [("INV-CALL-003", 3)]
    second = step(2, answer(calls=[("k1", "probe", "{}")], step=2))
    again = [call("k1", step=2), result("k1", step=2)]
    steps = step(1, CALLED, answered), (*second[:-1], *again, second[-1])
    assert broken(*turn(1, *steps)) == []


@pytest.mark.parametrize("nameless", [block(""), block("k1", ""), block(None)])
def test_calls_in_a_message_have_an_id_and_a_name(nameless: dict[str, Any]) -> None:
    """A block without an id or a name never gets into a message."""
    assert ("INV-CALL-003", 3) in in_step(message(nameless))


def test_call_is_what_the_message_asked_for() -> None:
    """A tool/call has its block's id, name and arguments."""
    assert in_step(*answer(), call("k1"), result("k1")) == [("INV-CALL-003", 7)]
    other = call("k1", "other", '{"n": 1}')
    assert in_step(*CALLED, other, result("k1")) == [("INV-CALL-003", 8)] * 2


def test_call_in_a_message_is_answered_unless_the_message_was_cut() -> None:
    """Nothing is owed for a call that the length limit may have cut."""
    assert in_step(*CALLED) == [("INV-CALL-004", 8)]
    assert in_step(finished("max-tokens"), message(block("k1"))) == []


def test_inputs_stand_where_they_belong() -> None:
    """A user/message comes first in its turn, steering between steps, context never amid calls."""
    user, steering = (
        ("user/message", {"turn": 1} | INPUT),
        ("steering/message", {"turn": 1} | INPUT),
    )
    assert broken(*turn(1, step(1), [user])) == [("INV-INPUT-001", 4)]
    assert broken(*turn(1), user) == [("INV-INPUT-001", 3)]
    assert broken(*turn(1, [("user/message", {"turn": 2} | INPUT)])) == [("INV-INPUT-001", 2)]
    assert broken(steering) == [("INV-INPUT-002", 0)]
    assert in_step(steering) == [("INV-INPUT-002", 3)]
    assert in_step(*CALLED, ("context/message", INPUT), call("k1"), result("k1")) == [
        ("INV-INPUT-003", 8)
    ]


def test_stream_is_over_with_its_finish() -> None:
    """A second finish and a late chunk are reported; llm/retry begins a new stream."""
    assert in_step(*answer()[:-1], finished(), answer()[-1]) == [("INV-STREAM-001", 6)]
    retry = ("llm/retry", {"turn": 1, "step": 1})
    assert in_step(finished("error"), retry, *answer()) == []


def test_block_is_over_with_its_end() -> None:
    """A delta for an ended block is reported, one for another block is not."""
    end = chunk("block-end", index=0, block={"type": "text", "text": ""})
    late = chunk("text-delta", index=0, text="late")
    new = chunk("text-delta", index=1, text="new")
    assert in_step(end, late, new, chunk("usage")) == [("INV-STREAM-002", 4)]


def test_message_comes_once_after_a_good_finish() -> None:
    """A message before the finish, after a failed one, or twice, is reported."""
    delta = chunk("text-delta", index=0, text="x")
    assert in_step(delta, message()) == [("INV-STREAM-003", 4)]
    assert in_step(finished("aborted"), message()) == [("INV-STREAM-003", 4)]
    assert in_step(*answer(), answer()[-1]) == [("INV-STREAM-003", 7)]
    assert in_step(message()) == []


def test_errors_have_a_name_and_a_code() -> None:
    """Error rows, results and failed turns are coded, with strings that are not empty."""
    error = ("error", {"turn": 1, "step": 1, "name": "", "message": "m"})
    assert in_step(error) == [("INV-ERROR-001", 3)] * 2
    bad = [call("k1"), result("k1", {"name": "HarnessError", "code": 5})]
    assert in_step(*CALLED, *bad) == [("INV-ERROR-001", 9)]
    failed = ("turn/end", {"turn": 1, "reason": {"kind": "error"}})
    assert broken(*turn(1)[:-1], failed) == [("INV-ERROR-001", 2)]
    coded = ("turn/end", {"turn": 1, "reason": {"kind": "error", "code": "UNKNOWN"}})
    assert broken(*turn(1)[:-1], coded) == []


def test_strict_wants_the_message_that_was_streamed() -> None:
    """Text, reasoning and calls of the last attempt are those of the message."""
    at = {"turn": 1, "step": 1}
    stream = [
        chunk("block-start", index=0, block_type="reasoning"),
        chunk("reasoning-delta", index=0, text="hm"),
        chunk("tool-call-delta", index=1, id="k1", name="probe", arguments_delta="{}"),
        finished("tool-calls"),
    ]
    good = message({"type": "reasoning", "text": "hm"}, block("k1"))
    rest = [call("k1"), result("k1")]
    failed = [chunk("text-delta", index=0, text="lost"), finished("error"), ("llm/retry", at)]
    assert broken(*turn(1, step(1, failed, stream, [good], rest)), profile="strict") == []
    bad = message({"type": "reasoning", "text": "hmm"})
    assert broken(*turn(1, step(1, stream, [bad])), profile="strict") == [("INV-CHUNK-001", 7)] * 2
    cut = [*stream[:3], finished("max-tokens"), message({"type": "reasoning", "text": "hm"})]
    assert broken(*turn(1, step(1, cut)), profile="strict") == []
    assert broken(*turn(1, step(1, [message()])), profile="strict") == []
