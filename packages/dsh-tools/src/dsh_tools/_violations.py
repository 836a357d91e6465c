"""What is wrong with a call's arguments: where, and in the words that the model is told."""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from dsh_llm import mend_surrogates

from dsh_tools._text import listed, shorten

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the top of the arguments; empty for the arguments as a whole."""

MAX_PATH: Final = 200
_ONE_OF: Final = "must be one of ["


class Violation(NamedTuple):
    """One fault. Without `words` a required property is missing.

    `mismatch` says that the value is of another kind altogether, so that nothing else about it
    was looked at.
    """

    path: Path
    words: str = ""
    mismatch: bool = False

    @property
    def text(self) -> str:
        """The sentence that the model is told."""
        where = f'"{shown(self.path)}"'
        return f"{where} {self.words}" if self.words else f"missing required property {where}"


def shown(path: Path) -> str:
    """Return *path* as `a.b[0]`, bounded; `arguments` for the whole."""
    if not path:
        return "arguments"
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return mend_surrogates(shorten("".join(parts).removeprefix("."), MAX_PATH))


def alternatives(path: Path, failures: Sequence[Sequence[Violation]]) -> list[Violation]:
    """Return the faults of a value that fits none of several alternatives.

    An alternative whose kind fits is what was meant: the one with the fewest faults is reported,
    values of a wrong kind counting most. When the kind of none fits, all of them are named.
    """
    meant = [each for each in failures if not _mismatches(path, each)]
    if meant:
        return list(min(meant, key=_distance))
    return [Violation(path, _joined([each[0].words for each in failures]), mismatch=True)]


def _distance(failure: Sequence[Violation]) -> tuple[int, int]:
    return sum(each.mismatch for each in failure), len(failure)


def _mismatches(path: Path, failure: Sequence[Violation]) -> bool:
    return len(failure) == 1 and failure[0].mismatch and failure[0].path == path


def _joined(words: list[str]) -> str:
    distinct = list(dict.fromkeys(words))
    choices = [each for each in distinct if each.startswith(_ONE_OF)]
    others = [each for each in distinct if each not in choices]
    inner = ",".join(each.removeprefix(_ONE_OF).removesuffix("]") for each in choices)
    merged = [f"{_ONE_OF}{inner}]"] if choices else []
    return f"must be {listed([each.removeprefix('must be ') for each in merged + others], 'or')}"
