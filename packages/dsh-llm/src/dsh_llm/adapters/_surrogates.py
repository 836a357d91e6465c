"""Text without lone surrogates: they are no Unicode, and neither a log nor a wire takes them."""

from dsh_llm._text import mend_surrogates


class SurrogateJoiner:
    """Mends a text that comes in fragments: some servers cut a pair in two."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        """Hold nothing."""
        self._held = ""

    def feed(self, fragment: str) -> str:
        """Return what is certain after *fragment*; half a pair waits for its second half."""
        text = self._held + fragment
        self._held = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return mend_surrogates(text[: len(text) - len(self._held)])

    def finish(self) -> str:
        """Return what is left at the end."""
        held, self._held = self._held, ""
        return mend_surrogates(held)
