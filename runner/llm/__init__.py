"""Readers and judges: part of the instrument, never of the system under test.

``connect`` gives a :class:`Model` for a config; ``reader`` and ``judge`` turn questions into requests and replies into
answers and labels. Providers: ``chat`` (any OpenAI-compatible endpoint), ``command`` (a CLI that prints JSON) and
``fake`` (no model at all, for a first look; never a pass).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from runner.config import ModelConfig, digest
from runner.errors import ConfigError
from runner.types import Completion, Usage

if TYPE_CHECKING:
    from runner.llm.prices import Prices


@dataclass(frozen=True, slots=True)
class Request:
    """One model call, before it is sent.

    Attributes
    ----------
    messages
        ``{"role": …, "content": …}``, in order.
    sha256
        Over provider, model, :func:`instrument_params` and messages: everything that decides the reply.
    parts
        The pieces that the template was filled with; only a fake provider reads them.
    """

    messages: tuple[dict[str, str], ...]
    sha256: str
    parts: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def prompt(self) -> str:
        """The messages as one text, for a model that takes no roles."""
        return "\n\n".join(message["content"] for message in self.messages)


class RequestBuilder:
    """Makes the requests of one model; hashes what they share only once."""

    def __init__(self, config: ModelConfig) -> None:
        fixed = [config.provider, config.model, instrument_params(config)]
        self._prefix = hashlib.sha256(digest(fixed).encode())

    def build(self, messages: Sequence[dict[str, str]], parts: Mapping[str, str] | None = None) -> Request:
        sha = self._prefix.copy()
        for message in messages:
            for text in (message["role"], message["content"]):
                data = text.encode()
                sha.update(len(data).to_bytes(8, "big") + data)
        return Request(messages=tuple(messages), sha256=sha.hexdigest(), parts=parts or {})


class Model:
    """One reader or judge. Safe for many concurrent callers on one event loop.

    Attributes
    ----------
    requests
        HTTP requests or processes really sent, retries included.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self.requests = 0

    async def complete(self, request: Request) -> Completion:
        """One reply.

        Raises
        ------
        ModelFault
            When this call failed after the HTTP policy was exhausted, or the reply holds no text; with the usage of
            a reply that was paid for.
        EndpointUnusable
            When no call can succeed until a person changes something.
        """
        raise NotImplementedError

    def estimate(self, request: Request) -> float | None:
        """US dollars of one call before it is sent, at list price; ``None`` when no price is known.

        A prompt of four characters a token, and as long a reply as the parameters allow: a budget that reserves this
        is not overdrawn by the calls in flight. A command is unpriced until it has answered.
        """
        del request
        return None

    async def close(self) -> None:
        """Release what the model holds; the model is not usable afterwards."""


def connect(config: ModelConfig, prices: Prices) -> Model:
    """The model that a config names. Sends nothing yet.

    Raises
    ------
    ConfigError
        When the environment variable of its key is not set (a loopback endpoint needs none), its URL is none, the
        fake it names does not exist, or it has parameters that its provider could not send.
    """
    _check_params(config)
    if config.provider == "openai":
        from runner.llm.chat import ChatModel

        return ChatModel(config, prices)
    if config.provider == "command":
        from runner.llm.command import CommandModel

        return CommandModel(config, prices)
    if config.provider == "fake":
        from runner.llm.fake import FakeModel

        return FakeModel(config)
    raise ConfigError(
        [f"{config.name}: provider '{config.provider}' is no model; choose a reader and a judge (reader=gpt-4.1-mini)"]
    )


FAKES: Final = "reader=extractive_fake judge=lexical_fake"
FAKE_JUDGE: Final = "judge=lexical_fake"  # where the answers are not a reader's: a memory's own, or recorded ones


def require(config: ModelConfig, first_look: str = FAKES) -> None:
    """Refuse a model that cannot be reached from here; imports nothing and sends nothing.

    Parameters
    ----------
    config
        The model.
    first_look
        The words that choose fakes in its place, for the message.

    Raises
    ------
    ConfigError
        When its key is not in the environment, its URL is none, its command is not installed, or it has parameters
        that its provider could not send.
    """
    _check_params(config)
    if config.provider == "openai":
        from runner.llm.endpoint import base_url_of, key_of

        key_of(config, base_url_of(config), first_look)
    elif config.provider == "command":
        import shutil

        if shutil.which(config.command[0]) is None:
            raise ConfigError(
                [f"{config.name}: there is no command '{config.command[0]}'; install it or choose another model"]
            )


def _check_params(config: ModelConfig) -> None:
    """A parameter that nobody sends would be recorded as part of the instrument and change nothing."""
    if config.params and config.provider in ("command", "fake"):
        where = "write it into its command" if config.provider == "command" else "leave it out"
        raise ConfigError(
            [
                f"{config.name}: params.{name}: provider '{config.provider}' sends none; {where}"
                for name in config.params
            ]
        )


def instrument_params(config: ModelConfig) -> dict[str, Any]:
    """Return the parameters that decide a model's replies besides name and prompt; runs compare only if they match.

    The parameters as they are sent, and for a command its words and where in its output the reply is found.
    """
    if config.provider != "command":
        return dict(config.params)
    return {**config.params, "command": list(config.command), "output": config.output.model_dump(mode="json")}


def override_warning(config: ModelConfig) -> str | None:
    """The comparability warning of a model that is not the one published numbers used, or ``None``."""
    if not config.pinned or config.model == config.pinned:
        return None
    return (
        f"{config.name}: model is '{config.model}', published numbers used '{config.pinned}'; "
        "a score made with another model does not compare with them"
    )


def estimated(prompt: str, reply: str, model: str, prices: Prices) -> Usage:
    """Usage of a reply whose server reports none: four characters a token, at list price where the model has one."""
    into, out = len(prompt) // 4, len(reply) // 4
    usd = prices.usd(model, into, out)
    return Usage(input_tokens=into, output_tokens=out, usd=usd, calls=1, measured=False)
