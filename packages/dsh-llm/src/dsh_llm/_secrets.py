"""What is secret: credentials that were registered, names of secrets, and the look of tokens."""

import re
from _thread import allocate_lock
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

MASK: Final = "***"
"""What is left of a secret."""

MIN_SECRET: Final = 8
"""Shortest value that counts as a secret: taking out less would garble ordinary text."""

_lock: Final = allocate_lock()
_holders: Final[dict[str, int]] = {}
_needles: tuple[str, ...] = ()


def register_secret(value: str) -> Callable[[], None]:
    """Take *value* out of everything that leaves, until the returned disposer is called.

    For credentials that no pattern matches. It is also found URL-quoted and inside JSON text. A
    value that two registered is kept out until both have disposed; one that is shorter than
    `MIN_SECRET` characters is ignored. Thread-safe; never raises for a `str`.
    """
    secret = value.strip()
    if len(secret) < MIN_SECRET:
        return lambda: None
    _count(secret, 1)
    owed = [secret]

    def dispose() -> None:
        if owed:
            _count(owed.pop(), -1)

    return dispose


def without_registered(text: str) -> str:
    """Return *text* with every registered secret masked."""
    for needle in _needles:
        if needle in text:
            text = text.replace(needle, MASK)
    return text


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Tell whether what stands under *name* is a secret: `api_key`, `X-Auth-Token`, `password`.

    What only describes one is none: `max_tokens`, `token_count`, `password_length`, `key`. Under
    some of the names a number is none either, see `is_number_name`.
    """
    if len(name) > _LONGEST_NAME:
        return False
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] in _LAST_WORDS or any(word.endswith(_SECRET_ENDS) for word in words):
        return True
    return (
        not _SECRET_WORDS.isdisjoint(words)
        or any(pair in _SECRET_PAIRS for pair in pairwise(words))
        or _is_token(words)
        or _is_key(words)
    )


@lru_cache(4096)
def is_number_name(name: str) -> bool:
    """Tell whether numbers under *name*, a secret's, are no secrets: `tokens`, `api_keys`."""
    return not _NUMBER_NAMES.isdisjoint(_words(name)[-1:])


def holds_secret_name(text: str) -> bool:
    """Tell whether a word of *text*, such as the name of an attribute, is a secret's name.

    Not an everyday word that stands in a sentence, as in `too many tokens`.
    """
    return any(
        is_secret_name(word.group()) and not _is_said(text, word)
        for word in _identifier().finditer(text)
    )


def _is_said(text: str, word: re.Match[str]) -> bool:
    around = text[max(word.start() - 1, 0) : word.start()] + text[word.end() : word.end() + 1]
    return " " in around and word.group().lower() in _EVERYDAY


def _count(secret: str, change: int) -> None:
    global _needles  # noqa: PLW0603  # Why: readers take one whole tuple and need no lock
    with _lock:
        holders = _holders.get(secret, 0) + change
        if holders:
            _holders[secret] = holders
        else:
            del _holders[secret]
        forms = {form for each in _holders for form in _forms(each)}
        # Why: the longest first, or a part of one secret would hide the rest of another.
        _needles = tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _forms(secret: str) -> tuple[str, ...]:
    import json
    from urllib.parse import quote, quote_plus

    quoted = (quote(secret, safe=""), quote(secret), quote_plus(secret))
    return (secret, *quoted, json.dumps(secret)[1:-1])


def _is_token(words: tuple[str, ...]) -> bool:
    if words[-1] == "tokens":
        return len(words) == 1 or words[-2] in _KEYS or words[-2] in _OF_TOKENS
    return words[-1] == "token" and (len(words) == 1 or words[-2] not in NO_TOKEN)


def _is_key(words: tuple[str, ...]) -> bool:
    for at, word in enumerate(words[1:], 1):
        # Why: `OpenAI` and `DeepSeek` are split in two.
        owners = {words[at - 1], "".join(words[max(at - 2, 0) : at])}
        if word in {"key", "keys"} and not (_KEYS | PROVIDERS).isdisjoint(owners):
            return True
    return False


@cache
def _splitter() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@cache
def _identifier() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_][A-Za-z0-9_-]{2,200}")


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _splitter().findall(name))


_LONGEST_NAME: Final = 200
# fmt: off
_SECRET_WORDS: Final = frozenset({
    "passwords", "passcode", "pwd", "secrets", "credential", "credentials", "cookie", "cookies",
    "authorization", "bearer", "apikey", "accesskey", "privatekey", "accesstoken", "authtoken",
})
_SECRET_ENDS: Final = ("password", "passwd", "passphrase", "secret")
_LAST_WORDS: Final = frozenset({"auth", "authentication", "pass", "jwt", "signature", "sig"})
_SECRET_PAIRS: Final = frozenset({("auth", "header"), ("auth", "headers")})
_NUMBER_NAMES: Final = frozenset({
    "tokens", "keys", "pass", "auth", "signature", "sig", "secrets", "cookies",
})
_EVERYDAY: Final = _NUMBER_NAMES | {"authentication"}
_OF_TOKENS: Final = frozenset({"bearer", "refresh", "id", "session"})
PROVIDERS: Final = frozenset({
    "ai", "anthropic", "aws", "azure", "cerebras", "claude", "cohere", "dashscope", "deepgram",
    "deepseek", "elevenlabs", "exa", "fireworks", "gemini", "github", "gitlab", "google", "groq",
    "hf", "hmac", "huggingface", "jina", "jwt", "mistral", "moonshot", "nvidia", "openai",
    "openrouter", "perplexity", "pgp", "pinecone", "provider", "qwen", "replicate", "rsa",
    "sendgrid", "serper", "slack", "ssh", "ssl", "stripe", "tavily", "tls", "together", "twilio",
    "voyage", "webhook", "xai", "zhipu",
})
"""Whose key is a secret: `DEEPSEEK_KEY`, `ssh_key`."""
_KEYS: Final = frozenset({
    "api", "access", "private", "secret", "signing", "encryption", "subscription", "auth",
    "account", "master", "shared",
})
NO_TOKEN: Final = frozenset({
    "page", "next", "continuation", "stop", "eos", "bos", "pad", "first", "last", "per", "max",
    "unexpected", "illegal",
})
"""In front of `token`, these say that it is a cursor or a piece of a text."""
_ABOUT: Final = frozenset({
    "length", "len", "count", "type", "name", "id", "expires", "expiry", "ttl", "limit", "url",
    "uri", "variable", "env", "field", "path", "file", "policy", "required", "present", "valid",
    "error", "status", "message",
})
# fmt: on
