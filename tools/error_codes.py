"""Write docs/error-codes.md from the catalogue and the table of codes, or say that it is stale.

`--update` rewrites the page; a path names another page. Each number and each code has a heading, so
that `HarnessError.docs` leads there. The prose around them is tools/error-codes.template.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

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

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "error-codes.md"
PROSE = ROOT / "tools" / "error-codes.template"

RANGES = {
    1: "Tool errors",
    2: "Session errors",
    3: "Sync errors",
    4: "Storage errors",
    5: "Provider errors",
    6: "Checkpoint errors",
    7: "Validation errors",
    8: "Interrupt / approval errors",
    9: "Async job errors",
    10: "Caller auth errors",
    11: "Runtime / infra errors",
}

CLASSES = {
    "retry": "the same request again, with backoff",
    "once": "one retry at most",
    "after": "a retry only after the action",
    "stop": "no retry by this caller",
    "outcome": "a decision or a cancellation: no fault, no retry, no alert",
}

# The only codes that the page which the numbers come from puts into one of its two sets.
SEED_TRANSIENT = {1003, 1004, 4001, 4002, 5003, 5006, 5007, 9002}
SEED_TERMINAL = {2001, 2003, 5001, 5002, 6001, 7001, 7003, 8002}


def rows() -> list[ErrorInfo]:
    """Return the catalogue's rows by number."""
    return [row for n in RANGES for row in codes_in_range(n)]


def link(code: str) -> str:
    """Return a link to the heading of a code."""
    entry = code_entry(code)
    return f"[`{code}`](#{entry.docs.partition('#')[2]})" if entry else f"`{code}`"


def row_section(row: ErrorInfo) -> str:
    """Return the section of one number."""
    codes = ", ".join(link(code) for code in (row.key, *row.codes))
    status = f" HTTP status: {row.http_status}." if row.http_status else ""
    return (
        f"### {row.number}\n\n**{row.title}.** {row.recovery}\n\n"
        f"Codes: {codes}. Retry: {CLASSES[row.disposition]}. Action: `{row.action}`. "
        f"Scope: {row.scope}.{status}\n"
    )


def ranges() -> Iterator[str]:
    """Yield the ranges with the sections of their numbers."""
    for number, title in RANGES.items():
        yield f"## {number}xxx — {title}\n"
        yield from (row_section(row) for row in codes_in_range(number))


def code_section(entry: CodeEntry) -> str:
    """Return the section of one code: what it means, whose it is, and what to do."""
    row = error_info(entry.code)
    raised = f"Raised by {', '.join(entry.packages)}." if entry.packages else ""
    reserved = f"Not raised: {entry.reserved}." if entry.reserved else ""
    if row is None:
        todo = "It has no number. Retry: nobody knows, so `advise()` does not."
    else:
        what = f"{row.title}: {row.recovery}"
        todo = f"[{row.number}](#{row.number}) {what} Retry: {CLASSES[row.disposition]}."
    return f"### `{entry.code}`\n\n{entry.meaning} {raised or reserved}\n\n{todo}\n"


def seed_says(number: int | None) -> str:
    """Return how the page which the numbers come from classes one of them."""
    if number in SEED_TRANSIENT:
        return "retry"
    return "stop" if number in SEED_TERMINAL else "open"


def advice_row(row: ErrorInfo) -> str:
    """Return what `advise()` says to a first occurrence of a row."""
    first = advise(HarnessError(row.title, row.key))
    twice = advise(HarnessError(row.title, row.key), idempotent=True)
    when = "yes" if first.retry else "if it is idempotent" if twice.retry else "no"
    action = f"`{first.action}`" if first.action else "none"
    alert = "yes" if first.alert else "no"
    seed = seed_says(row.number)
    return (
        f"| [{row.number}](#{row.number}) | {row.title} | {seed} | {when} | {action} | "
        f"{first.kind} | {alert} |"
    )


def advice_table() -> str:
    """Return the table of what `advise()` decides, beside what was decided before it."""
    head = "| number | | the seed | `advise()`: retry | action | counted as | alert |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *map(advice_row, rows())])


def page() -> str:
    """Return the whole page."""
    prose = PROSE.read_text(encoding="utf-8")
    return (
        prose.replace("<!-- ranges -->\n", "\n".join(ranges()))
        .replace("<!-- advice -->", advice_table())
        .replace("<!-- codes -->\n", "\n".join(map(code_section, code_table())))
    )


def main(arguments: list[str]) -> int:
    """Compare the page with the catalogue, or rewrite it."""
    paths = [Path(one) for one in arguments if one != "--update"]
    target = paths[0] if paths else PAGE
    if "--update" in arguments:
        target.write_text(page(), encoding="utf-8")
    have = target.read_text(encoding="utf-8") if target.exists() else ""
    if have == page():
        return 0
    print(f"{target.name} is stale: run `make docs-update`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
