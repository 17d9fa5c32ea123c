"""The labels of one question: an answer, then the judge or the benchmark's own rule, once per repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.errors import EndpointUnusable, ModelFault
from runner.experiment.answer import AnswerAttempt, Answerer
from runner.experiment.benchmark_guard import BenchmarkGuard, Scores
from runner.experiment.lexical_answers import LexicalScorer
from runner.experiment.model_calls import Ledger
from runner.llm import Model
from runner.llm.judge import Judge
from runner.llm.judge_replies import label_of_points
from runner.safe import mask
from runner.stats.agreement import majority_label
from runner.types import JUDGE_ERROR, JUDGE_SCORE, OK, READER_ERROR, STATUSES, Completion, Label, Question, Usage


@dataclass(frozen=True)
class Graded:
    """The label of one answer, and the judge's replies behind it."""

    label: Label
    replies: tuple[Completion, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(reply.model for reply in self.replies)

    @property
    def used(self) -> tuple[tuple[str, Usage], ...]:
        return tuple(("judge", reply.usage) for reply in self.replies)


@dataclass(frozen=True)
class Conclusion:
    """The labels of a question's repeats: their majority, or the last fault as status when no repeat has a label.

    ``score`` is the mean of the scores of the repeats that have one; ``None`` where the judge gives none.
    """

    labels: tuple[str, ...]
    label: str = ""
    score: float | None = None
    status: str = OK
    error: str = ""

    @property
    def metrics(self) -> Scores:
        return {} if self.score is None else {JUDGE_SCORE: self.score}


def conclude(labels: Sequence[Label]) -> Conclusion:
    """Sum up the labels of a question's repeats."""
    values = tuple(label.value for label in labels)
    if all(value in STATUSES for value in values):
        return Conclusion(values, status=values[-1], error=mask(labels[-1].reason))
    scores = [label.score for label in labels if label.score is not None]
    return Conclusion(values, majority_label(values), sum(scores) / len(scores) if scores else None)


@dataclass(frozen=True)
class GradedAnswers:
    """The answers to one question, one per repeat, with labels, metrics and use; ``flags`` tell of their scoring."""

    answers: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    attempts: tuple[AnswerAttempt, ...] = ()  # of the repeats that were answered
    metrics: Scores = field(default_factory=dict)
    models: tuple[str, ...] = ()
    used: tuple[tuple[str, Usage], ...] = ()
    flags: tuple[str, ...] = ()


class JudgeGrader:
    """Has a judge's model label answers."""

    def __init__(self, judge: Judge, model: Model, ledger: Ledger) -> None:
        self._judge, self._model, self._ledger = judge, model, ledger

    async def grade(self, question: Question, answer: str, repeat: int) -> Graded:
        """Grade one answer; a fault of the judge is a label of its own, never WRONG.

        Raises
        ------
        EndpointUnusable
            When no call can succeed.
        """
        requests = self._judge.requests(question, answer)
        if isinstance(requests, Label):
            return Graded(requests)
        # One call per point, one after the other: the benchmark's score is their mean.
        labels: list[Label] = []
        replies: list[Completion] = []
        for request in requests:
            try:
                reply = await self._ledger.complete(self._model, request, question.id, "judge", repeat)
            except EndpointUnusable:
                raise
            except ModelFault as fault:
                labels.append(Label(value=JUDGE_ERROR, reason=str(fault)))
                continue
            replies.append(reply)
            labels.append(self._judge.label(question, reply))
        return Graded(label_of_points(labels) if question.gold.points else labels[0], tuple(replies))


class AnswerGrader:
    """Turns the answers of a run's questions into labels and metrics.

    Parameters
    ----------
    judge
        ``None`` where every question is graded by the benchmark's own rule.
    lexical
        Scores simplified answers; ``None`` where no lexical scores are wanted.
    """

    def __init__(
        self, benchmark: BenchmarkGuard, repeats: int, judge: JudgeGrader | None, lexical: LexicalScorer | None = None
    ) -> None:
        self._benchmark = benchmark
        self._repeats = repeats
        self._judge = judge
        self._lexical = lexical

    async def grade(self, question: Question, answerer: Answerer) -> GradedAnswers:
        """Ask for every repeat's answer, grade it, and take the harness's own answer score.

        Raises
        ------
        EndpointUnusable
            When no call can succeed.
        """
        labels: list[Label] = []
        attempts: list[AnswerAttempt | None] = []
        models: list[str] = []
        used: list[tuple[str, Usage]] = []
        for repeat in range(self._repeats):
            try:
                attempt = await answerer(repeat)
            except EndpointUnusable:
                raise
            except ModelFault as fault:  # of whoever answers: a label of its own, never WRONG
                labels.append(Label(value=READER_ERROR, reason=str(fault)))
                attempts.append(None)
                continue
            graded = await self._label(question, attempt.text, repeat)
            labels.append(graded.label)
            attempts.append(attempt)
            models += [attempt.model, *graded.models]
            used += [attempt.used, *graded.used]
        given = tuple(attempt for attempt in attempts if attempt is not None)
        flags: list[str] = []
        answers = tuple("" if attempt is None else attempt.text for attempt in attempts)
        valid = [(repeat, answers[repeat]) for repeat, label in enumerate(labels) if label.value not in STATUSES]
        scores = [self._benchmark.answer(question, answer) for _, answer in valid]
        if self._lexical is not None:
            for at, (repeat, answer) in enumerate(valid):
                lexical = await self._lexical.score(question, answer, repeat)
                scores[at] = scores[at] | lexical.scores
                used += lexical.used
                flags += lexical.flags
        return GradedAnswers(
            answers, tuple(labels), given, _means(scores), tuple(dict.fromkeys(models)), tuple(used), tuple(flags)
        )

    async def _label(self, question: Question, answer: str, repeat: int) -> Graded:
        if question.rule:
            return Graded(self._benchmark.grade(question, answer))
        if self._judge is None:
            raise AssertionError("a question without a rule needs a judge")  # `prepare` refuses such a run
        return await self._judge.grade(question, answer, repeat)


def _means(scores: Sequence[Scores]) -> Scores:
    """Return the mean of each metric over the repeats that have it, ``None`` where none has."""
    means: Scores = {}
    for name in dict.fromkeys(name for item in scores for name in item):
        values = [value for value in (item.get(name) for item in scores) if value is not None]
        means[name] = sum(values) / len(values) if values else None
    return means
