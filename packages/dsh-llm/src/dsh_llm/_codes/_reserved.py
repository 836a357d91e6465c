"""The codes that are kept for what does not exist yet, or is a host's to raise, and why."""
# ruff: noqa: E501  # Why: a table reads by the row

from typing import Final

from dsh_llm._codes._entry import CodeEntry

# fmt: off
RESERVED: Final = (
    CodeEntry("ASK_<NAME>", (), "A question to a person failed.", "questions come later"),
    CodeEntry("CHECKPOINT_CORRUPT", (), "The checkpoint cannot be read.", "checkpoints come later"),
    CodeEntry("CHECKPOINT_NOT_FOUND", (), "There is no checkpoint of this id.", "checkpoints come later"),
    CodeEntry("CHECKPOINT_RESTORE_FAILED", (), "The checkpoint could not be restored.", "checkpoints come later"),
    CodeEntry("CODE_RUN_FAILED", (), "A script that calls tools failed.", "running code comes later"),
    CodeEntry("COMPACTION_<NAME>", (), "Making the context smaller failed.", "compaction comes later"),
    CodeEntry("COST_BUDGET_EXCEEDED", (), "The turn would cost more than it may.", "the budget plugin comes later"),
    CodeEntry("FS_AMBIGUOUS_EDIT", (), "The text to replace occurs more than once.", "editing files comes later"),
    CodeEntry("FS_EDIT_NOT_FOUND", (), "The text to replace does not occur.", "editing files comes later"),
    CodeEntry("FS_NOT_OBSERVED", (), "A file is to be edited that was not read.", "editing files comes later"),
    CodeEntry("FS_STALE_VERSION", (), "The file has changed since it was read.", "editing files comes later"),
    CodeEntry("GATEWAY_<NAME>", (), "Routing over several keys failed.", "a gateway over several keys comes later, with its three errors"),
    CodeEntry("GOAL_<NAME>", (), "A goal cannot be set or changed so.", "goals come later"),
    CodeEntry("INTERRUPT_CANCELLED", (), "The question was withdrawn before an answer.", "approval comes later"),
    CodeEntry("INTERRUPT_REJECTED", (), "A person said no to a tool call.", "approval comes later"),
    CodeEntry("INTERRUPT_TIMEOUT", (), "Nobody answered the question in time.", "approval comes later"),
    CodeEntry("INVALID_ADAPTER", (), "What was registered as a model is none.", "adapters are typed; a later check at registration"),
    CodeEntry("INVALID_CATALOG", (), "A list of models is malformed.", "lists of models come later"),
    CodeEntry("INVALID_MODEL_<NAME>", (), "A model's declared limits cannot be.", "lists of models come later"),
    CodeEntry("JOB_CANCELLED", (), "The job was stopped before its end.", "jobs come later"),
    CodeEntry("JOB_EXECUTION_FAILED", (), "The job itself failed.", "jobs come later"),
    CodeEntry("LSP_<NAME>", (), "A language server failed.", "language servers come later"),
    CodeEntry("MODULE_LOADER_UNREGISTERED", (), "The host registered no module loader.", "Python needs none; HarnessModuleLoaderUnregisteredError of a bundled host"),
    CodeEntry("NETWORK_ERROR", (), "Another spelling of RUNTIME_NETWORK_ERROR.", "accepted on lookup"),
    CodeEntry("PROVIDER_CASCADE_EXHAUSTED", (), "Every model of a family was tried, and failed.", "the cascade over a family's models comes later"),
    CodeEntry("REPLAY_CACHE_MISS", (), "A replay needs an answer that was not recorded.", "replay comes later, with ReplayCacheMissError"),
    CodeEntry("REPLAY_DIVERGENCE", (), "A replay did something else than the log.", "replay comes later, with ReplayDivergenceError"),
    CodeEntry("REPLAY_UNKNOWN_EVENT", (), "A replay met a row that it cannot follow.", "replay comes later, with ReplayUnknownEventError"),
    CodeEntry("SANDBOX_UNAVAILABLE", (), "There is no sandbox, and none may be done without.", "sandboxes come later"),
    CodeEntry("SEARCH_<NAME>", (), "A search through files failed.", "searching comes later"),
    CodeEntry("SERVICE_UNAVAILABLE", (), "Another spelling of RUNTIME_SERVICE_UNAVAILABLE.", "accepted on lookup"),
    CodeEntry("SESSION_QUERY_<NAME>", (), "A search through sessions failed.", "searching sessions comes later"),
    CodeEntry("STREAM_ERROR", (), "Another spelling of PROVIDER_STREAM_ERROR.", "accepted on lookup"),
    CodeEntry("SUBAGENT_<NAME>", (), "A child agent failed.", "child agents come later"),
    CodeEntry("TEAM_<NAME>", (), "Agents that work together failed.", "teams come later"),
    CodeEntry("TENANT_ID_EMPTY", (), "A runtime per tenant was built without a tenant.", "there are no tenants; a host's TenantIdEmptyError"),
    CodeEntry("TOOL_DENIED", (), "A policy refused the call.", "tool policies come later"),
    CodeEntry("TOOL_NOT_STARTED", (), "The process ended before the call began.", "repairing a crashed session comes later"),
    CodeEntry("TOOL_OUTCOME_UNKNOWN", (), "The process ended while the call ran.", "repairing a crashed session comes later"),
    CodeEntry("UNSUPPORTED_CONTENT", (), "The model cannot take this kind of content.", "images come later"),
    CodeEntry("UNSUPPORTED_REASONING_EFFORT", (), "The model does not offer the effort asked for.", "reasoning effort comes later"),
    CodeEntry("UNSUPPORTED_SCHEMA", (), "A schema has a keyword that cannot be checked.", "INVALID_TOOL says it today"),
    CodeEntry("WEB_<NAME>", (), "Fetching a page failed.", "web tools come later"),
    CodeEntry("WORKFLOW_<NAME>", (), "A scripted run of agents failed.", "workflows come later"),
)
# fmt: on
