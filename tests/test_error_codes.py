"""The page of error codes is the catalogue's and the table's, and a stale one is refused."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from dsh_llm import HarnessError, code_table, codes_in_range

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "error-codes.md"
pytestmark = pytest.mark.usefixtures("unmeasured")


def check(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the generator."""
    command = [sys.executable, ROOT / "tools" / "error_codes.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def headings() -> set[str]:
    """Return the anchors of the committed page."""
    found = re.findall(r"^#+ (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found}


def test_the_committed_page_is_fresh() -> None:
    """It is what the generator writes from the catalogue as it is."""
    assert check().returncode == 0


def test_a_fresh_page_passes_and_a_changed_one_is_stale(tmp_path: Path) -> None:
    """The page written by the generator is accepted, and one edit to it is seen."""
    page = tmp_path / "error-codes.md"
    assert check("--update", page).returncode == 0
    assert check(page).returncode == 0

    page.write_text(page.read_text(encoding="utf-8").replace("### 1002", "### 1003"))
    done = check(page)

    assert (done.returncode, "is stale" in done.stderr) == (1, True)


def test_every_docs_link_leads_to_a_heading() -> None:
    """`docs` of each row, each code, and each error names a heading that the page has."""
    rows = [row.docs or "" for n in range(1, 12) for row in codes_in_range(n)]
    entries = [entry.docs for entry in code_table()]
    errors = [HarnessError("x", entry.code).docs or "" for entry in code_table()]

    links = {tuple(link.split("#")) for link in rows + entries + errors}
    assert {file for file, _ in links} == {"docs/error-codes.md"}
    assert {anchor for _, anchor in links} <= headings()


@pytest.mark.parametrize(
    "anchor",
    [
        "error-shape",
        "typed-subclasses",
        "ranges",
        "1xxx--tool-errors",
        "2xxx--session-errors",
        "3xxx--sync-errors",
        "4xxx--storage-errors",
        "5xxx--provider-errors",
        "6xxx--checkpoint-errors",
        "7xxx--validation-errors",
        "8xxx--interrupt--approval-errors",
        "9xxx--async-job-errors",
        "10xxx--caller-auth-errors",
        "11xxx--runtime--infra-errors",
        "transient-vs-terminal-dispatcher",
    ],
)
def test_the_seed_s_anchors_lead_somewhere(anchor: str) -> None:
    """A link that was made for the numbers' first home works here."""
    assert anchor in headings()
