"""The failures of the tools' seam."""

import difflib
from collections.abc import Iterable
from typing import Final

from dsh_llm import HarnessError, mend_surrogates

from dsh_tools._text import shorten

MAX_VIOLATIONS: Final = 50
MAX_NAMES: Final = 20


class ToolArgsError(HarnessError, ValueError):
    """The arguments do not fit the tool's schema; its body did not run. Code `INVALID_ARGS`.

    Who acts: the model. `violations` has every sentence, in the order of declaration; the message
    joins them, the first fifty.
    """

    def __init__(self, violations: Iterable[str]) -> None:
        """Keep *violations* and say them in the message."""
        self.violations = tuple(violations)
        told = self.violations[:MAX_VIOLATIONS]
        rest = len(self.violations) - len(told)
        more = (f"and {rest} more",) if rest else ()
        text = f"invalid arguments: {'; '.join((*told, *more))}"
        super().__init__(text, "INVALID_ARGS", effect="none")


class ToolNotFoundError(HarnessError, KeyError):
    """No tool has this name. Code `UNKNOWN_TOOL`.

    Who acts: the model. `tool_name` is the name that was asked for; the message names the known
    tools, the nearest first.
    """

    def __init__(self, tool_name: str, known: Iterable[str] = ()) -> None:
        """Name what there is instead, from *known*."""
        self.tool_name = tool_name
        text = f'unknown tool "{mend_surrogates(shorten(tool_name))}"'
        super().__init__(f"{text}{_hint(tool_name, list(known))}", "UNKNOWN_TOOL", effect="none")


class ToolDefinitionError(HarnessError, TypeError):
    """Something cannot be a tool, or not in this registry.

    Who acts: the tool's author. Codes: `INVALID_TOOL`, whose message names the parameter that is
    at fault, if one is; `DUPLICATE_TOOL` for a name that is taken.
    """

    def __init__(self, message: str, code: str = "INVALID_TOOL", *, cause: object = None) -> None:
        """Say what is refused, and why."""
        super().__init__(message, code, cause=cause)


def _hint(asked: str, known: list[str]) -> str:
    empty = "" if asked.strip() else ": the name is empty"
    if not known:
        return empty
    nearest = sorted(known, key=lambda name: -_likeness(asked, name))
    more = f" and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else ""
    return f"{empty}; known tools, nearest first: {', '.join(nearest[:MAX_NAMES])}{more}"


def _likeness(asked: str, name: str) -> float:
    pair = shorten(asked).strip().casefold(), name.casefold()
    return difflib.SequenceMatcher(None, *pair).ratio()
