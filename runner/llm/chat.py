"""Chat completions of any OpenAI-compatible endpoint, through the ``openai`` SDK.

The SDK gives authentication, headers, URL and connection pool. Retries are ours (:mod:`runner.http`), and the answer is
decoded here: one typed pass over the bytes instead of the SDK's models, which costs less and accepts what compatible
servers leave out.

Format: https://platform.openai.com/docs/api-reference/chat/object.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from runner.config import ModelConfig
from runner.errors import ConfigError
from runner.http import start_of
from runner.llm import Model, Request, estimated
from runner.llm.endpoint import Channel, ResponseBody
from runner.llm.prices import Prices
from runner.types import Completion, Usage

_RESERVED: Final = ("model", "messages", "stream")
_REPLY_TOKENS: Final = 256  # assumed of a reply that no parameter bounds

_Count = Annotated[int, msgspec.Meta(ge=0, lt=10**12)]


class _Message(msgspec.Struct):
    content: Any = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: _Count | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _Details | None = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None
    error: Any = None


class _Paid(msgspec.Struct):
    """The price of a body that is not a chat completion."""

    model: Any = None
    usage: Any = None


# What decoding a foreign body can raise; one that is nested without end is no answer either.
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decode = msgspec.json.Decoder(_Body).decode
_decode_paid = msgspec.json.Decoder(_Paid).decode


class ChatModel(Model):
    """A model behind ``POST <base_url>/chat/completions``."""

    def __init__(self, config: ModelConfig, prices: Prices) -> None:
        super().__init__(config)
        reserved = [name for name in _RESERVED if name in config.params]
        if reserved:
            raise ConfigError([f"{config.name}: params.{name}: cannot be set here" for name in reserved])
        self._channel = Channel(config, "/chat/completions")
        self._prices = prices
        try:
            self._encode({})
        except (TypeError, ValueError) as error:
            raise ConfigError([f"{config.name}: params: cannot be sent as JSON: {error}"]) from None

    def _encode(self, more: dict[str, Any]) -> bytes:
        return msgspec.json.encode({"model": self.config.model, **self.config.params, **more})

    def estimate(self, request: Request) -> float | None:
        params = self.config.params
        asked = [params.get(name) for name in ("max_completion_tokens", "max_tokens")]
        bounds = [item for item in asked if isinstance(item, int) and not isinstance(item, bool) and item > 0]
        return self._prices.usd(self.config.model, len(request.prompt) // 4, bounds[0] if bounds else _REPLY_TOKENS)

    async def complete(self, request: Request) -> Completion:
        try:
            answer = await self._channel.post(self._encode({"messages": request.messages}))
        finally:
            self.requests = self._channel.requests
        try:
            body = _decode(answer.body)
        except _BROKEN:
            usage = self._paid(request, answer)
            raise self._channel.fault(
                f"answered with what is no chat completion: {_shown(answer.body)}", usage
            ) from None
        served = body.model or ""
        if not body.choices:
            what = f"an error: {_shown(str(body.error))}" if body.error else f"no choices: {_shown(answer.body)}"
            raise self._channel.fault(f"answered with {what}", self._paid(request, answer))
        choice = body.choices[0]
        text = _text(choice.message)
        usage = self._usage(request, text, served, _tokens(body.usage), answer)
        if not text:
            raise self._channel.fault(
                f"gave an empty reply (finish_reason {choice.finish_reason or 'not told'})", usage
            )
        return Completion(
            text=text,
            model=served,
            fingerprint=body.system_fingerprint or "",
            finish=choice.finish_reason or "",
            usage=usage,
        )

    async def close(self) -> None:
        await self._channel.close()

    def _paid(self, request: Request, answer: ResponseBody) -> Usage | None:
        """Return the cost that a useless answer states, or ``None`` when it states none."""
        try:
            body = _decode_paid(answer.body)
        except _BROKEN:
            return None
        served = body.model if isinstance(body.model, str) else ""
        tokens = _tokens(body.usage)
        return self._usage(request, "", served, tokens, answer) if tokens is not None else None

    def _usage(self, request: Request, text: str, served: str, tokens: _Tokens | None, answer: ResponseBody) -> Usage:
        model = served or self.config.model
        if tokens is None:
            guess = estimated(request.prompt, text, model, self._prices)
            return msgspec.structs.replace(guess, calls=answer.sent, seconds=answer.seconds)
        into, out = tokens.prompt_tokens or 0, tokens.completion_tokens or 0
        details = tokens.prompt_tokens_details
        cached = (details.cached_tokens or 0) if details else 0
        return Usage(
            input_tokens=into,
            output_tokens=out,
            cached_tokens=cached,
            usd=self._prices.usd(model, into, out, cached),
            calls=answer.sent,
            seconds=answer.seconds,
        )


def _tokens(usage: Any) -> _Tokens | None:
    """The tokens of a usage block, ``None`` when it does not tell both: an answer is not lost to a strange block."""
    try:
        tokens = msgspec.convert(usage, _Tokens)
    except msgspec.ValidationError:
        return None
    return None if tokens.prompt_tokens is None or tokens.completion_tokens is None else tokens


def _shown(body: bytes | str) -> str:
    return start_of(body) or "an empty body"


def _text(message: _Message | None) -> str:
    if message is None:
        return ""
    content = message.content
    if isinstance(content, list):  # some servers answer in parts, as requests may
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    text = content.strip() if isinstance(content, str) else ""
    return text or (message.refusal or "").strip()
