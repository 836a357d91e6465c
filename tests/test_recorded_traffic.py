"""Recorded traffic of real providers, served over loopback HTTP and cut at random bytes.

The recordings are not part of this repository; they are looked for beside the checkout.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pytest
from dsh_agent import Agent
from dsh_invariants import check_log, invariants
from dsh_llm import (
    BlockAssembler,
    FinishChunk,
    Llm,
    LlmError,
    Message,
    ModelRequest,
    TextBlock,
    ToolCallBlock,
)
from dsh_llm.adapters.openai import OpenAIAdapter
from dsh_llm.testing import LoopbackServer, Reply, sse

RECORDINGS = Path(__file__).parents[2] / "shared" / "data" / "provider_traffic"
CHAT_FILES = ("openai_chat", "deepseek", "other_openai_compatible", "fixtures_no_request")
MODEL = "recorded"
KEY = "key-of-the-recording"
REQUEST = ModelRequest(MODEL, [Message("user", (TextBlock("hello"),))])

pytestmark = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="the recorded traffic is not beside this checkout"
)


class Row(NamedTuple):
    """One recorded response; `name` is its file and 0-based line."""

    name: str
    kind: str
    status: int
    streamed: bool
    headers: dict[str, str]
    body: str


class Answer(NamedTuple):
    """What a response says, as far as the comparison goes."""

    text: str
    calls: list[tuple[str, str]]


def rows(*files: str) -> Iterator[Row]:
    """Yield the rows of the recordings named *files*."""
    for file in files:
        lines = (RECORDINGS / f"{file}.jsonl").read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(filter(None, lines)):
            raw = json.loads(line)
            name, headers = f"{file}:{number}", _served(raw["response_headers"])
            body = raw["response_body"]
            yield Row(name, raw["kind"], raw["status"], raw["stream"], headers, body)


def chat_rows() -> list[Row]:
    """Return every recorded answer of chat completions, streamed or whole."""
    return [row for row in rows(*CHAT_FILES) if row.kind == "chat_completions"]


class Replay:
    """A server that answers with the row that was loaded last."""

    def __init__(self) -> None:
        self.base_url = ""
        self._reply = Reply()
        self._after: Reply | None = None
        self._server = LoopbackServer(lambda _: self._next())

    def load(self, row: Row, *, after: Reply | None = None) -> None:
        """Answer with *row*, cut at bytes that are the same in every run; then with *after*."""
        self._reply = Reply(row.status, row.headers, cut(row.body.encode(), row.name))
        self._after = after

    def _next(self) -> Reply:
        reply, self._reply = self._reply, self._after or self._reply
        return reply

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["Replay", None]:
        """Listen inside the block."""
        async with self._server as server:
            self.base_url = f"{server.url}/v1"
            yield self


def cut(body: bytes, seed: str) -> list[bytes]:
    """Return *body* in up to 32 pieces, cut anywhere, inside characters and line ends too."""
    chance = random.Random(seed)  # noqa: S311  # Why: the cuts must be the same in every run
    places = sorted(chance.randrange(len(body) + 1) for _ in range(chance.randrange(32)))
    return [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]


def read_answer(row: Row) -> Answer | None:
    """Read *row* without any of the code under test; `None` when it holds no good answer."""
    if row.body.lstrip().startswith("{"):
        return _read_choices([json.loads(row.body)], "message")
    lines = row.body.replace("\r\n", "\n").split("\n")
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    events = [json.loads(text) for text in data if text != "[DONE]"]
    return None if any("error" in event for event in events) else _read_choices(events, "delta")


async def drive(llm: Llm, request: ModelRequest = REQUEST) -> tuple[Answer, FinishChunk]:
    """Stream one answer; check that it has exactly one terminal chunk, the last."""
    assembler = BlockAssembler()
    chunks = [chunk async for chunk in llm.stream(request)]
    for chunk in chunks:
        assembler.push(chunk)
    *before, last = chunks
    assert isinstance(last, FinishChunk)
    assert not any(isinstance(chunk, FinishChunk) for chunk in before)
    message = assembler.message()
    calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
    assert len({call.id for call in calls}) == len(calls)
    return Answer(message.text, [(call.name, call.arguments) for call in calls]), last


def test_every_recorded_answer_is_read_as_an_independent_reader_reads_it(
    record_property: Any,
) -> None:
    """No crash, one terminal chunk, the same text and calls; good and failed as the SDK has it."""
    counts = asyncio.run(_compare(chat_rows()))
    summary = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    record_property("recorded_answers", summary)
    print(f"recorded answers: {summary}")  # noqa: T201  # Why: the count belongs into the report
    assert counts["streams good, ours"] == counts["streams good, SDK"] > 0
    assert counts["streams failed, ours"] == counts["streams failed, SDK"] > 0


def test_every_recorded_error_body_becomes_a_coded_error(record_property: Any) -> None:
    """Status and a message are kept, and no body is without a code of its status's kind."""
    counts = asyncio.run(_errors(list(rows("errors"))))
    summary = ", ".join(f"{count} {code}" for code, count in sorted(counts.items()))
    record_property("recorded_errors", summary)
    print(f"recorded errors: {summary}")  # noqa: T201  # Why: the count belongs into the report
    assert counts.total() > 0


def test_the_loop_ends_every_recorded_answer_in_a_log_that_passes(record_property: Any) -> None:
    """Calls get results, failures get codes, the agent goes on, and each log passes its check."""
    counts = asyncio.run(_sessions([*chat_rows(), *rows("errors")]))
    summary = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    record_property("recorded_sessions", summary)
    print(f"recorded sessions: {summary}")  # noqa: T201  # Why: the count belongs into the report
    assert counts["turns completed"] > 0
    assert counts["turns error"] > 0
    assert counts["tool calls"] > 0


async def _sessions(recorded: Iterable[Row]) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with Replay().serving() as replay:
        adapter = OpenAIAdapter(MODEL, base_url=replay.base_url, api_key=KEY)
        async with aclosing(adapter):
            for row in recorded:
                replay.load(row, after=DONE)
                counts += await _session(adapter, row)
    return counts


async def _session(adapter: OpenAIAdapter, row: Row) -> Counter[str]:
    async with Agent(model=adapter, plugins=[invariants]) as agent:
        with suppress(LlmError):
            await _run_as_read(agent, row)
        events = list(agent.session.events)
    assert check_log(agent.session.to_rows()) == [], row.name
    calls = [e.data for e in events if e.type == "tool/call"]
    results = [e.data for e in events if e.type == "tool/result"]
    assert [c["call_id"] for c in calls] == [r["call_id"] for r in results], row.name
    assert all(r["error"]["code"] == "UNKNOWN_TOOL" for r in results), row.name
    reason = events[-1].data["reason"]["kind"]
    assert reason == "completed" or events[-1].data["reason"].get("code") or reason == "max-tokens"
    return Counter({f"turns {reason}": 1, "tool calls": len(calls)})


async def _run_as_read(agent: Agent, row: Row) -> None:
    result = await agent.run("hello")
    if result.steps == 1:
        answer = read_answer(row)
        assert answer is not None
        assert result.text == answer.text, row.name
    else:
        assert result.text == DONE_TEXT, row.name


DONE_TEXT = "That is all."
DONE = Reply(
    200,
    {"content-type": "text/event-stream"},
    (sse({"choices": [{"delta": {"content": DONE_TEXT}, "finish_reason": "stop"}]}),),
)


async def _compare(recorded: Iterable[Row]) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with Replay().serving() as replay, _adapter(replay) as llm, _sdk(replay) as sdk:
        for row in recorded:
            replay.load(row)
            answer, last = await drive(llm)
            kind = "streams" if row.streamed else "whole"
            counts[f"{kind} {_verdict(failed=last.reason.failed)}, ours"] += 1
            counts.update([f"failed {last.reason.code}"] if last.reason.failed else [])
            _check(row, answer, last)
            if row.streamed:
                failed = await _sdk_fails(sdk)
                counts[f"{kind} {_verdict(failed=failed)}, SDK"] += 1
                assert failed == last.reason.failed, row.name
    return counts


def _check(row: Row, answer: Answer, last: FinishChunk) -> None:
    if last.reason.failed:
        assert last.reason.code in {"MALFORMED_RESPONSE", "CONTENT_FILTER", "INVALID_REQUEST"}
        return
    assert answer == read_answer(row), row.name
    assert last.reason.kind in {"stop", "tool-calls", "max-tokens"}


async def _errors(recorded: Iterable[Row]) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with Replay().serving() as replay, _adapter(replay) as llm:
        for row in recorded:
            replay.load(row)
            _, last = await drive(llm)
            error = last.reason.error
            assert isinstance(error, LlmError)
            assert error.status == row.status, row.name
            assert error.message
            assert error.code in EXPECTED[row.status], (row.name, error.code)
            counts[error.code] += 1
    return counts


EXPECTED = {
    400: {"INVALID_REQUEST", "CONTEXT_WINDOW_EXCEEDED", "MODEL_NOT_FOUND", "QUOTA", "AUTH"},
    401: {"AUTH"},
    404: {"MODEL_NOT_FOUND", "HTTP_404"},
    429: {"RATE_LIMIT"},
}


@asynccontextmanager
async def _adapter(replay: Replay) -> AsyncGenerator[Llm, None]:
    adapter = OpenAIAdapter(MODEL, base_url=replay.base_url, api_key=KEY)
    async with aclosing(adapter):
        llm = Llm()
        llm.register(MODEL, adapter)
        yield llm


@asynccontextmanager
async def _sdk(replay: Replay) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    async with openai.AsyncOpenAI(base_url=replay.base_url, api_key=KEY, max_retries=0) as client:
        yield client


async def _sdk_fails(client: openai.AsyncOpenAI) -> bool:
    stream = await client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "hello"}], stream=True
    )
    try:
        async for _ in stream:
            pass
    except openai.APIError:
        return True
    return False


def _verdict(*, failed: bool) -> str:
    return "failed" if failed else "good"


def _served(headers: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name in {"content-type", "retry-after"}}


def _read_choices(events: Iterable[dict[str, Any]], key: str) -> Answer:
    text: list[str] = []
    calls: dict[Any, list[str]] = {}
    choices = [choice for event in events for choice in event["choices"]]
    messages = [choice.get(key) for choice in choices if choice.get("index", 0) == 0]
    for message in filter(None, messages):
        text += [_content(message.get("content")), message.get("refusal") or ""]
        for position, call in enumerate(message.get("tool_calls") or []):
            number = call["index"] if key == "delta" and "index" in call else position
            _gather(calls, number, call.get("function") or call.get("custom"))
        legacy = message.get("function_call")
        if legacy and any(legacy.values()):
            _gather(calls, "function", legacy)
    return Answer("".join(text), [(name, arguments) for name, arguments in calls.values()])


def _gather(calls: dict[Any, list[str]], number: Any, function: dict[str, Any]) -> None:
    call = calls.setdefault(number, ["", ""])
    name = function.get("name") or ""
    call[0] += "" if name == call[0] else name
    call[1] += function.get("arguments") or function.get("input") or ""


def _content(content: Any) -> str:
    if isinstance(content, str) or not content:
        return content or ""
    dumped = json.dumps(content, ensure_ascii=False)
    parts: Any = json.loads(dumped)
    return dumped if dumped.startswith("{") else "".join(part.get("text", "") for part in parts)
