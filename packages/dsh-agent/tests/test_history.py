"""From events to messages: what providers accept, whatever the log holds."""

from collections.abc import Sequence
from typing import Any

import pytest
from dsh_agent import Session, derive_messages
from dsh_llm import (
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UnknownBlock,
)
from hypothesis import given
from hypothesis import strategies as st

Row = tuple[str, dict[str, Any]]

MISSING = "Error: no result of this call was recorded"


def text(said: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": said}


def user(said: str) -> Row:
    """Return a user's message."""
    return "user/message", {"turn": 1, "content": [text(said)], "source": {"kind": "user"}}


def context(said: str, kind: object = "plugin") -> Row:
    """Return a context message."""
    return "context/message", {"content": [text(said)], "source": {"kind": kind}}


def steering(said: str) -> Row:
    """Return a steering message."""
    return "steering/message", {"turn": 1, "content": [text(said)], "source": {"kind": "user"}}


def assistant(*ids: str, said: str = "") -> Row:
    """Return an answer with a text, if there is one, and calls with these ids."""
    blocks = [text(said)] if said else []
    blocks += [{"type": "tool-call", "id": one, "name": "t", "arguments": "{}"} for one in ids]
    return "assistant/message", {"turn": 1, "step": 1, "content": blocks}


def result(call_id: Any, said: str = "r") -> Row:
    """Return a result."""
    data = {"turn": 1, "step": 1, "call_id": call_id, "content": [text(said)], "is_error": False}
    return "tool/result", data | {"error": {"name": "E", "code": "C"}, "failure": {"a": 1}}


def logged(*rows: Row) -> Session:
    """Return a session with these rows."""
    session = Session("s")
    for kind, data in rows:
        session.append(kind, data)
    return session


def told(message: Message) -> str:
    """Return a message in short: who, then text, calls and results."""
    parts: list[str] = []
    for block in message.content:
        match block:
            case TextBlock():
                parts.append(block.text)
            case ToolCallBlock():
                parts.append(f"call:{block.id}")
            case ToolResultBlock():
                inner = "".join(one.text for one in block.content if isinstance(one, TextBlock))
                parts.append(f"{'missing' if inner == MISSING else 'result'}:{block.call_id}")
            case _:
                parts.append(block.type)
    return f"{message.role[0]} {' '.join(parts)}"


def history(*rows: Row) -> list[str]:
    """Return the messages of a log in short."""
    return [told(message) for message in logged(*rows).derive_messages()]


def test_each_kind_of_row_becomes_its_message() -> None:
    """Users, answers and results are messages; chunks, usage and unknown rows are not."""
    rows: list[Row] = [
        ("turn/start", {"turn": 1}),
        user("hi"),
        ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta"}}),
        assistant("k1", said="look"),
        ("usage", {"turn": 1, "step": 1, "usage": {}}),
        ("tool/call", {"turn": 1, "step": 1, "call_id": "k1"}),
        result("k1"),
        ("plugin/thing", {"content": [text("x")]}),
    ]

    assert history(*rows) == ["u hi", "a look call:k1", "u result:k1"]


def test_what_the_model_sees_of_a_result_has_no_error_data() -> None:
    """The error's code and the failure stay in the log."""
    (message,) = logged(assistant("k1"), result("k1")).derive_messages()[1:]

    assert message.content == (ToolResultBlock("k1", (TextBlock("r"),), False),)  # noqa: FBT003  # Why: a named tuple's field


def test_context_and_steering_say_where_they_come_from() -> None:
    """They are wrapped in a tag with the kind of their source, quoted as JSON."""
    assert history(context("c", 'a"b'), steering("s"), context("n", None), context("d", 1)) == [
        'u <context source="a\\"b"> c </context>',
        'u <steering source="user"> s </steering>',
        "u <context source=null> n </context>",
        "u <context source=1> d </context>",
    ]


@pytest.mark.parametrize("data", [{}, {"source": "text"}, {"source": None, "content": "text"}])
def test_a_malformed_context_is_still_a_message(data: dict[str, Any]) -> None:
    """An old log with a source that is none never blocks a request."""
    assert history(("context/message", data)) == ['u <context source="user"> </context>']


@pytest.mark.parametrize("content", [None, "text", 5, {}, [], ["text", 5]], ids=repr)
@pytest.mark.parametrize("kind", ["user/message", "assistant/message"])
def test_a_message_without_content_is_left_out(kind: str, content: object) -> None:
    """Providers refuse empty messages; content of a wrong shape counts as none."""
    assert history((kind, {"content": content}), user("next")) == ["u next"]


def test_unanswered_calls_get_a_result_right_after_their_message() -> None:
    """A call that an old log leaves open is answered for the model, in the model's order."""
    rows = [user("go"), assistant("k1", "k2"), result("k2"), user("again")]

    assert history(*rows) == [
        "u go",
        "a call:k1 call:k2",
        "u result:k2",
        "u missing:k1",
        "u again",
    ]


def test_a_log_that_ends_with_open_calls_is_mended_in_the_request_alone() -> None:
    """The mended result is in what is returned, and the real one takes its place later."""
    session = logged(assistant("k1"), context("aside"))
    mended = [told(one) for one in session.derive_messages()]
    kind, data = result("k1")
    session.append(kind, data)

    assert mended == ["a call:k1", "u missing:k1", 'u <context source="plugin"> aside </context>']
    assert [told(one) for one in session.derive_messages()] == [
        "a call:k1",
        "u result:k1",
        'u <context source="plugin"> aside </context>',
    ]


def test_orphans_and_second_results_are_left_out() -> None:
    """A result without its call, before it, twice, or with an id that is none: not sent."""
    rows = [
        result("k1"),
        assistant("k1"),
        result("other"),
        result(5),
        result("k1", "first"),
        result("k1", "second"),
        user("next"),
        result("k1", "late"),
    ]

    messages = logged(*rows).derive_messages()

    assert [told(one) for one in messages] == ["a call:k1", "u result:k1", "u next"]
    (block,) = messages[1].content
    assert isinstance(block, ToolResultBlock)
    assert block.content == (TextBlock("first"),)


def test_context_never_stands_between_a_call_and_its_result() -> None:
    """Context and steering that were logged amid open calls follow the last result."""
    rows = [assistant("k1", "k2"), context("one"), result("k1"), steering("two"), result("k2")]

    assert history(*rows) == [
        "a call:k1 call:k2",
        "u result:k1",
        "u result:k2",
        'u <context source="plugin"> one </context>',
        'u <steering source="user"> two </steering>',
    ]


def test_a_call_id_twice_in_a_message_is_one_call() -> None:
    """Providers refuse repeated ids, so the second call is left out."""
    assert history(assistant("k1", "k1"), result("k1")) == ["a call:k1", "u result:k1"]


def test_ids_may_come_again_in_a_later_message() -> None:
    """Each message's calls are answered by the results that follow it."""
    rows = [assistant("k1"), result("k1"), assistant("k1"), result("k1")]

    assert history(*rows) == ["a call:k1", "u result:k1"] * 2


def test_blocks_that_this_version_does_not_know_are_passed_on() -> None:
    """Foreign blocks stay in the history, untouched."""
    content = [{"type": "audio", "url": "u"}, {"type": "reasoning", "text": "r"}, {"type": "image"}]
    (message,) = logged(("assistant/message", {"content": content})).derive_messages()

    assert [type(block) for block in message.content] == [
        UnknownBlock,
        ReasoningBlock,
        UnknownBlock,
    ]
    assert not any(isinstance(block, ImageBlock) for block in message.content)


def test_what_was_returned_does_not_change_later() -> None:
    """A request's messages stay what they were while the log grows, and cannot be changed."""
    session = logged(user("one"))
    before = session.derive_messages()
    kind, data = user("two")
    session.append(kind, data)
    after = session.derive_messages()

    assert [told(one) for one in before] == ["u one"]
    assert [told(one) for one in after] == ["u one", "u two"]
    assert (after[-1], after[0:2], after[-2]) == (after[1], (after[0], after[1]), before[0])
    with pytest.raises(IndexError):
        before[1]
    assert not hasattr(before, "append")


# -- the properties ------------------------------------------------------------------------------

IDS = st.sampled_from(["k1", "k2", "k3"])
ROWS = st.one_of(
    st.sampled_from("ab").map(user),
    st.sampled_from("ab").map(context),
    st.sampled_from("ab").map(steering),
    st.lists(IDS, max_size=3).map(lambda ids: assistant(*ids)),
    st.sampled_from(["said"]).map(lambda said: assistant(said=said)),
    IDS.map(result),
    st.just(("assistant/chunk", {"chunk": {}})),
    st.just(("turn/start", {"turn": 1})),
)
LOGS = st.lists(ROWS, max_size=25)


def naive(rows: Sequence[Row]) -> list[str]:
    """Return what the messages ought to be, looking ahead in the log instead of folding it."""
    out: list[str] = []
    used: set[int] = set()
    for at, (kind, data) in enumerate(rows):
        if at in used:
            continue
        if kind in {"user/message", "context/message", "steering/message"}:
            out += history((kind, data))
        if kind == "assistant/message":
            out += history((kind, data))[:1]
            ids = list(dict.fromkeys(b["id"] for b in data["content"] if b["type"] == "tool-call"))
            out += answers(rows, at, ids, used)
    return out


def answers(rows: Sequence[Row], at: int, ids: list[str], used: set[int]) -> list[str]:
    """Return the results and the asides that belong after the message at *at*."""
    results: list[str] = []
    asides: list[str] = []
    for place in range(at + 1, len(rows)):
        kind, data = rows[place]
        if not ids or kind in {"user/message", "assistant/message"}:
            break
        if kind == "tool/result" and data["call_id"] in ids:
            ids.remove(data["call_id"])
            results.append(f"u result:{data['call_id']}")
        if kind in {"context/message", "steering/message"}:
            used.add(place)
            asides += history((kind, data))
    return [*results, *(f"u missing:{one}" for one in ids), *asides]


@given(LOGS)
def test_folding_one_by_one_is_the_same_as_looking_at_the_whole(rows: list[Row]) -> None:
    """Whatever the log holds, the incremental history equals the naive one."""
    assert history(*rows) == naive(rows)


@given(LOGS)
def test_deriving_afresh_is_the_same_as_having_followed(rows: list[Row]) -> None:
    """`derive_messages` of the events equals what the session has derived as it grew."""
    session = logged(*rows)

    assert derive_messages(session.events) == session.derive_messages()
    assert derive_messages(session.events) == derive_messages(list(session.events))


@given(LOGS)
def test_every_call_has_exactly_one_result_and_it_follows(rows: list[Row]) -> None:
    """In any history each call is answered once, before anything else is said."""
    owed: list[str] = []
    for message in logged(*rows).derive_messages():
        assert message.content
        results = [one.call_id for one in message.content if isinstance(one, ToolResultBlock)]
        assert bool(results) == bool(owed)
        for call_id in results:
            owed.remove(call_id)
        owed += [call.id for call in message.tool_calls]
    assert owed == []


@given(LOGS, LOGS)
def test_a_longer_log_only_adds_to_settled_history(first: list[Row], more: list[Row]) -> None:
    """What was derived once stays a prefix of the history, once its calls are answered."""
    session = logged(*first, user("settles what is open"))
    before = list(session.derive_messages())
    for kind, data in more:
        session.append(kind, data)

    assert list(session.derive_messages())[: len(before)] == before
