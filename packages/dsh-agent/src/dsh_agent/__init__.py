"""dsh-agent: the session log, its stores, the loop, and the handle on an agent.

The log is the only truth: history is derived from it, and every failure is in it with a code.
"""

from dsh_agent._agent import Agent
from dsh_agent._events import EventDataError, SessionEvent, row_schema
from dsh_agent._harness import Harness
from dsh_agent._history import derive_messages
from dsh_agent._jsonl import JsonlFile, JsonlStore, read_jsonl
from dsh_agent._session import Clock, Session
from dsh_agent._store import LogWriter, MemoryStore, OpenedLog, SessionStore, StorageError
from dsh_agent._to_error import to_error
from dsh_agent._types import (
    AGENT_CONTINUE,
    AGENT_REQUEST,
    AGENT_STEP_RESULT,
    AgentHandle,
    RunResult,
)

__all__ = [
    "AGENT_CONTINUE",
    "AGENT_REQUEST",
    "AGENT_STEP_RESULT",
    "Agent",
    "AgentHandle",
    "Clock",
    "EventDataError",
    "Harness",
    "JsonlFile",
    "JsonlStore",
    "LogWriter",
    "MemoryStore",
    "OpenedLog",
    "RunResult",
    "Session",
    "SessionEvent",
    "SessionStore",
    "StorageError",
    "derive_messages",
    "read_jsonl",
    "row_schema",
    "to_error",
]
