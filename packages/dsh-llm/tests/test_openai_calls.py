"""How the OpenAI adapter gathers tool calls: servers agree on little but the key names."""

import asyncio
import json
import random
from contextlib import aclosing
from typing import Any, NamedTuple

import pytest
from dsh_llm import (
    BlockAssembler,
    FinishReason,
    Llm,
    Message,
    ModelRequest,
    StreamChunk,
    TextBlock,
    ToolCallDelta,
)
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import LoopbackServer, Reply

REQUEST = ModelRequest("m", [Message("user", (TextBlock("hi"),))])


class Outcome(NamedTuple):
    """A stream that was read to its end; a call is its id, name and arguments."""

    chunks: tuple[StreamChunk, ...]
    calls: list[tuple[str, str, str]]
    text: str
    finish: FinishReason

    @property
    def deltas(self) -> list[ToolCallDelta]:
        """The parts of calls, as they came."""
        return [chunk for chunk in self.chunks if isinstance(chunk, ToolCallDelta)]


def read(*events: Any) -> Outcome:
    """Serve a stream of *events*, cut at random bytes, and read it through `Llm.stream`."""
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return asyncio.run(_read("".join([*lines, "data: [DONE]\n\n"]).encode()))


async def _read(body: bytes) -> Outcome:
    async with LoopbackServer([Reply(pieces=_cut(body))]) as server:
        adapter = OpenAIAdapter("m", base_url=server.url, api_key="k")
        async with aclosing(adapter):
            llm = Llm()
            llm.register("m", adapter)
            chunks = tuple([chunk async for chunk in llm.stream(REQUEST)])
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    message = assembler.message()
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return Outcome(chunks, calls, message.text, assembler.finish)


def _cut(body: bytes) -> list[bytes]:
    chance = random.Random(len(body))  # noqa: S311  # Why: the cuts must be the same in every run
    places = sorted(chance.randrange(len(body) + 1) for _ in range(12))
    return [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event with one delta."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: int | str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event with one part of a tool call; `name` and `arguments` are its function's."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    entry = {"function": function, **fields} | ({} if index is None else {"index": index})
    return delta(tool_calls=[entry])


TOOL_END = delta("tool_calls")
STOP = delta("stop")


def calls_of(*events: Any) -> list[tuple[str, str, str]]:
    """Return the calls in a stream of *events* that ends properly."""
    return read(*events, TOOL_END).calls


def test_arguments_are_joined_and_come_live() -> None:
    """The text is kept as the model wrote it."""
    parts = ['{"x"', ": ", "1}"]
    events = [
        call(0, id="a1", name="probe", arguments=""),
        *(call(0, arguments=part) for part in parts),
    ]
    outcome = read(*events, TOOL_END)
    assert [part.arguments_delta for part in outcome.deltas] == ["", *parts]
    assert outcome.calls == [("a1", "probe", '{"x": 1}')]


def test_an_index_is_a_key_and_not_a_position() -> None:
    """It may start anywhere, have gaps, and be a string; order is that of appearance."""
    events = [
        delta(content="Looking."),
        call(3, id="a1", name="probe", arguments='{"x":'),
        call("1", id="a2", name="probe", arguments="{}"),
        call(3, arguments="1}"),
    ]
    outcome = read(*events, TOOL_END)
    assert outcome.text == "Looking."
    assert outcome.calls == [("a1", "probe", '{"x":1}'), ("a2", "probe", "{}")]


def test_without_an_index_a_part_continues_the_open_call_and_a_new_id_opens_one() -> None:
    """So do parts that name the id of an earlier call again."""
    events = [
        call(id="a1", name="probe", arguments='{"x":'),
        call(id="a2", name="probe", arguments='{"y":'),
        call(arguments="2}"),
        call(id="a1", arguments="1}"),
    ]
    assert calls_of(*events) == [("a1", "probe", '{"x":1}'), ("a2", "probe", '{"y":2}')]


def test_without_index_and_id_a_name_after_whole_arguments_opens_the_next_call() -> None:
    """Servers that send whole calls often send neither."""
    entries = [{"function": {"name": name, "arguments": {"x": 1}}} for name in ("a", "b", "b")]
    calls = calls_of(delta(tool_calls=entries))
    assert [(name, arguments) for _, name, arguments in calls] == [
        ("a", '{"x": 1}'),
        ("b", '{"x": 1}'),
        ("b", '{"x": 1}'),
    ]
    assert len({call_id for call_id, _, _ in calls}) == 3


def test_an_index_that_comes_late_belongs_to_the_open_call() -> None:
    """A call that began without one is not doubled."""
    events = [
        call(id="a1", name="probe", arguments='{"x":'),
        call(0, arguments="1"),
        call(0, arguments="}"),
    ]
    assert calls_of(*events) == [("a1", "probe", '{"x":1}')]


def test_one_index_for_all_parallel_calls_still_makes_them_apart() -> None:
    """A new id with a name, or another name after whole arguments, is another call."""
    same = [call(0, id=f"a{n}", name="probe", arguments=f'{{"x": {n}}}') for n in (1, 2)]
    assert calls_of(*same) == [("a1", "probe", '{"x": 1}'), ("a2", "probe", '{"x": 2}')]
    bare = [call(0, id=f"a{n}", name=name) for n, name in ((1, "one"), (2, "two"))]
    assert calls_of(*bare) == [("a1", "one", ""), ("a2", "two", "")]
    nameless = [call(0, name="one", arguments="{}"), call(0, name="two", arguments="{}")]
    assert [name for _, name, _ in calls_of(*nameless)] == ["one", "two"]


def test_a_new_id_in_each_part_of_one_call_does_not_split_it() -> None:
    """The first id stays."""
    events = [
        call(0, id="a1", name="probe", arguments='{"x"'),
        call(0, id="a2", name="probe", arguments=":1}"),
    ]
    assert calls_of(*events, call(0, id="a3")) == [("a1", "probe", '{"x":1}')]


def test_ids_and_names_that_repeat_in_each_part_are_one_id_and_one_name() -> None:
    """Nothing is concatenated that was only said again."""
    parts = ["", '{"x"', ":1", "}"]
    assert calls_of(*(call(0, id="idA", name="read_file", arguments=part) for part in parts)) == [
        ("idA", "read_file", '{"x":1}')
    ]


def test_a_name_split_over_parts_is_joined_until_the_arguments_begin() -> None:
    """A fragment equal to the whole name so far is a repeat."""
    events = [
        call(0, id="a1", name="read"),
        call(0, name="_file"),
        call(0, name="read_file", arguments="{"),
    ]
    assert calls_of(*events, call(0, name="zzz", arguments="}")) == [("a1", "read_file", "{}")]


def test_an_empty_string_never_overwrites_and_a_numeric_id_becomes_text() -> None:
    """Nor does an id of a kind that none has."""
    events = [
        call(0, id=42, name="probe"),
        call(0, id="", name="", arguments='{"x":1}'),
        call(0, id=True),
    ]
    assert calls_of(*events) == [("42", "probe", '{"x":1}')]


def test_an_id_that_comes_late_is_the_only_one_that_is_ever_named() -> None:
    """With and without an index."""
    for index in (0, None):
        events = [call(index), call(index, id="real-7", name="probe"), call(index, arguments="{}")]
        outcome = read(*events, TOOL_END)
        assert outcome.calls == [("real-7", "probe", "{}")]
        assert {part.id for part in outcome.deltas} == {"real-7"}
    late = [call(name="probe", arguments='{"x":'), call(id="a1", arguments="1}")]
    assert calls_of(*late) == [("a1", "probe", '{"x":1}')]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["{}", '{"x":1}'], '{"x":1}'),
        (["{}", "{}"], "{}"),
        (["{}"], "{}"),
        (["{}", " "], "{} "),
        (['{"x":3}', '{"x":3}'], '{"x":3}'),
        (['{"x"', ":3}", '{"x":3}'], '{"x":3}'),
        ([{"x": "é"}], '{"x": "é"}'),
        ([None, ""], ""),
        (['{"x":', '{"x":', "1}}"], '{"x":{"x":1}}'),
    ],
)
def test_placeholders_repeats_and_objects_give_the_arguments_once(
    parts: list[Any], expected: str
) -> None:
    """The deltas say the same as the block."""
    first = call(0, id="a1", name="probe")
    outcome = read(first, *(call(0, arguments=part) for part in parts), TOOL_END)
    assert outcome.calls == [("a1", "probe", expected)]
    assert "".join(part.arguments_delta for part in outcome.deltas) == expected


def test_the_older_function_call_and_the_custom_call_are_calls() -> None:
    """An empty `function_call` beside a text is none."""
    events = [
        delta(function_call={"name": "add", "arguments": '{"a":'}),
        delta(function_call={"arguments": "1}"}),
    ]
    (legacy,) = read(*events, delta("function_call")).calls
    assert legacy[1:] == ("add", '{"a":1}')
    custom = {
        "index": 0,
        "id": "a1",
        "type": "custom",
        "custom": {"name": "math", "input": "4 + 4"},
    }
    assert calls_of(delta(tool_calls=[custom])) == [("a1", "math", "4 + 4")]
    assert read(delta(content="a", function_call={"name": "", "arguments": ""}), STOP).calls == []


def test_surrogates_in_arguments_are_joined_or_replaced() -> None:
    """What comes out can be written to a log, the id too."""
    events = [
        call(0, id="a\ud83d", name="probe", arguments='"\ud83d'),
        call(0, arguments='\ude00"\ud83d'),
    ]
    assert calls_of(*events) == [("a\ufffd", "probe", '"\U0001f600"\ufffd')]
