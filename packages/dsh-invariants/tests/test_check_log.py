"""check_log: any source, every violation, and one violation for one fault."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from dsh_invariants import check_log, rules
from dsh_invariants.testing import Entry, answer, call, result, rows, step, turn
from dsh_llm import HarnessError

HEADER = {"type": "session", "version": 1, "id": "s-1", "created": 1}
CALLED = answer(calls=[("k1", "probe", "{}")])
GOOD = rows(*turn(1, step(1, CALLED, [call("k1"), result("k1")])), *turn(2))


def found(log: object, **options: Any) -> list[tuple[str, int]]:
    """Return rule and row of each violation."""
    return [(rule, seq) for rule, seq, _ in check_log(cast("Any", log), **options)]


def written(folder: Path, *lines: object) -> Path:
    """Write a file of lines, given as bytes or as JSON values."""
    path = folder / "log.jsonl"
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return path


def renumbered(log: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Number rows from 0 again."""
    return [{**row, "seq": seq} for seq, row in enumerate(log)]


def test_good_log_has_no_violations(tmp_path: Path) -> None:
    """Rows, with a header or without, and a file are read alike; no rows are a good log."""
    assert check_log(GOOD) == []
    assert check_log([HEADER, *GOOD]) == []
    assert check_log(iter(GOOD)) == []
    assert check_log([]) == []
    path = written(tmp_path, HEADER, *GOOD)
    assert check_log(path) == []
    assert check_log(str(path)) == []


def test_log_that_ends_inside_a_turn_is_only_good_while_it_is_live() -> None:
    """Every prefix of a good log is a good live log; as a whole log it is one outside turns."""
    for length in range(len(GOOD) + 1):
        assert check_log(GOOD[:length], live=True) == []
        whole = length in (0, 12, 15)
        assert found(GOOD[:length]) == ([] if whole else [("INV-TURN-004", length - 1)])


def test_every_violation_is_reported() -> None:
    """Independent faults are each reported, in the order of the rows."""
    log = [*GOOD]
    log[3] = {**log[3], "time": None}
    log[9] = {**log[9], "data": {**log[9]["data"], "call_id": "k9"}}
    log[14] = {**log[14], "seq": 20}
    assert found(log) == [
        ("INV-TIME-001", 3),
        ("INV-CALL-001", 9),
        ("INV-CALL-002", 10),
        ("INV-SEQ-001", 20),
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({0: {"turn": 7}}, 4),
        ({2: {"step": 7}}, 2),
        ({2: {"turn": 7}}, 1),
        ({3: {"step": 7}}, 1),
        ({3: {"step": 7}, 5: {"step": 7}}, 2),
        ({4: {"step": 7}, 5: {"step": 7}, 6: {"step": 9}}, 3),
        ({10: {"step": 7}}, 1),
    ],
)
def test_wrong_number_does_not_spread(change: dict[int, dict[str, int]], expected: int) -> None:
    """One wrong number is at most one violation a rule, and not one a row."""
    log = [{**row, "data": {**row["data"], **change.get(n, {})}} for n, row in enumerate(GOOD)]
    assert len(check_log(log)) == expected


@pytest.mark.parametrize("lost", range(15))
def test_lost_row_does_not_spread(lost: int) -> None:
    """Without one of its rows a log has few violations, if the rows are numbered again."""
    log = renumbered([row for n, row in enumerate(GOOD) if n != lost])
    assert len(check_log(log)) <= 3


def test_rows_after_the_step_are_late_each() -> None:
    """Rows of a step that was closed, or of no turn, are violations one by one."""
    late = [GOOD[3], GOOD[3]]
    in_turn = renumbered([*GOOD[:3], GOOD[10], *late, GOOD[11]])
    assert found(in_turn, live=True) == [("INV-STEP-003", 4), ("INV-STEP-003", 5)]
    after = renumbered([GOOD[0], GOOD[11], *late])
    assert found(after) == [("INV-STEP-003", 2), ("INV-STEP-003", 3)]


def test_missing_step_start_is_reported_once() -> None:
    """The rows that follow are taken as those of the step whose start is missing."""
    log = renumbered([*GOOD[:2], *GOOD[3:]])
    assert found(log) == [("INV-STEP-003", 2)]


@pytest.mark.parametrize("lacking", ["turn", "step", "call_id", "content"])
def test_missing_field_is_a_missing_field_and_not_a_wrong_one(lacking: str) -> None:
    """A row that does not say where it belongs is reported as such, once, and goes along."""
    for n, row in enumerate(GOOD):
        data = {key: value for key, value in row["data"].items() if key != lacking}
        log = [*GOOD[:n], {**row, "data": data}, *GOOD[n + 1 :]]
        known = {rule for rule, _ in found(log)} - {"INV-CALL-001", "INV-CALL-002", "INV-CALL-004"}
        assert known <= {"INV-DATA-001", "INV-CALL-003"}
        assert bool(known) == (lacking in row["data"])


def test_log_without_any_numbers_is_still_checked() -> None:
    """Relations that do not depend on the missing fields are judged all the same."""
    kinds = ["turn/start", "step/start", "step/start", "step/end", "turn/end", "turn/end"]
    bare: list[Entry] = [(kind, {}) for kind in kinds]
    log = rows(*bare)
    rest = [one for one in found(log) if one[0] != "INV-DATA-001"]
    assert rest == [("INV-STEP-001", 2), ("INV-TURN-002", 5)]


def test_orphan_rows_without_numbers_are_reported() -> None:
    """A row of a step outside of any turn is reported also if it says nothing."""
    assert ("INV-STEP-003", 0) in found(rows(("usage", {})))
    assert ("INV-STEP-003", 1) in found(rows(("turn/start", {"turn": 1}), ("usage", {})))
    bare: list[Entry] = [("turn/start", {}), ("usage", {"turn": 1, "step": 1}), ("step/end", {})]
    assert ("INV-STEP-003", 1) in found(rows(*bare))


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        "text",
        {},
        {"seq": 1, "time": 1, "type": "user/message"},
        {"seq": 1, "time": 1, "type": "", "data": {}},
        {"seq": 1, "time": 1, "type": 5, "data": {}},
        {"seq": 1, "time": 1, "type": "user/message", "data": []},
    ],
)
def test_what_is_no_row_is_a_violation(row: object) -> None:
    """Malformed rows are reported where they stand; the rows after them are judged as ever."""
    violations = check_log([GOOD[0], cast("Any", row), *GOOD[2:]])
    assert violations
    assert all(one.rule.startswith("INV-ROW") and one.seq == 1 for one in violations)


@pytest.mark.parametrize("seq", [None, "1", True, 1.0])
def test_row_without_a_number_is_judged_as_the_next(seq: object) -> None:
    """Only the number is reported."""
    assert found([GOOD[0], {**GOOD[1], "seq": seq}, *GOOD[2:]]) == [("INV-ROW-002", 1)]


HOSTILE: list[Any] = [None, True, -1, 1.5, "x", "", [], {}, [None], {"type": []}, 10**30, [[[]]]]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_no_field_can_stop_the_check(value: object) -> None:
    """Any value in any field of any row gives violations or none, never an exception."""
    extra = rows(("error", {}), ("usage", {}), ("steering/message", {}), ("context/message", {}))
    for row in (*GOOD, *extra):
        for key in ("turn", "step", "content", "chunk", "call_id", "name", "error", "reason"):
            check_log([*GOOD[:9], {**row, "data": {**row["data"], key: value}}], profile="strict")
        for inner in ("type", "index", "text", "block", "reason", "id"):
            data = {"turn": 1, "step": 1, "chunk": {"type": "block-end", "index": 0, inner: value}}
            check_log([*GOOD[:4], {**row, "data": data}, *GOOD[5:]], profile="strict")


def test_damaged_line_is_reported_with_its_place(tmp_path: Path) -> None:
    """A line that is not JSON stands for the row that it was; the rest is checked."""
    for damage in (b'{"seq": 1, "ty', b"\xff\xfe{}", b"[" * 100_000, b'{"seq": NaN}'):
        path = written(tmp_path, HEADER, GOOD[0], damage, b"  ", *GOOD[2:])
        (violation,) = check_log(path)
        assert (violation.rule, violation.seq) == ("INV-ROW-001", 1)
        assert violation.message == "line 3 is not JSON"


def test_damaged_lines_in_a_row_are_reported_one_by_one(tmp_path: Path) -> None:
    """Each damaged line is one violation."""
    path = written(tmp_path, HEADER, GOOD[0], b"{", b"{", *GOOD[3:])
    assert found(path) == [("INV-ROW-001", 1), ("INV-ROW-001", 2), ("INV-STEP-003", 3)]


@pytest.mark.parametrize("blank", [b"", b"\n", b"\n\n  \n"])
def test_torn_last_line_is_told_as_such(tmp_path: Path, blank: bytes) -> None:
    """Blank lines after it do not make it a damaged one in the middle."""
    path = tmp_path / "log.jsonl"
    lines = b"\n".join(json.dumps(row).encode() for row in (HEADER, *GOOD))
    path.write_bytes(lines + b'\n{"seq": 15, "ty' + blank)
    (violation,) = check_log(path)
    assert (violation.rule, violation.seq) == ("INV-ROW-001", 15)
    assert "line 17 is torn" in violation.message
    path.write_bytes(lines + blank)
    assert check_log(path) == []


@pytest.mark.parametrize("line", [b"garbage", b"[" * 100_000, b'{"seq": 15, odd}'])
def test_a_last_line_that_is_whole_but_damaged_is_not_called_torn(
    tmp_path: Path, line: bytes
) -> None:
    """Only a row that was begun and not ended is torn."""
    (violation,) = check_log(written(tmp_path, HEADER, *GOOD, line))
    assert (violation.rule, violation.message) == ("INV-ROW-001", "line 17 is not JSON")


def test_what_may_never_end_is_refused(tmp_path: Path) -> None:
    """A pipe is no log, and reading it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(HarnessError) as caught:
            check_log(path)
        assert caught.value.code == "EINVAL"


@pytest.mark.parametrize(
    "header",
    [
        {"type": "session", "version": 1},
        {"type": "session", "id": "s-1"},
        {"type": "session", "id": "s-1", "version": "1"},
        {"type": "session", "id": "s-1", "version": 2},
    ],
)
def test_header_says_which_session_and_version(tmp_path: Path, header: dict[str, object]) -> None:
    """A header without id, or of a version that is not known, is a violation of its own."""
    assert found([header, *GOOD]) == [("INV-ROW-003", 0)]
    path = written(tmp_path, {"type": "session", "id": "s-1"}, *GOOD)
    assert check_log(path, profile="reference") == []


def test_file_begins_with_a_header(tmp_path: Path) -> None:
    """A file without one is reported, and checked all the same."""
    assert found(written(tmp_path, *GOOD)) == [("INV-ROW-003", 0)]
    assert found(written(tmp_path, b"{", *GOOD)) == [("INV-ROW-001", 0)]
    assert found(written(tmp_path)) == [("INV-ROW-003", 0)]


def test_file_that_is_not_there_or_not_readable_is_an_error(tmp_path: Path) -> None:
    """No file is SESSION_NOT_FOUND; any other failure has its errno's code."""
    for path in (tmp_path / "missing.jsonl", "bad\0name"):
        with pytest.raises(HarnessError) as caught:
            check_log(path)
        assert caught.value.code == "SESSION_NOT_FOUND"
        assert caught.value.__cause__ is not None
    with pytest.raises(HarnessError) as caught:
        check_log(tmp_path)
    assert caught.value.code == "EISDIR"


def test_reference_spelling_is_read_in_its_profile() -> None:
    """The reference writes callId; its numbers may skip, and must grow."""
    log = [{**row, "seq": 2 * row["seq"], "data": _camel(row["data"])} for row in GOOD]
    assert check_log(log, profile="reference") == []
    without_call = [*log[:8], *log[9:]]
    assert found(without_call, profile="reference") == [("INV-CALL-001", 18)]


def _camel(data: Mapping[str, Any]) -> dict[str, Any]:
    return {{"call_id": "callId", "is_error": "isError"}.get(key, key): data[key] for key in data}


def test_rules_can_be_chosen() -> None:
    """With rules of one's own the profile's are not used."""
    log = [{**row, "time": None, "seq": 5} for row in GOOD[:2]]
    chosen = [rule for rule in rules() if rule.id == "INV-TIME-001"]
    assert found(log, rules=chosen) == [("INV-TIME-001", 5)] * 2
    assert check_log(log, rules=()) == []


def test_log_is_streamed() -> None:
    """The state of the rules does not grow with the log: rows are taken one at a time."""
    alive: list[int] = []

    def endless() -> Iterator[Mapping[str, Any]]:
        number = 0
        for n in range(1, 500):
            for kind, data in turn(n, step(1, answer(turn=n), turn=n)):
                alive.append(number)
                yield {"seq": number, "time": 1, "type": kind, "data": data}
                number += 1

    assert check_log(endless()) == []
    assert alive[-1] == len(alive) - 1
