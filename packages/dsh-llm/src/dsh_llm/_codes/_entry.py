"""What the table says about one code."""

import re
from typing import NamedTuple

from dsh_llm._catalogue import PAGE


class CodeEntry(NamedTuple):
    """One code of the workspace, or a family of them."""

    code: str
    """The code; a family has a form in angle brackets (`HTTP_<N>`)."""
    packages: tuple[str, ...]
    """The packages whose source raises it; empty for a reserved one."""
    meaning: str
    """What has happened, in one sentence."""
    reserved: str | None = None
    """Why it is in the table although nothing raises it, else `None`."""

    @property
    def is_family(self) -> bool:
        """Whether it stands for many codes."""
        return "<" in self.code

    @property
    def docs(self) -> str:
        """Link to its entry in the documentation."""
        return f"{PAGE}#{re.sub('[<>]', '', self.code).lower()}"
