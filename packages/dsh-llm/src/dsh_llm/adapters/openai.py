"""The adapter for OpenAI and every server that speaks its chat completions.

That is OpenAI, DeepSeek, vLLM, Ollama, llama.cpp, OpenRouter and many more. It needs the extra
`dsh-llm[openai]`, the official SDK.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from dsh_llm._chunks import StreamChunk
from dsh_llm._classify import request_id_of
from dsh_llm._errors import LlmError
from dsh_llm._messages import ModelRequest
from dsh_llm._scrub import is_secret_key
from dsh_llm._secrets import register_secret
from dsh_llm.adapters._extras import missing_extra
from dsh_llm.adapters._failures import (
    response_error,
    scrubbed,
    timeout_error,
    transport_error,
)
from dsh_llm.adapters._openai_body import ChatBody
from dsh_llm.adapters._openai_request import Dialect, encode_request
from dsh_llm.adapters._openai_stream import ChatTranslator
from dsh_llm.adapters._providers import NO_KEY, OPENAI, find_credential
from dsh_llm.adapters._tool_names import ToolNames

try:
    import httpx2
    import openai
except ImportError as error:
    raise missing_extra("openai", error) from error

__all__ = ["OpenAIAdapter"]

CONNECT_TIMEOUT: Final = 15.0
MAX_RESPONSE: Final = 256 * 1024 * 1024
SETTLE_TIME: Final = 0.1
Clock: TypeAlias = Callable[[], int]


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


class OpenAIAdapter:
    """One model behind chat completions, streamed; one attempt a call, retrying is a plugin's.

    A server that answers a streaming request with one JSON document is read as well, and so is one
    that leaves out the end marker or the finish reason, but not both: then the answer was cut off.

    Attributes:
        model: The name that the server knows the model by.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = 600.0,
        idle_timeout: float | None = 300.0,
        max_response: int = MAX_RESPONSE,
        http_client: httpx2.AsyncClient | None = None,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        clock: Clock = _wall_clock,
    ) -> None:
        """Serve *model*; nothing is sent before the first stream.

        Args:
            model: The server's own name for it.
            base_url: Where the server is, `/v1` included if it has one; else `OPENAI_BASE_URL`,
                else OpenAI.
            api_key: Else `OPENAI_API_KEY`; a server at a *base_url* of yours may do without.
            timeout: Seconds until the response begins, `None` for no limit.
            idle_timeout: Seconds without a byte, counted only while one is waited for.
            max_response: Bytes that one response may have.
            http_client: Used for every call and left open; else the adapter has its own.
            extra_body: Laid over each request's body; `None` for a key takes it out.
            extra_headers: Sent with each request.
            clock: Epoch milliseconds, to which a `Retry-After` date is compared.

        Raises:
            LlmError: `MISSING_CREDENTIAL` naming the variable to set, `INVALID_CREDENTIAL`,
                `INVALID_BASE_URL` for a base URL that is none.
        """
        url = base_url or OPENAI.base_url_from_environment()
        self.model = model
        self._key = find_credential(OPENAI, api_key, custom_server=url is not None)
        self._url = _checked_url(url or OPENAI.base_url)
        self._timeout = timeout
        self._idle_timeout = idle_timeout
        self._max_response = max_response
        self._http_client = http_client
        self._headers = dict(extra_headers or {})
        self._clock = clock
        # Why: OpenAI's reasoning models refuse `max_tokens`, other servers know nothing else.
        limit_key = "max_completion_tokens" if url is None else "max_tokens"
        self._dialect = Dialect(model, dict(extra_body or {}), limit_key)
        self._client: tuple[asyncio.AbstractEventLoop, openai.AsyncOpenAI] | None = None
        _register_secrets(self._key, self._headers)

    def __repr__(self) -> str:
        return f"OpenAIAdapter({self.model!r}, base_url={_origin(self._url)!r})"

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[StreamChunk, None]:
        """Make one call; deltas come as they arrive, block-ends, usage and finish at the end.

        Closing the generator, or cancelling the task that waits in it, closes the connection.

        Raises:
            LlmError: With status, request id and retry-after where there are some. `TRANSPORT`,
                `TIMEOUT`; by status and the provider's own words `AUTH`, `QUOTA`, `RATE_LIMIT`,
                `MODEL_NOT_FOUND`, `CONTEXT_WINDOW_EXCEEDED`, `CONTENT_FILTER`, `INVALID_REQUEST`,
                `SERVER`, `HTTP_<n>`; `STREAM_CLOSED`, `MALFORMED_RESPONSE`, `EMPTY_RESPONSE`;
                `UNSUPPORTED` for a prefill.
        """
        names = ToolNames(tool.name for tool in request.tools)
        content = encode_request(request, self._dialect, names)
        response = await self._open(content)
        try:
            async for chunk in self._read(response, ChatBody(ChatTranslator(names))):
                yield chunk
        except LlmError as error:
            error.request_id = error.request_id or request_id_of(response.headers)
            raise scrubbed(error, self._secret) from error.__cause__
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections; the adapter opens new ones when it is used again."""
        held, self._client = self._client, None
        # Why: connections of a loop that is gone went with it, and a given client is not ours.
        if held and held[0] is asyncio.get_running_loop() and self._http_client is None:
            await held[1].close()

    async def _open(self, content: bytes) -> httpx2.Response:
        failed = await self._send(content)
        if isinstance(failed, httpx2.Response):
            return failed
        raise scrubbed(failed, self._secret)

    async def _send(self, content: bytes) -> httpx2.Response | LlmError:
        # Why: errors are returned, not raised: then the SDK's, with its request, is no context.
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                response: Any = await self._sdk().post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    content=content,
                    options={"headers": self._headers},
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
                return response
        except openai.APIStatusError as error:
            status, headers = error.status_code, error.response.headers
            return response_error(status, headers, error.response.text, now=self._clock())
        except openai.APITimeoutError as error:
            return timeout_error(f"connection to {self._where}", None, error)
        except openai.APIConnectionError as error:
            return transport_error(self._where, error)
        except TimeoutError as error:
            if not limit.expired():
                raise
            return timeout_error(f"response from {self._where}", self._timeout, error)

    async def _read(self, response: httpx2.Response, body: ChatBody) -> AsyncIterator[StreamChunk]:
        size = 0
        async with aclosing(response.aiter_bytes()) as pieces:
            while piece := await self._next(pieces, complete=body.complete):
                size += len(piece)
                if size > self._max_response:
                    text = f"the response is larger than {self._max_response} bytes"
                    raise LlmError(text, "MALFORMED_RESPONSE")
                for chunk in body.feed(piece):
                    yield chunk
                if body.ended:
                    await _settle(pieces)
                    break
        for chunk in body.finish():
            yield chunk

    async def _next(self, pieces: AsyncIterator[bytes], *, complete: bool) -> bytes:
        """Return the next bytes, or none at the end or when a *complete* answer's line breaks."""
        limit = asyncio.timeout(self._idle_timeout)
        try:
            async with limit:
                return await anext(pieces, b"")
        except TimeoutError as error:
            if not limit.expired():
                raise
            failed = timeout_error(f"byte from {self._where}", self._idle_timeout, error)
        except (httpx2.RequestError, OSError) as error:
            failed = transport_error(self._where, error)
        if complete:
            return b""
        raise failed

    def _sdk(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            # Why: connections belong to the loop that opened them.
            self._client = (
                loop,
                openai.AsyncOpenAI(
                    api_key=self._key,
                    base_url=self._url,
                    timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT),
                    max_retries=0,
                    http_client=self._http_client,
                ),
            )
        return self._client[1]

    @property
    def _where(self) -> str:
        return _origin(self._url)

    @property
    def _secret(self) -> str:
        return "" if self._key == NO_KEY else self._key


def _register_secrets(key: str, headers: Mapping[str, str]) -> None:
    # Why: for good, since errors that quote a credential outlive the adapter.
    register_secret(key)
    for name, value in headers.items():
        if is_secret_key(name):
            register_secret(value)


async def _settle(pieces: AsyncIterator[bytes]) -> None:
    # Why: only a response that was read to its end leaves a connection that can be used again.
    with suppress(TimeoutError, httpx2.RequestError, OSError):
        async with asyncio.timeout(SETTLE_TIME):
            async for _ in pieces:
                pass


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme in {"http", "https"} and parts.hostname:
        return url
    # Why: what stands before an @ may be a password, and this goes into messages.
    given = url.rpartition("@")[2].partition("?")[0]
    text = f"not an http(s) base URL: {given!r}"
    raise LlmError(text, "INVALID_BASE_URL", context={"base_url": given})


def _origin(url: str) -> str:
    # Why: an address may carry a password, and this goes into messages.
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], path="", query="").geturl()
