"""Rules for every test of the workspace, wherever it lives."""

import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
SERVER_TESTS = ROOT / "tests" / "servers"
NO_SKIP = os.environ.get("DSH_NO_SKIP") == "1"

# Why: in the background of a shell Ctrl-C is ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("DSH_HYPOTHESIS") or ("ci" if "CI" in os.environ else "dev"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests that need a real server out, unless they are asked for by their marker."""
    asked = "servers" in str(config.getoption("markexpr"))
    return True if collection_path == SERVER_TESTS and not asked else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where nothing may be missing."""
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failed one where nothing may be missing."""
    return _refuse_skip((yield))


def _refuse_skip(report: Report) -> Report:
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"a skip is a failure here: {report.longrepr}"
    return report
