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

    What only describes one is none: `max_tokens`, `token_count`, `password_length`, `key`.
    """
    if len(name) > _LONGEST_NAME:
        return False
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return False
    return not _SECRET_WORDS.isdisjoint(words) or _is_token(words) or _is_key(words)


def holds_secret_name(text: str) -> bool:
    """Tell whether a word of *text*, such as the name of an attribute, is a secret's name."""
    return any(is_secret_name(word.group()) for word in _identifier().finditer(text))


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
    from urllib.parse import quote

    return (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])


def _is_token(words: tuple[str, ...]) -> bool:
    return words[-1] == "token" and (len(words) == 1 or words[-2] not in _NO_TOKEN)


def _is_key(words: tuple[str, ...]) -> bool:
    return any(second == "key" and first in _KEYS for first, second in pairwise(words))


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
    "password", "passwd", "passphrase", "pwd", "secret", "credential", "credentials", "cookie",
    "authorization", "bearer", "apikey", "accesskey", "privatekey", "accesstoken", "authtoken",
})
_KEYS: Final = frozenset({
    "api", "access", "private", "secret", "signing", "encryption", "subscription", "auth",
    "account", "master", "shared",
})
_NO_TOKEN: Final = frozenset({
    "page", "next", "continuation", "stop", "eos", "bos", "pad", "first", "last", "per", "max",
})
_ABOUT: Final = frozenset({
    "length", "len", "count", "type", "name", "id", "expires", "expiry", "ttl", "limit", "url",
    "uri", "variable", "env", "field", "path", "file", "policy", "required", "present", "valid",
    "error", "status", "message",
})
# fmt: on
