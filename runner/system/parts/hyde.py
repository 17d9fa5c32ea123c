"""Hypothetical answers: a model invents one sentence that could answer the question, and retrieval asks with both.

Source: Gao et al., "Precise zero-shot dense retrieval without relevance labels", ACL 2023; the sentence is appended to
the question and does not replace it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime

from runner.config import ModelConfig
from runner.errors import EndpointUnusable, ModelFault, SearchError
from runner.llm import Model, Request, Requests, connect
from runner.llm.prices import Prices
from runner.system import Opening
from runner.system.parts.words import clean
from runner.types import Completion

PROMPT = (
    "Somebody kept a record of conversations and events. Write one sentence of that record that would answer the "
    "question below, as a person would have said it. Invent the details; do not say that you do not know, and write "
    "nothing else.{now}\n\nQuestion: {question}"
)
PROMPT_SHA256 = hashlib.sha256(PROMPT.encode()).hexdigest()


class Hyde:
    """Writes hypothetical answers. Nothing is kept between runs: a repeated run pays and varies again.

    The run that opens it records, prices and counts the calls (:class:`~runner.system.Opening`).

    Raises
    ------
    ConfigError
        When the model cannot be called from here: no key, no such command.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._model: Model = connect(config, Prices.load())  # of no use but to refuse early; open() has the prices
        self._requests = Requests(config)
        self._complete: Callable[[Model, Request], Awaitable[Completion]] = _directly

    def open(self, opening: Opening) -> None:
        """Take the run's prices and its way of calling a model."""
        if opening.prices is not None:
            self._model = connect(self.config, opening.prices)
        if opening.complete is not None:
            self._complete = opening.complete

    @property
    def identity(self) -> str:
        """Model and prompt, for the record."""
        return f"{self.config.model or self.config.name} prompt sha256:{PROMPT_SHA256[:16]}"

    async def expand(self, question: str, now: datetime | None) -> str:
        """The question with a hypothetical answer appended.

        Raises
        ------
        SearchError
            When the model fails: a question asked without its expansion would be another arm's.
        EndpointUnusable
            When the model can never answer.
        """
        when = f" The question is asked on {now:%d %B %Y}." if now is not None else ""
        content = PROMPT.format(now=when, question=clean(question))
        request = self._requests.of([{"role": "user", "content": content}], {"question": question})
        try:
            completion = await self._complete(self._model, request)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            raise SearchError(f"hyde: {fault}") from fault
        return f"{question} {completion.text.strip()}"

    async def close(self) -> None:
        await self._model.close()


async def _directly(model: Model, request: Request) -> Completion:
    return await model.complete(request)
