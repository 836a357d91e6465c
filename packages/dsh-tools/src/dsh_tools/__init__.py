"""dsh-tools: tools for language models.

`define_tool` makes a tool from a typed function, `ToolRegistry` runs calls through one pipeline in
which arguments are checked before the body and every failure has a code. Ready-made tools are in
`dsh_tools.builtin`. pydantic is imported when the first typed tool is defined.
"""

from dsh_tools._calls import (
    TOOLS_CHANGE,
    TOOLS_EXECUTE,
    RawArguments,
    ToolCall,
    ToolContext,
    ToolErrorInfo,
    ToolExecutionResult,
)
from dsh_tools._define import define_tool
from dsh_tools._errors import ToolArgsError, ToolDefinitionError, ToolNotFoundError
from dsh_tools._registry import ToolRegistry
from dsh_tools._tool import Tool

__all__ = [
    "TOOLS_CHANGE",
    "TOOLS_EXECUTE",
    "RawArguments",
    "Tool",
    "ToolArgsError",
    "ToolCall",
    "ToolContext",
    "ToolDefinitionError",
    "ToolErrorInfo",
    "ToolExecutionResult",
    "ToolNotFoundError",
    "ToolRegistry",
    "define_tool",
]
