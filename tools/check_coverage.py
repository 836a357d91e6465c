"""Demand every line and every branch of every package, and name what is missing.

A total over the workspace would let a large package hide a small one, so each is judged alone, and
a package without any measured line fails too.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def ranges(lines: list[int]) -> Iterator[str]:
    """Shorten runs of line numbers: 3, 4, 5, 9 becomes 3-5, 9."""
    for _, run in groupby(enumerate(lines), lambda each: each[1] - each[0]):
        first, *rest = [line for _, line in run]
        yield f"{first}-{rest[-1]}" if rest else str(first)


def missing(name: str, measured: Mapping[str, Any]) -> Iterator[str]:
    """Say where a file's unreached lines and branches are."""
    lines: list[int] = measured["missing_lines"]
    branches: list[list[int]] = measured.get("missing_branches", [])
    if lines:
        yield f"  {name}: lines {', '.join(ranges(lines))}"
    if "missing_branches" not in measured:
        yield f"  {name}: branches were not measured"
    reached = [f"{a}->{b if b > 0 else 'exit'}" for a, b in branches if a not in lines]
    if reached:
        yield f"  {name}: branches {', '.join(reached)}"


def judge(package: str, files: Mapping[str, Any]) -> tuple[bool, list[str]]:
    """Return whether a package is wholly covered, and the lines that report it."""
    own = {name: data for name, data in files.items() if f"packages/{package}/src/" in name}
    if not own:
        return False, [f"{package}: nothing was measured"]
    gaps = [line for name, data in sorted(own.items()) for line in missing(name, data)]
    sums = [data["summary"] for data in own.values()]
    lines = sum(each["num_statements"] for each in sums)
    branches = sum(each.get("num_branches", 0) for each in sums)
    verdict = "not 100 %" if gaps else "100 %"
    return not gaps, [f"{package:<15}{lines:>6} lines {branches:>5} branches  {verdict}", *gaps]


def main(report: Path, root: Path = ROOT) -> int:
    """Judge every package of the workspace by coverage's JSON report."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    verdicts = [judge(folder.name, files) for folder in sorted((root / "packages").iterdir())]
    for _, lines in verdicts:
        print(*lines, sep="\n")
    return 0 if all(good for good, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
