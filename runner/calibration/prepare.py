"""A calibration looked up and checked, before anything is spent."""

from __future__ import annotations

from runner import harness as harnesses
from runner import system as systems
from runner.calibration import file, probes, templates
from runner.calibration.reader_wording import READER, TEMPLATES, ReaderWording
from runner.calibration.session import PreparedCalibration
from runner.config import ArmConfig, Experiment
from runner.errors import UsageError
from runner.experiment.instrument import instrument
from runner.experiment.prepare import PreparedExperiment
from runner.experiment.problems import Problems
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.system import Provenance


def prepare(experiment: Experiment, *, per_kind: int, phrasing: str = TEMPLATES, seed: int = 7) -> PreparedCalibration:
    """Look everything up, check it, and build the probes.

    Parameters
    ----------
    experiment
        Its judge, harness, slice and ``run.repeats``; its reader only where that words the probes. The arm is not used.
    per_kind
        Probes of each kind.
    phrasing
        ``templates`` or ``reader``.
    seed
        Of every random choice.

    Raises
    ------
    ConfigError
        With the problems of harness, judge, reader and slice together.
    DatasetError, UsageError
        When the data is not there or holds nothing to probe.
    """
    problems = Problems()
    attempt = problems.attempt
    if per_kind < 1 or per_kind > 1_000_000:
        raise UsageError(f"--probes {per_kind}: give 1 to 1,000,000 probes a kind")
    for role, model in (("judge", experiment.judge), *([("reader", experiment.reader)] if phrasing == READER else [])):
        if model.provider in ("none", "imported", "ask", "rule"):
            why = (
                "a judge is what is calibrated" if role == "judge" else "--phrasing reader asks one to word the probes"
            )
            problems.lines.append(f"{role}={model.name}: {why}; choose a model ({role}=gpt-4.1)")
    harness = attempt(harnesses.build, experiment.harness)
    judge = attempt(Judge, experiment.judge, harness.rubrics if harness else ())
    rephrasing = attempt(ReaderWording, experiment.reader) if phrasing == READER else None
    prices = attempt(Prices.load, experiment.run.prices)
    problems.check()
    dataset, census = harness.dataset(), harness.census(experiment.slice)
    planned = probes.plan_probes(harness, experiment.slice, per_kind, seed)
    system = systems.build(ArmConfig(name="no_memory", system="none"))
    ready = PreparedExperiment(experiment, harness, system, None, judge, None, prices, dataset, census)
    recorded = instrument(ready, Provenance(build="none")).rows
    rows = {name: recorded[name] for name in ("dataset.version", *file.ROWS)}
    header = file.empty(
        source="probes",
        judge=experiment.judge.name,
        harness=experiment.harness.name,
        synthetic=harness.synthetic,
        category_names=dict(harness.categories),
        rows={**rows, "repeats": experiment.run.repeats},
        fakes=[f"judge {experiment.judge.name}"] if experiment.judge.provider == "fake" else [],
        slice=file.Slice(name=experiment.slice.name, sha256=census.sha256, questions=census.questions),
        repeats=experiment.run.repeats,
        seed=seed,
        asked=per_kind,
        eligible=planned.eligible,
        left_out=planned.left_out,
        wording=file.Wording(
            **(rephrasing.record() if rephrasing else {"by": TEMPLATES, "templates": templates.TEMPLATES_SHA256})
        ),
    )
    return PreparedCalibration(experiment, judge, rephrasing, prices, planned, header)
