"""``plan``: what a command line would do. Reads data, asks no model, spends nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.cli._launch.file_paths import load_here
from runner.cli._words import hydra_flags, overrides
from runner.cli._words.flags import Flags
from runner.config import Experiment
from runner.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from runner.cli.plan_from_runs import Recorded
    from runner.experiment.plan.forecast import Forecast

_FLAGS: Final = Flags(
    "plan",
    switches=(*hydra_flags.SWEEPING, "--json"),
    valued=("--like",),
    many=hydra_flags.CONFIG_DIR,
    there="there are -m, --config-dir, --like DIR and --json",
    missing={"--like": "--like takes the directory of a recorded sweep: plan … --like outputs/DATE/SWEEP"},
)


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    as_json, like = "--json" in given, given.value("--like")
    argv = given.without("--json", "--like")
    overrides.checked(argv, ())
    from runner.cli.run import compose, expand
    from runner.experiment.plan.forecast import forecast
    from runner.stats.planning.design import GUESSED

    found = None
    if like is not None:
        from runner.cli.plan_from_runs import recorded

        found = recorded([Path(like)])
        if found.assumed is None:
            raise UsageError(f"--like {like}: a single run has nothing to disagree with; give the directory of a sweep")
    assumed = GUESSED if found is None or found.assumed is None else found.assumed
    folders = given.config_dirs()
    forecasts, judged, problems = [], [], []
    for words in expand(argv):
        try:
            experiment = load_here(compose(words, folders))
            if experiment.run.from_:
                judged.append(experiment)
            else:
                forecasts.append(forecast(experiment, assumed))
        except ConfigError as error:
            problems += [line for line in error.problems if line not in problems]
    if len(forecasts) == 1 and experiment.run.stop_when_decided and not problems:
        from runner.early_stop.watch import single_run_problem

        problems.append(single_run_problem())
    if problems:
        raise ConfigError(problems)
    if judged:
        return _judges(judged, as_json)
    if found is not None:
        for job in forecasts:
            job.warnings.extend([*_unlike(found, job), *(f"--like {note}" for note in found.notes)])
    if as_json:
        print(json.dumps([asdict(item) for item in forecasts], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from runner.report.console import console
        from runner.report.plan import plan_tables

        console().print(plan_tables(forecasts))
    return 0


def _judges(experiments: list[Experiment], as_json: bool) -> int:
    """Show what judges over recorded answers would do."""
    from runner.experiment.plan.regrade_forecast import forecast

    jobs = [forecast(experiment) for experiment in experiments]
    if as_json:
        print(json.dumps([asdict(job) for job in jobs], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from runner.report.console import console
        from runner.report.judges import judge_plan

        console().print(judge_plan(jobs))
    return 0


def _unlike(found: Recorded, job: Forecast) -> list[str]:
    """Return a warning for each way in which the recorded sweep differs from the plan."""
    source = found.assumed.source if found.assumed else ""
    return [
        f"{job.arm}: {what} of this plan is {mine}, and --like was measured on {theirs} ({source}): arms may disagree "
        f"more or less often there"
        for what, mine, theirs in (
            ("the harness", job.harness, found.harness),
            ("the metric", job.metric, found.metric),
        )
        if mine != theirs
    ]
