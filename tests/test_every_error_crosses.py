"""Every error class of the workspace crosses whole: a new one fails until it has an example."""

import copy
import importlib
import json
import multiprocessing
import pickle
import pkgutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import dsh_llm
import pytest
from dsh_llm import HarnessError, LlmError

PACKAGES = ("dsh_llm", "dsh_tools", "dsh_invariants", "dsh_agent", "dsh_cli")
Maker = Callable[[Any], HarnessError]


def _of_text(code: str) -> Maker:
    return lambda kind: kind("it failed", code)


def _of(*args: object) -> Maker:
    return lambda kind: kind(*args)


EXAMPLES: dict[str, Maker] = {
    "CallerTypeError": _of("it is an int"),
    "ClassifierError": _of("my-rule", "its phrase is empty"),
    "DeadlockError": _of(),
    "DuplicateContributionIdError": _of("acme.intro"),
    "EventDataError": _of_text("INVALID_ROW"),
    "FsError": _of_text("FS_NOT_TEXT"),
    "GroupError": _of("two failed", "GATHER_FAILED", [LlmError("a", "AUTH", 401), OSError(5, "b")]),
    "HarnessCodedError": lambda kind: kind("SESSION_NOT_FOUND", session="s-1"),
    "HarnessError": lambda kind: kind("it failed", "A_CODE", retryable=False, scope="call"),
    "InvariantError": _of("INV-SEQ-001", "a row is missing"),
    "JsonValueError": _of("a.b", "is a set"),
    "LlmError": lambda kind: kind(
        "slow down", "RATE_LIMIT", 429, request_id="r-1", retry_after=2.5
    ),
    "NotWiredError": _of("Store"),
    "RemoteError": _of("TheirError", "it failed", "THEIRS"),
    "ReservedNamespaceError": _of("dsh.intro", "dsh."),
    "StorageError": _of_text("STORAGE_WRITE_FAILED"),
    "SystemCallError": _of(FileNotFoundError(2, "No such file", "a.txt")),
    "ToolArgsError": _of(["a: missing", "b: not an int"]),
    "ToolDefinitionError": _of("it is no tool"),
    "ToolNotFoundError": _of("red", ["read", "write"]),
    "UnnamespacedIdError": _of("intro", "acme.intro"),
    "UnreachableError": _of_text("UNREACHABLE"),
}


def every_class() -> list[type[HarnessError]]:
    """Return every error class that the packages define."""
    for package in PACKAGES:
        paths = importlib.import_module(package).__path__
        for module in pkgutil.walk_packages(paths, f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    ours = (kind for kind in _below(HarnessError) if kind.__module__.startswith("dsh_"))
    return sorted(dict.fromkeys(ours), key=lambda kind: kind.__name__)


def _below(kind: type[HarnessError]) -> Iterator[type[HarnessError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _below(one)


CLASSES = every_class()
EACH = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


def example(kind: type[HarnessError]) -> HarnessError:
    """Return an error of *kind* with everything that an error can carry."""
    error = EXAMPLES[kind.__name__](kind)
    error.context["extra"] = {"n": [1, (2, b"3")]}
    error.add_note("seen in a test")
    if error.cause is None:
        error.cause = TimeoutError("the reason")
    try:
        raise error
    except HarnessError as raised:
        return raised


def content(error: Any) -> dict[str, Any]:
    """Return what must survive; the traceback apart, which each process adds to."""
    assert isinstance(error, HarnessError)
    record = error.to_dict()
    record.pop("traceback", None)
    shown = {"class": type(error), "str": str(error), "repr": repr(error), "args": error.args}
    return record | shown | {"attributes": sorted(name for name in vars(error) if name[0] != "_")}


def returned(error: HarnessError) -> HarnessError:
    """Run in another process and hand *error* back."""
    return error


def raised(error: HarnessError) -> None:
    """Run in another process and raise *error*."""
    raise error


@EACH
def test_every_class_has_an_example(kind: type[HarnessError]) -> None:
    """So that none is forgotten below; names are unique, since people route on them."""
    assert kind.__name__ in EXAMPLES
    assert [one.__name__ for one in CLASSES].count(kind.__name__) == 1


def test_every_example_has_a_class() -> None:
    """An example of a class that is gone goes too."""
    assert sorted(EXAMPLES) == [kind.__name__ for kind in CLASSES]


@EACH
def test_every_class_survives_pickle_of_every_protocol(kind: type[HarnessError]) -> None:
    """Twice, for errors travel on."""
    error = example(kind)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        once = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  # Why: our own bytes
        twice = pickle.loads(pickle.dumps(once, protocol))  # noqa: S301  # Why: our own bytes
        assert content(once) == content(twice) == content(error)
        assert (once.id, type(once.cause)) == (error.id, type(error.cause))


@EACH
def test_every_class_survives_json(kind: type[HarnessError]) -> None:
    """Twice; what is read back is of the same class."""
    error = example(kind)
    once = HarnessError.from_dict(json.loads(json.dumps(error.to_dict(), allow_nan=False)))
    twice = HarnessError.from_dict(json.loads(json.dumps(once.to_dict(), allow_nan=False)))
    assert content(once) == content(twice) == content(error)


@EACH
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy])
def test_every_class_can_be_copied(
    kind: type[HarnessError], clone: Callable[[HarnessError], HarnessError]
) -> None:
    """A copy is another error with the same content and the very same cause."""
    error = example(kind)
    twin = clone(error)
    assert twin is not error
    assert content(twin) == content(error)
    assert twin.cause is error.cause
    assert twin.__cause__ is error.__cause__


@pytest.mark.usefixtures("unmeasured")
def test_every_class_crosses_a_process_boundary_twice(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spawned pool returns and raises every class whole, though it overwrites `__cause__`."""
    # Why: the children import this file by its name from there.
    monkeypatch.setattr(sys, "path", [str(pytestconfig.rootpath), *sys.path])
    errors = [example(kind) for kind in CLASSES]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        once = list(pool.map(returned, errors))
        for error, back in zip(errors, pool.map(returned, once), strict=True):
            assert content(back) == content(error)
            assert "in example" in dsh_llm.traceback_text(back)
        for error in errors:
            failure = pool.submit(raised, error).exception()
            assert content(failure) == content(error)
            again = pool.submit(raised, failure).exception()  # type: ignore[arg-type]  # Why: just checked
            assert isinstance(again, HarnessError)
            assert content(again) == content(error)
            assert type(again.cause) is type(error.cause)
            assert "in raised" in dsh_llm.traceback_text(again)
        bare = pool.submit(raised, HarnessError("no cause", "A")).exception()
        assert isinstance(bare, HarnessError)
        assert bare.cause is None
