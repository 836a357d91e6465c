"""From the bytes of a response to chunks, whatever its content type claims to be."""

import json
from collections.abc import Iterator
from typing import Any, Final

from dsh_llm._chunks import StreamChunk
from dsh_llm._classify import excerpt, parse_body
from dsh_llm._errors import LlmError
from dsh_llm.adapters._failures import in_band_error
from dsh_llm.adapters._openai_stream import ChatTranslator
from dsh_llm.adapters._sse import SseDecoder, SseEvent

_END_MARKER: Final = "[DONE]"
_BLANK_OR_BOM: Final = b"\xef\xbb\xbf \t\r\n"
_DOCUMENT_STARTS: Final = (b"{", b"[", b"<")
_QUOTED: Final = 120


class ChatBody:
    """Reads one response: an event stream, or a whole JSON answer, told apart by its first byte.

    `ended` becomes true at the end marker; what comes after it is not looked at.
    """

    def __init__(self, translator: ChatTranslator) -> None:
        """Feed *translator*."""
        self.ended = False
        self._translator = translator
        self._sse = SseDecoder()
        self._opening = b""
        self._document: bytearray | None = None

    @property
    def complete(self) -> bool:
        """Whether the model's answer is all there, even if the response should break now."""
        return self.ended or self._translator.complete

    def feed(self, piece: bytes) -> Iterator[StreamChunk]:
        """Take the next bytes.

        Raises:
            LlmError: What the bytes report, or `MALFORMED_RESPONSE`; after the chunks before it.
        """
        if not self._opening:
            # Why: some servers keep the connection alive with blanks while the model thinks.
            self._opening = piece = piece.lstrip(_BLANK_OR_BOM)
            self._document = bytearray() if piece.startswith(_DOCUMENT_STARTS) else None
        if self._document is None:
            yield from self._events(self._sse.feed(piece))
        else:
            self._document += piece

    def finish(self) -> Iterator[StreamChunk]:
        """Close the answer: there are no more bytes, or none that matter.

        Raises:
            LlmError: `EMPTY_RESPONSE` for no body at all, `MALFORMED_RESPONSE` for one that is
                neither JSON nor an event stream, and what the answer itself gives cause for.
        """
        if self._document is not None:
            text = self._document.decode(errors="replace")
            yield from self._translator.whole(_parse_document(text))
        elif not self._opening:
            raise LlmError("the response has no body", "EMPTY_RESPONSE")
        else:
            yield from self._events(self._sse.finish())
            if not self._sse.recognised:
                raise _not_an_answer(self._opening.decode(errors="replace"))
        yield from self._translator.finish(ended=self.ended)

    def _events(self, events: list[SseEvent]) -> Iterator[StreamChunk]:
        for event in events:
            data = event.data.strip()
            if self.ended or not data:
                continue
            if data.startswith(_END_MARKER):
                self.ended = True
            elif event.name == "error":
                raise in_band_error(parse_body(data))
            else:
                yield from self._translator.event(_parse_event(data))


def _parse_event(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        text = f"an event is not JSON: {excerpt(data, _QUOTED)}"
        raise LlmError(text, "MALFORMED_RESPONSE", cause=error) from None


def _parse_document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _not_an_answer(text) from None


def _not_an_answer(text: str) -> LlmError:
    shown = excerpt(text, _QUOTED)
    return LlmError(
        f"the response is neither JSON nor an event stream: {shown}", "MALFORMED_RESPONSE"
    )
