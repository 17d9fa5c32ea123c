"""An experiment looked up and checked, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from runner import harness as harnesses
from runner import system as systems
from runner.config import Experiment
from runner.early_stop.watch import contradictions
from runner.errors import ConfigError, MissingExtra
from runner.experiment.lexical_answers import Simplifier
from runner.experiment.problems import Problems
from runner.harness import Census, DatasetInfo, Harness
from runner.harness._base.faults import faults_of, own_code
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.llm.reader import Reader
from runner.system import MemorySystem


@dataclass(frozen=True)
class PreparedExperiment:
    """An experiment whose every part was found and checked; nothing is spent yet.

    ``reader`` is ``None`` without answers and where the memory answers by itself, ``judge`` where none is asked.
    """

    experiment: Experiment
    harness: Harness
    system: MemorySystem
    reader: Reader | None
    judge: Judge | None
    simplifier: Simplifier | None
    prices: Prices
    dataset: DatasetInfo
    census: Census


def prepare(experiment: Experiment) -> PreparedExperiment:
    """Look everything up and check it, every problem at once.

    Raises
    ------
    ConfigError
        With the problems of harness, arm, reader, judge and slice together.
    DatasetError, MissingExtra
        When the data or an optional dependency is not there.
    """
    problems = Problems(contradictions(experiment))
    attempt = problems.attempt
    name = experiment.harness.name
    harness = attempt(harnesses.build, experiment.harness)
    if harness is not None:
        attempt(_headline, harness, experiment.axis)
    system = attempt(systems.build, experiment.arm)
    reads = experiment.reader.provider not in ("none", "ask")
    grades = experiment.judge.provider not in ("none", "rule")
    reader = attempt(Reader, experiment.reader, harness.prompts if harness else ()) if reads else None
    judge = attempt(Judge, experiment.judge, harness.rubrics if harness else ()) if grades else None
    simplifier = attempt(Simplifier.of, experiment)
    prices = attempt(Prices.load, experiment.run.prices)
    problems.check()
    missing = system.missing()
    if missing:
        raise MissingExtra(f"arm '{experiment.arm.name}' (system {experiment.arm.system})", missing)
    with own_code(name, "dataset()"), faults_of(name):
        dataset = harness.dataset()
    with own_code(name, "read()"):
        census = harness.census(experiment.slice)
    _require_grading(experiment, harness, census)
    if experiment.reader.provider == "ask" and not harness.askable:
        raise ConfigError(
            [
                f"reader=ask: what is to be said of a question of {name} stands in a prompt that no memory is given; "
                f"choose a reader"
            ]
        )
    if not system.told_at_open:
        require_capable(experiment, system, census)
    return PreparedExperiment(experiment, harness, system, reader, judge, simplifier, prices, dataset, census)


def _headline(harness: Harness, axis: str) -> str:
    with own_code(harness.name, "headline()"):
        return harness.headline(axis)


def require_capable(experiment: Experiment, system: MemorySystem, census: Census) -> None:
    """Check that the system can do what the run wants: answer by itself, search a corpus that was there before.

    Raises
    ------
    ConfigError
        When it does not.
    """
    arm, capabilities = experiment.arm, system.capabilities
    if experiment.reader.provider == "ask" and not capabilities.answers:
        raise ConfigError(
            [f"reader=ask: arm '{arm.name}' (system {arm.system}) does not answer by itself; choose a reader"]
        )
    if census.existing and not capabilities.existing:
        raise ConfigError(
            [
                f"arm '{arm.name}' (system {arm.system}) keeps nothing beyond a run, so there is no corpus "
                f"'{census.existing}' in it to search; choose an arm that reaches a server, or give the corpus to be "
                f"written (see the harness's settings)"
            ]
        )


def _require_grading(experiment: Experiment, harness: Harness, census: Census) -> None:
    """Check that a slice is graded one way: by a judge, or by the benchmark's own rule where that grades all of it.

    Raises
    ------
    ConfigError
        When the other one was chosen.
    """
    if experiment.axis == "recall":
        return
    chosen = experiment.judge.provider
    if chosen == "rule" and census.judged:
        raise ConfigError(
            [
                f"judge=rule: {census.judged} of {census.questions} questions of this slice of {harness.name} have no "
                f"rule of the benchmark's own; choose a judge (judge=gpt-4.1)"
            ]
        )
    if chosen != "rule" and not census.judged:
        raise ConfigError(
            [
                f"judge={experiment.judge.name}: would never be asked, since {harness.name} grades every question of "
                f"this slice by a rule of its own ({', '.join(harness.rules)}); say judge=rule"
            ]
        )
