"""Labels of one question: whoever answers, then the judge or the benchmark's own rule, as often as the run repeats."""

from __future__ import annotations

from collections.abc import Sequence

from runner.errors import EndpointUnusable, ModelFault
from runner.experiment.answer import AnswerAttempt, Say, complete
from runner.experiment.benchmark_guard import BenchmarkGuard
from runner.experiment.lexical_answers import Simplifying
from runner.experiment.model_calls import Ledger
from runner.llm import Model, Request
from runner.llm.judge import Judge
from runner.llm.judge_replies import label_of_points
from runner.safe import mask
from runner.stats.agreement import majority_label
from runner.types import JUDGE_ERROR, JUDGE_SCORE, READER_ERROR, STATUSES, Label, Question, Row, Texts


class Grading:
    """A judge with its model: an answer in, a label out."""

    def __init__(self, judge: Judge, model: Model, ledger: Ledger) -> None:
        self._judge, self._model, self._ledger = judge, model, ledger

    async def label(self, question: Question, answer: str, repeat: int, row: Row, models: list[str]) -> Label:
        """The label of one answer; a fault of the judge is a label of its own, never WRONG.

        What the call used is added to the row, and what the server says that it served to ``models``.

        Raises
        ------
        EndpointUnusable
            When no call can succeed.
        """
        asked = self._judge.requests(question, answer)
        if isinstance(asked, Label):
            return asked
        # One call a point, one after the other: the benchmark's score is their mean.
        labels = [await self._graded(question, request, repeat, row, models) for request in asked]
        return label_of_points(labels) if question.gold.points else labels[0]

    async def _graded(self, question: Question, request: Request, repeat: int, row: Row, models: list[str]) -> Label:
        try:
            verdict = await complete(self._ledger, self._model, request, question, "judge", repeat, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=JUDGE_ERROR, reason=str(fault))
        models.append(verdict.model)
        return self._judge.label(question, verdict)


def conclude(row: Row, labels: Sequence[Label]) -> None:
    """Write the labels into a row: with their majority, or, when no repeat has one, with the last fault as status.

    Where the judge gives scores, their mean over the repeats that have one is the metric ``JUDGE_SCORE``.
    """
    values = [label.value for label in labels]
    row.labels = tuple(values)
    if all(value in STATUSES for value in values):
        row.status, row.error = values[-1], mask(labels[-1].reason)
        return
    row.label = majority_label(values)
    scores = [label.score for label in labels if label.score is not None]
    if scores:
        row.metrics[JUDGE_SCORE] = sum(scores) / len(scores)


class Grader:
    """What turns answers into labels and metrics, for all questions of a run.

    Parameters
    ----------
    grading
        The judge; ``None`` where every question is graded by the benchmark's own rule.
    simplifying
        What makes lexical scores of a simplified answer; ``None`` where none are wanted.
    """

    def __init__(
        self, measured: BenchmarkGuard, repeats: int, grading: Grading | None, simplifying: Simplifying | None = None
    ) -> None:
        self._measured = measured
        self._repeats = repeats
        self._grading = grading
        self._simplifying = simplifying

    async def answer(self, question: Question, row: Row, texts: Texts, say: Say) -> None:
        """Fill in answers, labels, their majority and the harness's own answer score.

        Raises
        ------
        EndpointUnusable
            When no call can succeed.
        """
        labels: list[Label] = []
        answers: list[str] = []
        models: list[str] = []
        for repeat in range(self._repeats):
            label, answer = await self._once(question, repeat, row, models, say)
            labels.append(label)
            answers.append(answer)
        row.models = tuple(dict.fromkeys(models))
        texts.answers, texts.reasons = tuple(answers), tuple(label.reason for label in labels)
        texts.rubric, texts.rule = question.rubric, question.rule
        conclude(row, labels)
        valid = [
            (repeat, answer)
            for repeat, (label, answer) in enumerate(zip(labels, answers, strict=True))
            if label.value not in STATUSES
        ]
        if not valid:
            return
        scored = [self._measured.answer(question, answer) for _, answer in valid]
        if self._simplifying is not None:
            for at, (repeat, answer) in enumerate(valid):
                scored[at] = scored[at] | await self._simplifying.scores(question, answer, repeat, row)
        for name in dict.fromkeys(name for item in scored for name in item):
            values = [value for value in (item.get(name) for item in scored) if value is not None]
            row.metrics[name] = sum(values) / len(values) if values else None

    async def _once(self, question: Question, repeat: int, row: Row, models: list[str], say: Say) -> tuple[Label, str]:
        """One answer and its label; a fault of whoever answers or grades is a label of its own, never WRONG."""
        try:
            said: AnswerAttempt = await say(repeat, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=READER_ERROR, reason=str(fault)), ""
        models.append(said.model)
        row.flags = tuple(dict.fromkeys((*row.flags, *said.flags)))
        return await self._label(question, said.text, repeat, row, models), said.text

    async def _label(self, question: Question, answer: str, repeat: int, row: Row, models: list[str]) -> Label:
        if question.rule:
            return self._measured.grade(question, answer)
        if self._grading is None:
            raise AssertionError("a question without a rule needs a judge")  # `prepare` refuses such a run
        return await self._grading.label(question, answer, repeat, row, models)
