"""The rules for every test: a skip can be made a failure, and server tests wait to be asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.usefixtures("unmeasured")
SKIPS = {
    "mark": "import pytest\n@pytest.mark.skip(reason='late')\ndef test_it(): ...\n",
    "call": "import pytest\ndef test_it(): pytest.skip('late')\n",
    "module": "import pytest\npytest.skip('late', allow_module_level=True)\n",
    "import": "import pytest\npytest.importorskip('there_is_no_such_module')\n",
}
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the rules and a server test."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    servers: asked for\n")
    servers = tmp_path / "tests" / "servers"
    servers.mkdir(parents=True)
    test = "import pytest\npytestmark = pytest.mark.servers\ndef test_server(): ...\n"
    (servers / "test_server.py").write_text(test)
    return tmp_path


def run_tests(checkout: Path, text: str, *options: str, no_skip: str = "") -> str:
    """Run the tests of the folder and return pytest's closing line."""
    (checkout / "test_planted.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=checkout,
        env=os.environ | {"DSH_NO_SKIP": no_skip},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()[-1].partition(" in ")[0]


@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS)
def test_a_skip_is_a_failure_only_where_nothing_may_be_missing(checkout: Path, text: str) -> None:
    """With DSH_NO_SKIP=1 a skipped test or module does not pass; without it, it is a skip."""
    assert run_tests(checkout, text) == "1 skipped"
    assert run_tests(checkout, text, no_skip="1") in {"1 failed", "1 error"}


def test_an_expected_failure_is_no_skip(checkout: Path) -> None:
    """A test that is known to fail stays one, whatever is said of skips."""
    assert run_tests(checkout, EXPECTED_FAILURE, no_skip="1") == "1 xfailed"


def test_server_tests_are_collected_only_when_asked_for(checkout: Path) -> None:
    """A plain run does not import the tests that need a server; the marker brings them in."""
    plain = "def test_it(): ...\n"

    assert run_tests(checkout, plain) == "1 passed"
    assert run_tests(checkout, plain, "-m", "servers") == "1 passed, 1 deselected"
