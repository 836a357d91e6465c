"""Check that every failure that a package raises has a code: no bare builtin, no class without one.

A `raise` that names a class of the workspace is followed to its bases, and a function of the same
module to the class that it returns. A value is somebody else's error and is left alone. What must
be a builtin, because a protocol says so or because it is caught a line further, is listed with its
reason; a reason that nobody needs any more is a fault too.
"""

import ast
import builtins
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = "HarnessError"
ANYTHING = {"Exception", "BaseException"}  # what a function returns that was given it
REASONS = {
    ("dsh_agent/_jsonl.py", "OSError"): "caught in the module, which codes it by its errno",
    ("dsh_invariants/_read.py", "OSError"): "caught in the module, which codes it by its errno",
    ("dsh_invariants/_read.py", "ValueError"): "how json.loads is told to refuse; caught beside it",
    ("dsh_llm/__init__.py", "AttributeError"): "what the language expects of `__getattr__`",
    ("dsh_llm/_abort.py", "CancelledError"): "asyncio's own word for a cancellation",
    ("dsh_llm/_json.py", "_Refusal"): "caught in the module, which adds the path",
    ("dsh_llm/adapters/_openai_request.py", "ValueError"): (
        "how json.loads is told to refuse; caught beside it"
    ),
    ("dsh_tools/builtin/_root.py", "IsADirectoryError"): "the tools' seam codes it by its errno",
    ("dsh_tools/builtin/_root.py", "OSError"): "the tools' seam codes it by its errno",
}


def modules(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and the syntax tree of each module of the packages."""
    for path in sorted(root.glob("packages/*/src/**/*.py")):
        name = "/".join(path.relative_to(root / "packages").parts[2:])
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def last_name(node: ast.expr | None) -> str:
    """Return the last part of the dotted name of what is called or named, else nothing."""
    if isinstance(node, (ast.Call, ast.Subscript)):
        return last_name(node.func if isinstance(node, ast.Call) else node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def bases(root: Path) -> dict[str, list[str]]:
    """Return the names of the bases of each class in the packages."""
    return {
        node.name: [last_name(base) for base in node.bases]
        for _, tree in modules(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def is_coded(name: str, known: dict[str, list[str]]) -> bool:
    """Tell whether a class descends from the base of all coded errors."""
    return name == BASE or any(is_coded(base, known) for base in known.get(name, ()))


def is_class(name: str, known: dict[str, list[str]]) -> bool:
    """Tell whether a name is that of an exception: ours, a builtin, or by its spelling."""
    kind = getattr(builtins, name, None)
    builtin = isinstance(kind, type) and issubclass(kind, BaseException)
    return (
        name in known or builtin or (name[:1].isupper() and name.endswith(("Error", "Exception")))
    )


def makers(tree: ast.Module) -> dict[str, str]:
    """Return what each function of a module says that it returns."""
    return {
        node.name: last_name(node.returns)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and last_name(node.returns) not in ANYTHING
    }


def raises(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the class of what a module raises, by name or through its own function."""
    made = makers(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and (name := last_name(node.exc)):
            yield node.lineno, made.get(name, name) if isinstance(node.exc, ast.Call) else name


def faults(root: Path) -> Iterator[str]:
    """Yield every raise without a code, and every reason without its raise."""
    known = bases(root)
    used: set[tuple[str, str]] = set()
    for module, tree in modules(root):
        for line, name in raises(tree):
            if not is_class(name, known) or is_coded(name, known):
                continue
            used.add((module, name))
            if (module, name) not in REASONS:
                yield f"{module}:{line} raises {name}, which has no code"
    for module, name in sorted(REASONS.keys() - used):
        yield f"{module} raises no {name}: take its reason off the list"


def main(root: Path = ROOT) -> int:
    """Report every fault of the packages under a folder."""
    found = list(faults(root))
    print("\n".join(found) or "raises: every failure has a code")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
