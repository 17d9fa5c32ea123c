"""A job of the command line, found and checked: a memory with its models, or a judge over recorded answers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from runner.config import Experiment, ModelConfig, cache_dir
from runner.early_stop.watch import single_run_problem, too_few_clusters
from runner.errors import ConfigError
from runner.experiment import execute, prepare, regrade
from runner.experiment.execute import Outcome
from runner.experiment.prepare import PreparedExperiment
from runner.experiment.regrade import Regrade
from runner.experiment.session import Observer
from runner.harness import code_of
from runner.llm import FAKE_JUDGE, FAKES, override_warning, require
from runner.record.rundir import RunDir
from runner.record.sweepdir import is_sweep
from runner.report import judges
from runner.report.run import headline


class Job(ABC):
    """A job that fills a run directory, found and checked; nothing is spent yet."""

    name: str  # shown beside its progress
    own_benchmark: bool = False  # its sections are shown below the table; those of a shipped one are in `report`

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @abstractmethod
    def headline(self, place: str) -> str:
        """Return one line: what is done, on what, how much, where it is recorded."""

    def warnings(self) -> list[str]:
        """Return what a person must know before anything is spent."""
        return [warning for model in models_of(self.experiment) if (warning := override_warning(model))]

    def few_clusters(self) -> str | None:
        """Return what so few clusters mean for an arm that is to stop when it is decided."""
        return None

    @abstractmethod
    def execute(self, run: RunDir, observer: Observer, *, retry_errors: bool, to_the_end: bool) -> Outcome:
        """Do what is left of a claimed run directory, then write its summary."""


class MemoryJob(Job):
    """The questions of a benchmark, asked of a memory and its models."""

    def __init__(self, ready: PreparedExperiment) -> None:
        super().__init__(ready.experiment)
        self._ready = ready
        self.name = ready.experiment.arm.name
        self.own_benchmark = bool(code_of(ready.harness))

    def headline(self, place: str) -> str:
        return headline(self._ready, place)

    def warnings(self) -> list[str]:
        return [*super().warnings(), *self._ready.harness.caveats()]

    def few_clusters(self) -> str | None:
        if not self.experiment.run.stop_when_decided:
            return None
        return too_few_clusters(self._ready.census.clusters, self._ready.harness.cluster)

    def execute(self, run: RunDir, observer: Observer, *, retry_errors: bool, to_the_end: bool) -> Outcome:
        return execute.execute(
            run, self._ready, observer, cache_dir=cache_dir(), retry_errors=retry_errors, to_the_end=to_the_end
        )


class JudgeJob(Job):
    """Recorded answers, graded by another judge."""

    def __init__(self, ready: Regrade) -> None:
        super().__init__(ready.experiment)
        self._ready = ready
        self.name = f"{ready.experiment.arm.name} by {ready.experiment.judge.name}"

    def headline(self, place: str) -> str:
        return judges.headline(self._ready, place)

    def execute(self, run: RunDir, observer: Observer, *, retry_errors: bool, to_the_end: bool) -> Outcome:
        del to_the_end  # recorded answers are never watched
        return regrade.execute(run, self._ready, observer, retry_errors=retry_errors)


def prepare_job(experiment: Experiment) -> Job:
    """Look up and check every part of an experiment.

    Raises
    ------
    RunnerError
        With every problem at once; nothing is spent.
    """
    if experiment.run.from_:
        return JudgeJob(regrade.prepare(experiment))
    if experiment.run.sample is not None:
        raise ConfigError(["run.sample: draws from recorded answers; name the run that holds them (run.from=DIR)"])
    return MemoryJob(prepare.prepare(experiment))


def models_of(experiment: Experiment) -> tuple[ModelConfig, ...]:
    """Return the models that a run asks: of recorded answers only the judge."""
    return (experiment.judge,) if experiment.run.from_ else (experiment.reader, experiment.judge)


def require_models(experiment: Experiment) -> None:
    """Check that every model can be asked.

    Raises
    ------
    ConfigError
        With the problems of all of them together.
    """
    first_look = FAKE_JUDGE if experiment.run.from_ or experiment.reader.provider == "ask" else FAKES
    problems: list[str] = []
    for model in models_of(experiment):
        try:
            require(model, first_look)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)


def require_sweep(run: RunDir, experiment: Experiment) -> None:
    """Check that an arm which is to stop when it is decided has a sweep with a baseline.

    Raises
    ------
    ConfigError
        When it runs alone.
    """
    if experiment.run.stop_when_decided and not experiment.run.from_ and not is_sweep(run.path.parent):
        raise ConfigError([single_run_problem()])
