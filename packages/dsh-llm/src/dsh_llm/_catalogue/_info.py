"""What one row of the catalogue says."""

from typing import Final, Literal, NamedTuple, TypeAlias

Disposition: TypeAlias = Literal["retry", "once", "after", "stop", "outcome"]
"""`retry` with backoff, at most `once`, only `after` the action, `stop`, or an `outcome`: a
decision or a cancellation, which is no fault and is never retried."""

Scope: TypeAlias = Literal["call", "step", "turn", "session", "account"]
"""How much a failure takes with it, the smallest first."""

PAGE: Final = "docs/error-codes.md"
"""The page that the catalogue's own rows are explained on."""


class ErrorInfo(NamedTuple):
    """One row of the catalogue."""

    number: int | None
    """Four or five digits, whose thousands are the range; a host's row may have none."""
    key: str
    """The row's own name, `RANGE_CONDITION`."""
    title: str
    """A few words for a heading."""
    recovery: str
    """What a person does about it."""
    disposition: Disposition = "stop"
    action: str = "none"
    """The one remedy that a machine can take."""
    scope: Scope = "call"
    """How much fails with it, if the occurrence says nothing else."""
    http_status: int | None = None
    """The status that a server of ours answers with; `None` where HTTP has no word for it."""
    codes: tuple[str, ...] = ()
    """Codes other than the key that mean this row."""
    page: str = PAGE
    """The page that explains it; empty when there is none."""

    @property
    def range(self) -> int:
        """The number's thousands (`5` of 5003, `11` of 11005), 0 without a number."""
        return (self.number or 0) // 1000

    @property
    def docs(self) -> str | None:
        """Link to the row in the documentation, or `None` when it has no page."""
        return f"{self.page}#{self.number or self.key.lower()}" if self.page else None
