"""The pieces of a model's stream: a closed set, with open finish reasons."""
# Why: `index` hides tuple.index, and nobody searches a chunk.
# pyright: reportIncompatibleMethodOverride=false

from typing import Literal, NamedTuple, TypeAlias

from dsh_llm._errors import HarnessError
from dsh_llm._messages import Block, Message, TokenUsage


class BlockStart(NamedTuple):
    """A block opens at *index*; `block_type` is its tag."""

    index: int
    block_type: str
    type: Literal["block-start"] = "block-start"


class TextDelta(NamedTuple):
    """More text of the block at *index*."""

    index: int
    text: str
    type: Literal["text-delta"] = "text-delta"


class ReasoningDelta(NamedTuple):
    """More reasoning of the block at *index*."""

    index: int
    text: str
    type: Literal["reasoning-delta"] = "reasoning-delta"


class ToolCallDelta(NamedTuple):
    """More of a tool call's argument text; id and name as far as they are known."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments_delta: str = ""
    type: Literal["tool-call-delta"] = "tool-call-delta"


class BlockEnd(NamedTuple):
    """The complete block at *index*; it outranks the deltas."""

    index: int
    block: Block
    type: Literal["block-end"] = "block-end"


class UsageChunk(NamedTuple):
    """The call's token counts; comes before the finish."""

    usage: TokenUsage
    type: Literal["usage"] = "usage"


class FinishReason(NamedTuple):
    """Why the stream ended: `stop`, `tool-calls`, `max-tokens`, `aborted`, `error`, or another.

    A failed one carries the error itself while it stays in the process.
    """

    kind: str
    message: str | None = None
    code: str | None = None
    error: HarnessError | None = None

    @property
    def failed(self) -> bool:
        """Whether the model's answer is not to be used."""
        return self.kind in {"error", "aborted"}


class FinishChunk(NamedTuple):
    """The terminal chunk; nothing follows it."""

    reason: FinishReason
    type: Literal["finish"] = "finish"


StreamChunk: TypeAlias = (
    BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | FinishChunk
)


class GenerateResult(NamedTuple):
    """A whole answer: the message, why it ended, and the usage if there was any."""

    message: Message
    finish: FinishReason
    usage: TokenUsage | None = None
