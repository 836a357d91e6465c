"""Each check of our own is seen to fail on a planted fault, and to pass without it."""

import shutil
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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the packages as they stand."""
    ignore = shutil.ignore_patterns("__pycache__", "tests")
    shutil.copytree(ROOT / "packages", tmp_path / "packages", ignore=ignore)
    return tmp_path


def test_a_module_of_501_lines_is_refused(tmp_path: Path) -> None:
    """The size of a Python module ends at 500 lines; other files may be longer."""
    write(tmp_path / "long.md", "x\n" * 501)
    write(tmp_path / "module.py", "x = 1\n" * 500)
    assert check("check_files.py", tmp_path).returncode == 0

    write(tmp_path / "module.py", "x = 1\n" * 501)
    done = check("check_files.py", tmp_path)

    assert done.returncode == 1
    assert "module.py: 501 lines" in done.stdout


@pytest.mark.parametrize(
    "named",
    [
        "https://" + "pypi" + ".org/simple",
        "https://files." + "python" + "hosted" + ".org/x.whl",
        "registry." + "npmjs" + ".org",
        "/" + "root/project/x",
        "cd /" + "work/main",
        "/" + "home/someone/x",
    ],
)
def test_a_host_or_a_machine_path_is_refused(tmp_path: Path, named: str) -> None:
    """No file names the host of a package index or a path of one machine, wherever it stands."""
    write(tmp_path / ".ci" / "run", f"first\nsee {named}\n")

    done = check("check_files.py", tmp_path)

    assert done.returncode == 1
    assert ".ci/run: line 2" in done.stdout


def test_a_file_of_bytes_is_no_fault(tmp_path: Path) -> None:
    """What is not text is not read for hosts."""
    (tmp_path / "model.bin").write_bytes(b"\xff\xfe\x00")

    assert check("check_files.py", tmp_path).returncode == 0


def test_the_packages_are_in_lockstep(copy: Path) -> None:
    """As they stand, all packages have one version and pin each other to it."""
    assert check("check_lockstep.py", copy).returncode == 0


@pytest.mark.parametrize(
    ("package", "old", "new", "fault"),
    [
        ("dsh-tools", 'version = "', 'version = "9.', "dsh-tools has version 9."),
        ("dsh-tools", "dsh-llm==", "dsh-llm>=", "dsh-tools requires dsh-llm>="),
        ("dsh-cli", "dsh-llm[openai]==", "dsh-llm[openai]==9.", "dsh-cli requires dsh-llm[openai]"),
    ],
)
def test_a_package_out_of_lockstep_is_refused(
    copy: Path, package: str, old: str, new: str, fault: str
) -> None:
    """Another version, or a pin on anything but the common version, is a fault."""
    path = copy / "packages" / package / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")

    done = check("check_lockstep.py", copy)

    assert done.returncode == 1
    assert fault in done.stdout


def test_the_siblings_import_each_other_from_the_top(copy: Path) -> None:
    """As they stand, the packages import from each other only what is public."""
    done = check("check_siblings.py", copy)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "statement",
    [
        "from dsh_llm._errors import HarnessError",
        "import dsh_llm._errors",
        "from dsh_llm import _errors",
        "from dsh_llm.plumbing import Pipe",
        "from dsh_llm.testing._script import call",
    ],
)
def test_a_private_import_from_a_sibling_is_refused(copy: Path, statement: str) -> None:
    """A sibling's underscore module, or one that is not listed as public, is out of reach."""
    write(copy / "packages/dsh-tools/src/dsh_tools/_plant.py", f"{statement}\n")

    done = check("check_siblings.py", copy)

    assert done.returncode == 1
    assert "dsh_tools/_plant.py:1" in done.stdout


@pytest.mark.parametrize(
    "statement",
    [
        "import dsh_llm",
        "from dsh_llm import HarnessError",
        "from dsh_llm.testing import say",
        "from dsh_llm.adapters.openai import OpenAIAdapter",
        "from dsh_tools._registry import ToolRegistry",
        "from . import _registry",
    ],
)
def test_a_public_or_an_own_import_is_fine(copy: Path, statement: str) -> None:
    """The top, the public modules, and the package's own private modules may be imported."""
    write(copy / "packages/dsh-tools/src/dsh_tools/_plant.py", f"{statement}\n")

    assert check("check_siblings.py", copy).returncode == 0
