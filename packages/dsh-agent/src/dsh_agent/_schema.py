"""The log's rows, written down: one shape a type, and the JSON Schema of them all.

Imported only when the schema is asked for, since it imports pydantic.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, create_model


class Data(BaseModel):
    """Data of a row; later versions may add keys."""

    model_config = ConfigDict(strict=True)


class Source(Data):
    """Who put an input in."""

    kind: str
    name: str | None = None


class Code(Data):
    """What a failure is routed by."""

    name: str
    code: str


class Link(Code):
    """One error of a cause chain; `number` is there when the catalogue knows the code."""

    message: str
    number: int | None = None


class InTurn(Data):
    """Belongs to a turn; turns count from 1."""

    turn: int


class InStep(InTurn):
    """Belongs to a step; steps count from 1 in each turn."""

    step: int


class Reason(Data):
    """How a turn ended; a failed one has name, code and message."""

    kind: Literal["completed", "max-tokens", "error", "aborted", "disposed"]
    name: str | None = None
    code: str | None = None
    number: int | None = None
    message: str | None = None


class TurnEnd(InTurn):
    """The turn is over."""

    reason: Reason


Blocks: TypeAlias = list[dict[str, JsonValue]]


class Context(Data):
    """Input that asks for no answer."""

    content: Blocks
    source: Source


class Input(Context, InTurn):
    """Input of a turn."""


class Chunk(InStep):
    """One piece of the model's stream."""

    chunk: dict[str, JsonValue]


class AssistantMessage(InStep):
    """What the model said, as it is acted on."""

    content: Blocks


class Tokens(Data):
    """Counts that do not overlap; absent when not reported."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Usage(InStep):
    """What the step's model call took."""

    usage: Tokens


class ToolCall(InStep):
    """A call, before its body runs; `arguments` is the model's raw text."""

    call_id: str
    name: str
    arguments: str


class ToolResult(InStep):
    """What a call gave back; `error` for a coded failure, `failure` for whoever looks into it."""

    call_id: str
    content: Blocks
    is_error: bool
    error: Code | None = None
    failure: dict[str, JsonValue] | None = None


class Error(Link, InStep):
    """A failure that ended a turn; step 0 is outside any step."""

    chain: list[Link]


DATA: Final[dict[str, type[Data]]] = {
    "turn/start": InTurn,
    "turn/end": TurnEnd,
    "step/start": InStep,
    "step/end": InStep,
    "user/message": Input,
    "steering/message": Input,
    "context/message": Context,
    "assistant/chunk": Chunk,
    "assistant/message": AssistantMessage,
    "usage": Usage,
    "tool/call": ToolCall,
    "tool/result": ToolResult,
    "error": Error,
}


def build_row_schema() -> dict[str, Any]:
    """Return the JSON Schema of one row; see `row_schema`."""
    known = [_row(kind.replace("/", "_"), Literal[kind], data) for kind, data in DATA.items()]
    other = Annotated[str, Field(json_schema_extra={"not": {"enum": list[JsonValue](DATA)}})]
    rows: Any = known[0]
    for one in [*known[1:], _row("other", other, dict[str, JsonValue])]:
        rows = rows | one
    return TypeAdapter[Any](rows).json_schema()


def _row(name: str, kind: Any, data: Any) -> Any:
    number = Annotated[int, Field(ge=0)]
    fields: dict[str, Any] = {
        "seq": number,
        "time": number,
        "type": kind,
        "data": data,
        "ignorable": (Literal[True], True),
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
