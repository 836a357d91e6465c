"""What the parts of the loop hand to each other, and what plugins hear."""

import asyncio
from collections.abc import Awaitable
from typing import Final, NamedTuple, Protocol

from dsh_llm import (
    Message,
    MessageSource,
    ModelRequest,
    ObservedAgent,
    TokenUsage,
    Waterfall,
)

from dsh_agent._session import Session

NO_USAGE: Final = TokenUsage(0, 0)


class AgentHandle(ObservedAgent, Protocol):
    """An agent as plugins and tools get it."""

    @property
    def session(self) -> Session:
        """The agent's log."""
        ...

    def steer(self, content: str, *, source: MessageSource | None = None) -> None:
        """Add input to the running turn, before its next step; idle, it is a `send`."""
        ...

    def inject(self, content: str, *, source: MessageSource | None = None) -> None:
        """Add context, without asking for an answer."""
        ...

    def abort(self, reason: str = "aborted") -> None:
        """Stop the running turn at its next await."""
        ...


class RunResult(NamedTuple):
    """A turn that ended well: the last answer's text, and what the turn took.

    `reason` is `completed`, or `max-tokens` when the answer was cut.
    """

    text: str
    usage: TokenUsage
    steps: int
    turn: int
    reason: str = "completed"


class TurnEnd(NamedTuple):
    """How a turn ended: well, or with the error that `run` raises.

    `leaving` is an exception that must leave the process's loop (Ctrl-C, `SystemExit`, or the
    cancellation of the driver), now that the log is closed.
    """

    outcome: RunResult | Exception
    leaving: BaseException | None = None

    def leave(self) -> None:
        """Raise what must leave the loop, if anything; a cancellation is the driver's own."""
        if self.leaving is not None and not isinstance(self.leaving, asyncio.CancelledError):
            raise self.leaving


AGENT_REQUEST: Final[Waterfall[[AgentHandle, ModelRequest], Awaitable[ModelRequest]]] = Waterfall(
    "agent/request"
)
"""Around the building of each request; the result is sent."""

AGENT_STEP_RESULT: Final[Waterfall[[AgentHandle, Message], Awaitable[Message]]] = Waterfall(
    "agent/step-result"
)
"""Around the model's message, before it is logged: the result is logged and acted on."""

AGENT_CONTINUE: Final[Waterfall[[AgentHandle, bool], Awaitable[bool]]] = Waterfall("agent/continue")
"""Whether the turn takes another step; given is whether tools were called or steering came."""
