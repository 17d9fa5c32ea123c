"""What one job would do: its questions, calls, tokens and money, and the difference that it could detect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from runner.config import Experiment
from runner.early_stop.watch import caution
from runner.errors import ConfigError
from runner.experiment.prepare import PreparedExperiment, prepare
from runner.llm import override_warning, require
from runner.stats.planning.design import GUESSED, Assumed
from runner.stats.planning.power import minimum_detectable_effect

_ANSWER_TOKENS: Final = 40
_VERDICT_TOKENS: Final = 60
_PROMPT_CHARS: Final = 1500  # of a prompt or rubric around what is filled in


@dataclass(frozen=True)
class Forecast:
    """What one job of a plan would do. Tokens and money are estimates; ``usd`` is ``None`` where a price is unknown.

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
    experiment
        The job.
    assumed
        How often the arms disagree, and how that goes by cluster: a guess, or what a recorded pair showed.

    Raises
    ------
    RunnerError
        For everything that would stop the run before its first call.
    """
    ready = prepare(experiment)
    census, harness = ready.census, ready.harness
    models = (experiment.reader, experiment.judge)
    warnings = [warning for warning in map(override_warning, models) if warning]
    for model in models:
        try:
            require(model)
        except ConfigError as error:
            warnings.append(f"this would stop before its first call: {error}")
    scored = sum(n for category, n in census.by_category.items() if category in harness.comparable)
    if census.clusters < 6:
        warnings.append(
            f"{census.clusters} {harness.cluster}s: too few for any verdict (6 are needed, 30 are comfortable)"
        )
    elif census.clusters < 30:
        warnings.append(f"{census.clusters} {harness.cluster}s: the interval is widened for few clusters")
    few = caution(census.clusters, harness.cluster) if experiment.run.stop_when_decided else None
    warnings += [few] if few else []
    repeats = experiment.run.repeats
    calls = inputs = outputs = 0
    usd: float | None = 0.0
    if experiment.axis == "accuracy":
        if repeats < 3:
            warnings.append(f"run.repeats={repeats}: a gate on answers wants 3, one label flips by itself")
        recall = experiment.arm.recall
        hit = census.history_chars / max(1, census.events) + 40
        history = (census.history_chars + 40 * census.events) / max(1, census.scenarios)
        context = min(x for x in (recall.limit and recall.limit * hit, recall.max_chars, history) if x is not None)
        if experiment.arm.system == "none":
            context = 0.0
        usd = 0.0
        stages = [
            (experiment.reader, census.questions * repeats, context + _PROMPT_CHARS, _ANSWER_TOKENS),
            (experiment.judge, census.gradings * repeats, _PROMPT_CHARS, _VERDICT_TOKENS),
        ]
        if ready.simplifier is not None and ready.simplifier.config is not None:
            stages.append((ready.simplifier.config, census.questions * repeats, _PROMPT_CHARS, _ANSWER_TOKENS))
        if experiment.reader.provider == "ask":
            warnings.append(
                f"reader=ask: the memory answers by itself, {census.questions * repeats} times; what it asks of "
                f"its own models is not foreseen here"
            )
            if not ready.system.capabilities.answers:
                warnings.append(
                    f"{experiment.arm.name}: does not say so far that it answers by itself; a run would be refused "
                    f"if it does not when it opens"
                )
        for model, answers, chars, replies in stages:
            if model.provider in ("fake", "ask", "rule"):
                continue
            sent, received = int(chars / 4) * answers, replies * answers
            calls, inputs, outputs = calls + answers, inputs + sent, outputs + received
            price = ready.prices.usd(model.model, sent, received, 0) if model.provider == "openai" else None
            usd = None if usd is None or price is None else usd + price
    warnings += [*harness.caveats(), *_caveats(ready)]
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
        calls=calls,
        input_tokens=inputs,
        output_tokens=outputs,
        usd=usd,
        knobs=ready.system.knobs.model_dump(mode="json"),
        inert={k: v for k, v in ready.system.inert(experiment.harness.name).items() if k in experiment.arm.knobs},
        detectable=detectable,
        assumed=assumed,
        warnings=warnings,
    )


def _caveats(ready: PreparedExperiment) -> list[str]:
    """Return what to know of the arm over this benchmark, a sentence each."""
    harness, system, arm = ready.experiment.harness.name, ready.system, ready.experiment.arm.name
    lines = list(system.caveats(harness))
    if system.only_documents and not ready.harness.documents:
        lines.append(
            f"{harness} holds no documents (events of kind doc), so that this arm returns nothing and equals no_memory"
        )
    return [f"{arm}: {line}" for line in lines]
