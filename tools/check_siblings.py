"""Check that a package imports a sibling from the top or from one of its public modules.

import-linter can protect single modules only, so a new private module would be unprotected until
somebody listed it. Here everything is private that is not listed as public.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = {
    "dsh_llm.adapters",
    "dsh_llm.conformance",
    "dsh_llm.testing",
    "dsh_tools.builtin",
    "dsh_tools.policies",
}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of everything that a module imports absolutely."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_public(name: str) -> bool:
    """Tell whether a sibling may import this: the top, a name in it, or in a public module."""
    top, *rest = name.split(".")
    if any(part.startswith("_") for part in rest):
        return False
    return len(rest) < 2 or f"{top}.{rest[0]}" in PUBLIC  # noqa: PLR2004  # dsh_llm.Name


def faults(folder: Path, own: str, siblings: set[str]) -> Iterator[str]:
    """Yield the forbidden imports of one package."""
    for path in sorted(folder.rglob("*.py")):
        for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            top = name.partition(".")[0]
            if top in siblings and top != own and not is_public(name):
                yield f"{path.relative_to(folder.parent)}:{line} imports {name}, private to {top}"


def main(root: Path = ROOT) -> int:
    """Check every package under packages/."""
    sources = {path.name: path for path in sorted(root.glob("packages/*/src/dsh_*"))}
    found = [
        fault for own, folder in sources.items() for fault in faults(folder, own, set(sources))
    ]
    print("\n".join(dict.fromkeys(found)) or "siblings: imported from the top")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
