"""A classifier: at which seams and stage, what it recognises, and which code it gives."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args

from dsh_llm._catalogue import error_info
from dsh_llm._classify._evidence import Evidence, Seam, spaced
from dsh_llm._errors import HarnessError
from dsh_llm._text import text_of

Stage: TypeAlias = Literal["code", "type", "status", "phrase"]
"""In this order: the far side's exact names, classes and errnos, HTTP statuses, words."""

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
SEAMS: Final[tuple[Seam, ...]] = get_args(Seam)

Test: TypeAlias = Callable[[Evidence], bool]
Match: TypeAlias = Collection[str | int | type] | Test


class Classifier(NamedTuple):
    """One rule that gives a foreign failure its code.

    What `match` lists depends on the stage: exact names that the far side gives (`code`; case and
    punctuation do not count), classes, errnos or names such as `openai.APITimeoutError` (`type`),
    HTTP statuses (`status`), lower-case literals to look for in the message (`phrase`). A function
    of the `Evidence` may decide instead, at any stage.
    """

    name: str
    """Unique; the error that comes out records it as `classified_by`."""
    seams: Collection[Seam]
    """Where it applies; empty means everywhere."""
    stage: Stage
    match: Match
    code: str | Callable[[Evidence], str | None]
    """The code; a function may return `None` for "not mine"."""
    extract: Callable[[Evidence], Mapping[str, Any]] | None = None
    """More for the error: `message`, `context`, `retryable`, `retry_after`, `effect`, `scope`."""
    tentative: bool = False
    """At the stage `status`: whether a phrase may still refine the code."""


class ClassifierError(HarnessError, ValueError):
    """A classifier cannot be used as it is. Code `VALIDATION_INVALID_INPUT`.

    Who acts: the author of the plugin that contributes it.
    """

    def __init__(self, rule: str, why: str) -> None:
        """Name the *rule* and say *why*."""
        text = f"classifier {rule!r}: {why}"
        super().__init__(text, "VALIDATION_INVALID_INPUT", context={"classifier": rule})


@lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """Return *name* as exact names are compared: letters and digits, in lower case."""
    return "".join(filter(str.isalnum, name.lower()))


def require_valid(rule: Classifier) -> None:
    """Raise `ClassifierError` when *rule* could never work."""
    if not isinstance(cast("object", rule), Classifier):
        raise ClassifierError(text_of(rule), "it is no Classifier")
    if rule.stage not in STAGES:
        raise ClassifierError(rule.name, f"no such stage: {rule.stage!r}")
    unknown = [seam for seam in rule.seams if seam not in SEAMS]
    if unknown:
        raise ClassifierError(rule.name, f"no such seam: {unknown[0]!r}")
    if callable(rule.match):
        return
    if isinstance(rule.match, str) or not rule.match:
        raise ClassifierError(rule.name, "match is neither a function nor a list of something")
    for item in rule.match:
        _require_item(rule, item)


def require_seen(rules: Iterable[Classifier]) -> None:
    """Raise `ClassifierError` when a phrase lies inside a later one of another code.

    The later one would never be found: `limit exceeded` is in every `rate limit exceeded`.
    """
    earlier: list[tuple[Classifier, str]] = []
    for rule in rules:
        mine = [(rule, phrase) for phrase in phrases_of(rule)]
        for other, short in earlier:
            for _, long in mine:
                if spaced(short) in spaced(long) and _differ(rule, other):
                    text = f"its phrase {short!r} lies inside {long!r} of {rule.name!r}"
                    raise ClassifierError(other.name, text)
        earlier += mine


def phrases_of(rule: Classifier) -> tuple[str, ...]:
    """Return the literals that *rule* looks for in messages."""
    if rule.stage != "phrase" or callable(rule.match):
        return ()
    return tuple(item for item in rule.match if isinstance(item, str))


def test_of(rule: Classifier) -> Test:
    """Return the function that tells whether *rule* recognises a failure."""
    if callable(rule.match):
        return rule.match
    return _TESTS[rule.stage](rule.match)


def _differ(one: Classifier, other: Classifier) -> bool:
    apart = one.seams and other.seams and not set(one.seams) & set(other.seams)
    return not apart and _meaning(one) != _meaning(other)


def _meaning(rule: Classifier) -> object:
    row = error_info(rule.code) if isinstance(rule.code, str) else None
    return rule.code if row is None else row.key


def _require_item(rule: Classifier, item: object) -> None:
    wanted = _KINDS[rule.stage]
    if not isinstance(item, wanted) or isinstance(item, bool):
        raise ClassifierError(rule.name, f"stage {rule.stage!r} cannot match {item!r}")
    if rule.stage != "phrase" or not isinstance(item, str):
        return
    if not any(map(str.isalpha, item)):
        raise ClassifierError(rule.name, f"the phrase {item!r} is a bare number")
    if item != item.lower():
        raise ClassifierError(rule.name, f"the phrase {item!r} is not in lower case")


def _names(items: Collection[Any]) -> Test:
    names = frozenset(plain(item) for item in items)
    return lambda evidence: any(plain(name) in names for name in evidence.report.names)


def _types(items: Collection[Any]) -> Test:
    classes = tuple(item for item in items if isinstance(item, type))
    rest = frozenset(item for item in items if not isinstance(item, type))

    if not classes:
        return lambda evidence: not rest.isdisjoint(evidence.marks)
    return lambda evidence: (
        issubclass(type(evidence.error), classes) or not rest.isdisjoint(evidence.marks)
    )


def _statuses(items: Collection[Any]) -> Test:
    return lambda evidence: evidence.status in items


def _phrases(items: Collection[Any]) -> Test:
    groups = _by_stem({spaced(item) for item in items})

    def test(evidence: Evidence) -> bool:
        words = evidence.words
        for stem, phrases in groups:
            if stem in words and any(phrase in words for phrase in phrases):
                return True
        return False

    return test


def _by_stem(phrases: set[str]) -> list[tuple[str, tuple[str, ...]]]:
    # Why: looking for the few words that phrases share costs a fraction of looking for them all.
    groups: list[tuple[str, tuple[str, ...]]] = []
    while phrases:
        shares = Counter(word for phrase in sorted(phrases) for word in set(phrase.split()))
        stem = max(sorted(shares), key=lambda word: (shares[word], len(word)))
        sharing = {phrase for phrase in phrases if stem in phrase}
        groups.append((stem, tuple(sorted(sharing))))
        phrases = phrases - sharing
    return groups


_KINDS: Final[dict[Stage, tuple[type, ...]]] = {
    "code": (str,),
    "type": (str, int, type),
    "status": (int,),
    "phrase": (str,),
}
_TESTS: Final[dict[Stage, Callable[[Collection[Any]], Test]]] = {
    "code": _names,
    "type": _types,
    "status": _statuses,
    "phrase": _phrases,
}
