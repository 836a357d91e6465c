"""The page of error codes is the catalogue's, and a stale one is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")


def check(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the generator."""
    command = [sys.executable, ROOT / "tools" / "error_codes.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_fresh_page_passes_and_a_changed_one_is_stale(tmp_path: Path) -> None:
    """The page written by the generator is accepted, and one edit to it is seen."""
    page = tmp_path / "error-codes.md"
    assert check("--update", page).returncode == 0
    assert check(page).returncode == 0

    page.write_text(page.read_text(encoding="utf-8").replace("### 1002", "### 1003"))
    done = check(page)

    assert (done.returncode, "is stale" in done.stderr) == (1, True)


def test_every_docs_link_of_an_error_leads_to_a_heading() -> None:
    """`HarnessError.docs` names a heading that the committed page has."""
    from dsh_llm import HarnessError

    link = HarnessError("x", "INVALID_ARGS").docs
    assert link is not None
    file, anchor = link.split("#")

    assert f"### {anchor}\n" in (ROOT / file).read_text(encoding="utf-8")
