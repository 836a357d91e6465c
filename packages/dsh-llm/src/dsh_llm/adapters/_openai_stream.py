"""From the events of a chat completions stream to our chunks; no bytes and no network here."""

import re
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NoReturn, TypeAlias, cast

from dsh_llm._chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    UsageChunk,
)
from dsh_llm._classify import excerpt
from dsh_llm._errors import LlmError
from dsh_llm._messages import ReasoningBlock, TextBlock
from dsh_llm.adapters._failures import in_band_error
from dsh_llm.adapters._openai_calls import CallPart, OpenCall, OpenCalls, call_start, read_part
from dsh_llm.adapters._openai_prose import reasoning_of, text_of
from dsh_llm.adapters._openai_usage import UsageTally
from dsh_llm.adapters._surrogates import SurrogateJoiner
from dsh_llm.adapters._tool_names import ToolNames

_FINISHES: Final = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "max-tokens",
    "max_tokens": "max-tokens",
    "model_length": "max-tokens",
}
Keys: TypeAlias = tuple[Literal["delta", "message"], Literal["delta", "message"]]
Kind: TypeAlias = Literal["text", "reasoning"]


class _Prose:
    __slots__ = ("_joiner", "_pieces", "index", "kind")

    def __init__(self, index: int, kind: Kind) -> None:
        self.index = index
        self.kind: Kind = kind
        self._pieces: list[str] = []
        self._joiner = SurrogateJoiner()

    def add(self, text: str) -> Iterator[StreamChunk]:
        yield from self._keep(self._joiner.feed(text))

    def end(self) -> Iterator[StreamChunk]:
        yield from self._keep(self._joiner.finish())
        block = TextBlock if self.kind == "text" else ReasoningBlock
        yield BlockEnd(self.index, block("".join(self._pieces)))

    def _keep(self, text: str) -> Iterator[StreamChunk]:
        if text:
            self._pieces.append(text)
            delta = TextDelta if self.kind == "text" else ReasoningDelta
            yield delta(self.index, text)


class ChatTranslator:
    """Turn the events of one answer into chunks.

    Deltas come out as they come in; block-ends, usage and finish only from `finish`, so that an
    answer that was cut off never looks complete. There is at most one block of text and one of
    reasoning, and one for each tool call, in the order in which they began. Only the first choice
    counts.
    """

    def __init__(self, names: ToolNames) -> None:
        """Give tool calls the tools' own *names* back."""
        self._calls = OpenCalls(names)
        self._blocks: list[_Prose | OpenCall] = []
        self._prose: dict[Kind, _Prose] = {}
        self._usage = UsageTally()
        self._reason = ""

    @property
    def complete(self) -> bool:
        """Whether the model itself has said that it is done."""
        return bool(self._reason)

    def event(self, payload: object) -> Iterator[StreamChunk]:
        """Take one event of a stream.

        Raises:
            LlmError: The failure that the event reports, or `MALFORMED_RESPONSE`.
        """
        event = _object(payload, "an event")
        if _is_error(event):
            raise in_band_error(event)
        yield from self._choices(event, ("delta", "message"))

    def whole(self, payload: object) -> Iterator[StreamChunk]:
        """Take a whole answer, as a server sends it that does not stream.

        Raises:
            LlmError: As `event`, and `MALFORMED_RESPONSE` when there is no choice in it.
        """
        document = _object(_only(payload), "the answer")
        if _is_error(document):
            raise in_band_error(document)
        if not _list(document, "choices"):
            raise _malformed("the answer has no choices", document)
        yield from self._choices(document, ("message", "delta"))
        self._reason = self._reason or "stop"

    def finish(self, *, ended: bool) -> Iterator[StreamChunk]:
        """Close the answer; *ended* says that the server's end marker has come.

        Either end will do, the model's reason or the server's marker: servers leave out one or the
        other. Without both the answer was cut off.

        Raises:
            LlmError: `STREAM_CLOSED` when it was cut off, `MALFORMED_RESPONSE` when it announced
                tool calls and has none.
        """
        if not (self._reason or ended):
            raise LlmError("the stream ended without its end marker", "STREAM_CLOSED")
        reason = self._finish_reason()
        if not reason.failed:
            for block in self._blocks:
                yield from self._calls.end(block) if isinstance(block, OpenCall) else block.end()
        usage = self._usage.total()
        if usage is not None:
            yield UsageChunk(usage)
        yield FinishChunk(reason)

    def _choices(self, event: Mapping[str, Any], keys: Keys) -> Iterator[StreamChunk]:
        for choice in _list(event, "choices"):
            first = _object(choice, "a choice")
            if first.get("index") in (0, None):
                yield from self._choice(first, keys)
        self._usage.add(event.get("usage") or _groq_usage(event))

    def _choice(self, choice: Mapping[str, Any], keys: Keys) -> Iterator[StreamChunk]:
        if choice.get("error"):
            raise in_band_error(choice)
        # Why: one provider sends both, the message so far beside each delta.
        key = next((key for key in keys if choice.get(key) is not None), None)
        if key is not None:
            yield from self._delta(_object(choice[key], f"a {key}"), whole=key == "message")
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = reason
        self._usage.add(choice.get("usage"))

    def _delta(self, delta: Mapping[str, Any], *, whole: bool) -> Iterator[StreamChunk]:
        yield from self._say("reasoning", reasoning_of(delta))
        yield from self._say("text", text_of(delta))
        for position, entry in enumerate(_list(delta, "tool_calls")):
            # Why: in a whole message each entry is a call of its own, whatever index it names.
            part = read_part(_object(entry, "a tool call"), position if whole else None)
            yield from self._call(part)
        legacy = delta.get("function_call")
        if legacy:
            part = read_part({"function": legacy}, "function_call")
            yield from self._call(part) if part.name or part.arguments else ()

    def _say(self, kind: Kind, text: str) -> Iterator[StreamChunk]:
        if not text:
            return
        prose = self._prose.get(kind)
        if prose is None:
            prose = self._prose[kind] = _Prose(len(self._blocks), kind)
            self._blocks.append(prose)
            yield BlockStart(prose.index, kind)
        yield from prose.add(text)

    def _call(self, part: CallPart) -> Iterator[StreamChunk]:
        call = self._calls.find(part)
        if call is None:
            call = self._calls.begin(len(self._blocks), part)
            self._blocks.append(call)
            yield call_start(call)
        yield from self._calls.take(call, part)

    def _finish_reason(self) -> FinishReason:
        called = any(isinstance(block, OpenCall) for block in self._blocks)
        kind = _FINISHES.get(self._reason.lower(), "error") if self._reason else "stop"
        if kind == "tool-calls" and not called:
            text = "the model announced tool calls and sent none"
            raise LlmError(text, "MALFORMED_RESPONSE", retryable=True)
        if kind == "error":
            return _stopped(self._reason)
        return FinishReason("tool-calls" if kind == "stop" and called else kind)


def _stopped(reason: str) -> FinishReason:
    code = re.sub(r"[^A-Z0-9]+", "_", reason.upper())[:64].strip("_") or "UNKNOWN"
    error = LlmError(f"model stopped: {excerpt(reason)}", code)
    return FinishReason("error", error.message, code, error)


def _is_error(event: Mapping[str, Any]) -> bool:
    return bool(event.get("error")) or "error" in (event.get("object"), event.get("type"))


def _groq_usage(event: Mapping[str, Any]) -> Any:
    extension = event.get("x_groq")
    return cast("dict[str, Any]", extension).get("usage") if isinstance(extension, dict) else None


def _only(payload: Any) -> object:
    # Why: one provider wraps its errors in a list.
    items = cast("list[Any]", payload) if isinstance(payload, list) else [payload]
    return items[0] if len(items) == 1 else items


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(what, "an object", value)
    return cast("dict[str, Any]", value)


def _list(holder: Mapping[str, Any], key: str) -> list[Any]:
    value = holder.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        _refuse(key, "a list", value)
    return cast("list[Any]", value)


def _refuse(what: str, wanted: str, value: object) -> NoReturn:
    raise _malformed(f"{what} is not {wanted}", value)


def _malformed(problem: str, value: object) -> LlmError:
    return LlmError(f"{problem}: {excerpt(reprlib.repr(value), 120)}", "MALFORMED_RESPONSE")
