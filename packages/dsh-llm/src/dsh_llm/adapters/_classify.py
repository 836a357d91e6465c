"""Which of our codes a provider's failure is: exact names first, then the status, then words."""

import re
from typing import Final

from dsh_llm.adapters._error_body import ErrorReport

_MAX_WORDS: Final = 4096

_EXACT_NAMES: Final = {
    "QUOTA": (
        "insufficient_quota insufficient_balance insufficient_credits insufficient_funds "
        "billing_hard_limit_reached billing_not_active credit_balance_too_low billing_error"
    ),
    "CONTEXT_WINDOW_EXCEEDED": (
        "context_length_exceeded context_window_exceeded exceed_context_size_error "
        "too_many_prompt_tokens tokens_limit_reached model_max_prompt_tokens_exceeded "
        "prompt_too_long max_context_length_exceeded"
    ),
    "MODEL_NOT_FOUND": (
        "model_not_found model_not_exist model_not_available unknown_model invalid_model "
        "deployment_not_found"
    ),
    "RATE_LIMIT": "rate_limit_exceeded rate_limit_error rate_limited too_many_requests",
    "AUTH": "invalid_api_key invalid_authentication incorrect_api_key",
    "CONTENT_FILTER": (
        "content_filter content_policy_violation responsible_ai_policy_violation "
        "data_inspection_failed"
    ),
}
"""Names that decide whatever the status is."""

_GENERIC_NAMES: Final = {
    "INVALID_REQUEST": "invalid_request_error bad_request invalid_request unprocessable_entity",
    "AUTH": "authentication_error permission_error unauthorized forbidden",
    "MODEL_NOT_FOUND": "not_found_error",
    "TIMEOUT": "timeout timeout_error request_timeout gateway_timeout",
    "SERVER": (
        "server_error internal_error internal_server_error api_error overloaded_error overloaded "
        "service_unavailable service_unavailable_error engine_overloaded engine_overloaded_error "
        "bad_gateway"
    ),
}
"""Names that providers use beside many statuses: they decide when there is no status."""

_QUOTA_WORDS: Final = re.compile(
    r"insufficient[ _-](quota|balance|credits?|funds)|exceeded your current quota|out of credits?"
    r"|credit balance|(spend|spending|billing|monthly|usage) (limit|cap|quota)"
)
_CONTEXT_WORDS: Final = re.compile(
    r"context[ _-](length|window|size|limit)|(prompt|input|request|messages?) (is |are )?too "
    r"(long|large)|maximum (prompt|input) length|(input|prompt) tokens? exceed|too many (input |"
    r"prompt )?tokens|exceeds? the (maximum|max|limit of)[a-z ]* tokens|reduce the length"
)
_FILTER_WORDS: Final = re.compile(
    r"content (management |safety |usage )?polic|content[ _]filter|safety system"
)
_RATE_WORDS: Final = re.compile(r"rate[ _-]?limit|too many requests|try again (in|later)")
_MODEL_WORDS: Final = re.compile(r"\bmodels?\b|\bdeployment\b")

# Invariant: a status allows only these refinements by words; at 429 there is none, since providers
# say "quota" of limits that pass.
_REFINEMENTS: Final = {
    400: ("QUOTA", "CONTEXT_WINDOW_EXCEEDED", "CONTENT_FILTER"),
    401: ("QUOTA",),
    402: ("RATE_LIMIT",),
    403: ("QUOTA",),
    422: ("QUOTA", "CONTEXT_WINDOW_EXCEEDED", "CONTENT_FILTER"),
    None: ("QUOTA", "CONTEXT_WINDOW_EXCEEDED", "RATE_LIMIT", "CONTENT_FILTER"),
}
_WORDS: Final = {
    "QUOTA": _QUOTA_WORDS,
    "CONTEXT_WINDOW_EXCEEDED": _CONTEXT_WORDS,
    "CONTENT_FILTER": _FILTER_WORDS,
    "RATE_LIMIT": _RATE_WORDS,
}
_BY_STATUS: Final = {
    None: "UNKNOWN",
    400: "INVALID_REQUEST",
    401: "AUTH",
    402: "QUOTA",
    403: "AUTH",
    408: "TIMEOUT",
    413: "CONTEXT_WINDOW_EXCEEDED",
    422: "INVALID_REQUEST",
    429: "RATE_LIMIT",
    504: "TIMEOUT",
}
_SERVER_STATUSES: Final = range(500, 600)


def classify(report: ErrorReport, status: int | None = None) -> str:
    """Return the code of a failed call.

    *status* is that of the response; without one, as in the middle of a stream, the report's own
    counts. What nobody recognises is `UNKNOWN`, or `HTTP_<n>` when there is a status.
    """
    status = status or report.status
    exact = _named(_EXACT, report)
    # Why: 413 stays what it is, a token rate that one request alone exceeds never comes true.
    if exact is not None and (status != 413 or exact == "QUOTA"):  # noqa: PLR2004  # Why: HTTP's own number
        return exact
    if status is None and (generic := _named(_GENERIC, report)) is not None:
        return generic
    return _refined(status, report)


def _refined(status: int | None, report: ErrorReport) -> str:
    words = report.message[:_MAX_WORDS].lower()
    for code in _REFINEMENTS.get(status, ()):
        if _WORDS[code].search(words):
            return code
    if status == 404:  # noqa: PLR2004  # Why: HTTP's own number
        about_model = report.param == "model" or _MODEL_WORDS.search(words)
        return "MODEL_NOT_FOUND" if about_model else "HTTP_404"
    if status in _SERVER_STATUSES and status not in _BY_STATUS:
        return "SERVER"
    return _BY_STATUS.get(status, f"HTTP_{status}")


def _named(table: dict[str, str], report: ErrorReport) -> str | None:
    return table.get(_plain(report.code)) or table.get(_plain(report.type))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _table(names: dict[str, str]) -> dict[str, str]:
    return {_plain(name): code for code, listed in names.items() for name in listed.split()}


_EXACT: Final = _table(_EXACT_NAMES)
_GENERIC: Final = _table(_GENERIC_NAMES)
