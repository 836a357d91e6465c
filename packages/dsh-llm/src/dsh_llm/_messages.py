"""What a conversation is made of: blocks, messages, sources, usage, tool schemas, requests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, cast

from dsh_llm._domain_errors import CallerTypeError
from dsh_llm._json import FrozenDict

if TYPE_CHECKING:
    from dsh_llm._abort import AbortSignal

# Why: every value carries its tag as the last field, so that two kinds with equal fields differ.

Cache: TypeAlias = Literal["ephemeral"]
"""A hint that the prompt up to here will be sent again soon."""


class TextBlock(NamedTuple):
    """Text for or from the model."""

    text: str
    cache: Cache | None = None
    type: Literal["text"] = "text"


class ReasoningBlock(NamedTuple):
    """The model's own thinking, as far as the provider shows it."""

    text: str
    type: Literal["reasoning"] = "reasoning"


class ToolCallBlock(NamedTuple):
    """A tool that the model wants to run; `arguments` is the raw text as it produced it."""

    id: str
    name: str
    arguments: str
    type: Literal["tool-call"] = "tool-call"


class ToolResultBlock(NamedTuple):
    """What a call gave back; travels in a message of role `user`."""

    call_id: str
    content: "tuple[Block, ...]"
    is_error: bool = False
    cache: Cache | None = None
    type: Literal["tool-result"] = "tool-result"


class ImageBlock(NamedTuple):
    """An image, as an http(s) or a data URL."""

    url: str
    mime_type: str | None = None
    cache: Cache | None = None
    type: Literal["image"] = "image"


class UnknownBlock(NamedTuple):
    """A kind that this version does not know, carried through untouched; `data` holds its type."""

    data: FrozenDict
    type: Literal["unknown"] = "unknown"


Block: TypeAlias = (
    TextBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock | ImageBlock | UnknownBlock
)
"""One typed piece of a message; an open union, whose unknown kinds are `UnknownBlock`."""

Role: TypeAlias = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """A role and its blocks."""

    role: Role
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        """The tool calls, in the model's order."""
        return tuple(block for block in self.content if isinstance(block, ToolCallBlock))


class MessageSource(NamedTuple):
    """Who put an input in: `user`, `plugin`, `agent`, or a kind of a host's own."""

    kind: str = "user"
    name: str | None = None


class TokenUsage(NamedTuple):
    """Tokens of one call. The three input figures never overlap; `None` means not reported.

    Billed input is `input_tokens` plus both cache figures.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def plus(self, other: "TokenUsage") -> "TokenUsage":
        """Add figure by figure; unknown and unknown stays unknown."""
        pairs = zip(self, other, strict=True)
        return TokenUsage(*(a if b is None else b if a is None else a + b for a, b in pairs))  # type: ignore[arg-type]  # Why: the first two are never None on both sides


class ToolSchema(NamedTuple):
    """A tool as the model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: FrozenDict
    strict: bool | None = None


class ModelRequest(NamedTuple):
    """One request to a model. Change it with `_replace`, it is a named tuple."""

    model: str
    messages: Sequence[Message]
    system: str | None = None
    tools: tuple[ToolSchema, ...] = ()
    prefill: tuple[Block, ...] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    signal: "AbortSignal | None" = None


BLOCK_KINDS: Final = (
    TextBlock,
    ReasoningBlock,
    ToolCallBlock,
    ToolResultBlock,
    ImageBlock,
    UnknownBlock,
)


def text_blocks(content: "str | Block | Sequence[Block]") -> tuple[Block, ...]:
    """Return *content* as a tuple of blocks: a string becomes one text block.

    Raises:
        CallerTypeError: `VALIDATION_TYPE_MISMATCH` for anything else.
    """
    if isinstance(content, str):
        return (TextBlock(content),)
    if isinstance(content, BLOCK_KINDS):
        # Why: a block is a tuple too, and must not be taken apart.
        return (content,)
    items = cast("Sequence[object]", content) if isinstance(content, (list, tuple)) else (content,)
    if all(isinstance(item, BLOCK_KINDS) for item in items):
        return cast("tuple[Block, ...]", tuple(items))
    kind = type(content).__name__
    text = f"content is text, a block or a list of blocks, and not this {kind}"
    raise CallerTypeError(text)
