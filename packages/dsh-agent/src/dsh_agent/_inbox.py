"""What was sent to an agent and is not in its log yet."""

from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from dsh_llm import Block, MessageSource, blocks_to_json, freeze_json, source_to_json

if TYPE_CHECKING:
    import asyncio

    from dsh_agent._types import TurnEnd


class Input:
    """One input; `ended` is set when somebody waits for the turn that takes it."""

    __slots__ = ("content", "context", "ended", "source", "turn")

    def __init__(
        self,
        content: tuple[Block, ...],
        source: MessageSource | None,
        ended: "asyncio.Future[TurnEnd] | None" = None,
    ) -> None:
        # Invariant: frozen here, so a value that no log can hold is refused to whoever sends it.
        self.content: Any = freeze_json(blocks_to_json(content))
        self.source: Any = freeze_json(source_to_json(source or MessageSource()))
        self.ended = ended
        self.turn: int | None = None
        # Why: the turn that takes it runs in the context of whoever sent it.
        self.context = copy_context()

    def data(self) -> dict[str, Any]:
        """Return content and source, as a row holds them."""
        return {"content": self.content, "source": self.source}


class Inbox:
    """Queued inputs start turns, steering joins the running one, context waits for a safe place."""

    def __init__(self) -> None:
        self._queued: deque[Input] = deque()
        self._steering: list[Input] = []
        self._context: list[Input] = []

    @property
    def queued(self) -> bool:
        """Whether an input waits for a turn."""
        return bool(self._queued)

    @property
    def steering(self) -> tuple[Input, ...]:
        """The steering that waits for the next step, oldest first."""
        return tuple(self._steering)

    def put(self, item: Input) -> None:
        """Queue *item* for the next turn."""
        self._queued.append(item)

    def put_steering(self, item: Input) -> None:
        """Keep *item* for the next step."""
        self._steering.append(item)

    def put_context(self, item: Input) -> None:
        """Keep *item* until the open calls have their results."""
        self._context.append(item)

    def take(self) -> list[Input]:
        """Return what the next turn takes: all that is queued, but one awaited input at most."""
        taken: list[Input] = []
        while self._queued and not (taken and self._has_waiter(taken) and self._queued[0].ended):
            taken.append(self._queued.popleft())
        return taken

    def steered(self, item: Input) -> None:
        """Take *item* off the steering: it is in the log."""
        self._steering.remove(item)

    def take_context(self) -> list[Input]:
        """Return the context that waits, oldest first."""
        taken, self._context = self._context, []
        return taken

    def requeue_steering(self) -> None:
        """Queue steering that its turn did not take: nothing that was sent is lost."""
        self._queued.extend(self._steering)
        self._steering.clear()

    def remove(self, item: Input) -> bool:
        """Take *item* back; `False` when a turn has it already."""
        if item not in self._queued:
            return False
        self._queued.remove(item)
        return True

    def clear(self) -> list[Input]:
        """Drop and return everything that is queued."""
        dropped = [*self._queued, *self._steering]
        self._queued.clear()
        self._steering.clear()
        return dropped

    @staticmethod
    def _has_waiter(taken: list[Input]) -> bool:
        return any(item.ended for item in taken)
