"""Model names, and the keys and addresses that belong to them."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from dsh_llm import LlmError, Message, ModelRequest, TextBlock
from dsh_llm.adapters import resolve_model
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import LoopbackServer, Reply

REQUEST = ModelRequest("m", [Message("user", (TextBlock("hi"),))], max_tokens=5)
GOOD = b'{"choices":[{"message":{"content":"hi"}}]}'
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without any provider's variables."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def resolved(name: str, base_url: str | None = None, api_key: str | None = None) -> OpenAIAdapter:
    """Resolve *name*; it is an OpenAI adapter as yet."""
    adapter = resolve_model(name, base_url=base_url, api_key=api_key)
    assert isinstance(adapter, OpenAIAdapter)
    return adapter


async def sent_by(adapter: OpenAIAdapter, server: LoopbackServer) -> tuple[str, str, str]:
    """Make one call; return model, authorization and the key of the length limit."""
    async with aclosing(adapter):
        _ = [chunk async for chunk in adapter.stream(REQUEST)]
    received = server.received[-1]
    body = json.loads(received.body)
    limit = next(key for key in body if key.startswith("max_"))
    return body["model"], received.headers["authorization"], limit


def test_a_known_provider_is_split_off_and_has_its_own_address() -> None:
    """The rest is the model's name, colons and all."""
    openai = resolved("openai:gpt-x", api_key="k")
    assert (openai.model, repr(openai)) == (
        "gpt-x",
        "OpenAIAdapter('gpt-x', base_url='https://api.openai.com')",
    )
    deepseek = resolved("deepseek:deepseek-chat:v2", api_key="k")
    assert (deepseek.model, repr(deepseek)) == (
        "deepseek-chat:v2",
        "OpenAIAdapter('deepseek-chat:v2', base_url='https://api.deepseek.com')",
    )


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai:gpt-x", "OPENAI_API_KEY"), ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY")],
)
def test_a_missing_key_names_the_variable_to_set_in_one_line(name: str, variable: str) -> None:
    """Nothing is sent."""
    for blank in (None, "", " "):
        with pytest.raises(LlmError) as raised:
            resolve_model(name, api_key=blank)
        assert raised.value.code == "MISSING_CREDENTIAL"
        assert variable in raised.value.message
        assert "\n" not in raised.value.message


def test_the_adapter_itself_asks_for_openais_key() -> None:
    """When nothing says where else to go."""
    with pytest.raises(LlmError) as raised:
        OpenAIAdapter("gpt-x")
    assert raised.value.code == "MISSING_CREDENTIAL"


@pytest.mark.parametrize("key", ["sk-\u00e4", "sk-a b", "sk-a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_quoted(key: str) -> None:
    """Blanks around it do no harm."""
    with pytest.raises(LlmError) as raised:
        resolve_model("openai:gpt-x", api_key=key)
    assert raised.value.code == "INVALID_CREDENTIAL"
    assert key not in raised.value.message
    assert resolved("openai:gpt-x", api_key=" sk-a\n").model == "gpt-x"


@pytest.mark.parametrize("name", ["gpt-x", "nobody:gpt-x", "openai:", ""])
def test_an_unknown_provider_lists_the_known_ones(name: str) -> None:
    """A bare name needs a server."""
    with pytest.raises(LlmError) as raised:
        resolve_model(name, api_key="k")
    assert raised.value.code == "UNKNOWN_MODEL"
    assert "openai:MODEL, deepseek:MODEL" in raised.value.message


def test_a_server_of_ones_own_takes_any_name_and_needs_no_key() -> None:
    """It is sent a dummy, and the length limit under the name that every server knows."""

    async def main() -> None:
        async with LoopbackServer([Reply(pieces=(GOOD,))] * 2) as server:
            own = resolved("llama3:8b", server.url)
            assert await sent_by(own, server) == ("llama3:8b", "Bearer no-key", "max_tokens")
            known = resolved("openai:gpt-x", server.url)
            assert await sent_by(known, server) == ("gpt-x", "Bearer no-key", "max_tokens")

    asyncio.run(main())


def test_the_environment_gives_key_and_address_and_arguments_stand_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No provider is sent the key of another."""

    async def main() -> None:
        async with LoopbackServer([Reply(pieces=(GOOD,))] * 4) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "from-openai")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("DEEPSEEK_BASE_URL", server.url)
            assert (await sent_by(resolved("openai:a"), server))[1] == "Bearer from-openai"
            assert (await sent_by(OpenAIAdapter("a"), server))[1] == "Bearer from-openai"
            given = resolved("openai:a", api_key="given")
            assert (await sent_by(given, server))[1] == "Bearer given"
            assert (await sent_by(resolved("deepseek:a"), server))[1] == "Bearer no-key"

    asyncio.run(main())


async def _stream(chunks: AsyncIterator[object]) -> None:
    _ = [chunk async for chunk in chunks]


def test_openai_itself_is_told_the_length_limit_under_its_newer_name() -> None:
    """Its reasoning models refuse the older one."""
    import httpx2

    bodies: list[bytes] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(200, content=GOOD)

    async def main() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(handle)) as client:
            await _stream(OpenAIAdapter("a", api_key="k", http_client=client).stream(REQUEST))

    asyncio.run(main())
    assert json.loads(bodies[0])["max_completion_tokens"] == 5


def test_a_missing_sdk_names_the_extra_and_is_asked_for_only_when_needed() -> None:
    """Importing the adapters' package does not import it."""
    code = """
import sys
import dsh_llm.adapters
assert "openai" not in sys.modules and "asyncio" not in sys.modules
sys.modules["openai"] = None
from dsh_llm import HarnessError
try:
    dsh_llm.adapters.resolve_model("openai:gpt-x", api_key="k")
except HarnessError as error:
    print(error.code, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "MISSING_EXTRA",
        "openai",
        "is",
        "not",
        "installed:",
        "install",
        "dsh-llm[openai]",
    ]
