"""The workspace is what the design says: five packages, one version, these edges and no others."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")
PACKAGES = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())

# The whole graph, as in the design's table. Third parties are named without their ranges.
EDGES = {
    "dsh-llm": set[str](),
    "dsh-tools": {
        "docstring-parser",
        "dsh-llm",
        "pydantic",
        "pydantic-core",
        "typing-extensions",
    },
    "dsh-invariants": {"dsh-llm"},
    "dsh-agent": {"dsh-llm", "dsh-tools", "pydantic"},
    "dsh-cli": {"dsh-agent", "dsh-invariants", "dsh-llm[openai]", "dsh-tools"},
}


def manifest(folder: Path) -> dict[str, Any]:
    """Read the pyproject.toml of a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def modules_after(statement: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after a statement."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_dependency_graph_is_the_designs_table() -> None:
    """The packages depend on each other and on third parties exactly as the design says."""
    graph = {
        name: {
            requirement.partition("==")[0].partition(">=")[0]
            for requirement in manifest(ROOT / "packages" / name)["project"]["dependencies"]
        }
        for name in PACKAGES
    }

    assert graph == EDGES


def test_the_root_knows_every_member() -> None:
    """Each package is a workspace source and is installed with the tests."""
    root = manifest(ROOT)
    installed = {str(each).partition("[")[0] for each in root["dependency-groups"]["test"]}

    assert sorted(root["tool"]["uv"]["sources"]) == PACKAGES
    assert set(PACKAGES) <= installed


def test_coverage_measures_every_package() -> None:
    """The list of measured folders is the list of packages: none is left out unseen."""
    measured = manifest(ROOT)["tool"]["coverage"]["run"]["source"]

    assert measured == [f"packages/{name}/src" for name in PACKAGES]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_what_a_release_needs(name: str) -> None:
    """Each package has a type marker, licence, README, pinned surface and the same Python range."""
    folder = ROOT / "packages" / name
    project = manifest(folder)["project"]

    assert (folder / "src" / name.replace("-", "_") / "py.typed").is_file()
    assert (folder / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# {name}\n")
    assert (folder / "api.txt").is_file()
    assert project["requires-python"] == manifest(ROOT)["project"]["requires-python"]


def test_the_changelog_speaks_of_the_version() -> None:
    """The one changelog has a section for the packages' version, or for what is not released."""
    version = manifest(ROOT / "packages" / "dsh-llm")["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert f"## [{version}]" in text or "## [Unreleased]" in text


@pytest.mark.parametrize("heavy", ["asyncio", "logging", "openai", "pydantic"])
def test_importing_the_leaf_is_light(heavy: str) -> None:
    """`import dsh_llm` loads neither asyncio nor logging nor a third party."""
    assert heavy not in modules_after("import dsh_llm")


@pytest.mark.parametrize("module", ["dsh_agent", "dsh_invariants", "dsh_tools"])
def test_importing_a_package_leaves_pydantic_for_later(module: str) -> None:
    """Pydantic is loaded with the first tool, not with the package."""
    assert "pydantic" not in modules_after(f"import {module}")
