"""A model that a memory system asks by itself: through the run, which journals, prices and bounds the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from runner.config import ModelConfig
from runner.errors import EndpointUnusable, ModelFault, SystemFault
from runner.llm import Model, Request, RequestBuilder, connect
from runner.llm.prices import Prices
from runner.system import Opening
from runner.types import Completion


class ModelClient:
    """One model, asked through the run that opened it.

    Raises
    ------
    ConfigError
        When the model cannot be called from here: no key, no such command.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._model: Model = connect(config, Prices.load())  # of no use but to refuse early; open() has the prices
        self._requests = RequestBuilder(config)
        self._complete: Callable[[Model, Request], Awaitable[Completion]] = _directly

    def open(self, opening: Opening) -> None:
        """Take the run's prices and its way of calling a model."""
        if opening.prices is not None:
            self._model = connect(self.config, opening.prices)
        if opening.complete is not None:
            self._complete = opening.complete

    @property
    def identity(self) -> str:
        """Provider and model, for the record."""
        return f"{self.config.provider}:{self.config.model or self.config.name}"

    @property
    def where(self) -> str:
        """The server that answers: two servers may call two models by one name."""
        if self.config.provider != "openai":
            return self.config.provider
        from runner.llm.endpoint import base_url_of

        return base_url_of(self.config)

    def request(self, messages: Sequence[dict[str, str]], parts: Mapping[str, str] | None = None) -> Request:
        """Return a request; ``parts`` are what a fake model reads."""
        return self._requests.build(messages, parts)

    async def complete(self, request: Request) -> Completion:
        """Return what the model answers.

        Raises
        ------
        ModelFault
            When the call fails.
        EndpointUnusable
            When no call can succeed.
        """
        return await self._complete(self._model, request)

    async def complete_or_fail(self, request: Request, fault: type[SystemFault], step: str) -> Completion:
        """Return what the model answers, or fail as a step of the memory system does.

        Raises
        ------
        SystemFault
            ``fault``, with the name of the step, when the call fails.
        EndpointUnusable
            When no call can succeed.
        """
        try:
            return await self.complete(request)
        except EndpointUnusable:
            raise
        except ModelFault as error:
            raise fault(f"{step}: {error}") from error

    async def close(self) -> None:
        await self._model.close()


async def _directly(model: Model, request: Request) -> Completion:
    return await model.complete(request)
