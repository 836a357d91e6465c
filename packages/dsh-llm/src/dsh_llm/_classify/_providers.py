"""What a provider's exact names and statuses mean."""

from collections.abc import Mapping
from typing import Final

from dsh_llm._classify._evidence import Evidence
from dsh_llm._classify._rule import Classifier, plain

_EXACT_NAMES: Final = {
    "QUOTA": (
        "insufficient_quota insufficient_balance insufficient_credits insufficient_funds "
        "insufficient_user_quota billing_hard_limit_reached billing_not_active billing_error "
        "credit_balance_too_low exceeded_current_quota_error usage_limit_reached "
        "service_quota_exceeded_exception"
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
    "RATE_LIMIT": (
        "rate_limit_exceeded rate_limit_error rate_limited rate_limit_reached too_many_requests "
        "throttling_exception too_many_requests_exception"
    ),
    "AUTH": (
        "invalid_api_key invalid_authentication incorrect_api_key api_key_invalid "
        "access_denied_exception unrecognized_client_exception account_deactivated"
    ),
    "CONTENT_FILTER": (
        "content_filter content_policy_violation responsible_ai_policy_violation "
        "data_inspection_failed"
    ),
}
"""Names that decide whatever the status is."""

_GENERIC_NAMES: Final = {
    "INVALID_REQUEST": (
        "invalid_request_error bad_request invalid_request unprocessable_entity invalid_argument "
        "validation_exception"
    ),
    "AUTH": (
        "authentication_error permission_error unauthorized forbidden unauthenticated "
        "permission_denied"
    ),
    "MODEL_NOT_FOUND": "not_found_error resource_not_found_exception",
    "RATE_LIMIT": "resource_exhausted",
    "TIMEOUT": (
        "timeout timeout_error request_timeout gateway_timeout deadline_exceeded "
        "model_timeout_exception"
    ),
    "SERVER": (
        "server_error internal_error internal_server_error api_error overloaded_error overloaded "
        "service_unavailable service_unavailable_error engine_overloaded engine_overloaded_error "
        "bad_gateway unavailable service_unavailable_exception internal_server_exception"
    ),
}
"""Names that providers use beside many statuses: they decide when there is no status."""

_BY_STATUS: Final = {
    400: "INVALID_REQUEST",
    401: "AUTH",
    402: "QUOTA",
    403: "AUTH",
    404: "MODEL_NOT_FOUND",
    408: "TIMEOUT",
    413: "CONTEXT_WINDOW_EXCEEDED",
    422: "INVALID_REQUEST",
    429: "RATE_LIMIT",
    504: "TIMEOUT",
}
_TENTATIVE: Final = (400, 401, 402, 403, 422, 429)
_SERVER_STATUSES: Final = range(500, 600)
_TOO_LARGE: Final = 413
_NOT_FOUND: Final = 404
_NO_ROUTE: Final = frozenset(
    {"not found", "resource not found", "404 not found", "404 page not found", "no route found"}
)
"""What servers say of a path that they do not have: it is the address that is wrong."""


def _table(names: Mapping[str, str]) -> dict[str, str]:
    return {plain(name): code for code, listed in names.items() for name in listed.split()}


_EXACT: Final = _table(_EXACT_NAMES)
_GENERIC: Final = _table(_GENERIC_NAMES)


def _named(table: Mapping[str, str], evidence: Evidence) -> str | None:
    found = (table.get(plain(name)) for name in evidence.report.names)
    return next((code for code in found if code is not None), None)


def _exact(evidence: Evidence) -> str | None:
    code = _named(_EXACT, evidence)
    # Why: 413 stays what it is, a token rate that one request alone exceeds never comes true.
    return code if evidence.status != _TOO_LARGE or code == "QUOTA" else None


def _by_name(evidence: Evidence) -> str | None:
    code = _exact(evidence)
    if code is None and evidence.status is None:
        return _named(_GENERIC, evidence)
    return code


def _has_names(evidence: Evidence) -> bool:
    return bool(evidence.report.names)


def _by_status(evidence: Evidence) -> str | None:
    status = evidence.status
    if status == _NOT_FOUND and evidence.report.message.lower().rstrip(".") in _NO_ROUTE:
        return "HTTP_404"
    if status in _SERVER_STATUSES and status not in _BY_STATUS:
        return "SERVER"
    return None if status is None else _BY_STATUS.get(status, f"HTTP_{status}")


def _always(_: Evidence) -> bool:
    return True


PROVIDER_RULES: Final = (
    Classifier("provider.name", ("provider",), "code", _has_names, _by_name),
    Classifier("provider.status", ("provider",), "status", _TENTATIVE, _by_status, tentative=True),
    Classifier("provider.status", ("provider",), "status", _always, _by_status),
)
