"""What a broken relation is: data when a log is checked, an error when it is watched."""

from typing import Any, NamedTuple

from dsh_llm import HarnessError


class Violation(NamedTuple):
    """One broken relation in a log."""

    rule: str
    """The rule's id, `INV-SEQ-001`."""
    seq: int
    """Number of the row that broke it; of a row that has none, the number that it should have."""
    message: str
    """What is wrong, in one sentence."""


class InvariantError(HarnessError):
    """Report a broken relation of the event contract; a fault in the program, not in its input.

    Who acts: whoever wrote the component that appended the row. Code `INVARIANT`. The message
    begins with `invariant violated: `, and `rule` is the broken rule's id. `context` says where:
    `session` and `violations` (all that were found at this place), or `agent`.
    """

    def __init__(self, rule: str, message: str, **fields: Any) -> None:
        """Name the broken *rule*; *fields* are the base's keywords."""
        super().__init__(f"invariant violated: {message}", "INVARIANT", **fields)
        self.rule = rule
