"""The classifiers that are always there."""

from typing import Final

from dsh_llm._classify._data import DATA_RULES
from dsh_llm._classify._phrases import PHRASE_RULES
from dsh_llm._classify._providers import PROVIDER_RULES
from dsh_llm._classify._rule import Classifier
from dsh_llm._classify._seams import STATUS_RULES
from dsh_llm._classify._types import TYPE_RULES

BUILT_IN: Final[tuple[Classifier, ...]] = (
    *PROVIDER_RULES,
    *TYPE_RULES,
    *DATA_RULES,
    *STATUS_RULES,
    *PHRASE_RULES,
)
