"""The rules, in the order in which they judge a row."""

from typing import Final

from dsh_invariants._rule import LogRule
from dsh_invariants._rules._calls import (
    ASKED_IS_ANSWERED,
    CALL_WAS_ASKED,
    ONE_RESULT,
    ONE_RESULT_EACH,
    RESULT_HAS_CALL,
)
from dsh_invariants._rules._inputs import CONTEXT_ASIDE, STEERING_BETWEEN, USER_FIRST
from dsh_invariants._rules._rows import (
    ERRORS_CODED,
    FIELDS_PRESENT,
    SEQ_CONTIGUOUS,
    SEQ_INCREASING,
    TIME_WHOLE,
)
from dsh_invariants._rules._streams import (
    BLOCK_END_IS_LAST,
    CHUNKS_MAKE_MESSAGE,
    FINISH_IS_LAST,
    MESSAGE_AFTER_FINISH,
)
from dsh_invariants._rules._turns import (
    CLOSED_AT_END,
    IN_OPEN_STEP,
    ONE_TURN,
    STEP_OPENS,
    STEPS_COUNT,
    TURN_CLOSES,
    TURNS_COUNT,
)

DSH: Final[tuple[LogRule, ...]] = (
    SEQ_CONTIGUOUS,
    TIME_WHOLE,
    FIELDS_PRESENT,
    ONE_TURN,
    TURN_CLOSES,
    TURNS_COUNT,
    CLOSED_AT_END,
    STEP_OPENS,
    STEPS_COUNT,
    IN_OPEN_STEP,
    USER_FIRST,
    STEERING_BETWEEN,
    CONTEXT_ASIDE,
    FINISH_IS_LAST,
    BLOCK_END_IS_LAST,
    MESSAGE_AFTER_FINISH,
    RESULT_HAS_CALL,
    ONE_RESULT_EACH,
    CALL_WAS_ASKED,
    ASKED_IS_ANSWERED,
    ERRORS_CODED,
)
"""What dsh keeps."""

STRICT: Final[tuple[LogRule, ...]] = (*DSH, CHUNKS_MAKE_MESSAGE)
"""What dsh keeps as long as no plugin rewrites what the model said."""

REFERENCE: Final[tuple[LogRule, ...]] = (
    SEQ_INCREASING,
    ONE_TURN,
    TURN_CLOSES,
    CLOSED_AT_END,
    STEP_OPENS,
    IN_OPEN_STEP,
    RESULT_HAS_CALL,
    ONE_RESULT,
)
"""What the reference keeps: numbers may skip, and a call may stay without a result."""

__all__ = ["DSH", "REFERENCE", "STRICT"]
