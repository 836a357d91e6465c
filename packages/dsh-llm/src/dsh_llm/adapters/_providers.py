"""The known providers, and where the keys for them come from."""

import os
from typing import Final, NamedTuple

from dsh_llm._errors import LlmError

NO_KEY: Final = "no-key"
"""What a server without keys is sent, since the SDK insists on one."""


class Provider(NamedTuple):
    """A provider's address, and the environment variables that configure it."""

    name: str
    base_url: str

    @property
    def key_variable(self) -> str:
        """The variable that holds the key."""
        return f"{self.name.upper()}_API_KEY"

    def base_url_from_environment(self) -> str | None:
        """Return the address that the environment gives instead, or `None`."""
        return os.environ.get(f"{self.name.upper()}_BASE_URL") or None


OPENAI: Final = Provider("openai", "https://api.openai.com/v1")
PROVIDERS: Final = {
    provider.name: provider
    for provider in (OPENAI, Provider("deepseek", "https://api.deepseek.com"))
}


def find_provider(name: str, *, custom_server: bool) -> tuple[Provider, str]:
    """Split *name* into its provider and the model's own name.

    On a custom server a name that begins with no known provider is the model's, colons and all
    (`llama3:8b`).

    Raises:
        LlmError: `UNKNOWN_MODEL`.
    """
    prefix, colon, model = name.partition(":")
    if colon and prefix in PROVIDERS:
        provider = PROVIDERS[prefix]
    else:
        provider, model = OPENAI, name if custom_server else ""
    if not model:
        raise _unknown_model(name)
    return provider, model


def find_credential(provider: Provider, given: str | None, *, custom_server: bool) -> str:
    """Return the key to send: the one *given*, the environment's, or a dummy for a custom server.

    Raises:
        LlmError: `MISSING_CREDENTIAL`, `INVALID_CREDENTIAL`.
    """
    key = (given or os.environ.get(provider.key_variable) or "").strip()
    if key:
        return _checked(key, provider)
    if custom_server:
        return NO_KEY
    text = f"no API key for {provider.name}: set {provider.key_variable} or pass api_key"
    raise LlmError(text, "MISSING_CREDENTIAL", context={"variable": provider.key_variable})


def _checked(key: str, provider: Provider) -> str:
    # Why: the key itself is never quoted, the message may be logged.
    if key.isascii() and key.isprintable() and " " not in key:
        return key
    text = f"the API key for {provider.name} has a character that no header can carry"
    raise LlmError(text, "INVALID_CREDENTIAL", context={"variable": provider.key_variable})


def _unknown_model(name: str) -> LlmError:
    known = ", ".join(f"{provider}:MODEL" for provider in PROVIDERS)
    text = f'unknown model "{name}": use {known}, or any name together with a base URL'
    return LlmError(text, "UNKNOWN_MODEL", context={"model": name})
