"""Lexical scores of a simplified answer, to sit beside published lexical tables; they never replace a label.

Of a whole sentence they grade verbosity: a wrong date in two words can outscore a right sentence. So the answer is cut
to what it states first, by a model (the judge, unless another is named), or by a rule of words, named heuristic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runner.config import Experiment, ModelConfig
from runner.errors import ConfigError, EndpointUnusable, ModelFault
from runner.experiment.benchmark_guard import Scores
from runner.experiment.model_calls import Ledger
from runner.llm import Model, RequestBuilder, instrument_params
from runner.llm.template import Template
from runner.score.lexical import is_abstention
from runner.score.lexical_answers import lexical_scores, simplified_by_rule
from runner.types import NOT_SIMPLIFIED, Completion, Question, Usage

OFF: Final = "off"
HEURISTIC: Final = "heuristic"
JUDGE: Final = "judge"
_PROMPT: Final = "simplify"
_KNOWN: Final = frozenset({"question", "answer"})


class Simplifier:
    """The model or rule that simplifies, found and checked; nothing is sent yet.

    Attributes
    ----------
    config
        The model; ``None`` is the heuristic.
    identity
        Model, parameters and prompt: a row of the instrument.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.config = _model(experiment)
        self.template: Template | None = None
        self.identity = HEURISTIC
        if self.config is not None:
            self.template = Template.load("reader/prompts", _PROMPT, "run.lexical", _KNOWN, _KNOWN)
            params = instrument_params(self.config)
            self.identity = f"{self.config.provider}:{self.config.model} {params} {self.template.sha256}"

    @classmethod
    def of(cls, experiment: Experiment) -> Simplifier | None:
        """Return the simplifier that a config names, ``None`` where lexical scores are off.

        Raises
        ------
        ConfigError
            When it names a model that cannot be asked.
        """
        return None if experiment.run.lexical == OFF else cls(experiment)


def _model(experiment: Experiment) -> ModelConfig | None:
    """Return the judge, or another model at the judge's endpoint."""
    chosen, judge = experiment.run.lexical, experiment.judge
    if experiment.axis == "recall":
        raise ConfigError([f"run.lexical={chosen}: there are no answers to score while reader=none; choose a reader"])
    if chosen == HEURISTIC:
        return None
    if judge.provider not in ("openai", "command"):
        raise ConfigError(
            [
                f"run.lexical={chosen}: judge={judge.name} is no model that can simplify an answer; "
                f"say run.lexical=heuristic"
            ]
        )
    if chosen == JUDGE:
        named = judge
    elif judge.provider == "command":
        raise ConfigError(
            [f"run.lexical={chosen}: judge={judge.name} is a command; say run.lexical=judge or heuristic"]
        )
    else:
        named = judge.model_copy(update={"model": chosen, "pinned": ""})
    params = {name: value for name, value in named.params.items() if name != "response_format"}  # a phrase, not JSON
    return named.model_copy(update={"params": params})


@dataclass(frozen=True)
class LexicalScores:
    """The lexical scores of one answer, and what simplifying it took."""

    scores: Scores
    used: tuple[tuple[str, Usage], ...] = ()
    flags: tuple[str, ...] = ()


class LexicalScorer:
    """Simplifies answers and gives their lexical scores."""

    def __init__(self, simplifier: Simplifier, model: Model | None, ledger: Ledger) -> None:
        self._template = simplifier.template
        self._requests = RequestBuilder(simplifier.config) if simplifier.config is not None else None
        self._model, self._ledger = model, ledger

    async def score(self, question: Question, answer: str, repeat: int) -> LexicalScores:
        """Return ``simplified_f1``, ``_bleu1`` and ``_rouge_l``, or ``heuristic_…``, against the best gold answer.

        They are ``None`` where there is no gold text to hold against: a right answer that abstains, points, a rubric.

        Raises
        ------
        EndpointUnusable
            When no call can succeed.
        """
        prefix = HEURISTIC if self._model is None else "simplified"
        golds = () if question.gold.abstain or question.gold.points else question.gold.answers
        if not golds:
            return LexicalScores(lexical_scores(None, (), prefix))
        if self._model is None or is_abstention(answer):
            return LexicalScores(lexical_scores(simplified_by_rule(answer), golds, prefix))
        reply = await self._simplified(self._model, question, answer, repeat)
        if reply is None:
            return LexicalScores(lexical_scores(None, golds, prefix), flags=(NOT_SIMPLIFIED,))
        return LexicalScores(lexical_scores(reply.text.strip(), golds, prefix), (("simplify", reply.usage),))

    async def _simplified(self, model: Model, question: Question, answer: str, repeat: int) -> Completion | None:
        assert self._template is not None
        assert self._requests is not None
        values = {"question": question.reading or question.text, "answer": answer}
        request = self._requests.build(self._template.fill(values), values)
        try:
            return await self._ledger.complete(model, request, question.id, "simplify", repeat)
        except EndpointUnusable:
            raise
        except ModelFault:
            return None
