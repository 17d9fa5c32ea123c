"""Hypothetical answers: a model invents one sentence that could answer the question, and retrieval asks with both.

Source: Gao et al., "Precise zero-shot dense retrieval without relevance labels", ACL 2023; the sentence is appended to
the question and does not replace it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from runner.config import ModelConfig
from runner.errors import EndpointUnusable, ModelFault, SearchError
from runner.llm import Model, Requests, connect
from runner.llm.prices import Prices
from runner.system.parts.words import clean
from runner.types import Usage

PROMPT = (
    "Somebody kept a record of conversations and events. Write one sentence of that record that would answer the "
    "question below, as a person would have said it. Invent the details; do not say that you do not know, and write "
    "nothing else.{now}\n\nQuestion: {question}"
)
PROMPT_SHA256 = hashlib.sha256(PROMPT.encode()).hexdigest()


class Hyde:
    """Writes hypothetical answers. Nothing is kept between runs: a repeated run pays and varies again."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._model: Model = connect(config, Prices.load())
        self._requests = Requests(config)

    @property
    def identity(self) -> str:
        """Model and prompt, for the record."""
        return f"{self.config.model or self.config.name} prompt sha256:{PROMPT_SHA256[:16]}"

    async def expand(self, question: str, now: datetime | None) -> tuple[str, Usage]:
        """The question with a hypothetical answer appended, and what the call cost.

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
            completion = await self._model.complete(request)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            raise SearchError(f"hyde: {fault}") from fault
        return f"{question} {completion.text.strip()}", completion.usage

    async def close(self) -> None:
        await self._model.close()
