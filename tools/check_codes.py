"""Check the table of codes against the source: both say the same codes, of the same packages.

Any string literal of the form `UPPER_CASE` counts as a code, so that none can be raised without an
entry; words of that form that are no codes are listed here. A literal that is only compared with,
that is a dict's key, or that stands in a set does not raise its code.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dsh_llm import code_entry, code_table

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(r"[A-Z][A-Z0-9]+(_[A-Z0-9]+)*")
STEM = re.compile(r"([A-Z][A-Z0-9]*_)+")
TABLES = {"_catalogue", "_codes"}
SILENT_KEYWORDS = {"metavar", "prog", "help"}
NO_CODES = {
    r"DSH_MODEL|NO_COLOR": "variables of the environment",
    r"ERROR|INFO": "severities of OpenTelemetry",
    r"SQLITE_\w+": "SQLite's own names, which come in",
}
NO_CODE = re.compile("|".join(NO_CODES))


class Site(NamedTuple):
    """A place in the source that names a code."""

    code: str
    package: str
    place: str
    raises: bool


def sites(root: Path) -> Iterator[Site]:
    """Yield every place of the packages' source that names a code."""
    for path in sorted(root.glob("packages/*/src/**/*.py")):
        inside = path.relative_to(root / "packages")
        if TABLES.intersection(inside.parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node, parents in walk(tree, ()):
            if code := named(node, parents):
                place = f"{inside}:{getattr(node, 'lineno', 0)}"
                yield Site(code, inside.parts[0], place, not is_read(node, parents))


def walk(
    node: ast.AST, parents: tuple[ast.AST, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Yield each node with its parents, the nearest first; not what can hold no code."""
    if is_silent(node):
        return
    yield node, parents
    for child in ast.iter_child_nodes(node):
        yield from walk(child, (node, *parents))


def is_silent(node: ast.AST) -> bool:
    """Tell whether a node lists public names or words for a person."""
    if isinstance(node, ast.keyword):
        return node.arg in SILENT_KEYWORDS
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def named(node: ast.AST, parents: tuple[ast.AST, ...]) -> str | None:
    """Return the code, or the family of codes, that a node names."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        inside = isinstance(parents[0], ast.JoinedStr)
        return node.value if CODE.fullmatch(node.value) and not inside else None
    if isinstance(node, ast.JoinedStr):
        stem = node.values[0] if len(node.values) == 2 else None  # noqa: PLR2004  # a stem and a value
        text = stem.value if isinstance(stem, ast.Constant) else ""
        return f"{text}<N>" if STEM.fullmatch(str(text)) else None
    if isinstance(node, ast.Attribute):
        key = isinstance(node.value, ast.Name) and node.value.id == "ErrorCode"
        return node.attr if key else {"errorcode": "<ERRNO>"}.get(node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        shouted = node.func.attr == "upper" and not isinstance(parents[0], ast.FormattedValue)
        return "<FINISH_REASON>" if shouted else None
    return None


def is_read(node: ast.AST, parents: tuple[ast.AST, ...]) -> bool:
    """Tell whether a code is only looked at here."""
    chain = (node, *parents)
    for child, parent in zip(chain, parents, strict=False):
        if isinstance(parent, (ast.Compare, ast.Set, ast.match_case)):
            return True
        if isinstance(parent, ast.Dict) and child in parent.keys:
            return True
        if isinstance(parent, ast.Subscript) and child is parent.slice:
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False


def faults(root: Path) -> Iterator[str]:
    """Yield where the source and the table disagree."""
    raised: dict[str, set[str]] = {}
    for code, package, place, raises in sites(root):
        if NO_CODE.fullmatch(code):
            continue
        entry = code_entry(code)
        if entry is None:
            yield f"{place}: {code} is not in the table of codes"
        elif raises:
            raised.setdefault(entry.code, set()).add(package)
    for entry in code_table():
        found = sorted(raised.get(entry.code, ()))
        if found != sorted(entry.packages):
            yield f"{entry.code}: raised by {found}, the table says {sorted(entry.packages)}"
        if not found and not entry.reserved:
            yield f"{entry.code}: raised nowhere, and no reason to reserve it"


def main(root: Path = ROOT) -> int:
    """Report every difference."""
    found = list(faults(root))
    print("\n".join(found) or f"codes: {len(code_table())} in the table, as the source raises them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
