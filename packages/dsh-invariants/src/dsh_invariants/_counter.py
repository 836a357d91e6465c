"""Numbers that count up, and where counting goes on after a wrong one."""


class Counter:
    """Expects each number to be one more than the last.

    After a wrong number three go on without a further fault: the one after it (numbers are
    missing), the one that was due (the wrong row should not be here), and the one after that (the
    row is right, its number is not).
    """

    __slots__ = ("_due", "_last")

    def __init__(self, last: int) -> None:
        """Expect the number after *last*."""
        self._last = last
        self._due: int | None = None

    @property
    def expected(self) -> int:
        """The next number."""
        return self._last + 1

    def fits(self, number: int) -> bool:
        """Tell whether *number* may come now."""
        if number == self._last + 1:
            return True
        return self._due is not None and number in (self._due, self._due + 1)

    def take(self, number: int) -> None:
        """Go on from *number*, right or wrong."""
        self._due = None if self.fits(number) else self._last + 1
        self._last = number
