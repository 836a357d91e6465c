"""What an agent's turns work with."""

from typing import NamedTuple

from dsh_llm import Context, Llm
from dsh_tools import ToolRegistry

from dsh_agent._inbox import Inbox
from dsh_agent._session import Session
from dsh_agent._types import AgentHandle


class Parts(NamedTuple):
    """One agent's own and shared parts."""

    agent: AgentHandle
    ctx: Context
    session: Session
    llm: Llm
    tools: ToolRegistry
    inbox: Inbox
    model: str
    system: str
    max_steps: int
