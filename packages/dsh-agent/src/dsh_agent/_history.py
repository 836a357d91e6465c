"""The log, folded into messages that every provider accepts; a step costs what is new."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from dsh_llm import (
    Block,
    LogEvent,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    blocks_from_json,
)

from dsh_agent._events import View

NO_RESULT: Final = "Error: no result of this call was recorded"
"""What the model is told for a call that an old log leaves unanswered."""


class History:
    """Folds events into messages, one at a time.

    Mended on the way, while the log keeps the truth: each call has exactly one result, right
    after its message; results without a call, second results, and messages without content are
    left out; context never stands between a call and its result.
    """

    def __init__(self) -> None:
        """Start with no messages."""
        self._messages: list[Message] = []
        self._open: dict[str, None] = {}
        self._held: list[Message] = []

    def add(self, event: LogEvent) -> None:
        """Take the next event of the log; types that are no part of the conversation are free."""
        fold = self._FOLDS.get(event.type)
        if fold is not None:
            fold(self, event.data)

    def messages(self) -> Sequence[Message]:
        """Return the conversation so far, as a view that later events do not change.

        Calls still unanswered get their mended result in it, though not in the history.
        """
        view: Sequence[Message] = View(self._messages, len(self._messages))
        if not self._open and not self._held:
            return view
        return (*view, *(_no_result(call_id) for call_id in self._open), *self._held)

    def _input(self, data: Mapping[str, Any]) -> None:
        self._settle()
        self._put(Message("user", blocks_from_json(data.get("content"))))

    def _assistant(self, data: Mapping[str, Any]) -> None:
        self._settle()
        content = _without_repeats(blocks_from_json(data.get("content")))
        self._put(Message("assistant", content))
        self._open = {one.id: None for one in content if isinstance(one, ToolCallBlock)}

    def _result(self, data: Mapping[str, Any]) -> None:
        call_id = data.get("call_id")
        if not isinstance(call_id, str) or call_id not in self._open:
            return
        del self._open[call_id]
        content = blocks_from_json(data.get("content"))
        result = ToolResultBlock(call_id, content, data.get("is_error") is True)
        self._messages.append(Message("user", (result,)))
        if not self._open:
            self._release()

    def _context(self, data: Mapping[str, Any]) -> None:
        self._aside(_wrapped("context", data))

    def _steering(self, data: Mapping[str, Any]) -> None:
        self._aside(_wrapped("steering", data))

    def _aside(self, message: Message) -> None:
        if self._open:
            self._held.append(message)
        else:
            self._put(message)

    def _put(self, message: Message) -> None:
        if message.content:
            self._messages.append(message)

    def _settle(self) -> None:
        self._messages.extend(_no_result(call_id) for call_id in self._open)
        self._open = {}
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        for message in held:
            self._put(message)

    _FOLDS: ClassVar[dict[str, Callable[["History", Mapping[str, Any]], None]]] = {
        "user/message": _input,
        "assistant/message": _assistant,
        "tool/result": _result,
        "context/message": _context,
        "steering/message": _steering,
    }


def derive_messages(events: Iterable[LogEvent]) -> Sequence[Message]:
    """Return the messages that *events* amount to: what a model would be sent next."""
    history = History()
    for event in events:
        history.add(event)
    return history.messages()


def _no_result(call_id: str) -> Message:
    return Message("user", (ToolResultBlock(call_id, (TextBlock(NO_RESULT),), is_error=True),))


def _without_repeats(content: tuple[Block, ...]) -> tuple[Block, ...]:
    seen: set[str] = set()
    kept: list[Block] = []
    for block in content:
        if isinstance(block, ToolCallBlock):
            if block.id in seen:
                continue
            seen.add(block.id)
        kept.append(block)
    return tuple(kept)


def _wrapped(tag: str, data: Mapping[str, Any]) -> Message:
    import json

    source = data.get("source")
    kind = source.get("kind", "user") if isinstance(source, Mapping) else "user"  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # Why: an old log may hold anything
    opening = TextBlock(f"<{tag} source={json.dumps(kind, ensure_ascii=False)}>")
    blocks = blocks_from_json(data.get("content"))
    return Message("user", (opening, *blocks, TextBlock(f"</{tag}>")))
