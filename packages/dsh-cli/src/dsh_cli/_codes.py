"""`dsh errors`: the catalogue and the table of codes, for whoever met a code in a log."""

import difflib
import json
from collections.abc import Sequence
from typing import Any

from dsh_llm import (
    CodeEntry,
    ErrorInfo,
    HarnessError,
    advise,
    code_entry,
    code_table,
    codes_in_range,
    error_info,
)

from dsh_cli._exit import Exit
from dsh_cli._text import Screen

_CLASSES = {
    "retry": "yes, with a growing pause",
    "once": "once, if doing it twice does no harm",
    "after": "only after the remedy",
    "stop": "no",
    "outcome": "no: it is a decision or a cancellation, not a fault",
}


def list_codes(asked: str | None, screen: Screen, *, as_json: bool) -> Exit:
    """Tell the rows of the range that was *asked* for, else of all, and the codes without a row.

    Raises:
        HarnessError: `UNKNOWN_CODE` for a range that there is not.
    """
    rows, loose = _rows(asked), _loose() if asked is None else []
    if as_json:
        told = [_row_json(row) for row in rows] + [_entry_json(entry) for entry in loose]
        screen.line(json.dumps(told, indent=2, ensure_ascii=False))
        return Exit.OK
    for row in rows:
        screen.line(f"{row.number:>6}  {row.disposition:<8}{row.key:<34}{row.title}")
    for entry in loose:
        screen.line(f"{'-':>6}  {'-':<8}{entry.code:<34}{entry.meaning}")
    return Exit.OK


def explain_code(asked: str, screen: Screen, *, as_json: bool) -> Exit:
    """Tell what a code or a number means, what to do, and which packages raise it.

    Raises:
        HarnessError: `UNKNOWN_CODE` when neither the catalogue nor the table has it.
    """
    row = error_info(int(asked) if _is_number(asked) else asked.upper())
    name = row.key if row and _is_number(asked) else asked.upper()
    entry = code_entry(name)
    if row is None and entry is None:
        raise _unknown(f"no code {asked!r}", name)
    if as_json:
        told = (_row_json(row) if row else {}) | (_entry_json(entry) if entry else {})
        told |= {"code": name, "packages": _packages(row, entry)}
        screen.line(json.dumps(told, indent=2, ensure_ascii=False))
        return Exit.OK
    _tell(name, row, entry, screen)
    return Exit.OK


def _rows(asked: str | None) -> Sequence[ErrorInfo]:
    if asked is None:
        return [row for n in _ranges() for row in codes_in_range(n)]
    digits = asked.lower().removesuffix("xxx")
    rows = codes_in_range(int(digits)) if _is_number(digits) else ()
    if not rows:
        known = ", ".join(f"{n}xxx" for n in _ranges())
        raise HarnessError(f"no range {asked!r}: there are {known}", "UNKNOWN_CODE")
    return rows


def _ranges() -> list[int]:
    found = (error_info(entry.code) for entry in code_table())
    return sorted({row.range for row in found if row is not None})


def _loose() -> list[CodeEntry]:
    return [entry for entry in code_table() if error_info(entry.code) is None]


def _is_number(text: str) -> bool:
    # Why: int() takes no longer text than this in any case, and no number has more digits.
    return text.isascii() and text.isdecimal() and len(text) <= 9  # noqa: PLR2004  # Why: see above


def _unknown(text: str, name: str) -> HarnessError:
    known = [entry.code for entry in code_table()]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return HarnessError(f"{text}{hint}", "UNKNOWN_CODE")


def _tell(name: str, row: ErrorInfo | None, entry: CodeEntry | None, screen: Screen) -> None:
    number = f" [{row.number}]" if row and row.number else ""
    screen.line(f"{name}{number}  {row.title if row else ''}".rstrip(), "bold")
    if entry:
        screen.line(f"means      {entry.meaning}")
    if row:
        screen.line(f"do         {row.recovery}")
        screen.line(f"retry      {_CLASSES[row.disposition]}")
        screen.line(f"action     {row.action}")
        screen.line(f"scope      {row.scope}")
    else:
        screen.line("retry      nobody knows, so it is not retried")
    alert = "yes" if advise(HarnessError(name, name)).alert else "no"
    screen.line(f"alert      {alert}")
    _tell_origin(row, entry, screen)


def _tell_origin(row: ErrorInfo | None, entry: CodeEntry | None, screen: Screen) -> None:
    packages = _packages(row, entry)
    if packages:
        screen.line(f"raised by  {', '.join(packages)}")
    if entry and entry.reserved:
        screen.line(f"reserved   {entry.reserved}", "dim")
    others = [code for code in (row.key, *row.codes) if code_entry(code) != entry] if row else []
    if others:
        screen.line(f"also       {', '.join(others)}", "dim")
    # Why: a row's key is another name of its number, and the number's section says more.
    docs = row.docs if row and _is_key(row, entry) else entry.docs if entry else None
    if docs:
        screen.line(f"docs       {docs}", "dim")


def _packages(row: ErrorInfo | None, entry: CodeEntry | None) -> list[str]:
    entries = [entry]
    if row and _is_key(row, entry):
        entries += [code_entry(code) for code in row.codes]
    return sorted({package for one in entries if one for package in one.packages})


def _is_key(row: ErrorInfo, entry: CodeEntry | None) -> bool:
    return entry is None or entry.code == row.key


def _row_json(row: ErrorInfo) -> dict[str, Any]:
    fields = row._asdict()
    del fields["page"]
    return fields | {"codes": list(row.codes), "range": row.range, "docs": row.docs}


def _entry_json(entry: CodeEntry) -> dict[str, Any]:
    return entry._asdict() | {"packages": list(entry.packages)}
