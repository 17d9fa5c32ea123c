"""The record of one question: the one place where a run makes a :class:`Row` and a :class:`Texts`."""

from __future__ import annotations

from dataclasses import dataclass

from runner.experiment.evidence import StoredEvidence
from runner.experiment.grade import Conclusion, GradedAnswers, conclude
from runner.experiment.recall_budget import fingerprint
from runner.experiment.search import Searched
from runner.record.usage import by_stage
from runner.types import OK, Question, Row, Scenario, Texts


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it was put: of which scenario, when (unix seconds), and the flags that its history gives it."""

    scenario: Scenario
    question: Question
    started: float
    flags: tuple[str, ...] = ()


def failed_row(asked: AskedQuestion, status: str, error: str) -> Row:
    """Return the row of a question that got no answer and no retrieval, since its history could not be written."""
    return row_of(asked, Searched(status=status, error=error), None)


def row_of(asked: AskedQuestion, searched: Searched, graded: GradedAnswers | None) -> Row:
    """Return the row of a question from what its steps found."""
    question, scenario = asked.question, asked.scenario
    flags = (*asked.flags, *searched.flags)
    if graded is None:
        graded, conclusion = GradedAnswers(), Conclusion((), status=searched.status, error=searched.error)
    else:
        conclusion = conclude(graded.labels)
    if graded.attempts:
        answer_flags = (flag for attempt in graded.attempts for flag in attempt.flags)
        flags = (*dict.fromkeys((*flags, *answer_flags)), *graded.flags)
    return Row(
        id=question.id,
        scenario=scenario.id,
        cluster=question.cluster or scenario.cluster,
        category=question.category,
        status=conclusion.status,
        error=conclusion.error,
        label=conclusion.label,
        labels=conclusion.labels,
        metrics=searched.metrics | conclusion.metrics | graded.metrics,
        keys=searched.keys,
        repeat_keys=_repeat_keys(graded),
        context=searched.context_digest,
        hits=len(searched.hits),
        chars=len(searched.context),
        flags=flags,
        usage=by_stage((*searched.used, *graded.used)),
        started=asked.started,
        models=graded.models,
        tags=question.tags,
    )


def _repeat_keys(graded: GradedAnswers) -> tuple[str, ...]:
    """Return the digests of the keys per repeat, where a memory answered several times and said what it read."""
    keys = [fingerprint([hit.key for hit in at.hits]) for at in graded.attempts if at.hits is not None]
    return tuple(keys) if len(keys) > 1 else ()


def texts_of(
    asked: AskedQuestion, searched: Searched, graded: GradedAnswers | None, stored: StoredEvidence | None
) -> Texts | None:
    """Return the long part of a row; ``None`` for a search that failed."""
    question = asked.question
    if searched.status != OK:
        return None
    return Texts(
        id=question.id,
        question=question.text,
        gold=question.gold,
        hits=searched.hits,
        context=searched.context,
        answers=graded.answers if graded else (),
        reasons=tuple(label.reason for label in graded.labels) if graded else (),
        rubric=question.rubric if graded else "",
        rule=question.rule if graded else "",
        evidence=stored.evidence if stored else None,
        stored=stored.stored if stored else None,
        links=stored.links if stored else False,
    )
