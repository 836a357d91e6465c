"""Small logs: rows from types and data, and whole turns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dsh_invariants._rule import Rows

Entry: TypeAlias = tuple[str, Mapping[str, Any]]
"""Type and data of a row."""

CallEntry: TypeAlias = tuple[str, str, str]
"""Id, tool name and raw arguments of a call."""


def rows(*entries: Entry) -> Rows:
    """Number *entries* from 0 and give each a time."""
    return tuple(
        {"seq": seq, "time": 1_000 + seq, "type": kind, "data": data}
        for seq, (kind, data) in enumerate(entries)
    )


def turn(number: int, *inside: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return a completed turn: a user's message, then what is *inside*."""
    at = {"turn": number}
    return (
        ("turn/start", at),
        ("user/message", at | {"content": [text("hi")], "source": {"kind": "user"}}),
        *(entry for part in inside for entry in part),
        ("turn/end", at | {"reason": {"kind": "completed"}}),
    )


def step(number: int, *inside: Iterable[Entry], turn: int = 1) -> tuple[Entry, ...]:
    """Return a step of *turn* around what is *inside*."""
    at = {"turn": turn, "step": number}
    return (("step/start", at), *(entry for part in inside for entry in part), ("step/end", at))


def answer(
    said: str = "ok", calls: Sequence[CallEntry] = (), *, turn: int = 1, step: int = 1
) -> tuple[Entry, ...]:
    """Return a streamed answer and its message: a text, and the blocks of *calls*."""
    content = [text(said), *(call_block(*call) for call in calls)]
    chunks: list[Mapping[str, Any]] = [{"type": "text-delta", "index": 0, "text": said}]
    chunks += [{"type": "block-end", "index": n, "block": one} for n, one in enumerate(content)]
    chunks += [finish("tool-calls" if calls else "stop")]
    at = {"turn": turn, "step": step}
    return (
        *(("assistant/chunk", at | {"chunk": chunk}) for chunk in chunks),
        ("assistant/message", at | {"content": content}),
    )


def call(
    call_id: str, name: str = "probe", arguments: str = "{}", *, turn: int = 1, step: int = 1
) -> Entry:
    """Return a `tool/call`."""
    data = {"call_id": call_id, "name": name, "arguments": arguments}
    return "tool/call", {"turn": turn, "step": step} | data


def result(
    call_id: str, error: Mapping[str, Any] | None = None, *, turn: int = 1, step: int = 1
) -> Entry:
    """Return a `tool/result`, a failed one if there is an *error*."""
    data: dict[str, Any] = {"turn": turn, "step": step, "call_id": call_id}
    data |= {"content": [text("done")], "is_error": error is not None}
    return "tool/result", data if error is None else data | {"error": error}


def text(said: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": said}


def call_block(call_id: str, name: str = "probe", arguments: str = "{}") -> dict[str, Any]:
    """Return a tool-call block."""
    return {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}


def finish(kind: str = "stop") -> dict[str, Any]:
    """Return a finish chunk."""
    return {"type": "finish", "reason": {"kind": kind}}


K1: CallEntry = ("k1", "probe", "{}")
"""The call that examples make."""
