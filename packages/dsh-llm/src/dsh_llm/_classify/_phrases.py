"""What providers' words mean, where neither a name nor the status says it."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Final

from dsh_llm._catalogue import error_info
from dsh_llm._classify._rule import Classifier


def _joined(*parts: str) -> tuple[str, ...]:
    """Return every way to take one of the words, divided by `|`, of each part."""
    return tuple("".join(one) for one in product(*(part.split("|") for part in parts)))


_QUOTA: Final = (
    *_joined("insufficient ", "quota|balance|credit|fund"),
    *_joined("exceeded your ", "|current ", "quota"),
    "out of credit",
    "credit balance",
    *_joined("spend|spending|billing|monthly|usage", " ", "limit|cap|quota"),
)
_CONTEXT: Final = (
    # Why: "context length" alone may be the name of a parameter that is wrong itself.
    *_joined("maximum context ", "length|window|size"),
    "context length of only",
    *_joined(
        "context ",
        "length|window|size|limit",
        " ",
        "exceed|overflow|reached|is exceed|was exceed|has been exceed",
    ),
    *_joined(
        "exceed|exceeds|exceeded|exceeding|larger than|longer than|greater than|"
        "too long for|too large for|fit in|fit into|fit within",
        " ",
        "|the |its |your |this model's |the model's |available |the available |max |the max ",
        "context",
    ),
    *_joined("prompt|input|request|message|messages", " | is | are ", "too ", "long|large"),
    *_joined("maximum ", "prompt|input", " length"),
    *_joined("input|prompt", " ", "token|tokens", " exceed"),
    *_joined("too many ", "|input |prompt ", "tokens"),
    "exceeds the maximum number of tokens",
    "exceeds the maximum tokens",
    *_joined("exceeds|exceeded", " ", "|the ", "model|model's", " token limit"),
    *_joined("tokens in ", "your|the", " ", "prompt|input|request", " exceed"),
    *_joined("tokens + ", "|`", "max_new_tokens", "|`", " must be"),
    "range of input length should be",
    "request payload size exceeds the limit",
    "reduce the length",
    "max model len",
    "maximum model length",
)
_FILTER: Final = (
    *_joined("content ", "|management |safety |usage ", "polic"),
    "content filter",
    "content exists risk",
    "safety system",
)
_MODEL: Final = (
    *_joined("model ", "not|does not", " exist"),
    "model not found",
    "not a valid model id",
)
_SERVER: Final = ("overloaded",)
_RATE: Final = (
    "rate limit",
    "ratelimit",
    "too many requests",
    "try again in ",
    "try again later",
)
_AUTH: Final = ("incorrect api key", "invalid api key", "api key not valid", "invalid x api key")
_CREDENTIAL: Final = (
    "api key client option must be set",
    "missing credentials",
    "could not resolve authentication method",
)

# Invariant: a status allows only these refinements by words, as numbers of the catalogue. At 429
# there is none, since providers say "quota" of limits that pass.
_ALLOWED: Final[Mapping[int, frozenset[int]]] = {
    # Why: at 400 also 5002 and 5004, since some providers refuse a wrong key or model so.
    400: frozenset({5002, 5004, 5005, 5009, 5010}),
    401: frozenset({5009}),
    402: frozenset({5003}),
    403: frozenset({5009}),
    422: frozenset({5005, 5009, 5010}),
    429: frozenset(),
}


def may_refine(status: int | None, code: str) -> bool:
    """Tell whether a phrase may give *code* at *status*; codes without a number always may."""
    row = error_info(code)
    if status is None or row is None or row.number is None:
        return True
    return row.number in _ALLOWED.get(status, ())


def _rule(code: str, phrases: Iterable[str]) -> Classifier:
    name = f"provider.words.{code.lower()}"
    return Classifier(name, ("provider",), "phrase", tuple(phrases), code)


PHRASE_RULES: Final = (
    _rule("QUOTA", _QUOTA),
    _rule("CONTEXT_WINDOW_EXCEEDED", _CONTEXT),
    _rule("CONTENT_FILTER", _FILTER),
    _rule("MODEL_NOT_FOUND", _MODEL),
    _rule("SERVER", _SERVER),
    _rule("RATE_LIMIT", _RATE),
    _rule("AUTH", _AUTH),
    _rule("MISSING_CREDENTIAL", _CREDENTIAL),
)
