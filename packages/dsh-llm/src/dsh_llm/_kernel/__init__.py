"""The plugin kernel: four ways to be told, scopes that undo what they own, services by type."""

from dsh_llm._kernel._context import Context, Plugin
from dsh_llm._kernel._events import Check, Disposer, Gather, Next, Signal, Waterfall
from dsh_llm._kernel._reports import report

__all__ = [
    "Check",
    "Context",
    "Disposer",
    "Gather",
    "Next",
    "Plugin",
    "Signal",
    "Waterfall",
    "report",
]
