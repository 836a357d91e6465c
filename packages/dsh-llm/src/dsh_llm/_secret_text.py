"""What secrets look like inside a text, and the text without them."""

import re
from functools import cache
from typing import Final, TypeAlias

from dsh_llm._secrets import MASK, NO_TOKEN, PROVIDERS, without_registered


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
    r"sk-[\w-]{10,}",
    r"(?:pplx|tvly|GOCSPX)-[\w-]{16,}",
    r"(?:whsec|dop_v1|shp[a-z]{2}|dckr_pat)_[\w+/=-]{16,}",
    r"hv[sbr]\.[\w-]{16,}",
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

_TOKEN_HINTS: Final = (
    "-",
    "_",
    "akia",
    "asia",
    "aiza",
    "eyj",
    "ya29.",
    "sg.",
    "hvs.",
    "hvb.",
    "hvr.",
)

# Invariant: no part may match the same run of characters from each of its places, or a long hostile
# text takes quadratic time; hence the bounds, and the lookbehind in front of the tokens.


def _behind(words: frozenset[str], sign: str, rest: str) -> list[str]:
    # Why: what is looked for backwards has one length.
    sizes = sorted({len(word) for word in words})
    return [
        rf"(?<{sign}(?<![a-z])(?:{'|'.join(sorted(w for w in words if len(w) == size))}){rest})"
        for size in sizes
    ]


# Why: looked for backwards, from the one word that they share, or each place would try them all.
_NO_TOKEN: Final = r"(?<!pagetoken)(?<!nexttoken)(?<!continuationtoken)" + "".join(
    _behind(NO_TOKEN, "!", r"[_\s-]token")
)
_OF_PROVIDER: Final = "|".join(
    [*_behind(PROVIDERS, "=", "key"), *_behind(PROVIDERS, "=", "[_-]key")]
)
_NAME: Final = (
    r"(?i:passw(?:or)?ds?|passphrase|passcode|pwd|secrets?|credentials?|authorization|cookies?"
    rf"|token{_NO_TOKEN}|key(?:{_OF_PROVIDER})s?"
    r"|(?:api|access|private|secret|signing|encryption|subscription|auth|account)[._ -]?keys?"
    r"|(?<![a-z])(?:(?<=[_-])pass|pass(?!\s{0,9}[:=]\s{0,9}\d{1,9}\b)|jwt|sig|signature"
    r"|auth|auth[_-]header|authentication))"
    r"(?:[_-](?i:value|hash))?"
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
    "auth",
    "cookie",
    "token",
    "key",
    "jwt",
    "sig",
)
_HEADER_HINTS: Final = ("authorization", "cookie")
_KEPT: Final = rf"\g<1>{MASK}"
_PYDANTIC: Final = (
    r"(input_value=)(?!\*{3}(?:, input_type=|\n|\Z))"
    r"(?:(?s:(?:(?!, input_type=).){1,300})(?=, input_type=)|[^\n]+)"
)
_RULES: Final = (
    # Why: pydantic quotes what it was given, whatever that was.
    (("input_value=",), ((_PYDANTIC, _KEPT),)),
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
        (
            (
                r"([?&](?i:key|sig|signature|x-amz-signature|auth|code(?!=\d{1,4}(?![^&\s#\"'])))=)[^&\s#\"']+",
                _KEPT,
            ),
        ),
    ),
    (
        ("authorization", "cookie"),
        ((r"((?i:authorization|cookies?)\s{0,9}:\s{0,9})(?![\s*])[^\r\n\"']+", _KEPT),),
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
        _NAME_HINTS,
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
