"""The composed config as an experiment whose file paths are absolute, so that it can be resumed from any folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.config import Experiment, absolute_paths, load
from runner.errors import RunnerError


def load_here(values: Mapping[str, Any]) -> Experiment:
    """Return the experiment that a composed config describes, its relative paths read from the working directory.

    Raises
    ------
    ConfigError
        With every problem by key.
    """
    experiment = load(values)
    absolute = absolute_paths(experiment.model_dump(), Experiment)
    if not experiment.run.from_:  # the recorded run's settings were made absolute when it began
        absolute["harness"]["settings"] = _absolute_settings(experiment)
    return Experiment.model_validate(absolute)


def _absolute_settings(experiment: Experiment) -> dict[str, Any]:
    from runner import harness as harnesses

    settings = experiment.harness.settings
    try:
        kind = harnesses.find(experiment.harness.name)
    except RunnerError:  # told when the experiment is prepared
        return settings
    return absolute_paths(settings, kind.Settings)
