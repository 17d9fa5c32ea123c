"""``check +arm=NAME``: does the memory system of an arm keep its contract?"""

from __future__ import annotations

import asyncio
import json
from typing import Final

from runner.cli._launch.file_paths import load_here
from runner.cli._words import hydra_flags, overrides
from runner.cli._words.flags import Flags
from runner.config import cache_dir
from runner.errors import ConfigError, RunnerError

_FLAGS: Final = Flags("check", switches=(*hydra_flags.SWEEPING, "--json"), many=hydra_flags.CONFIG_DIR)


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    argv = given.without("--json")
    overrides.checked(argv, ())
    from runner.cli.run import compose, expand
    from runner.experiment.conformance import Conformance, check, remember
    from runner.llm.prices import Prices
    from runner.report.check import conformance_table
    from runner.report.console import console
    from runner.system import Opening, build

    folders = given.config_dirs()
    found: list[Conformance] = []
    failed: list[str] = []
    for words in expand(argv):
        experiment = load_here(compose(words, folders))
        system = build(experiment.arm)
        system.require()
        opening = Opening(cache_dir=cache_dir(), prices=Prices.load(experiment.run.prices))
        try:
            about = asyncio.run(check(system, opening, experiment.run))
        except ConfigError:
            raise
        except RunnerError as error:
            failed.append(f"{experiment.arm.name}: does not open: {error}")
            continue
        except Exception as error:
            failed.append(f"{experiment.arm.name}: does not open: {type(error).__name__}: {error}")
            continue
        remember(cache_dir(), experiment.arm, about)
        found.append(about)
    if "--json" in given:
        print(json.dumps([item.to_dict() for item in found], indent=2, ensure_ascii=False, default=str))
    else:
        for about in found:
            console().print(conformance_table(about))
    if failed:
        raise RunnerError("\n".join(failed))
    return 1 if any(about.broken for about in found) else 0
