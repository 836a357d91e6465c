"""Each contract on imports is seen to fail: a wrong import is planted in a copy of the sources."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}

# Each plant: the contract that has to fail, the module that is planted, and what it says.
PLANTS = [
    ("layers", "dsh_llm/_plant.py", "import dsh_tools"),
    ("layers", "dsh_llm/_plant.py", "import dsh_agent"),
    ("layers", "dsh_tools/_plant.py", "import dsh_agent"),
    ("layers", "dsh_tools/_plant.py", "import dsh_invariants"),
    ("layers", "dsh_invariants/_plant.py", "import dsh_tools"),
    ("layers", "dsh_invariants/_plant.py", "import dsh_agent"),
    ("layers", "dsh_agent/_plant.py", "import dsh_cli"),
    ("invariants", "dsh_agent/_plant.py", "import dsh_invariants"),
    ("invariants", "dsh_agent/_plant.py", "def late():\n    import dsh_invariants"),
    (
        "invariants",
        "dsh_agent/_plant.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import dsh_invariants",
    ),
    ("invariants", "dsh_tools/_plant.py", "from dsh_invariants import __all__"),
    ("invariants", "dsh_llm/_plant.py", "import dsh_invariants"),
    ("sdks", "dsh_llm/_plant.py", "import openai"),
    ("sdks", "dsh_agent/_plant.py", "import anthropic"),
    ("sdks", "dsh_cli/_plant.py", "import httpx"),
    ("pydantic", "dsh_llm/_plant.py", "import pydantic"),
    ("pydantic", "dsh_invariants/_plant.py", "from pydantic_core import core_schema"),
]
PACKAGES = sorted(path.name for path in ROOT.glob("packages/*/src/dsh_*"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the configuration and a copy of every package's sources."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for source in ROOT.glob("packages/*/src/dsh_*"):
        shutil.copytree(source, tmp_path / source.name)
    return tmp_path


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter over the copy; what is installed comes after it on the path."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def plant(folder: Path, module: str, text: str) -> None:
    """Add a module to the copy."""
    (folder / module).write_text(text + "\n", encoding="utf-8")


def test_the_sources_as_they_stand_keep_every_contract(copy: Path) -> None:
    """Without a plant the linter exits 0 and says that every contract is kept."""
    done = lint_imports(copy)

    assert done.returncode == 0, done.stdout
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout


@pytest.mark.parametrize(("contract", "module", "text"), PLANTS)
def test_a_wrong_import_breaks_its_contract(
    copy: Path, contract: str, module: str, text: str
) -> None:
    """A planted import makes the linter exit 1 and name the contract that it breaks."""
    plant(copy, module, text)

    done = lint_imports(copy)

    assert done.returncode == 1
    assert f"{CONTRACTS[contract]} BROKEN" in done.stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_a_cycle_inside_a_package_breaks_the_contract(copy: Path, package: str) -> None:
    """Two modules of one package that import each other make the linter exit 1."""
    plant(copy, f"{package}/_plant_a.py", f"from {package} import _plant_b")
    plant(copy, f"{package}/_plant_b.py", f"from {package} import _plant_a")

    done = lint_imports(copy)

    assert done.returncode == 1
    assert f"{CONTRACTS['acyclic']} BROKEN" in done.stdout


def test_an_adapter_module_may_import_its_sdk(copy: Path) -> None:
    """The SDK contract lets the modules under dsh_llm.adapters pass."""
    plant(copy, "dsh_llm/adapters/_plant.py", "import openai")

    assert lint_imports(copy).returncode == 0


def test_every_contract_has_a_plant() -> None:
    """No contract is believed that was not seen to fail."""
    assert {contract for contract, _, _ in PLANTS} | {"acyclic"} == set(CONTRACTS)
