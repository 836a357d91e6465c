"""Tool names that a provider accepts, and the way back."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

MAX_NAME: Final = 64
_LEGAL: Final = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")
_ILLEGAL_CHARACTER: Final = re.compile(r"[^a-zA-Z0-9_-]")


class ToolNames:
    """Maps the names of one request's tools to legal ones and back; legal names stay as they are.

    Invariant: no two names share a legal one, so what the model calls is never the wrong tool.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Know *names* from the start; others are added as they are met."""
        self._wire: dict[str, str] = {}
        self._own: dict[str, str] = {}
        known = list(names)
        # Why: a name that is legal as it is has the first claim to it.
        for name in sorted(known, key=lambda each: _LEGAL.fullmatch(each) is None):
            self.to_wire(name)

    def to_wire(self, name: str) -> str:
        """Return the legal name for *name*."""
        if name not in self._wire:
            wire = self._free(name)
            self._wire[name], self._own[wire] = wire, name
        return self._wire[name]

    def from_wire(self, name: str) -> str:
        """Return the tool's own name, or *name* when no tool has it."""
        return self._own.get(name, name)

    def _free(self, name: str) -> str:
        plain = _ILLEGAL_CHARACTER.sub("_", name)
        if _LEGAL.fullmatch(plain) and plain not in self._own:
            return plain
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return f"{plain[: MAX_NAME - 13]}_{digest}"
