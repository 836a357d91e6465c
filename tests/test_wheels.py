"""Each wheel installs alone with plain pip, in a new environment, and works there."""

import os
import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())
THIRD_PARTY = {"dsh-agent", "dsh-cli", "dsh-tools"}  # need the index, for pydantic and the SDK

# Two lines that use each package, run with -I: nothing of the checkout is on the path.
# What each package does alone, as a user of it would; the last line printed is the answer.
USES = {
    "dsh-llm": """
import asyncio
from dsh_llm import Llm, ModelRequest
from dsh_llm.testing import ScriptedModel, say
llm = Llm()
llm.register('m', ScriptedModel([say('hi')]))
print(asyncio.run(llm.generate(ModelRequest('m', ()))).message.text)
""",
    "dsh-tools": """
import asyncio
from dsh_tools import ToolRegistry, define_tool
def add(a: int, b: int) -> int: return a + b
registry = ToolRegistry([define_tool(add, description='Add.')])
print(asyncio.run(registry.execute('add', {'a': '1'})).error.code)
""",
    "dsh-invariants": """
from dsh_invariants import check_log
row = {'seq': 0, 'time': 0, 'type': 'turn/start', 'data': {'turn': 1}}
print(check_log([row]) != [] and check_log([row], live=True) == [])
""",
    "dsh-agent": """
from dsh_agent import Agent
from dsh_llm.testing import ScriptedModel, say
agent = Agent(ScriptedModel([say('hi')]))
print(agent.run_sync('x').text)
agent.close()
""",
    "dsh-cli": """
from dsh_cli import main
print(main(['demo']))
""",
}
ANSWERS = {
    "dsh-llm": "hi",
    "dsh-tools": "INVALID_ARGS",
    "dsh-invariants": "True",
    "dsh-agent": "hi",
    "dsh-cli": "0",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("unmeasured"),
]


def run(*command: object) -> str:
    """Run a command as on a fresh machine, without this one's extra sources of wheels."""
    env = {key: value for key, value in os.environ.items() if key != "PIP_FIND_LINKS"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def uv() -> str:
    """Return the project's own uv, which `make` brings, or the one on the path."""
    own = ROOT / ".tools" / "bin" / "uv"
    found = os.environ.get("UV") or (str(own) if own.exists() else shutil.which("uv"))
    assert found, "run `make setup` first: it brings uv"
    return found


def new_environment(folder: Path, *, pip: bool = False) -> Path:
    """Make a virtual environment from the interpreter under the tests' own; return its Python."""
    venv.EnvBuilder(with_pip=pip, symlinks=True).create(folder)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of every package."""
    folder = tmp_path_factory.mktemp("dist")
    run(uv(), "build", "--quiet", "--all-packages", "--wheel", "--out-dir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The pip that Python itself ships, in one environment, for installing into others."""
    return [new_environment(tmp_path_factory.mktemp("pip"), pip=True), "-m", "pip"]


def test_a_wheel_holds_its_package_alone(wheels: Path) -> None:
    """Each wheel has one import package with its type marker, its licence, and no test."""
    assert len(list(wheels.glob("*.whl"))) == len(PACKAGES)
    for wheel in wheels.glob("*.whl"):
        module = wheel.name.partition("-")[0]
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        tops = {name.partition("/")[0] for name in names}
        assert {top for top in tops if not top.endswith(".dist-info")} == {module}
        assert f"{module}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_installs_alone_and_works(
    name: str, wheels: Path, pip: list[object], tmp_path: Path
) -> None:
    """Plain pip finds the siblings in the folder of wheels, and two lines use the package."""
    python = new_environment(tmp_path / "env")
    index = [] if name in THIRD_PARTY else ["--no-index"]

    run(*pip, "--python", python, "install", "--quiet", *index, "--find-links", wheels, name)

    assert run(python, "-I", "-c", USES[name]).splitlines()[-1] == ANSWERS[name]
    run(*pip, "--python", python, "check")


def test_the_leaf_needs_its_own_wheel_only(wheels: Path, pip: list[object], tmp_path: Path) -> None:
    """With the dsh-llm wheel and nothing else in the environment, `import dsh_llm` works."""
    python = new_environment(tmp_path / "env")
    wheel = next(wheels.glob("dsh_llm-*.whl"))

    run(*pip, "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel)

    installed = run(*pip, "--python", python, "list", "--format", "freeze")
    assert [line.partition("==")[0] for line in installed.split()] == ["dsh-llm"]
    run(python, "-I", "-c", "import dsh_llm")
