"""An experiment looked up and checked, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runner import harness as harnesses
from runner import system as systems
from runner.config import Experiment
from runner.errors import ConfigError, MissingExtra
from runner.experiment.watching import contradictions
from runner.harness import Census, DatasetInfo, Harness
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.llm.reader import Reader
from runner.system import MemorySystem


@dataclass(frozen=True)
class Ready:
    """An experiment whose every part was found and checked; nothing is spent yet."""

    experiment: Experiment
    harness: Harness
    system: MemorySystem
    reader: Reader | None
    judge: Judge | None
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
    accuracy = experiment.axis == "accuracy"
    reader = attempt(Reader, experiment.reader) if accuracy else None
    judge = attempt(Judge, experiment.judge, harness.rubrics if harness else ()) if accuracy else None
    prices = attempt(Prices.load, experiment.run.prices)
    if problems:
        raise ConfigError(problems)
    missing = system.missing()
    if missing:
        raise MissingExtra(f"arm '{experiment.arm.name}' (system {experiment.arm.system})", missing)
    return Ready(
        experiment, harness, system, reader, judge, prices, harness.dataset(), harness.census(experiment.slice)
    )
