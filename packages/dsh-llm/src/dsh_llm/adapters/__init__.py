"""Adapters to the wires of real providers, one module each, and model names resolved to them.

`dsh_llm.adapters.openai` serves OpenAI, DeepSeek, vLLM, Ollama, llama.cpp and every other server
with OpenAI's chat completions. A provider's SDK is an extra of dsh-llm and is imported when the
first of its adapters is built, never before.
"""

from typing import Protocol

from dsh_llm._boundary import LlmAdapter
from dsh_llm.adapters._providers import find_credential, find_provider

__all__ = ["ProviderAdapter", "resolve_model"]


class ProviderAdapter(LlmAdapter, Protocol):
    """An adapter to a provider: it has connections, which whoever made it closes."""

    model: str
    """The model's own name, without its provider."""

    async def aclose(self) -> None:
        """Close every connection; the adapter may be used again."""
        ...


def resolve_model(
    name: str, *, base_url: str | None = None, api_key: str | None = None
) -> ProviderAdapter:
    """Return the adapter of the model that *name* means.

    *name* is `provider:model` (`openai:gpt-4o`, `deepseek:deepseek-chat`). With *base_url* it may
    also be the bare name of a model on any OpenAI-compatible server. *api_key* and *base_url* stand
    before the provider's environment variables (`OPENAI_API_KEY`, `OPENAI_BASE_URL`, ...). The
    adapter's `model` is the name without its provider; close the adapter with `aclose`.

    Raises:
        LlmError: `UNKNOWN_MODEL` for a provider that nobody knows, `MISSING_CREDENTIAL` naming the
            variable to set, `INVALID_CREDENTIAL` for a key that no header can carry.
        HarnessError: `MISSING_EXTRA` when the provider's SDK is not installed.
    """
    from dsh_llm.adapters.openai import OpenAIAdapter

    provider, model = find_provider(name, custom_server=base_url is not None)
    url = base_url or provider.base_url_from_environment()
    key = find_credential(provider, api_key, custom_server=url is not None)
    return OpenAIAdapter(model, base_url=url or provider.base_url, api_key=key)
