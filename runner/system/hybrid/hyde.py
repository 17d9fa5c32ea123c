"""Hypothetical answers: a model invents one sentence that could answer the question, and retrieval asks with both.

Source: Gao et al., "Precise zero-shot dense retrieval without relevance labels", ACL 2023; the sentence is appended to
the question and does not replace it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from runner.config import ModelConfig
from runner.errors import EndpointUnusable, ModelFault, SearchError
from runner.system import Opening
from runner.system._retrieval.model_client import Asker
from runner.system._retrieval.words import clean

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
        self._asker = Asker(config)

    def open(self, opening: Opening) -> None:
        """Take the run's prices and its way of calling a model."""
        self._asker.open(opening)

    @property
    def identity(self) -> str:
        """Model and prompt, for the record."""
        model = self._asker.config
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
        request = self._asker.request([{"role": "user", "content": content}], {"question": question})
        try:
            completion = await self._asker.reply(request)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            raise SearchError(f"hyde: {fault}") from fault
        return f"{question} {completion.text.strip()}"

    async def close(self) -> None:
        await self._asker.close()
