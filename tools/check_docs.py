"""Check the Markdown: links and anchors resolve, the ADR index is whole, Python examples are sound.

A fence that begins with `python` has to compile, `await` at its top level included. One that begins
with `python run` is also run, in an empty folder and a process of its own.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {"__pycache__", "build", "dist", "htmlcov", "node_modules"}

FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,}) *(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\((?P<target>[^()\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *#*$", re.MULTILINE)
RUNNER = """
import ast, asyncio, inspect, sys
code = compile(sys.stdin.read(), sys.argv[1], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
result = eval(code, {"__name__": "__main__"})
if inspect.iscoroutine(result):
    asyncio.run(result)
"""


class Example(NamedTuple):
    """A Python fence: where it is, what it says, and whether it is to be run."""

    line: int
    body: str
    run: bool


def pages(root: Path) -> Iterator[Path]:
    """Yield the Markdown files of a checkout, apart from hidden folders and built things."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and name[0] != ".")
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".md"))


def prose(text: str) -> str:
    """Return a page without its fences and code spans, where a bracket is no link."""
    return CODE.sub("", FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, numbered where they repeat."""
    found: set[str] = set()
    for heading in HEADING.finditer(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["text"])
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found


def link_faults(page: Path, text: str) -> Iterator[str]:
    """Yield the relative links of a page that lead nowhere."""
    for link in LINK.finditer(prose(text)):
        target, _, anchor = unquote(link["target"]).partition("#")
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        path = page.parent / target if target else page
        if not path.exists():
            yield f"{target} does not exist"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text("utf-8")):
            yield f"{link['target']} has no such heading"


def examples(text: str) -> Iterator[Example]:
    """Yield the Python fences of a page."""
    for fence in FENCE.finditer(text):
        language, *marks = fence["info"].split()[:2] or [""]
        if language == "python":
            line = text.count("\n", 0, fence.start("body")) + 1
            yield Example(line, fence["body"], marks == ["run"])


def example_faults(page: Path, text: str) -> Iterator[str]:
    """Yield the examples of a page that do not compile or, where marked, do not run."""
    for example in examples(text):
        try:
            compile(example.body, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            yield f"line {example.line + (error.lineno or 1) - 1}: {error.msg}"
            continue
        if example.run and (failure := run(example, page.name)):
            yield f"line {example.line}: {failure}"


def run(example: Example, name: str) -> str:
    """Run an example and return the end of what it says when it fails, else nothing."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", RUNNER, name],
            input=example.body,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def index_faults(root: Path) -> Iterator[str]:
    """Yield the records in docs/adr and docs/rfc that the index beside them does not link."""
    for folder in (root / "docs" / "adr", root / "docs" / "rfc"):
        records = sorted(path.name for path in folder.glob("[0-9]*.md"))
        index = folder / "README.md"
        linked = index.read_text(encoding="utf-8") if index.exists() else ""
        yield from (
            f"{index.relative_to(root)}: does not list {name}"
            for name in records
            if f"({name})" not in linked
        )


def faults(root: Path) -> Iterator[str]:
    """Yield everything that is wrong with the Markdown under a folder."""
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for fault in [*link_faults(page, text), *example_faults(page, text)]:
            yield f"{page.relative_to(root)}: {fault}"
    yield from index_faults(root)


def main(root: Path = ROOT) -> int:
    """Report every fault of the Markdown under a folder."""
    found = list(faults(root))
    print("\n".join(found) or "docs: links, indexes and examples are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
