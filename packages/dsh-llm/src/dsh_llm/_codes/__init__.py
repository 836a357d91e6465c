"""Every code of the workspace in one table: who raises it, what it says, or why it waits."""

import re
from functools import cache
from typing import Final

from dsh_llm._catalogue import ROWS, ErrorInfo
from dsh_llm._codes._entry import CodeEntry

__all__ = ["CodeEntry", "code_entry", "code_table", "docs_link", "own_prefixes"]


@cache
def code_table() -> tuple[CodeEntry, ...]:
    """Return an entry for each code that dsh raises or reserves, by code.

    A code in angle brackets stands for a family: `HTTP_<N>` for `HTTP_418`.
    """
    # Why: the table is for people who look a code up; importing dsh does not pay for it.
    from dsh_llm._codes._raised import RAISED
    from dsh_llm._codes._reserved import RESERVED

    named = {entry.code for entry in (*RAISED, *RESERVED)}
    keys = (_key_entry(row) for row in ROWS if row.key not in named)
    return tuple(sorted((*RAISED, *RESERVED, *keys)))


def code_entry(code: str) -> CodeEntry | None:
    """Return the entry of *code*, or that of its family, or `None` for a code that is not ours."""
    found = _by_code().get(code)
    if found is not None:
        return found
    return next((entry for pattern, entry in _families() if pattern.fullmatch(code)), None)


def docs_link(code: str) -> str | None:
    """Return the link to the explanation of *code*, or `None` for a code that is not ours."""
    entry = code_entry(code)
    return entry.docs if entry else None


@cache
def own_prefixes() -> frozenset[str]:
    """Return the first words of dsh's codes: no host's prefix may be one of them."""
    return frozenset(entry.code.partition("_")[0] for entry in code_table()) | {"DSH"}


def _key_entry(row: ErrorInfo) -> CodeEntry:
    # Why: a row's key is a name for several codes; whoever raises says which of them it was.
    raised = ", ".join(row.codes)
    return CodeEntry(row.key, (), row.title, f"the name of a row; what is raised is {raised}")


@cache
def _by_code() -> dict[str, CodeEntry]:
    return {entry.code: entry for entry in code_table()}


@cache
def _families() -> tuple[tuple[re.Pattern[str], CodeEntry], ...]:
    return tuple(
        (re.compile(_FORM.sub(_wild, entry.code)), entry)
        for entry in code_table()
        if entry.is_family
    )


def _wild(form: re.Match[str]) -> str:
    return _FORMS[form[0]]()


def _errno_names() -> str:
    import errno

    return "|".join(errno.errorcode.values())


_FORM: Final = re.compile("<[A-Za-z_]+>")
_FORMS: Final = {
    "<N>": lambda: r"\d+",
    "<NAME>": lambda: "[A-Z0-9_]+",
    "<ERRNO>": _errno_names,
    # Why: any word may be one; only whoever holds the error knows that it came from there.
    "<FINISH_REASON>": lambda: r"(?!)",
}
