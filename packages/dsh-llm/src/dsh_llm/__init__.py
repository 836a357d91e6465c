"""dsh-llm: the leaf of dsh. Errors, the vocabulary, the plugin kernel, and the model seam.

It depends on no other package and does not import asyncio. Models are reached through adapters
(`dsh_llm.adapters`), tests and demos use `dsh_llm.testing`.
"""

from typing import TYPE_CHECKING, Any, Final

from dsh_llm._abort import AbortController, AbortSignal, Interruptible, aborted_error
from dsh_llm._assembler import BlockAssembler, UnreachableError, unreachable
from dsh_llm._boundary import LlmAdapter
from dsh_llm._catalogue import (
    Disposition,
    ErrorCode,
    ErrorInfo,
    error_info,
    get_error_info,
    get_error_info_by_code,
)
from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    GenerateResult,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from dsh_llm._codec import (
    block_from_json,
    block_to_json,
    blocks_from_json,
    blocks_to_json,
    chunk_to_json,
    finish_to_json,
    source_to_json,
    usage_from_json,
    usage_to_json,
)
from dsh_llm._codes import CodeEntry, code_entry, code_table
from dsh_llm._crossing import traceback_text
from dsh_llm._domain_errors import (
    CallerTypeError,
    DuplicateContributionIdError,
    NotWiredError,
    ReservedNamespaceError,
    UnnamespacedIdError,
)
from dsh_llm._errors import (
    HarnessCodedError,
    HarnessError,
    LlmError,
    SystemCallError,
    is_harness_coded_error,
    is_harness_error,
    is_violation,
)
from dsh_llm._groups import GroupError, error_from_group, error_leaves
from dsh_llm._harness_error import RemoteError
from dsh_llm._json import FrozenDict, JsonValue, JsonValueError, freeze_json, thaw_json
from dsh_llm._kernel import (
    Check,
    Context,
    Disposer,
    Gather,
    Next,
    Plugin,
    Signal,
    Waterfall,
)
from dsh_llm._llm import ADAPTER_CHANGE, LLM_GENERATE, LLM_STREAM, Llm
from dsh_llm._messages import (
    Block,
    ImageBlock,
    Message,
    MessageSource,
    ModelRequest,
    ReasoningBlock,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
    ToolResultBlock,
    ToolSchema,
    UnknownBlock,
    text_blocks,
)
from dsh_llm._observers import (
    AGENT_STATUS,
    CLOSING_TYPES,
    SESSION_APPEND,
    SESSION_CLOSED,
    SESSION_CREATED,
    SESSION_EVENT,
    SESSION_FLUSH,
    LogEvent,
    LogSession,
    ObservedAgent,
    Rule,
    RuleState,
)
from dsh_llm._retry_after import parse_retry_after
from dsh_llm._scrub import scrub
from dsh_llm._secrets import register_secret
from dsh_llm._text import mend_surrogates, text_of
from dsh_llm._verdicts import Attempt, Effect

if TYPE_CHECKING:
    from dsh_llm._advice import Advice, advise
    from dsh_llm._chain import error_chain, error_data, error_link
    from dsh_llm._classify import (
        Classifier,
        ClassifierError,
        Evidence,
        Seam,
        classify_error,
        contribute_error_classifiers,
        try_classify,
    )
    from dsh_llm._host_codes import codes_in_range, error_range, register_codes
    from dsh_llm._projections import to_jsonrpc, to_mcp_result, to_otel, to_problem
    from dsh_llm._propagator import ErrorPropagator, ErrorRecord, error_record

# Why: what only a failing, a tracing or a hosting process needs is imported when it is asked for.
_LATER: Final = {
    "Advice": "_advice",
    "Classifier": "_classify",
    "ClassifierError": "_classify",
    "ErrorPropagator": "_propagator",
    "ErrorRecord": "_propagator",
    "Evidence": "_classify",
    "Seam": "_classify",
    "advise": "_advice",
    "classify_error": "_classify",
    "codes_in_range": "_host_codes",
    "contribute_error_classifiers": "_classify",
    "error_chain": "_chain",
    "error_data": "_chain",
    "error_link": "_chain",
    "error_range": "_host_codes",
    "error_record": "_propagator",
    "register_codes": "_host_codes",
    "to_jsonrpc": "_projections",
    "to_mcp_result": "_projections",
    "to_otel": "_projections",
    "to_problem": "_projections",
    "try_classify": "_classify",
}


def __getattr__(name: str) -> Any:
    """Import what is in `_LATER` at its first use."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "ADAPTER_CHANGE",
    "AGENT_STATUS",
    "CLOSING_TYPES",
    "LLM_GENERATE",
    "LLM_STREAM",
    "SESSION_APPEND",
    "SESSION_CLOSED",
    "SESSION_CREATED",
    "SESSION_EVENT",
    "SESSION_FLUSH",
    "AbortController",
    "AbortSignal",
    "Advice",
    "Attempt",
    "Block",
    "BlockAssembler",
    "BlockEnd",
    "BlockStart",
    "CallerTypeError",
    "Check",
    "Classifier",
    "ClassifierError",
    "CodeEntry",
    "Context",
    "Disposer",
    "Disposition",
    "DuplicateContributionIdError",
    "Effect",
    "ErrorCode",
    "ErrorInfo",
    "ErrorPropagator",
    "ErrorRecord",
    "Evidence",
    "FinishChunk",
    "FinishReason",
    "FrozenDict",
    "Gather",
    "GenerateResult",
    "GroupError",
    "HarnessCodedError",
    "HarnessError",
    "ImageBlock",
    "Interruptible",
    "JsonValue",
    "JsonValueError",
    "Llm",
    "LlmAdapter",
    "LlmError",
    "LogEvent",
    "LogSession",
    "Message",
    "MessageSource",
    "ModelRequest",
    "Next",
    "NotWiredError",
    "ObservedAgent",
    "Plugin",
    "ReasoningBlock",
    "ReasoningDelta",
    "RemoteError",
    "ReservedNamespaceError",
    "Rule",
    "RuleState",
    "Seam",
    "Signal",
    "StreamChunk",
    "SystemCallError",
    "TextBlock",
    "TextDelta",
    "TokenUsage",
    "ToolCallBlock",
    "ToolCallDelta",
    "ToolResultBlock",
    "ToolSchema",
    "UnknownBlock",
    "UnnamespacedIdError",
    "UnreachableError",
    "UsageChunk",
    "Waterfall",
    "aborted_error",
    "advise",
    "block_from_json",
    "block_to_json",
    "blocks_from_json",
    "blocks_to_json",
    "chunk_to_json",
    "classify_error",
    "code_entry",
    "code_table",
    "codes_in_range",
    "contribute_error_classifiers",
    "error_chain",
    "error_data",
    "error_from_group",
    "error_info",
    "error_leaves",
    "error_link",
    "error_range",
    "error_record",
    "finish_to_json",
    "freeze_json",
    "get_error_info",
    "get_error_info_by_code",
    "is_harness_coded_error",
    "is_harness_error",
    "is_violation",
    "mend_surrogates",
    "parse_retry_after",
    "register_codes",
    "register_secret",
    "scrub",
    "source_to_json",
    "text_blocks",
    "text_of",
    "thaw_json",
    "to_jsonrpc",
    "to_mcp_result",
    "to_otel",
    "to_problem",
    "traceback_text",
    "try_classify",
    "unreachable",
    "usage_from_json",
    "usage_to_json",
]
