"""``plan``: what a command line would do. Reads data, asks no model, spends nothing."""

from __future__ import annotations

import json
from dataclasses import asdict

from runner.cli import overrides
from runner.cli.perform import anchored
from runner.config import load
from runner.errors import ConfigError, UsageError


def main(argv: list[str]) -> int:
    as_json = "--json" in argv
    argv = [word for word in argv if word != "--json"]
    unknown = [word for word in argv if word.startswith("-") and word.split("=")[0] not in overrides.PLAN_FLAGS]
    if unknown:
        raise UsageError(f"plan {unknown[0]}: no such flag; there are -m, --config-dir and --json")
    overrides.checked(argv, ())
    from runner.cli.run import compose, expand
    from runner.experiment.forecast import forecast

    folders = overrides.config_dirs(argv)
    forecasts, problems = [], []
    for words in expand(argv):
        try:
            forecasts.append(forecast(load(anchored(compose(words, folders)))))
        except ConfigError as error:
            problems += [line for line in error.problems if line not in problems]
    if problems:
        raise ConfigError(problems)
    if as_json:
        print(json.dumps([asdict(item) for item in forecasts], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from runner.report.console import console
        from runner.report.plan import plan_tables

        console().print(plan_tables(forecasts))
    return 0
