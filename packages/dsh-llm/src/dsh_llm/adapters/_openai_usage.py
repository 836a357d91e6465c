"""Token counts as the OpenAI-compatible servers report them."""

from collections.abc import Mapping
from typing import Any, Final, cast

from dsh_llm._messages import TokenUsage

_CACHED: Final = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("num_cached_tokens",),
    ("cached_tokens",),
)
_REASONING: Final = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))


class UsageTally:
    """Keeps the last known value of each count; servers send some twice and some as null."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._prompt: int | None = None
        self._output: int | None = None
        self._cached: int | None = None
        self._written: int | None = None
        self._reasoning: int | None = None

    def add(self, usage: object) -> None:
        """Take one `usage` object; anything else is passed over."""
        if not isinstance(usage, dict):
            return
        counts = cast("dict[str, Any]", usage)
        self._prompt = _known(_at(counts, ("prompt_tokens",)), self._prompt)
        self._output = _known(_at(counts, ("completion_tokens",)), self._output)
        self._cached = _known(_first(counts, _CACHED), self._cached)
        written = _at(counts, ("prompt_tokens_details", "cache_write_tokens"))
        self._written = _known(written, self._written)
        self._reasoning = _known(_first(counts, _REASONING), self._reasoning)

    def total(self) -> TokenUsage | None:
        """Return the counts, made disjoint, or `None` when neither side was reported."""
        if self._prompt is None and self._output is None:
            return None
        return TokenUsage(
            input_tokens=self._uncached(),
            output_tokens=self._output or 0,
            cache_read_tokens=self._cached,
            cache_write_tokens=self._written,
            reasoning_tokens=self._reasoning,
        )

    def _uncached(self) -> int:
        prompt = self._prompt or 0
        other = (self._cached or 0) + (self._written or 0)
        # Why: a server whose cached count exceeds the prompt does not count it in the prompt.
        return prompt - other if other <= prompt else prompt


def _first(counts: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    return next((found for path in paths if (found := _at(counts, path)) is not None), None)


def _at(counts: Mapping[str, Any], path: tuple[str, ...]) -> int | None:
    value: Any = counts
    for key in path:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    return int(value) if whole and value == value // 1 else None


def _known(new: int | None, old: int | None) -> int | None:
    return old if new is None else new
