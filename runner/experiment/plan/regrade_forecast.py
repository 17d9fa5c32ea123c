"""What a judge over recorded answers would do: its calls counted exactly, its tokens and money estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runner.config import Experiment
from runner.errors import ConfigError
from runner.experiment.regrade import prepare
from runner.experiment.regrade.source import gradable, repeated
from runner.llm import override_warning, require
from runner.types import Label, Question

_VERDICT_TOKENS: Final = 60


@dataclass(frozen=True)
class JudgeForecast:
    """What one job of a plan would grade.

    Attributes
    ----------
    questions
        Of the new run, those without an answer included.
    answered
        Questions with an answer to grade.
    refusals
        Answers that are an explicit refusal: they get their label without a call.
    calls
        Judge calls; a fake judge makes none.
    input_tokens, output_tokens
        Estimates: four characters a token, and 60 tokens a verdict.
    usd
        At list price; ``None`` where the price is unknown (a command tells its cost afterwards).
    """

    run: str
    arm: str
    judge: str
    questions: int
    answered: int
    repeats: int
    by_category: dict[str, int]
    refusals: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    warnings: list[str]


def forecast(experiment: Experiment) -> JudgeForecast:
    """Open the recorded run, build every request that the judge would be sent, and send none.

    Raises
    ------
    RunnerError
        For everything that would stop the run before its first call.
    """
    ready = prepare(experiment)
    source, judge, chosen = ready.source, experiment.judge, frozenset(ready.ids)
    warnings = [line for line in (override_warning(judge),) if line]
    try:
        require(judge)
    except ConfigError as error:
        warnings.append(f"this would stop before its first call: {error}")
    if experiment.run.sample is not None and len(chosen) < experiment.run.sample:
        warnings.append(f"run.sample={experiment.run.sample}: only {len(chosen)} questions have an answer")
    answers = refusals = tokens = 0
    by_category: dict[str, int] = {}
    for batch in source.batches():
        for texts in batch:
            if texts.id not in chosen or texts.id not in source.answered:
                continue
            row = source.rows[texts.id]
            by_category[row.category] = by_category.get(row.category, 0) + 1
            question = Question(
                id=row.id, text=texts.question, category=row.category, gold=texts.gold, rubric=texts.rubric
            )
            said = repeated(row, texts.answers)
            for answer, can in zip(said, gradable(row, texts.answers), strict=True):
                if not can:
                    continue
                asked = ready.judge.requests(question, answer)
                if isinstance(asked, Label):
                    refusals += 1
                else:
                    answers += len(asked)
                    tokens += sum(len(request.prompt) // 4 for request in asked)
    real = judge.provider != "fake"
    calls, verdicts = (answers, answers * _VERDICT_TOKENS) if real else (0, 0)
    sent = tokens if real else 0
    priced = ready.prices.usd(judge.model, sent, verdicts, 0) if judge.provider == "openai" else None
    names = source.instrument.harness.categories
    return JudgeForecast(
        run=source.run.path.name,
        arm=experiment.arm.name,
        judge=judge.name,
        questions=len(chosen),
        answered=sum(by_category.values()),
        repeats=experiment.run.repeats,
        by_category={f"{key} {names.get(key, key)}": n for key, n in sorted(by_category.items())},
        refusals=refusals,
        calls=calls,
        input_tokens=sent,
        output_tokens=verdicts,
        usd=priced if calls else 0.0,
        warnings=warnings,
    )
