"""Check what a file may contain: a module its size; any file no index host, no machine path.

A module of more than 500 lines has more than one reason to change. A host or a path of one machine
makes the checkout useless on the next.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 500
SKIPPED = {"__pycache__", "build", "dist", "htmlcov", "node_modules"}
IGNORED = {"uv.lock", "coverage.json"}

# Put together from pieces, so that this file does not name what it looks for.
HOSTS = [
    ("pypi", "org"),
    ("python" + "hosted", "org"),
    ("npmjs", "(?:org|com)"),
    ("crates", "io"),
    ("proxy.golang", "org"),
    ("(?:deb|security)", "debian", "org"),
    ("archive.ubuntu", "com"),
]
PATHS = [("root", ""), ("work", "(?:main|shared)"), ("opt", "(?:wheels|pypi)"), ("home", r"\w+")]
NAMED = re.compile(
    "|".join(
        [r"\b" + r"\.".join(parts) + r"\b" for parts in HOSTS]
        + [r"(?<![\w.~-])/" + "/".join(parts) for parts in PATHS]
    )
)


def committed(root: Path) -> Iterator[Path]:
    """Yield the files that a commit could contain."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED and (name == ".ci" or name[0] != ".")
        )
        yield from (
            Path(folder, name)
            for name in sorted(names)
            if name not in IGNORED and not name.startswith(".coverage")
        )


def faults(path: Path) -> Iterator[str]:
    """Yield what is wrong with one file; bytes that are not text are nobody's reading matter."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    if path.suffix == ".py" and len(lines) > MAX_LINES:
        yield f"{len(lines)} lines, {MAX_LINES} at most: split it by what changes together"
    for number, line in enumerate(lines, 1):
        if found := NAMED.search(line):
            yield f"line {number} names {found.group()!r}, an index host or a path of one machine"


def main(root: Path = ROOT) -> int:
    """Report every fault of every file under a folder."""
    found = [
        f"{path.relative_to(root)}: {fault}" for path in committed(root) for fault in faults(path)
    ]
    print("\n".join(found) or "files: sizes, hosts and paths are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
