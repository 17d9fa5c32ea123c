"""Probes worded by the reader model, checked word by word; what does not pass is worded by its template instead."""

from __future__ import annotations

from typing import Any, Final

from runner.calibration import templates
from runner.calibration.probes import RIGHT, SPECIFIC, VAGUE, Probe, holds_gold
from runner.config import ModelConfig
from runner.llm import Request, RequestBuilder, instrument_params
from runner.llm.template import Template

READER: Final = "reader"
TEMPLATES: Final = "templates"
_LONGEST: Final = 600  # characters beyond the fact itself: more is no short answer
# How a reply is held to its probe; recorded with every calibration that a reader worded.
CHECK: Final = (
    "a reply counts when it is no explicit refusal, is at most 600 characters longer than the fact, holds every SQuAD "
    "token of its fact as often as the fact does, and, where it is to be wrong, does not hold the gold of its question"
)


class ReaderWording:
    """Asks a reader to word probes.

    Raises
    ------
    ConfigError
        When a prompt file is missing or lacks a placeholder.
    """

    def __init__(self, config: ModelConfig) -> None:
        question, answer = frozenset({"question"}), frozenset({"question", "answer"})
        self._config = config
        self._answer = Template.load("reader/prompts", "probe_answer", "probe prompt", answer, answer)
        self._vague = Template.load("reader/prompts", "probe_vague", "probe prompt", question, question)
        self._requests = RequestBuilder(config)

    def request(self, probe: Probe) -> Request:
        """Build the request that words one probe."""
        parts = {"question": probe.item.question.text, "context": probe.text}
        if probe.kind == VAGUE:
            return self._requests.build(self._vague.fill({"question": probe.item.question.text}), parts)
        values = {"question": probe.item.question.text, "answer": probe.fact}
        return self._requests.build(self._answer.fill(values), parts)

    def accepted(self, probe: Probe, reply: str) -> str | None:
        """Return the reply as the text of a probe, or ``None`` when the template is to be used (:data:`CHECK`)."""
        text = " ".join(reply.split())
        if not text or len(text) > _LONGEST + len(probe.fact) or templates.is_refusal(text):
            return None
        if probe.kind in (RIGHT, SPECIFIC) and not templates.has_words_of(text, probe.fact):
            return None
        return None if probe.kind != RIGHT and holds_gold(text, probe.item) else text

    def record(self) -> dict[str, Any]:
        """Return what decided the wording: model, parameters, prompt hashes and the check."""
        return {
            "by": READER,
            "model": f"{self._config.provider}:{self._config.model or self._config.name}",
            "params": instrument_params(self._config),
            "prompts": {"probe_answer": self._answer.sha256, "probe_vague": self._vague.sha256},
            "templates": templates.TEMPLATES_SHA256,
            "check": CHECK,
        }
