"""Hypothetical answers: a model invents one sentence that could answer the question, and retrieval asks with both.

Source: Gao et al., "Precise zero-shot dense retrieval without relevance labels", ACL 2023; the sentence is appended to
the question and does not replace it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from runner.config import ModelConfig
from runner.errors import SearchError
from runner.system import Opening
from runner.system._base.text import clean
from runner.system._retrieval.model_client import ModelClient

PROMPT = (
    "Somebody kept a record of conversations and events. Write one sentence of that record that would answer the "
    "question below, as a person would have said it. Invent the details; do not say that you do not know, and write "
    "nothing else.{now}\n\nQuestion: {question}"
)
PROMPT_SHA256 = hashlib.sha256(PROMPT.encode()).hexdigest()


class Hyde:
    """Writes hypothetical answers. Nothing is kept between runs: a repeated run pays and varies again.

    Raises
    ------
    ConfigError
        When the model cannot be called from here: no key, no such command.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._model_client = ModelClient(config)

    def open(self, opening: Opening) -> None:
        """Take the run's prices and its way of calling a model."""
        self._model_client.open(opening)

    @property
    def identity(self) -> str:
        """Model and prompt, for the record."""
        model = self._model_client.config
        return f"{model.model or model.name} prompt sha256:{PROMPT_SHA256[:16]}"

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
        request = self._model_client.request([{"role": "user", "content": content}], {"question": question})
        completion = await self._model_client.complete_or_fail(request, SearchError, "hyde")
        return f"{question} {completion.text.strip()}"

    async def close(self) -> None:
        await self._model_client.close()
