"""The reader: a question and what the memory returned, as a request."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from runner.config import ModelConfig
from runner.llm import Request, RequestBuilder
from runner.llm.template import Template
from runner.types import Question

NOT_MENTIONED: Final = "NOT MENTIONED"  # the phrase that prompts ask for when the memory does not hold the answer
_KNOWN = frozenset({"context", "question", "now"})
# A file that compares two texts asks whether what the memory returned entails what is asked.
_ALSO: Final = {"premise": "context", "hypothesis": "question"}


class Reader:
    """Builds what is sent to a reader.

    Parameters
    ----------
    config
        The reader.
    prompts
        Names of the benchmark's own prompt files, read at once so that a missing one is told before anything is spent.

    Attributes
    ----------
    identity
        Sha256 of the prompt file, or of the benchmark's own by name where it has them: a row of the instrument.

    Raises
    ------
    ConfigError
        When a prompt file is missing or lacks ``{context}`` or ``{question}``.
    """

    def __init__(self, config: ModelConfig, prompts: Iterable[str] = ()) -> None:
        self._template = _load(config.prompt, "reader.prompt")
        self._own = {name: _load(name, "the benchmark's prompt") for name in prompts}
        self._requests = RequestBuilder(config)
        own = " ".join(f"{name}@{self._own[name].sha256}" for name in sorted(self._own))
        self.identity = own or self._template.sha256

    def request(self, question: Question, context: str) -> Request:
        """Build the request for one question. ``context`` is empty for the no-memory floor."""
        template = self._own[question.prompt] if question.prompt else self._template
        asked = question.reading or question.text
        values = {"context": context or "(nothing was retrieved)", "question": asked, "now": spelled(question.now)}
        return self._requests.build(template.fill(values), {"context": context, "question": asked})


def _load(name: str, key: str) -> Template:
    return Template.load("reader/prompts", name, key, _KNOWN, frozenset({"context", "question"}), _ALSO)


def spelled(when: datetime | None) -> str:
    """A date as people write it, with its weekday; ``"unknown"`` when there is none."""
    return "unknown" if when is None else f"{when:%A}, {when.day} {when:%B} {when.year}, {when:%H:%M}"
