"""No secrets by construction: planted everywhere in an error, found nowhere outside."""

import json
import logging
import pickle
import traceback
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

import httpx2
import openai
import pydantic
import pytest
from dsh_llm import (
    Attempt,
    Context,
    ErrorPropagator,
    ErrorRecord,
    FrozenDict,
    HarnessError,
    LlmError,
    Signal,
    advise,
    error_chain,
    error_data,
    register_secret,
    to_jsonrpc,
    to_mcp_result,
    to_otel,
    to_problem,
    traceback_text,
)

OPAQUE = "opaque credential of no known format"
"""Found because it is registered."""
UNDER_A_NAME = "hunter2"
"""Found because of where it stands."""
TOKEN = "ghp_abcDEF0123456789abcdEFGH"  # noqa: S105  # Why: an example of a format
"""Found because of how it looks."""
HEADER = "Bearer abc.def.0123456789"
"""Found because of the word in front of it."""
IN_A_URL = "https://user:pa55w0rd@host/path"
SECRETS = (OPAQUE, UNDER_A_NAME, TOKEN, "abc.def.0123456789", "pa55w0rd")
ALL = f"{OPAQUE}, {TOKEN}, Authorization: {HEADER}; {IN_A_URL} password={UNDER_A_NAME}"


class Credentials(NamedTuple):
    user: str
    password: str


class Client:
    """A foreign object that pickles, with a secret in an attribute."""

    def __init__(self) -> None:
        self.api_key = UNDER_A_NAME
        self.headers = {"Authorization": HEADER}

    def __repr__(self) -> str:
        return f"Client(api_key={self.api_key!r})"


class Plain:
    """A foreign object that pickles, with a registered secret under a harmless name."""

    def __init__(self) -> None:
        self.value = OPAQUE


class KeyedError(HarnessError):
    """Keeps secrets in attributes and in a slot."""

    __slots__ = ("token",)

    def __init__(self) -> None:
        super().__init__(ALL, "A")
        self.token = UNDER_A_NAME
        self.api_key = UNDER_A_NAME
        self.url = IN_A_URL
        self.client = Client()
        self.login = Credentials("u", UNDER_A_NAME)


class SdkError(Exception):
    """A foreign exception that pickles together with its request."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.request = Client()


@pytest.fixture(autouse=True)
def registered() -> Generator[None]:
    """Register the secret that nothing else would find."""
    dispose = register_secret(OPAQUE)
    yield
    dispose()


def _with(**fields: Any) -> HarnessError:
    return HarnessError("it failed", "A", **fields)


def _noted() -> HarnessError:
    error = _with()
    error.add_note(ALL)
    return error


def _noted_cause() -> HarnessError:
    cause = ValueError("v")
    cause.add_note(ALL)
    vars(cause)["token"] = UNDER_A_NAME
    return _with(cause=cause)


def _raised(error: Any) -> HarnessError:
    try:
        raise error
    except HarnessError as caught:
        return caught


def _from_a_line_with_a_secret() -> HarnessError:
    with pytest.raises(ZeroDivisionError) as caught:
        _ = len("ghp_abcDEF0123456789abcdEFGH") / 0
    return _with(cause=caught.value)


def _sdk() -> Exception:
    request = httpx2.Request(
        "POST", IN_A_URL, headers={"Authorization": HEADER, "x-api-key": OPAQUE}
    )
    return openai.AuthenticationError(
        ALL, response=httpx2.Response(401, request=request, text=ALL), body={"m": ALL}
    )


class Model(pydantic.BaseModel):
    """Quotes in its errors what it was given."""

    number: int


def _of_pydantic() -> Exception:
    with pytest.raises(pydantic.ValidationError) as caught:
        Model.model_validate({"number": UNDER_A_NAME})
    assert UNDER_A_NAME in str(caught.value)
    return caught.value


def _recovering(error: HarnessError) -> HarnessError:
    error.recovery = ALL
    return error


PLACES: dict[str, Callable[[], HarnessError]] = {
    "message": lambda: HarnessError(ALL, "A"),
    "message and args of a subclass": lambda: LlmError(ALL, "AUTH", 401),
    "context": lambda: _with(context={"said": ALL, "password": UNDER_A_NAME, OPAQUE: 1}),
    "deep in the context": lambda: _with(context={"a": [({"headers": {"Cookie": UNDER_A_NAME}},)]}),
    "pairs of headers": lambda: _with(
        context={"h": [(b"Authorization", b"hunter2"), (b"a", b"b")]}
    ),
    "frozen context": lambda: _with(context={"f": FrozenDict(api_key=UNDER_A_NAME, b=ALL)}),
    "bytes, sets and named tuples": lambda: _with(
        context={"b": ALL.encode(), "s": {ALL}, "n": Credentials("u", UNDER_A_NAME)}
    ),
    "a foreign object": lambda: _with(context={"client": Client(), "plain": Plain()}),
    "signal and attempts": lambda: _with(signal=OPAQUE, attempts=(Attempt(ALL, "AUTH", 401),)),
    "attributes": KeyedError,
    "notes": _noted,
    "notes and attributes of the cause": _noted_cause,
    "a cause of ours": lambda: _with(cause=KeyedError()),
    "a builtin cause": lambda: _with(cause=OSError(2, ALL, IN_A_URL)),
    "a foreign cause": lambda: _with(cause=SdkError(ALL)),
    "openai's error": lambda: _with(cause=_sdk()),
    "a cause that is a value": lambda: _with(cause={"api_key": UNDER_A_NAME, "said": ALL}),
    "pydantic's error": lambda: _with(cause=_of_pydantic()),
    "pydantic's error in an attribute": lambda: _with(context={"error": _of_pydantic()}),
    "scope and recovery": lambda: _recovering(_with(scope=ALL)),
    "code": lambda: HarnessError("it failed", ALL),
    "a group": lambda: _with(cause=ExceptionGroup(ALL, [KeyedError(), ValueError(ALL)])),
    "a line of the traceback": _from_a_line_with_a_secret,
}


def _printed(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, None, chain=False))


def _recorded(error: HarnessError) -> str:
    records: list[ErrorRecord] = []
    ErrorPropagator([records.append], clock=lambda: 0).report(error, session=ALL)
    return repr(records)


def _forms(error: HarnessError) -> Iterator[tuple[str, str]]:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(error, protocol)
        yield f"pickle {protocol}", data.decode("latin-1")
        back: Any = pickle.loads(data)  # noqa: S301  # Why: our own bytes
        yield "what a pickle becomes", f"{vars(back)} {back.cause!r} {_printed(back)}"
    yield "JSON", json.dumps(error.to_dict(), ensure_ascii=False)
    yield "repr", repr(error)
    yield "str", str(error)
    yield "printed", _printed(error)
    yield "traceback", traceback_text(error)
    yield "log row", json.dumps(error_data(error), ensure_ascii=False)
    yield "chain", error_chain(error)
    yield "event", json.dumps(error.to_event(), ensure_ascii=False)
    yield "record", _recorded(error)
    yield "advice", repr(advise(error))
    for project in (to_problem, to_otel, to_jsonrpc, to_mcp_result):
        yield project.__name__, json.dumps(project(error), ensure_ascii=False, default=repr)


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_leaves_an_error(place: str) -> None:
    """Not by a pickle, JSON, `repr`, a printed traceback, a log row or a projection."""
    error = _raised(PLACES[place]())
    for form, text in _forms(error):
        found = [secret for secret in SECRETS if secret in text]
        assert not found, (form, text)


def test_the_live_error_keeps_its_values() -> None:
    """What stays in the process is not changed: code may need it."""
    error = HarnessError(ALL, "A", context={"password": UNDER_A_NAME})
    error.to_dict()
    assert (error.message, error.context["password"]) == (ALL, UNDER_A_NAME)


def test_what_is_no_secret_is_still_told() -> None:
    """Scrubbing leaves the diagnosis."""
    error = HarnessError(f"401 for {IN_A_URL}", "A", context={"model": "m", "max_tokens": 5})
    assert error.to_dict()["message"] == "401 for https://***@host/path"
    assert error.to_dict()["context"] == {"model": "m", "max_tokens": 5}


FAILING: Signal[[]] = Signal("test/failing")


def _fail_in_a_listener() -> HarnessError:
    error = HarnessError("it failed", "A", cause=ValueError(ALL))

    def listen() -> None:
        raise error

    context = Context()
    context.on(FAILING, listen)
    context.emit(FAILING)
    return error


def test_the_log_of_the_process_has_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    """A contained failure is written with its traceback, scrubbed; handlers still get the error."""
    error = _fail_in_a_listener()
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error
    assert "in listen" in caplog.text
    assert not [secret for secret in SECRETS if secret in caplog.text]


def test_a_logger_that_is_turned_down_stays_silent(caplog: pytest.LogCaptureFixture) -> None:
    """The level of the `dsh` logger counts."""
    caplog.set_level(logging.CRITICAL, "dsh")
    _fail_in_a_listener()
    assert not caplog.records
