"""Which names a tool can have."""

import re
from typing import Any, Final

from dsh_tools._errors import ToolDefinitionError
from dsh_tools._text import shorten

# Why: what every provider accepts; one bad name would make every request fail.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def require_name(name: Any) -> str:
    """Return *name*, if it is one.

    Raises:
        ToolDefinitionError: `INVALID_TOOL` for anything but 1 to 64 of `A-Z a-z 0-9 _ -`.
    """
    if name is None:
        raise ToolDefinitionError("the function has no name of its own: give it one")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        text = f"{shorten(repr(name))} is no tool name: use 1 to 64 of A-Z, a-z, 0-9, _ and -"
        raise ToolDefinitionError(text)
    return name


def name_of(function: Any) -> Any:
    """Return the name that *function* was given where it was written, or `None`."""
    while (inner := getattr(function, "func", None)) is not None:
        function = inner
    return getattr(function, "__name__", None)
