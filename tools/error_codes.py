"""Write docs/error-codes.md from the catalogue in dsh_llm, or say that it is stale.

`--update` rewrites the page; a path names another page. Each number has a heading, so that
`HarnessError.docs` leads there.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from dsh_llm import ErrorInfo, get_error_info_by_code

PAGE = Path(__file__).resolve().parent.parent / "docs" / "error-codes.md"

RANGES = {
    1: "Tools",
    2: "Sessions",
    3: "Sync",
    4: "Storage",
    5: "Providers",
    6: "Checkpoints",
    7: "Validation",
    8: "Interrupts and approvals",
    9: "Jobs",
    10: "The caller's own identity",
    11: "Runtime",
}

CLASSES = {
    "retry": "the same request again, with backoff",
    "once": "one retry at most",
    "after": "a retry only after the action",
    "stop": "no retry by this caller",
    "outcome": "a decision or a cancellation: no fault, no alert, no retry",
}

HEAD = """# Error codes

Written by `make docs-update` from the catalogue in dsh-llm; do not edit. Route on `(name, code)`:
the code is the stable string, the number is its place here. A code without a number is legal
(`UNKNOWN`, `INVARIANT`, an errno's name such as `ENOENT`, whatever a host raises).
"""


def rows() -> Iterator[ErrorInfo]:
    """Yield the catalogue's rows by number."""
    found = (get_error_info_by_code(number) for number in range(1000, 12000))
    return (row for row in found if row is not None)


def entry(row: ErrorInfo) -> str:
    """Return the section of one row."""
    codes = ", ".join(f"`{code}`" for code in (row.key, *row.codes))
    return (
        f"### {row.number}\n\n**{row.title}.** {row.recovery}\n\n"
        f"Codes: {codes}. Retry: {CLASSES[row.disposition]}. Action: `{row.action}`.\n"
    )


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for thousands, members in groupby(rows(), key=lambda row: row.number // 1000):
        parts.append(f"## {thousands}xxx {RANGES[thousands]}\n")
        parts.extend(entry(row) for row in members)
    return "\n".join(parts)


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
