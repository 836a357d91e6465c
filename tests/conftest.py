"""Fixtures for the tests of the whole workspace."""

import os

import pytest


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep coverage out of the processes that a test starts: it slows them and loads modules."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)
