"""The forecast of a judge over recorded answers: calls are counted exactly, tokens and money are estimated."""

from __future__ import annotations

from dataclasses import dataclass

from runner.config import Experiment
from runner.experiment.plan.pricing import CHARS_PER_TOKEN, VERDICT_TOKENS, Stage, model_warnings, price
from runner.experiment.regrade import prepare
from runner.experiment.regrade.source import answers_per_repeat, gradable
from runner.types import Label, Question


@dataclass(frozen=True)
class JudgeForecast:
    """One job of a plan that grades recorded answers.

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
        Estimates: a token per four characters, and 60 tokens per verdict.
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
    warnings = model_warnings([judge])
    if experiment.run.sample is not None and len(chosen) < experiment.run.sample:
        warnings.append(f"run.sample={experiment.run.sample}: only {len(chosen)} questions have an answer")
    calls = refusals = tokens = 0
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
            answers = answers_per_repeat(row, texts.answers)
            for answer, has_answer in zip(answers, gradable(row, texts.answers), strict=True):
                if not has_answer:
                    continue
                requests = ready.judge.requests(question, answer)
                if isinstance(requests, Label):
                    refusals += 1
                else:
                    calls += len(requests)
                    tokens += sum(len(request.prompt) // CHARS_PER_TOKEN for request in requests)
    cost = price([Stage(judge, calls, tokens, calls * VERDICT_TOKENS)], ready.prices)
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
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        usd=cost.usd,
        warnings=warnings,
    )
