"""A clock that only moves when told."""


class FakeClock:
    """Epoch milliseconds under the test's control; call it to read it."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        """Start at *now*."""
        self.now = now

    def __call__(self) -> int:
        """Return the time, in epoch milliseconds."""
        return self.now

    def advance(self, milliseconds: int) -> None:
        """Move forward."""
        self.now += milliseconds
