"""A machine that writes legal logs in every order: no false alarm, and vetoes leave no trace."""

from typing import Any

import pytest
from dsh_invariants import InvariantError, check_log, invariants
from dsh_invariants.testing import Entry, FakeEvent, FakeSession, answer, call, result
from dsh_llm import Context, HarnessError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

INPUT = {"content": [{"type": "text", "text": "hi"}], "source": {"kind": "user"}}
CODES = st.sampled_from([None, "ENOENT", "TOOL_TIMEOUT"])
NEVER_RAN = st.sampled_from(["TOOL_NOT_STARTED", "ABORTED_BEFORE_DISPATCH"])


class LegalLog(RuleBasedStateMachine):
    """Knows by itself, and not from the rules, what may come next."""

    def __init__(self) -> None:
        """Begin an empty session under the plugin."""
        super().__init__()
        ctx = Context()
        ctx.use(invariants)
        self.session = FakeSession(ctx)
        self.turn = self.step = 0
        self.in_turn = self.in_step = self.answered = self.streaming = False
        self.asked: list[str] = []
        self.open: list[str] = []

    def add(self, *entries: Entry) -> None:
        """Append entries; none may be vetoed."""
        for kind, data in entries:
            self.session.append(kind, data)

    def at(self, **fields: Any) -> dict[str, Any]:
        """Return the open turn and step, and *fields*."""
        return {"turn": self.turn, "step": self.step, **fields}

    @precondition(lambda self: not self.in_turn)
    @rule()
    def starts_turn(self) -> None:
        """Open the next turn."""
        self.turn, self.step, self.in_turn = self.turn + 1, 0, True
        self.add(("turn/start", {"turn": self.turn}))

    @precondition(lambda self: self.in_turn and not self.step)
    @rule()
    def user_speaks(self) -> None:
        """Take an input at the beginning of the turn."""
        self.add(("user/message", {"turn": self.turn} | INPUT))

    @precondition(lambda self: self.in_turn and not self.in_step)
    @rule()
    def user_steers(self) -> None:
        """Take an input between steps."""
        self.add(("steering/message", {"turn": self.turn} | INPUT))

    @precondition(lambda self: not self.asked and not self.open)
    @rule()
    def context_comes(self) -> None:
        """Take context wherever no call is open."""
        self.add(("context/message", INPUT))

    @rule()
    def plugin_writes(self) -> None:
        """Append a row of a type that nobody knows."""
        self.add(("plugin/own", {"turn": None, "step": []}))

    @precondition(lambda self: self.in_turn and not self.in_step)
    @rule()
    def starts_step(self) -> None:
        """Open the next step."""
        self.step, self.in_step, self.answered, self.streaming = self.step + 1, True, False, False
        self.add(("step/start", self.at()))

    @precondition(lambda self: self.in_step and not self.answered and not self.streaming)
    @rule(kind=st.sampled_from(["error", "aborted"]), again=st.booleans())
    def stream_fails(self, kind: str, again: bool) -> None:  # noqa: FBT001  # Why: drawn by the machine
        """Stream an attempt that fails; another one needs an llm/retry."""
        chunk = {"type": "finish", "reason": {"kind": kind, "code": "STREAM_CLOSED"}}
        self.add(("assistant/chunk", self.at(chunk=chunk)))
        if again:
            self.add(("llm/retry", self.at()))
        self.streaming = not again

    @precondition(lambda self: self.in_step and not self.answered and not self.streaming)
    @rule(calls=st.integers(0, 3))
    def model_answers(self, calls: int) -> None:
        """Stream an answer that asks for some calls; ids are used again in other steps."""
        self.asked = [f"k{n}" for n in range(calls)]
        blocks = [(one, "probe", "{}") for one in self.asked]
        self.add(*answer("ok", blocks, turn=self.turn, step=self.step))
        self.add(("usage", self.at(usage={"input_tokens": 1, "output_tokens": 1})))
        self.answered = True

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def call_is_made(self, data: st.DataObject) -> None:
        """Call any of what was asked for, also while others run."""
        one = data.draw(st.sampled_from(self.asked))
        self.asked.remove(one)
        self.open.append(one)
        self.add(call(one, turn=self.turn, step=self.step))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), code=CODES)
    def call_is_answered(self, data: st.DataObject, code: str | None) -> None:
        """Answer any of the open calls."""
        one = data.draw(st.sampled_from(self.open))
        self.open.remove(one)
        error = {"name": "HarnessError", "code": code} if code else None
        self.add(result(one, error, turn=self.turn, step=self.step))

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), code=NEVER_RAN)
    def call_is_refused(self, data: st.DataObject, code: str) -> None:
        """Answer a call that is never made."""
        one = data.draw(st.sampled_from(self.asked))
        self.asked.remove(one)
        error = {"name": "HarnessError", "code": code}
        self.add(result(one, error, turn=self.turn, step=self.step))

    @rule()
    def error_is_logged(self) -> None:
        """Append an error row, also between steps and turns."""
        self.add(("error", self.at(name="HarnessError", code="UNKNOWN", message="m")))

    @precondition(lambda self: self.in_step and not self.asked and not self.open)
    @rule()
    def ends_step(self) -> None:
        """Close the step, in which nothing is owed."""
        self.add(("step/end", self.at()))
        self.in_step = False

    @precondition(lambda self: self.in_turn and not self.in_step)
    @rule(kind=st.sampled_from(["completed", "aborted", "error", "max-tokens"]))
    def ends_turn(self, kind: str) -> None:
        """Close the turn, in which no step is open."""
        reason = {"kind": kind, "code": "UNKNOWN"}
        self.add(("turn/end", {"turn": self.turn, "reason": reason}))
        self.in_turn = False

    @rule(data=st.data())
    def illegal_row_is_vetoed(self, data: st.DataObject) -> None:
        """Try a row that may not come now; the log goes on as if it had not been."""
        kind, row = data.draw(st.sampled_from(self._illegal()))
        before = len(self.session.events)
        with pytest.raises(InvariantError):
            self.session.append(kind, row)
        assert len(self.session.events) == before

    def _illegal(self) -> list[Entry]:
        next_step = {"turn": self.turn, "step": self.step + 1}
        chunk = {"type": "text-delta", "index": 9, "text": "x"}
        rows: list[Entry] = [
            ("turn/start", {"turn": self.turn + 2}),
            ("step/start", {"turn": self.turn + 1, "step": 1}),
            ("assistant/chunk", next_step | {"chunk": chunk}),
            ("tool/call", self.at(call_id="k9", name="probe", arguments="{}")),
        ]
        if self.in_turn:
            rows.append(("turn/start", {"turn": self.turn + 1}))
        if self.in_step:
            rows += [("step/start", next_step), ("steering/message", {"turn": self.turn} | INPUT)]
        if self.step or not self.in_turn:
            rows.append(("user/message", {"turn": self.turn} | INPUT))
        if self.asked or self.open:
            rows.append(("context/message", INPUT))
        return rows

    @invariant()
    def nothing_was_kept(self) -> None:
        """No closing row was a violation, and no signal failed."""
        assert self.session.kept == []

    def teardown(self) -> None:
        """Check the whole log offline: the verdict is the same."""
        log = [_row(event) for event in self.session.events]
        assert check_log(log, live=True) == []
        assert check_log(log, profile="strict", live=True) == []
        ended = [one.rule for one in check_log(log)]
        assert ended == (["INV-TURN-004"] if self.in_turn else [])


def _row(event: FakeEvent) -> dict[str, Any]:
    return {"seq": event.seq, "time": event.time, "type": event.type, "data": event.data}


LegalLog.TestCase.settings = settings(stateful_step_count=30)
test_legal_logs_raise_no_alarm = pytest.mark.slow(LegalLog.TestCase)


def test_machine_knows_what_is_illegal_by_itself() -> None:
    """What the machine tries to veto is vetoed for its own reason, not by a broken session."""
    machine = LegalLog()
    with pytest.raises(HarnessError, match="turn/start 2, expected 1"):
        machine.session.append("turn/start", {"turn": 2})
