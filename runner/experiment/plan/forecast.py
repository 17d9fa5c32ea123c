"""The forecast of one job: its questions, calls, tokens and money, and the difference that it could detect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from runner.config import Experiment, ModelConfig
from runner.early_stop.watch import too_few_clusters
from runner.experiment.plan.pricing import CHARS_PER_TOKEN, VERDICT_TOKENS, Cost, Stage, model_warnings, price
from runner.experiment.prepare import PreparedExperiment, prepare
from runner.stats.planning.design import GUESSED, Assumed
from runner.stats.power import minimum_detectable_effect

_ANSWER_TOKENS: Final = 40
_PROMPT_CHARS: Final = 1500  # of a prompt or rubric around what is filled in


@dataclass(frozen=True)
class Forecast:
    """One job of a plan. Tokens and money are estimates; ``usd`` is ``None`` where a price is unknown.

    ``detectable`` maps an intraclass correlation, 0 and the one ``assumed``, to the difference that is detected.
    """

    arm: str
    system: str
    axis: str
    harness: str
    metric: str
    questions: int
    scored: int  # in the headline denominator
    clusters: int
    by_category: dict[str, int]
    events: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    knobs: dict[str, Any]
    inert: dict[str, str]
    detectable: dict[str, float | None]
    assumed: Assumed
    warnings: list[str]


def forecast(experiment: Experiment, assumed: Assumed = GUESSED) -> Forecast:
    """Look a job's parts up, count its slice and price its calls.

    Parameters
    ----------
    assumed
        How often the arms disagree, and how that goes by cluster: a guess, or what a recorded pair showed.

    Raises
    ------
    RunnerError
        For everything that would stop the run before its first call.
    """
    ready = prepare(experiment)
    census, harness = ready.census, ready.harness
    answered = experiment.axis == "accuracy"
    scored = sum(n for category, n in census.by_category.items() if category in harness.comparable)
    cost = price(_stages(ready), ready.prices) if answered else Cost()
    size = max(1.0, scored / max(1, census.clusters))
    detectable = {
        f"icc {icc:g}": minimum_detectable_effect(
            scored, assumed.discordance, cluster_size=size, icc=icc, clusters=census.clusters
        )
        if scored
        else None
        for icc in (0.0, assumed.icc)
    }
    return Forecast(
        arm=experiment.arm.name,
        system=experiment.arm.system,
        axis=experiment.axis,
        harness=experiment.harness.name,
        metric=harness.headline(experiment.axis) if experiment.gate.metric == "auto" else experiment.gate.metric,
        questions=census.questions,
        scored=scored,
        clusters=census.clusters,
        by_category={f"{k} {harness.category_name(k)}": n for k, n in sorted(census.by_category.items())},
        events=census.events,
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        usd=cost.usd,
        knobs=ready.system.knobs.model_dump(mode="json"),
        inert={k: v for k, v in ready.system.inert(experiment.harness.name).items() if k in experiment.arm.knobs},
        detectable=detectable,
        assumed=assumed,
        warnings=[
            *model_warnings((experiment.reader, experiment.judge)),
            *_cluster_warnings(ready),
            *(_answer_warnings(ready) if answered else ()),
            *harness.caveats(),
            *_caveats(ready),
        ],
    )


def _stages(ready: PreparedExperiment) -> list[Stage]:
    """Return the calls of reader, judge and simplifier, their tokens estimated from the size of the history."""
    experiment, census = ready.experiment, ready.census
    repeats, recall = experiment.run.repeats, experiment.arm.recall
    hit = census.history_chars / max(1, census.events) + 40
    history = (census.history_chars + 40 * census.events) / max(1, census.scenarios)
    context = min(x for x in (recall.limit and recall.limit * hit, recall.max_chars, history) if x is not None)
    if experiment.arm.system == "none":
        context = 0.0
    answers = census.questions * repeats
    stages = [
        _stage(experiment.reader, answers, context + _PROMPT_CHARS, _ANSWER_TOKENS),
        _stage(experiment.judge, census.gradings * repeats, _PROMPT_CHARS, VERDICT_TOKENS),
    ]
    if ready.simplifier is not None and ready.simplifier.config is not None:
        stages.append(_stage(ready.simplifier.config, answers, _PROMPT_CHARS, _ANSWER_TOKENS))
    return stages


def _stage(model: ModelConfig, calls: int, chars: float, reply_tokens: int) -> Stage:
    return Stage(model, calls, int(chars / CHARS_PER_TOKEN) * calls, reply_tokens * calls)


def _cluster_warnings(ready: PreparedExperiment) -> list[str]:
    """Return what few clusters mean for a verdict."""
    clusters, unit = ready.census.clusters, ready.harness.cluster
    warnings = []
    if clusters < 6:
        warnings.append(f"{clusters} {unit}s: too few for any verdict (6 are needed, 30 are comfortable)")
    elif clusters < 30:
        warnings.append(f"{clusters} {unit}s: the interval is widened for few clusters")
    few = too_few_clusters(clusters, unit) if ready.experiment.run.stop_when_decided else None
    return [*warnings, *([few] if few else [])]


def _answer_warnings(ready: PreparedExperiment) -> list[str]:
    """Return what to know of the answers that will be asked for: their repeats, and whether a memory gives them."""
    experiment, warnings = ready.experiment, []
    repeats = experiment.run.repeats
    if repeats < 3:
        warnings.append(f"run.repeats={repeats}: a gate on answers wants 3, one label flips by itself")
    if experiment.reader.provider == "ask":
        warnings.append(
            f"reader=ask: the memory answers by itself, {ready.census.questions * repeats} times; what it asks of "
            f"its own models is not foreseen here"
        )
        if not ready.system.capabilities.answers:
            warnings.append(
                f"{experiment.arm.name}: does not say so far that it answers by itself; a run would be refused "
                f"if it does not when it opens"
            )
    return warnings


def _caveats(ready: PreparedExperiment) -> list[str]:
    """Return what to know of the arm over this benchmark, a sentence each."""
    harness, system, arm = ready.experiment.harness.name, ready.system, ready.experiment.arm.name
    lines = list(system.caveats(harness))
    if system.only_documents and not ready.harness.documents:
        lines.append(
            f"{harness} holds no documents (events of kind doc), so that this arm returns nothing and equals no_memory"
        )
    return [f"{arm}: {line}" for line in lines]
