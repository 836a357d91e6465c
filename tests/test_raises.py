"""Every failure of a package has a code, and every code is in the table: each check is tried."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")

CODELESS = {
    'raise ValueError("x")': "ValueError",
    'raise Exception("x")': "Exception",
    "raise KeyError": "KeyError",
    'raise RuntimeError("x") from None': "RuntimeError",
    "raise sub.module.StrangeError": "StrangeError",
    'raise ExceptionGroup[Exception]("x", [])': "ExceptionGroup",
    "class Own(LookupError): pass\nraise Own": "Own",
    "def made() -> TypeError: ...\nraise made()": "TypeError",
}
CODED = [
    "raise",
    "raise error",
    "raise made(1)",
    'raise HarnessError("x", "UNKNOWN")',
    "raise JsonValueError('', 'x')",
    "class Fine(JsonValueError): pass\nraise Fine",
    "def first() -> Exception: ...\nraise first()",
    "def made() -> JsonValueError: ...\nraise made()",
]
FOREIGN = {
    'raise HarnessError("x", "NEW_A")': "NEW_A is not in the table",
    'if code == "NEW_B": pass': "NEW_B is not in the table",
    'CODES = {"x": "NEW_C"}': "NEW_C is not in the table",
    'raise HarnessError("x", f"NEW_{n}")': "NEW_<N> is not in the table",
    'raise HarnessError("x", ErrorCode.NEW_D)': "NEW_D is not in the table",
    'raise HarnessError("x", "UNKNOWN_PROFILE")': "UNKNOWN_PROFILE: raised by",
    'raise HarnessError("x", "CHECKPOINT_CORRUPT")': "CHECKPOINT_CORRUPT: raised by",
}
LOOKED_AT = [
    'if code == "CHECKPOINT_CORRUPT": pass',
    'QUIET = frozenset({"CHECKPOINT_CORRUPT"})',
    'ADVICE = {"CHECKPOINT_CORRUPT": 1}',
    'def f(x: Literal["CHECKPOINT_CORRUPT"]): pass',
    'match x:\n    case "CHECKPOINT_CORRUPT": pass',
    '__all__ = ["NEW_A"]',
    'add("x", metavar="FILE")',
    'TEXT = f"{name}_API_KEY NEW_A"',
]


def check(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the two checks."""
    return subprocess.run(
        [sys.executable, ROOT / "tools" / tool, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def plant(root: Path, texts: Iterable[str]) -> None:
    """Add a module to a package for each of *texts*."""
    for number, text in enumerate(texts):
        path = root / f"packages/dsh-llm/src/dsh_llm/_planted_{number}.py"
        path.write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the packages as they stand."""
    ignore = shutil.ignore_patterns("__pycache__", "tests")
    shutil.copytree(ROOT / "packages", tmp_path / "packages", ignore=ignore)
    return tmp_path


@pytest.mark.parametrize("tool", ["check_raises.py", "check_codes.py"])
def test_the_packages_pass(tool: str) -> None:
    """As they stand, nothing is raised without a code, and the table is the source's."""
    done = check(tool)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stdout


def test_a_raise_without_a_code_is_refused(copy: Path) -> None:
    """A builtin, a stranger's class, an own one without the base, and what a function returns."""
    plant(copy, CODELESS)

    done = check("check_raises.py", copy)

    assert done.returncode == 1
    lines = done.stdout.splitlines()
    told = [line.split(" raises ")[1] for line in lines]
    assert told == [f"{name}, which has no code" for name in CODELESS.values()]


def test_a_coded_raise_and_a_value_of_somebody_else_pass(copy: Path) -> None:
    """Re-raising, values, and any descendant of the base are in order."""
    plant(copy, CODED)

    assert check("check_raises.py", copy).returncode == 0


def test_a_reason_without_its_raise_is_refused(copy: Path) -> None:
    """The list of exceptions cannot outlive what it excuses."""
    (copy / "packages/dsh-invariants/src/dsh_invariants/_read.py").write_text("", encoding="utf-8")

    done = check("check_raises.py", copy)

    assert done.returncode == 1
    assert "dsh_invariants/_read.py raises no ValueError" in done.stdout


def test_a_code_that_the_table_does_not_have_is_refused(copy: Path) -> None:
    """Wherever it stands; a reserved one that is raised, and one of another package, are too."""
    plant(copy, FOREIGN)

    done = check("check_codes.py", copy)

    assert done.returncode == 1
    assert all(fault in done.stdout for fault in FOREIGN.values()), done.stdout


def test_a_code_that_is_only_looked_at_is_not_raised(copy: Path) -> None:
    """Comparing, a set, a key, a type; and public names and help are no codes."""
    plant(copy, LOOKED_AT)

    done = check("check_codes.py", copy)

    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stdout


def test_an_entry_that_nothing_raises_is_refused(copy: Path) -> None:
    """A code that went out of use leaves the table, or is reserved with a reason."""
    path = copy / "packages/dsh-invariants/src/dsh_invariants/_registry.py"
    path.write_text("", encoding="utf-8")

    done = check("check_codes.py", copy)

    assert done.returncode == 1
    assert "UNKNOWN_PROFILE: raised nowhere, and no reason to reserve it" in done.stdout
