"""Answers and labels of one question: the reader, then the judge, as often as the run repeats."""

from __future__ import annotations

from collections.abc import Sequence

from runner.errors import EndpointUnusable, ModelFault
from runner.experiment.ledger import Ledger
from runner.harness import Harness
from runner.llm import Model, Request
from runner.llm.judge import Judge
from runner.llm.reader import Reader
from runner.llm.verdicts import of_points
from runner.record.usage import add
from runner.safe import mask
from runner.stats.agreement import majority_label
from runner.types import JUDGE_ERROR, JUDGE_SCORE, READER_ERROR, STATUSES, Completion, Label, Question, Row, Texts


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
        return of_points(labels) if question.gold.points else labels[0]

    async def _graded(self, question: Question, request: Request, repeat: int, row: Row, models: list[str]) -> Label:
        try:
            verdict = await complete(self._ledger, self._model, request, question, "judge", repeat, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=JUDGE_ERROR, reason=str(fault))
        models.append(verdict.model)
        return self._judge.label(question, verdict)


async def complete(
    ledger: Ledger, model: Model, request: Request, question: Question, role: str, repeat: int, row: Row
) -> Completion:
    """A recorded reply or a new one, its use added to the row."""
    completion = await ledger.complete(model, request, question.id, role, repeat)
    row.usage[role] = add(row.usage.get(role), completion.usage)
    return completion


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


class Answering:
    """A reader and a judge with their models, for all questions of a run."""

    def __init__(
        self,
        harness: Harness,
        reader: Reader,
        judge: Judge,
        models: tuple[Model, Model],
        ledger: Ledger,
        repeats: int,
    ) -> None:
        self._harness = harness
        self._reader = reader
        self._reading = models[0]
        self._ledger = ledger
        self._grading = Grading(judge, models[1], ledger)
        self._repeats = repeats

    async def answer(self, question: Question, context: str, row: Row, texts: Texts) -> None:
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
            label, answer = await self._once(question, context, repeat, row, models)
            labels.append(label)
            answers.append(answer)
        row.models = tuple(dict.fromkeys(models))
        texts.answers, texts.reasons = tuple(answers), tuple(label.reason for label in labels)
        texts.rubric = question.rubric
        conclude(row, labels)
        valid = [answer for label, answer in zip(labels, answers, strict=True) if label.value not in STATUSES]
        if not valid:
            return
        scored = [self._harness.score_answer(question, answer) for answer in valid]
        for name in scored[0]:
            values = [value for value in (item.get(name) for item in scored) if value is not None]
            row.metrics[name] = sum(values) / len(values) if values else None

    async def _once(
        self, question: Question, context: str, repeat: int, row: Row, models: list[str]
    ) -> tuple[Label, str]:
        """One answer and its label; a fault of either model is a label of its own, never WRONG."""
        try:
            asked = self._reader.request(question, context)
            reply = await complete(self._ledger, self._reading, asked, question, "reader", repeat, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=READER_ERROR, reason=str(fault)), ""
        models.append(reply.model)
        if reply.finish == "length":
            row.flags = (*row.flags, "answer_truncated")
        answer = reply.text.strip()
        return await self._grading.label(question, answer, repeat, row, models), answer
