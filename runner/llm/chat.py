"""Chat completions of any OpenAI-compatible endpoint, through the ``openai`` SDK.

The SDK gives authentication, headers, URL and connection pool. Retries are ours (:mod:`runner.http`), and the answer is
decoded here: one typed pass over the bytes instead of the SDK's models, which costs less and accepts what compatible
servers leave out.

Format: https://platform.openai.com/docs/api-reference/chat/object.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

import msgspec

from runner.config import ModelConfig
from runner.errors import ConfigError, EndpointUnusable, ModelFault
from runner.http import HttpFault, Policy, Reply, call, start_of
from runner.llm import Model, Request, endpoint, estimated
from runner.llm.prices import Prices
from runner.types import Completion, Usage

_RESERVED: Final = ("model", "messages", "stream")


class _Message(msgspec.Struct):
    content: Any = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Tokens | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Body).decode


class ChatModel(Model):
    """A model behind ``POST <base_url>/chat/completions``."""

    def __init__(self, config: ModelConfig, prices: Prices) -> None:
        super().__init__(config)
        reserved = [name for name in _RESERVED if name in config.params]
        if reserved:
            raise ConfigError([f"{config.name}: params.{name}: cannot be set here" for name in reserved])
        self.base_url = endpoint.base_url_of(config)
        self._key = endpoint.key_of(config, self.base_url)
        self._prices = prices
        self._policy = Policy(attempts=config.attempts, timeout_s=config.timeout_s, deadline_s=config.deadline_s)
        self._slots = asyncio.Semaphore(config.concurrency)
        self._endpoint: endpoint.Endpoint | None = None
        try:
            self._encode({})
        except (TypeError, ValueError) as error:
            raise ConfigError([f"{config.name}: params: cannot be sent as JSON: {error}"]) from None

    def _encode(self, more: dict[str, Any]) -> bytes:
        return msgspec.json.encode({"model": self.config.model, **self.config.params, **more})

    async def complete(self, request: Request) -> Completion:
        if self._endpoint is None:
            self._endpoint = endpoint.acquire(self.base_url, self._key, self.config.concurrency)
        gate = self._endpoint.gate
        send = _Sender(self, self._endpoint, self._encode({"messages": request.messages}))
        try:
            async with self._slots:
                reply = await call(send, gate, self._policy)
        except HttpFault as fault:
            raise self._explained(fault) from None
        except TimeoutError:
            raise ModelFault(
                f"{self.config.name}: no answer from {self.base_url} within {self.config.timeout_s:g} s; "
                "raise its timeout_s or lower its concurrency"
            ) from None
        except send.transport_errors as error:
            raise self._broken(error, gate.succeeded) from None
        return self._completion(request, reply.body, send)

    async def close(self) -> None:
        if self._endpoint is not None:
            held, self._endpoint = self._endpoint, None
            await endpoint.release(held)

    def _completion(self, request: Request, data: bytes, send: _Sender) -> Completion:
        try:
            body = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._fault(f"answered with what is no chat completion: {self._shown(data)}") from None
        if not body.choices:
            what = f"an error: {self._shown(str(body.error))}" if body.error else f"no choices: {self._shown(data)}"
            raise self._fault(f"answered with {what}")
        choice = body.choices[0]
        text = _text(choice.message)
        if not text:
            raise self._fault(f"gave an empty reply (finish_reason {choice.finish_reason or 'not told'})")
        served = body.model or ""
        return Completion(
            text=text,
            model=served,
            fingerprint=body.system_fingerprint or "",
            finish=choice.finish_reason or "",
            usage=self._usage(request, text, served, body.usage, send),
        )

    def _usage(self, request: Request, text: str, served: str, tokens: _Tokens | None, send: _Sender) -> Usage:
        measured = tokens is not None and tokens.prompt_tokens is not None and tokens.completion_tokens is not None
        if tokens is not None and measured:
            details = tokens.prompt_tokens_details
            into, out = tokens.prompt_tokens or 0, tokens.completion_tokens or 0
            cached = (details.cached_tokens or 0) if details else 0
        else:
            guess = estimated(request.prompt, text)
            into, out, cached = guess.input_tokens, guess.output_tokens, 0
        return Usage(
            input_tokens=into,
            output_tokens=out,
            cached_tokens=cached,
            usd=self._prices.usd(served or self.config.model, into, out, cached),
            calls=send.sent,
            seconds=send.seconds,
            measured=measured,
        )

    def _shown(self, body: bytes | str) -> str:
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        if len(self._key) >= 8:  # a key of any shape may come back in an error
            text = text.replace(self._key, "***")
        return start_of(text) or "an empty body"

    def _fault(self, message: str) -> ModelFault:
        return ModelFault(f"{self.config.name}: {self.base_url} {message}")

    def _explained(self, fault: HttpFault) -> ModelFault:
        message = str(fault).replace(self._key, "***") if len(self._key) >= 8 else str(fault)
        where = f"{self.config.name}: {self.base_url}: {message}"
        if fault.status in (401, 403):
            return EndpointUnusable(f"{where}; check the key in ${self.config.api_key_env or 'api_key_env'}")
        if fault.status == 404:
            return EndpointUnusable(
                f"{where}; check the model '{self.config.model}' and that base_url ends as it should (…/v1)"
            )
        if fault.status == 429 and b"insufficient_quota" in fault.body:
            return EndpointUnusable(f"{where}; the account has no credit left")
        return ModelFault(where)

    def _broken(self, error: Exception, succeeded: bool) -> ModelFault:
        cause, unreachable = _cause(error)
        if unreachable and not succeeded:
            return EndpointUnusable(
                f"{self.config.name}: cannot reach {self.base_url} ({cause}); "
                "start the server, or set base_url or OPENAI_BASE_URL"
            )
        if unreachable:
            return self._fault(f"cannot be reached any more ({cause})")
        return self._fault(f"broke the connection before the answer was whole ({cause})")


class _Sender:
    """Sends one body, once a call, and remembers how often and how long the last one took."""

    def __init__(self, model: ChatModel, where: endpoint.Endpoint, body: bytes) -> None:
        import aiohttp
        import httpx2
        import openai

        self._openai, self._response = openai, httpx2.Response
        # The SDK wraps most of what fails while sending, and lets pass what its transport does not know.
        self.transport_errors = (openai.APIConnectionError, httpx2.RequestError, aiohttp.ClientError, OSError)
        self._model, self._client, self._body = model, where.client, body
        self.sent = 0
        self.seconds = 0.0

    async def __call__(self) -> Reply:
        self.sent += 1
        self._model.requests += 1
        start = time.perf_counter()
        try:
            response = await self._client.post(
                "/chat/completions", cast_to=self._response, content=self._body, options=_OPTIONS
            )
        except self._openai.APIStatusError as error:
            response = error.response
        self.seconds = time.perf_counter() - start
        return Reply(response.status_code, response.headers, response.content)


_OPTIONS: Final[Any] = {"headers": {"Content-Type": "application/json"}}


def _text(message: _Message | None) -> str:
    if message is None:
        return ""
    content = message.content
    if isinstance(content, list):  # some servers answer in parts, as requests may
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    text = content.strip() if isinstance(content, str) else ""
    return text or (message.refusal or "").strip()


def _cause(error: BaseException) -> tuple[str, bool]:
    """What really broke, and whether no connection was made at all.

    The SDK's aiohttp transport reports every broken connection as a connect timeout; the truth is in the chain.
    """
    import aiohttp

    root: BaseException = error
    while (deeper := root.__cause__ or root.__context__) is not None:
        root = deeper
        if isinstance(root, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            break
    unreachable = isinstance(root, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    if isinstance(root, aiohttp.ClientConnectorError):
        root = root.os_error if isinstance(getattr(root, "os_error", None), OSError) else root
    text = (getattr(root, "strerror", None) or str(root)) if isinstance(root, OSError) else str(root)
    return start_of(text, 120) or type(root).__name__, unreachable
