"""Faults that other harnesses had in their logs, each found at its row."""

from dsh_invariants import Profile, check_log
from dsh_invariants.testing import Entry, answer, call, result, rows, step, turn

K1 = ("k1", "probe", "{}")
K2 = ("k2", "probe", "{}")


def found(*entries: Entry, profile: Profile = "dsh") -> dict[int, str]:
    """Return the broken rule of each row that breaks one."""
    return {seq: rule for rule, seq, _ in check_log(rows(*entries), profile=profile)}


def test_one_result_per_call() -> None:
    """A result that is written again is flagged (invariants-001)."""
    inside = [call("k1"), result("k1"), result("k1")]
    assert found(*turn(1, step(1, answer(calls=[K1]), inside))) == {10: "INV-CALL-002"}


def test_step_closed_without_the_result() -> None:
    """A call of the message that a stop skipped is flagged at step/end (invariants-002)."""
    inside = [call("k1"), result("k1")]
    log = turn(1, step(1, answer(calls=[K1, K2]), inside))
    (violation,) = check_log(rows(*log))
    assert violation.rule == "INV-CALL-004"
    assert "'k2'" in violation.message


def test_result_before_its_call_and_for_an_unknown_call() -> None:
    """Both are flagged at the result (invariants-005)."""
    inside = [result("k1"), call("k1")]
    log = found(*turn(1, step(1, [result("k9")], answer(calls=[K1]), inside)))
    assert log == {3: "INV-CALL-001", 9: "INV-CALL-001", 11: "INV-CALL-002"}


def test_nested_turns_and_rows_after_the_end() -> None:
    """The inner turn, the open step, and each late row are flagged (invariants-006)."""
    late = ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta"}})
    log: list[Entry] = [
        ("turn/start", {"turn": 1}),
        ("step/start", {"turn": 1, "step": 1}),
        ("turn/start", {"turn": 2}),
        ("turn/end", {"turn": 1}),
        result("k1"),
        late,
    ]
    messages = [f"{one.seq}: {one.message}" for one in check_log(rows(*log))]
    assert messages == [
        "2: turn/start 2, but turn 1 is still open",
        "3: turn/end 1 does not match open turn 2",
        "3: turn/end 1 while step 1 is still open",
        "4: tool/result names turn 1/step 1, open is turn none/step none",
        "4: tool/result 'k1' has no prior tool/call in this step",
        "5: assistant/chunk names turn 1/step 1, open is turn none/step none",
    ]


def test_chunks_that_do_not_add_up() -> None:
    """A repeated chunk is flagged at the message, where no plugin may change it (-007)."""
    at = {"turn": 1, "step": 1}
    chunks = [
        *({"type": "text-delta", "index": 0, "text": text} for text in ("Here ", "Here ", "it is")),
        {"type": "finish", "reason": {"kind": "stop"}},
    ]
    stream = [("assistant/chunk", at | {"chunk": chunk}) for chunk in chunks]
    message = ("assistant/message", at | {"content": [{"type": "text", "text": "Here it is"}]})
    doubled = turn(1, step(1, stream, [message]))
    assert found(*doubled, profile="strict") == {7: "INV-CHUNK-001"}
    assert found(*turn(1, step(1, stream[1:], [message])), profile="strict") == {}
    assert found(*doubled) == {}
