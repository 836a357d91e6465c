"""Tool calls out of the deltas of servers that agree on little but the key names."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from dsh_llm._chunks import BlockEnd, BlockStart, StreamChunk, ToolCallDelta
from dsh_llm._messages import ToolCallBlock
from dsh_llm._text import mend_surrogates
from dsh_llm.adapters._surrogates import SurrogateJoiner
from dsh_llm.adapters._tool_names import ToolNames

_PLACEHOLDER: Final = "{}"


class CallPart(NamedTuple):
    """One entry of `tool_calls`, read leniently; `key` tells the calls of one stream apart."""

    key: int | str | None
    id: str
    name: str
    arguments: str


class OpenCall:
    """One call as far as it has come.

    `text` is what the model wrote so far. A first `{}` is held back: it may be a placeholder that
    the real arguments replace.
    """

    def __init__(self, index: int, key: int | str | None) -> None:
        """Begin the call of the block at *index*."""
        self.index = index
        self.key = key
        self.id = ""
        self.name = ""
        self._pieces: list[str] = []
        self._length = 0
        self._held = ""
        self._joiner = SurrogateJoiner()

    @property
    def blank(self) -> bool:
        """Whether nothing is known of it yet."""
        return not (self.id or self.name or self.begun)

    @property
    def begun(self) -> bool:
        """Whether arguments have come."""
        return bool(self._pieces or self._held)

    @property
    def complete(self) -> bool:
        """Whether the arguments are a whole JSON object."""
        if self._held:
            return True
        # Why: asked at every part, so the text is only put together where it may be at its end.
        return (
            bool(self._pieces) and self._pieces[-1].rstrip()[-1:] == "}" and _is_object(self.text)
        )

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self._pieces) or self._held

    def take(self, part: CallPart) -> str | None:
        """Add *part*; return the new argument text, or `None` when nothing about it is new."""
        before = (self.id, self.name)
        self.id = self.id or part.id
        # Why: names come whole in each part, or split over parts, but only before the arguments.
        if part.name and part.name != self.name and not self.begun:
            self.name += part.name
        self.name = self.name or part.name
        new = self._add(self._joiner.feed(part.arguments))
        return new if new or before != (self.id, self.name) else None

    def release(self) -> str:
        """Return what was held back: a `{}` that was no placeholder, half of a surrogate pair."""
        held, self._held = self._held + self._joiner.finish(), ""
        if held:
            self._keep(held)
        return held

    def _add(self, fragment: str) -> str:
        if not fragment or self._repeats(fragment):
            return ""
        if not self._pieces and fragment.strip() == _PLACEHOLDER:
            self._held = fragment
            return ""
        if self._held and not fragment.lstrip().startswith("{"):
            fragment = self._held + fragment
        self._held = ""
        return self._keep(fragment)

    def _repeats(self, fragment: str) -> bool:
        # Why: some servers send the whole arguments once more at the end.
        return len(fragment) == self._length and fragment == self.text and _is_object(fragment)

    def _keep(self, fragment: str) -> str:
        self._pieces.append(fragment)
        self._length += len(fragment)
        return fragment


class OpenCalls:
    """The calls of one answer, found again by index, by id, or by being the last one."""

    def __init__(self, names: ToolNames) -> None:
        """Give the calls the tools' own *names* back."""
        self._names = names
        self._by_key: dict[int | str, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._last: OpenCall | None = None

    def find(self, part: CallPart) -> OpenCall | None:
        """Return the call that *part* continues, or `None` when it begins one."""
        if part.key is None:
            return self._find_unindexed(part)
        known = self._by_key.get(part.key)
        if known is not None:
            return None if _is_another(known, part) else known
        last = self._last
        unnamed = not (part.id or part.name)
        return last if last is not None and last.key is None and unnamed else None

    def begin(self, index: int, part: CallPart) -> OpenCall:
        """Open the call that *part* begins, at block *index*."""
        self._last = call = OpenCall(index, part.key)
        return call

    def take(self, call: OpenCall, part: CallPart) -> Iterator[StreamChunk]:
        """Add *part* to *call* and say what is new."""
        new = call.take(part)
        if part.key is not None:
            self._by_key[part.key] = call
        if part.id:
            self._by_id.setdefault(part.id, call)
        if new is not None:
            yield self._delta(call, new)

    def end(self, call: OpenCall) -> Iterator[StreamChunk]:
        """Close *call*: its complete block, as the model wrote it."""
        held = call.release()
        if held:
            yield self._delta(call, held)
        name = self._names.from_wire(call.name)
        yield BlockEnd(call.index, ToolCallBlock(call.id, name, call.text))

    def _delta(self, call: OpenCall, new: str) -> ToolCallDelta:
        name = self._names.from_wire(call.name) or None
        return ToolCallDelta(call.index, call.id or None, name, new)

    def _find_unindexed(self, part: CallPart) -> OpenCall | None:
        last = self._last
        if last is None:
            return None
        if part.id:
            late = last.blank or not (last.id or part.name)
            return self._by_id.get(part.id, last if late else None)
        other = part.name and last.complete and (part.name != last.name or part.arguments)
        return None if other else last


def read_part(entry: Mapping[str, Any], key: int | str | None = None) -> CallPart:
    """Read one entry of `tool_calls`; its own index stands before *key*."""
    function = entry.get("function") or entry.get("custom")
    fields = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
    arguments = fields.get("arguments")
    return CallPart(
        key=key if key is not None else _key(entry.get("index")),
        id=_identifier(entry.get("id")),
        name=_identifier(fields.get("name")),
        arguments=_arguments(fields.get("input") if arguments is None else arguments),
    )


def call_start(call: OpenCall) -> BlockStart:
    """Return the chunk that opens the block of *call*."""
    return BlockStart(call.index, "tool-call")


def _is_another(call: OpenCall, part: CallPart) -> bool:
    # Why: some servers give all parallel calls one index, others a new id to each part of a call.
    if not part.name:
        return False
    other_id = part.id and call.id and part.id != call.id
    if call.complete:
        return bool(other_id) or part.name != call.name
    return bool(other_id) and not call.begun


def _arguments(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _identifier(value: Any) -> str:
    if isinstance(value, str):
        return mend_surrogates(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _key(value: Any) -> int | str | None:
    usable = isinstance(value, (int, str)) and not isinstance(value, bool)
    return value if usable and value != "" else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
