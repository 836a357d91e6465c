"""Classifiers: foreign failures become coded errors, by rules that plugins can add."""

from dsh_llm._classify._body import excerpt, parse_body
from dsh_llm._classify._evidence import Evidence, Seam, request_id_of
from dsh_llm._classify._front import (
    classify_error,
    classify_response,
    contribute_error_classifiers,
    try_classify,
)
from dsh_llm._classify._rule import Classifier, ClassifierError, Stage

__all__ = [
    "Classifier",
    "ClassifierError",
    "Evidence",
    "Seam",
    "Stage",
    "classify_error",
    "classify_response",
    "contribute_error_classifiers",
    "excerpt",
    "parse_body",
    "request_id_of",
    "try_classify",
]
