"""Answers and labels of one question: the reader, then the judge, as often as the run repeats."""

from __future__ import annotations

from runner.errors import EndpointUnusable, ModelFault
from runner.experiment.ledger import Ledger
from runner.harness import Harness
from runner.llm import Model, Request
from runner.llm.judge import Judge
from runner.llm.reader import Reader
from runner.record.usage import add
from runner.safe import mask
from runner.stats.agreement import majority_label
from runner.types import JUDGE_ERROR, READER_ERROR, STATUSES, Completion, Label, Question, Row, Texts


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
        self._reader, self._judge = reader, judge
        self._reading, self._judging = models
        self._ledger = ledger
        self._repeats = repeats

    async def answer(self, question: Question, context: str, row: Row, texts: Texts) -> None:
        """Fill in answers, labels, their majority and the harness's own answer score.

        Raises
        ------
        EndpointUnusable
            When no call can succeed.
        """
        labels: list[str] = []
        answers: list[str] = []
        reasons: list[str] = []
        models: list[str] = []
        for repeat in range(self._repeats):
            label, answer = await self._once(question, context, repeat, row, models)
            labels.append(label.value)
            answers.append(answer)
            reasons.append(label.reason)
        row.labels, row.models = tuple(labels), tuple(dict.fromkeys(models))
        texts.answers, texts.reasons = tuple(answers), tuple(reasons)
        valid = [answer for label, answer in zip(labels, answers, strict=True) if label not in STATUSES]
        if not valid:
            row.status, row.error = labels[-1], mask(reasons[-1])
            return
        row.label = majority_label(labels)
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
            reply = await self._call(self._reading, "reader", question, repeat, asked, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=READER_ERROR, reason=str(fault)), ""
        models.append(reply.model)
        if reply.finish == "length":
            row.flags = (*row.flags, "answer_truncated")
        answer = reply.text.strip()
        request = self._judge.request(question, answer)
        if isinstance(request, Label):
            return request, answer
        try:
            verdict = await self._call(self._judging, "judge", question, repeat, request, row)
        except EndpointUnusable:
            raise
        except ModelFault as fault:
            return Label(value=JUDGE_ERROR, reason=str(fault)), answer
        models.append(verdict.model)
        return self._judge.label(question, verdict), answer

    async def _call(
        self, model: Model, role: str, question: Question, repeat: int, request: Request, row: Row
    ) -> Completion:
        completion = await self._ledger.complete(model, request, question.id, role, repeat)
        row.usage[role] = add(row.usage.get(role), completion.usage)
        return completion
