"""An experiment looked up and checked, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runner import harness as harnesses
from runner import system as systems
from runner.config import Experiment
from runner.errors import ConfigError, MissingExtra
from runner.experiment.simplifying import Simplifier
from runner.experiment.watching import contradictions
from runner.harness import Census, DatasetInfo, Harness
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.llm.reader import Reader
from runner.system import MemorySystem


@dataclass(frozen=True)
class Ready:
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


def prepare(experiment: Experiment) -> Ready:
    """Look everything up and check it, every problem at once.

    Raises
    ------
    ConfigError
        With the problems of harness, arm, reader, judge and slice together.
    DatasetError, MissingExtra
        When the data or an optional dependency is not there.
    """
    problems = contradictions(experiment)

    def attempt(build: Any, *args: Any) -> Any:
        try:
            return build(*args)
        except ConfigError as error:
            problems.extend(error.problems)
            return None

    harness = attempt(harnesses.build, experiment.harness)
    system = attempt(systems.build, experiment.arm)
    reads = experiment.reader.provider not in ("none", "ask")
    grades = experiment.judge.provider not in ("none", "rule")
    reader = attempt(Reader, experiment.reader, harness.prompts if harness else ()) if reads else None
    judge = attempt(Judge, experiment.judge, harness.rubrics if harness else ()) if grades else None
    simplifier = attempt(Simplifier.of, experiment)
    prices = attempt(Prices.load, experiment.run.prices)
    if problems:
        raise ConfigError(problems)
    missing = system.missing()
    if missing:
        raise MissingExtra(f"arm '{experiment.arm.name}' (system {experiment.arm.system})", missing)
    dataset, census = harness.dataset(), harness.census(experiment.slice)
    _require_grading(experiment, harness, census)
    return Ready(experiment, harness, system, reader, judge, simplifier, prices, dataset, census)


def _require_grading(experiment: Experiment, harness: Harness, census: Census) -> None:
    """One instrument a slice: a judge where the benchmark wants one, and its own rule where that grades all.

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
