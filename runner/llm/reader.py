"""The reader: a question and what the memory returned, as a request."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from runner.config import ModelConfig
from runner.llm import Request, Requests
from runner.llm.template import Template
from runner.types import Question

NOT_MENTIONED: Final = "NOT MENTIONED"  # the phrase that prompts ask for when the memory does not hold the answer
_KNOWN = frozenset({"context", "question", "now"})


class Reader:
    """Builds what is sent to a reader.

    Attributes
    ----------
    prompt_sha256
        Of the prompt file: a row of the instrument.

    Raises
    ------
    ConfigError
        When the prompt file is missing or lacks ``{context}`` or ``{question}``.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._template = Template.load(
            "reader/prompts", config.prompt, "reader.prompt", _KNOWN, frozenset({"context", "question"})
        )
        self._requests = Requests(config)
        self.prompt_sha256 = self._template.sha256

    def request(self, question: Question, context: str) -> Request:
        """What to send for one question. ``context`` is empty for the no-memory floor."""
        values = {
            "context": context or "(nothing was retrieved)",
            "question": question.text,
            "now": spelled(question.now),
        }
        return self._requests.of(self._template.fill(values), {"context": context, "question": question.text})


def spelled(when: datetime | None) -> str:
    """A date as people write it, with its weekday; ``"unknown"`` when there is none."""
    return "unknown" if when is None else f"{when:%A}, {when.day} {when:%B} {when.year}, {when:%H:%M}"
