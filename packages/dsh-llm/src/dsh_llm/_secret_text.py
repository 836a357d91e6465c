"""What secrets look like inside a text, and the text without them."""

import re
from functools import cache
from typing import Final, TypeAlias

from dsh_llm._secrets import MASK, without_registered


def scrub_text(text: str) -> str:
    """Return *text* without secrets: the registered ones, and what looks like one.

    Linear in the length of *text*; a second time it changes nothing.
    """
    text = without_registered(str.__str__(text))
    if len(text) < _SHORTEST and text.isidentifier():
        return text
    lowered = text.lower()
    for hints, rules in _patterns():
        for hint in hints:
            if hint in lowered:
                text = _changed(text, rules)
                break
    return text


def _changed(text: str, rules: "_Rules") -> str:
    for found, replacement in rules:
        text = found.sub(replacement, text)
    return text


_Rules: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]


@cache
def _patterns() -> tuple[tuple[tuple[str, ...], _Rules], ...]:
    # Why: compiled when first needed, an import does not pay for it.
    tokens = (rf"(?<![A-Za-z0-9])(?:{'|'.join(_TOKENS)})", MASK)
    groups = ((_TOKEN_HINTS, (tokens,)), *_RULES)
    return tuple((hints, _compiled(rules)) for hints, rules in groups)


def _compiled(rules: tuple[tuple[str, str], ...]) -> _Rules:
    return tuple((re.compile(source), replacement) for source, replacement in rules)


_SHORTEST: Final = 16
"""Characters of the shortest token that is a plain word."""
_TOKENS: Final = (
    r"(?:sk|pk|rk)[-_][\w-]{16,}",
    r"gh[a-z]_[A-Za-z0-9]{16,}",
    r"github_pat_\w{16,}",
    r"glpat-[\w-]{16,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}",
    r"AIza[\w-]{30,}",
    r"ya29\.[\w-]{16,}",
    r"xox[a-z]-[\w-]{10,}",
    r"(?:hf|gsk|npm|r8|nvapi|tgp_v1)[-_][\w-]{16,}",
    r"(?:xai|pypi|dapi|lin_api|pcsk)[-_][\w-]{16,}",
    r"SG\.[\w-]{16,}\.[\w-]{16,}",
    r"eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)*",
)
"""Formats of keys that are known by how they begin."""

_TOKEN_HINTS: Final = ("-", "_", "akia", "asia", "aiza", "eyj", "ya29.", "sg.")

# Invariant: no part may match the same run of characters from each of its places, or a long hostile
# text takes quadratic time; hence the bounds, and the lookbehind in front of the tokens.
_NAME: Final = (
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|credentials?|authorization|cookie|token"
    r"|(?:api|access|private|secret|signing|encryption|subscription|auth|account)[_-]?key)"
)
_QUOTE: Final = r"""\\{0,8}["']"""
_IS: Final = rf"(?:{_QUOTE}\s{{0,9}}[,:=]|\s{{0,9}}[:=])>?\s{{0,9}}"
_NOTHING: Final = r"""(?:(?:None|null|[Tt]rue|[Ff]alse)\b|[bru]{1,2}["'])"""
_BARE: Final = r"""[^\s"'`&,;(){}\[\]<>\\]"""
_NAME_HINTS: Final = (
    "pass",
    "pwd",
    "secret",
    "credential",
    "authorization",
    "cookie",
    "token",
    "key",
)
_HEADER_HINTS: Final = ("authorization", "cookie")
_KEPT: Final = rf"\g<1>{MASK}"
_RULES: Final = (
    (
        ("private key",),
        (
            (
                r"(?s)-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|\Z)",
                MASK,
            ),
        ),
    ),
    (
        ("://",),
        ((r"""://[^\s/?#"'<>@]{1,2000}@(?:[^\s/?#"'<>@]{1,2000}@){0,9}""", f"://{MASK}@"),),
    ),
    (
        ("?", "&"),
        ((r"([?&](?i:key|sig|signature|x-amz-signature|auth|code)=)[^&\s#\"']+", _KEPT),),
    ),
    (
        ("authorization", "cookie"),
        ((r"((?i:authorization|cookie)\s{0,9}:\s{0,9})(?![\s*])[^\r\n\"']+", _KEPT),),
    ),
    (
        ("bearer",),
        ((r"\b((?i:bearer)\s{1,9})(?=\S{0,40}[\d=_~+/]|\S{20})[\w.~+/=-]{8,}", _KEPT),),
    ),
    (
        ("basic",),
        ((r"\b((?i:basic)\s{1,9})(?=\S{0,40}(?:[\d=+/]|[a-z][A-Z]))[\w+/=]{12,}", _KEPT),),
    ),
    (
        ("pass", "pwd", "secret", "credential", "authorization", "cookie", "token", "key"),
        (
            (rf"({_NAME}{_IS}[bru]{{0,2}}({_QUOTE}))(?:(?!\2).){{1,4000}}", _KEPT),
            (rf"({_NAME}{_QUOTE}?\s{{0,9}}=\s{{0,9}})(?!{_NOTHING}){_BARE}+", _KEPT),
            # Why: behind a colon a bare word is a secret only with a digit in it, or `token: must
            # be a text` were one.
            (
                rf"({_NAME}{_QUOTE}?\s{{0,9}}:\s{{0,9}})(?={_BARE}{{0,40}}\d){_BARE}{{6,}}",
                _KEPT,
            ),
        ),
    ),
)
"""Rules behind their hints: one of these, in lower case, is in every text that they can change."""
