"""The checks of the surface and of coverage are seen to fail on planted faults."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")


def check(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the tools."""
    return subprocess.run(
        [sys.executable, ROOT / "tools" / tool, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def write(path: Path, text: str) -> Path:
    """Write a file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


SURFACE = """
from dsh_x._core import Base, make
__all__ = ["Base", "make"]
"""
CORE = """
class Base(Exception):
    limit: int
    size: int = 3
    def stop(self, why: str) -> None: ...
    def _hidden(self) -> None: ...
def make(name: str, *, size: int = 3) -> Base: ...
"""


@pytest.fixture
def surfaced(tmp_path: Path) -> Path:
    """A workspace of one package, its surface pinned."""
    write(tmp_path / "packages/dsh-x/src/dsh_x/__init__.py", SURFACE)
    write(tmp_path / "packages/dsh-x/src/dsh_x/_core.py", CORE)
    assert check("api_surface.py", tmp_path, "--update").returncode == 0
    return tmp_path


def test_the_surface_file_says_kinds_bases_and_signatures(surfaced: Path) -> None:
    """The pinned surface has what a caller relies on and nothing private."""
    assert (surfaced / "packages/dsh-x/api.txt").read_text(encoding="utf-8").splitlines() == [
        "# dsh_x",
        "class Base(Exception)",
        "    limit: int",
        "    size: int = 3",
        "    def stop(why: str) -> None",
        "def make(name: str, *, size: int = 3) -> Base",
    ]
    assert check("api_surface.py", surfaced).returncode == 0


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("__init__.py", '["Base", "make"]', '["Base"]'),
        ("_core.py", "name: str", "title: str"),
        ("_core.py", "size: int = 3", "size=3"),
        ("_core.py", "(Exception)", "(ValueError)"),
        ("_core.py", "why: str", "why: str | None"),
        ("_core.py", "limit: int", "limit: float"),
        ("_core.py", "    limit: int\n    size: int = 3", "    size: int = 3\n    limit: int"),
        ("_core.py", "int = 3\n", "int = 4\n"),
    ],
)
def test_a_changed_surface_is_refused(surfaced: Path, file: str, old: str, new: str) -> None:
    """A lost name, a renamed parameter, a lost or other type, another base: each is shown."""
    path = surfaced / "packages/dsh-x/src/dsh_x" / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    done = check("api_surface.py", surfaced)

    assert done.returncode == 1
    assert "make api-update" in done.stdout


def test_a_public_module_without_all_is_refused(surfaced: Path) -> None:
    """A public module says what is public in it."""
    write(surfaced / "packages/dsh-x/src/dsh_x/open.py", "def reach() -> None: ...\n")

    done = check("api_surface.py", surfaced)

    assert done.returncode == 1
    assert "dsh_x.open" in done.stderr


def covered(
    root: Path, *, without: str = "", **missing: list[object]
) -> subprocess.CompletedProcess[str]:
    """Judge a report over two packages, in the second of which something is missing."""
    whole: dict[str, object] = {
        "missing_lines": [],
        "missing_branches": [],
        "summary": {"num_statements": 9, "num_branches": 4},
    }
    files = {
        "packages/dsh-x/src/dsh_x/__init__.py": whole,
        "packages/dsh-y/src/dsh_y/__init__.py": whole | missing,
    }
    files["packages/dsh-y/src/dsh_y/__init__.py"].pop(without, None)
    for name in ("dsh-x", "dsh-y"):
        (root / "packages" / name).mkdir(parents=True, exist_ok=True)
    report = write(root / "report.json", json.dumps({"files": files}))
    return check("check_coverage.py", report, root)


def test_full_coverage_of_every_package_passes(tmp_path: Path) -> None:
    """Nothing missing anywhere is no fault."""
    assert covered(tmp_path).returncode == 0


def test_a_missing_line_of_one_package_is_refused(tmp_path: Path) -> None:
    """One unreached line in one package fails the run and is named."""
    done = covered(tmp_path, missing_lines=[2, 3, 4, 7])

    assert done.returncode == 1
    assert "dsh_y/__init__.py: lines 2-4, 7" in done.stdout


def test_a_missing_branch_of_one_package_is_refused(tmp_path: Path) -> None:
    """One unreached branch fails the run, with every line reached."""
    done = covered(tmp_path, missing_branches=[[3, -1]])

    assert done.returncode == 1
    assert "dsh_y/__init__.py: branches 3->exit" in done.stdout


def test_lines_without_branches_are_refused(tmp_path: Path) -> None:
    """A report that was made without measuring branches does not count."""
    done = covered(tmp_path, without="missing_branches")

    assert done.returncode == 1
    assert "dsh_y/__init__.py: branches were not measured" in done.stdout


def test_a_package_that_was_not_measured_is_refused(tmp_path: Path) -> None:
    """A package of which the report knows nothing does not count as covered."""
    (tmp_path / "packages/dsh-z").mkdir(parents=True)

    done = covered(tmp_path)

    assert done.returncode == 1
    assert "dsh-z: nothing was measured" in done.stdout
