"""The events of one turn, for whoever reads them while it runs."""

import asyncio
from typing import TYPE_CHECKING, cast

from dsh_llm import SESSION_EVENT, Context, LogEvent, LogSession

from dsh_agent._events import SessionEvent
from dsh_agent._inbox import Input

if TYPE_CHECKING:
    from dsh_agent._types import TurnEnd


class Follower:
    """Holds the events from `turn/start` to `turn/end` of the turn that takes *item*.

    `dispose` when done; it is idempotent.
    """

    def __init__(
        self, ctx: Context, session: LogSession, item: Input, ended: "asyncio.Future[TurnEnd]"
    ) -> None:
        """Follow from now on; *ended* is the end of the turn, logged or not."""
        self._session = session
        self._item = item
        self._events: asyncio.Queue[SessionEvent | None] = asyncio.Queue()
        self.dispose = ctx.on(SESSION_EVENT, self._take)
        ended.add_done_callback(lambda _: self._events.put_nowait(None))

    async def next(self) -> SessionEvent | None:
        """Return the next event as it is committed; `None` when the turn is over."""
        return await self._events.get()

    def _take(self, session: LogSession, event: LogEvent) -> None:
        if session is self._session and self._item.turn is not None:
            self._events.put_nowait(cast("SessionEvent", event))
            if event.type == "turn/end":
                self.dispose()
