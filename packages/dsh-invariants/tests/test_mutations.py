"""Broken copies of a good log: reported, and live as offline."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pytest
from dsh_invariants import InvariantError, check_log, invariants
from dsh_invariants.testing import Entry, FakeSession, answer, call, result, rows, step, turn
from dsh_llm import Context
from hypothesis import given
from hypothesis import strategies as st

Log: TypeAlias = Sequence[Mapping[str, Any]]

AT_TWO = {"turn": 1, "step": 2}
FAILED = {"type": "finish", "reason": {"kind": "error", "code": "SERVER"}}
RETRIED: list[Entry] = [("assistant/chunk", AT_TWO | {"chunk": FAILED}), ("llm/retry", AT_TWO)]
INPUT = {"content": [{"type": "text", "text": "more"}], "source": {"kind": "user"}}
TWO = [("k1", "probe", "{}"), ("k2", "probe", '{"n": 1}')]
UNKNOWN = {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}
BOTH = [call("k1"), call("k2", "probe", '{"n": 1}'), result("k1"), result("k2", UNKNOWN)]
USED: Entry = ("usage", {"turn": 1, "step": 1, "usage": {"input_tokens": 1, "output_tokens": 1}})
GOOD: Log = rows(
    ("context/message", INPUT),
    *turn(
        1,
        step(1, answer("look", TWO), [USED], BOTH),
        [("steering/message", {"turn": 1} | INPUT), ("context/message", INPUT)],
        step(2, RETRIED, answer("done", step=2)),
    ),
    *turn(
        2,
        step(
            1, answer("again", TWO[:1], turn=2), [call("k1", turn=2), result("k1", turn=2)], turn=2
        ),
        step(2, answer("done", turn=2, step=2), turn=2),
    ),
    *turn(3),
)


def renumbered(log: Log) -> Log:
    """Number rows from 0 again, so that the numbers do not give a mutation away."""
    return [{**row, "seq": seq} for seq, row in enumerate(log)]


def with_data(log: Log, n: int, **fields: Any) -> Log:
    """Replace fields of the data of row *n*."""
    changed = {**log[n], "data": {**log[n]["data"], **fields}}
    return [*log[:n], changed, *log[n + 1 :]]


def mutants(log: Log, n: int) -> Iterator[tuple[str, Log]]:
    """Yield the mutants of row *n*, each with the name of its operator."""
    row, data = log[n], log[n]["data"]
    rest = [*log[:n], *log[n + 1 :]]
    yield "drop", rest
    yield "duplicate", [*log[: n + 1], *log[n:]]
    yield "repeat at the end", [*log, row]
    yield "move to the end", [*rest, row]
    yield "move to the front", [row, *rest]
    yield "truncate", log[: n + 1]
    if n + 1 < len(log) and log[n + 1] != row:
        yield "swap", [*log[:n], log[n + 1], row, *log[n + 2 :]]
    for key in ("turn", "step"):
        if isinstance(data.get(key), int):
            yield f"raise {key}", with_data(log, n, **{key: data[key] + 1})
            yield f"lower {key}", with_data(log, n, **{key: data[key] - 1})
            yield f"lose {key}", with_data(log, n, **{key: None})
    if "call_id" in data:
        yield "cross-wire", with_data(log, n, call_id="k2" if data["call_id"] == "k1" else "k1")
        yield "retarget", with_data(log, n, call_id="k9")
    if "error" in data:
        yield "lose code", with_data(log, n, error={"name": "X"})


MUTANTS = [
    (operator, row["type"], log)
    for n, row in enumerate(GOOD)
    for operator, mutant in mutants(GOOD, n)
    if (log := renumbered(mutant)) != [*GOOD]
]
CHANGES = ("raise", "lower", "lose")
ANYWHERE = {"context/message", "llm/retry", "steering/message", "usage", "user/message"}
SURVIVORS = {
    # What is not owed may be missing, and what may come often may come once more.
    "drop": ANYWHERE | {"assistant/chunk", "assistant/message"},
    "duplicate": ANYWHERE | {"assistant/chunk"},
    # Calls run side by side, and a block-end outranks its deltas.
    "swap": ANYWHERE | {"assistant/chunk", "assistant/message", "tool/call", "tool/result"},
    "move to the end": {"context/message"},
    "move to the front": {"context/message", "turn/start"},
    "repeat at the end": {"context/message", "llm/retry"},
    # A log may end between turns.
    "truncate": {"context/message", "turn/end"},
    # No rule is about these numbers.
    **{f"{how} {key}": {"llm/retry"} for how in CHANGES for key in ("turn", "step")},
}


def test_original_is_good() -> None:
    """No profile has a false alarm."""
    assert check_log(GOOD) == []
    assert check_log(GOOD, profile="strict") == []


@pytest.mark.slow
def test_mutants_are_reported() -> None:
    """All but a few, which break no relation and are known; and none floods the rows after it."""
    counts = [(operator, kind, len(check_log(log))) for operator, kind, log in MUTANTS]
    assert max(count for _, _, count in counts) <= 7
    missed = [(operator, kind) for operator, kind, count in counts if not count]
    assert [one for one in missed if one[1] not in SURVIVORS.get(one[0], ())] == []
    assert len(missed) < len(MUTANTS) / 9


def first_live(log: Log) -> InvariantError | None:
    """Append *log* to a watched session, and return the first violation that it raises."""
    ctx = Context()
    ctx.use(invariants)
    session = FakeSession(ctx)
    for row in log:
        try:
            session.append_row(row)
        except InvariantError as error:
            return error
        if session.kept:
            break
    else:
        session.close()
    first = session.kept[0] if session.kept else None
    assert first is None or isinstance(first, InvariantError)
    return first


def agree(log: Log) -> None:
    """Live raises exactly if offline reports, and raises what it reports first."""
    error = first_live(log)
    offline = check_log(log)
    assert (error is None) == (offline == [])
    if error is not None:
        assert error.rule == offline[0].rule
        assert error.context["violations"][0] == offline[0]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_live_agrees_with_offline_on_mutants(part: int) -> None:
    """The verdicts are the same on every mutant."""
    for _, _, log in MUTANTS[part::8]:
        agree(log)


@given(st.lists(st.sampled_from(GOOD), max_size=12))
def test_live_agrees_with_offline_on_any_order_of_rows(log: Log) -> None:
    """The verdicts are the same on nonsense too."""
    agree(renumbered(log))


@given(st.data())
def test_two_mutations_are_not_more_silent_than_two_silent_ones(data: st.DataObject) -> None:
    """A mutant of a mutant is judged without an exception, and live as offline."""
    _, _, log = data.draw(st.sampled_from(MUTANTS))
    n = data.draw(st.integers(0, len(log) - 1))
    _, twice = data.draw(st.sampled_from([*mutants(log, n)]))
    agree(renumbered(twice))
