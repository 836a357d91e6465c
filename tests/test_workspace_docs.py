"""The check of the documents is seen to fail on each kind of fault."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")


def check(root: Path) -> subprocess.CompletedProcess[str]:
    """Check the Markdown under a folder."""
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "check_docs.py", root],
        capture_output=True,
        text=True,
        check=False,
    )


def page(root: Path, text: str, name: str = "README.md") -> None:
    """Write a page."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def fence(info: str, *lines: str) -> str:
    """Return a fenced block."""
    return "\n".join([f"```{info}", *lines, "```", ""])


@pytest.mark.parametrize(
    "text",
    [
        "# Top\n[up](#top) [file](docs/other.md) [place](docs/other.md#a-b-c) ![x](docs/)",
        "# Twice\n# Twice\n[second](#twice-1)",
        "# The `call()` of *it*\n[code](#the-call-of-it)",
        "[away](https://example.org/nothing) `[no](link.md)` ``a ` [no](link.md)``",
        fence("text", "[no](link.md)", "# No heading"),
        fence("python", "result = await registry.execute('x')"),
        fence("python run", "import asyncio", "await asyncio.sleep(0)", "assert 1 + 1 == 2"),
        fence("python", "raise SystemExit('compiled, not run')"),
        fence("sh", "this is (not Python"),
    ],
)
def test_a_sound_page_passes(tmp_path: Path, text: str) -> None:
    """Links that lead somewhere and examples that compile, or run where marked, are in order."""
    page(tmp_path, "# A, b: c", "docs/other.md")
    page(tmp_path, text)

    done = check(tmp_path)

    assert (done.returncode, done.stdout) == (0, "docs: links, indexes and examples are in order\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[gone](docs/gone.md)", "docs/gone.md does not exist"),
        ("[gone](#gone)", "#gone has no such heading"),
        ("[gone](docs/other.md#gone)", "docs/other.md#gone has no such heading"),
        ("[a [nested] text](gone.md)", "gone.md does not exist"),
        (fence("text", "# Not a heading") + "[x](#not-a-heading)", "no such heading"),
        ("text\n\n" + fence("python", "x = 1", "x = ("), "line 5: '(' was never closed"),
        (fence("python run", "x = {}", "x['key']"), "line 2: KeyError: 'key'"),
        (fence("python run", "assert await later()"), "NameError"),
    ],
)
def test_a_faulty_page_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    """A dead link, a missing heading, an example that does not compile or run: each is named."""
    page(tmp_path, "# A", "docs/other.md")
    page(tmp_path, text)

    done = check(tmp_path)

    assert done.returncode == 1
    assert "README.md: " in done.stdout
    assert fault in done.stdout


@pytest.mark.parametrize("kind", ["adr", "rfc"])
def test_a_record_that_its_index_does_not_list_is_refused(tmp_path: Path, kind: str) -> None:
    """Every decision and every proposal is linked from the index beside it."""
    page(tmp_path, "# One", f"docs/{kind}/0001-one.md")
    page(tmp_path, "# Two", f"docs/{kind}/0002-two.md")
    page(tmp_path, "- [One](0001-one.md)", f"docs/{kind}/README.md")

    done = check(tmp_path)

    assert done.returncode == 1
    assert done.stdout == f"docs/{kind}/README.md: does not list 0002-two.md\n"
