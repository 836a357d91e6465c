"""The catalogue's own rows: what a number means, what to do, and who may retry."""
# ruff: noqa: E501  # Why: a table reads by the row

from typing import Final

from dsh_llm._catalogue._info import ErrorInfo

# fmt: off
ROWS: Final = (
    ErrorInfo(1001, "TOOL_NOT_FOUND", "Tool not found", "See which tools are registered now; one may have been switched off.", "stop", "refresh_tools", "call", 404, ("UNKNOWN_TOOL",)),
    ErrorInfo(1002, "TOOL_VALIDATION_FAILED", "Tool validation failed", "Correct the arguments to fit the tool's schema; the model can do it.", "after", "fix_input", "call", 422, ("INVALID_ARGS",)),
    ErrorInfo(1003, "TOOL_EXECUTION_FAILED", "Tool execution failed", "Read the cause; repeat once if the action cannot have happened.", "once", "inspect_cause", "call", 500, ("INVALID_TOOL_OUTPUT",)),
    ErrorInfo(1004, "TOOL_TIMEOUT", "Tool timeout", "Raise the limit of a tool that is slow by nature, else report it.", "once", "raise_timeout", "call", 504),
    ErrorInfo(2001, "SESSION_NOT_FOUND", "Session not found", "Check the id; the session may be gone.", "stop", "reload", "session", 404),
    ErrorInfo(2002, "SESSION_CONFLICT", "Session conflict", "Load the newest state, then try again: another writer was first.", "after", "reload", "session", 409),
    ErrorInfo(2003, "SESSION_EXPIRED", "Session expired", "Start a new session and carry over what is still needed.", "stop", "recreate", "session", 410),
    ErrorInfo(2004, "SESSION_LOCKED", "Session locked", "Wait for the holder of the lock, or say that it is open elsewhere.", "after", "wait_or_ask", "session", 423),
    ErrorInfo(2006, "SESSION_SCHEMA_MISMATCH", "Session schema mismatch", "Apply the package's migrations to the database.", "stop", "migrate", "session", 500),
    ErrorInfo(3001, "SYNC_NETWORK_ERROR", "Sync network error", "Nothing to do: the changes wait in the local queue.", "retry", "backoff", "session", 503),
    ErrorInfo(3002, "SYNC_CONFLICT_UNRESOLVED", "Sync conflict unresolved", "Let a person choose; the merger could not.", "stop", "ask_user", "session", 409),
    ErrorInfo(3003, "SYNC_VERSION_MISMATCH", "Sync version mismatch", "Pull the newest version, then try again.", "after", "pull", "session", 412),
    ErrorInfo(4001, "STORAGE_WRITE_FAILED", "Storage write failed", "Retry with backoff; tell the user when that does not help.", "retry", "backoff", "session", 503),
    ErrorInfo(4002, "STORAGE_READ_FAILED", "Storage read failed", "Retry once, then go on from the last known state.", "once", "use_last_known", "session", 503),
    ErrorInfo(4003, "STORAGE_QUOTA_EXCEEDED", "Storage quota exceeded", "Make room: delete old sessions or checkpoints.", "after", "free_space", "session", 507),
    ErrorInfo(5001, "PROVIDER_NOT_CONFIGURED", "Provider not configured", "Register the model, or set the provider's credentials.", "stop", "configure", "turn", 503, ("NO_ADAPTER", "MISSING_CREDENTIAL", "NO_MODEL", "MISSING_EXTRA")),
    ErrorInfo(5002, "PROVIDER_AUTH_FAILED", "Provider auth failed", "Replace the key: it is wrong, expired or revoked.", "stop", "fix_credentials", "account", 502, ("AUTH", "INVALID_CREDENTIAL")),
    ErrorInfo(5003, "PROVIDER_RATE_LIMITED", "Provider rate limited", "Try the family's other models, or wait as long as the provider asks.", "retry", "cascade", "step", 429, ("RATE_LIMIT",)),
    ErrorInfo(5004, "PROVIDER_MODEL_NOT_FOUND", "Model not found", "Check the model's name; it may have been retired.", "stop", "choose_model", "session", 404, ("MODEL_NOT_FOUND", "UNKNOWN_MODEL")),
    ErrorInfo(5005, "PROVIDER_CONTEXT_WINDOW_EXCEEDED", "Context window exceeded", "Make the context smaller, then retry once.", "after", "compact", "turn", 413, ("CONTEXT_WINDOW_EXCEEDED",)),
    ErrorInfo(5006, "PROVIDER_STREAM_ERROR", "Stream error", "Send the request again: the answer broke off or made no sense.", "retry", "backoff", "step", 502, ("STREAM_CLOSED", "MALFORMED_RESPONSE", "EMPTY_RESPONSE", "STREAM_ERROR")),
    ErrorInfo(5007, "PROVIDER_TIMEOUT", "Provider timeout", "Retry, with less context if it happens again.", "retry", "shrink_context", "step", 504, ("TIMEOUT",)),
    ErrorInfo(5008, "PROVIDER_CASCADE_EXHAUSTED", "Provider cascade exhausted", "Choose another family, or wait: every model of this one failed.", "stop", "switch_family", "turn", 503),
    ErrorInfo(5009, "PROVIDER_QUOTA_EXHAUSTED", "Provider quota exhausted", "Check the account's balance; waiting does not help.", "stop", "check_billing", "account", 402, ("QUOTA",)),
    ErrorInfo(5010, "PROVIDER_REFUSED", "Provider refused", "Say it differently: the provider's filter stopped the answer.", "stop", "rephrase", "turn", 422, ("CONTENT_FILTER",)),
    ErrorInfo(6001, "CHECKPOINT_NOT_FOUND", "Checkpoint not found", "Read the list of checkpoints again.", "stop", "refresh_list", "call", 404),
    ErrorInfo(6002, "CHECKPOINT_CORRUPT", "Checkpoint corrupt", "Use an earlier checkpoint.", "stop", "use_earlier", "call", 500),
    ErrorInfo(6003, "CHECKPOINT_RESTORE_FAILED", "Checkpoint restore failed", "Try another checkpoint.", "stop", "use_other", "call", 500),
    ErrorInfo(7001, "VALIDATION_INVALID_INPUT", "Invalid input", "Repair the call: the caller passed something wrong.", "stop", "fix_caller", "call", 400, ("INVALID_REQUEST", "INVALID_BASE_URL", "INVALID_TOOL", "DUPLICATE_TOOL", "DUPLICATE_RULE", "DUPLICATE_ADAPTER", "DUPLICATE_SERVICE", "INVALID_LISTENER", "INVALID_PLUGIN", "UNKNOWN_PROFILE", "RESERVED_NAMESPACE", "UNNAMESPACED_ID", "DUPLICATE_CONTRIBUTION_ID")),
    ErrorInfo(7002, "VALIDATION_MISSING_REQUIRED", "Missing required field", "Repair the call: supply the field.", "stop", "fix_caller", "call", 400),
    ErrorInfo(7003, "VALIDATION_TYPE_MISMATCH", "Type mismatch in input", "Repair the call: make the value's type fit.", "stop", "fix_caller", "call", 400, ("NOT_JSON",)),
    ErrorInfo(8001, "INTERRUPT_TIMEOUT", "Interrupt approval timed out", "Ask again: nobody answered in time.", "outcome", "ask_again", "call", 408),
    ErrorInfo(8002, "INTERRUPT_REJECTED", "Tool call rejected by user", "Show the refusal and offer another way.", "outcome", "rephrase", "call", None),
    ErrorInfo(8003, "INTERRUPT_CANCELLED", "Interrupt cancelled", "Nothing to do: the question was withdrawn.", "outcome", "none", "call", None),
    ErrorInfo(9001, "JOB_NOT_FOUND", "Job not found", "Check the job's id; jobs expire.", "stop", "check_id", "call", 404),
    ErrorInfo(9002, "JOB_DISPATCH_FAILED", "Job dispatch failed", "Dispatch again with backoff: the backend is unwell.", "retry", "backoff", "call", 503),
    ErrorInfo(9003, "JOB_EXECUTION_FAILED", "Job execution failed", "Read the job's log and decide on another run.", "stop", "caller_decides", "call", 500),
    ErrorInfo(9004, "JOB_CANCELLED", "Job cancelled", "Submit it again if it is still wanted.", "outcome", "none", "call", None),
    ErrorInfo(10001, "CALLER_AUTH_REQUIRED", "Caller auth required", "Sign in, or send a credential.", "stop", "sign_in", "account", 401),
    ErrorInfo(10002, "CALLER_CREDENTIAL_INVALID", "Caller credential invalid", "Correct the key; the session itself is fine.", "stop", "fix_key", "account", 401),
    ErrorInfo(10003, "CALLER_FORBIDDEN", "Caller forbidden", "Ask for the scope or the role that is missing.", "stop", "request_scope", "call", 403),
    ErrorInfo(11001, "RUNTIME_NETWORK_ERROR", "Network error", "Retry: the connection failed in passing.", "retry", "backoff", "step", 502, ("TRANSPORT", "NETWORK_ERROR")),
    ErrorInfo(11002, "RUNTIME_SERVICE_UNAVAILABLE", "Service unavailable", "Retry after a short wait: the far side is down.", "retry", "backoff", "step", 503, ("SERVER", "SERVICE_UNAVAILABLE")),
    ErrorInfo(11003, "RUNTIME_COST_BUDGET_EXCEEDED", "Cost budget exceeded", "Raise the limit, or ask for less.", "stop", "raise_budget", "session", 402, ("COST_BUDGET_EXCEEDED",)),
    ErrorInfo(11004, "RUNTIME_ABORTED", "Aborted", "Nothing to do if it was meant; else start it again.", "outcome", "none", "turn", None, ("ABORTED", "ABORTED_BEFORE_DISPATCH")),
    ErrorInfo(11005, "RUNTIME_AGENT_LOOP_ERROR", "Agent loop error", "Look at the last steps; ask for something simpler.", "stop", "simplify", "turn", 500, ("AGENT_LOOP_ERROR",)),
)
# fmt: on
