"""``resume DIR``: finish an interrupted run or sweep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from runner.cli._launch import launch
from runner.cli._launch.run_log import note_failure
from runner.cli._launch.trust import refuse_strange
from runner.cli._words import directories, hydra_flags, own_folders
from runner.cli._words.flags import Flags
from runner.config import cache_dir, load
from runner.errors import ConfigError, RunnerError, UsageError
from runner.record.rundir import RunDir, is_run
from runner.record.sweepdir import is_sweep, read_plan, sealed

_FLAGS: Final = Flags("resume", switches=("--retry-errors", "--trust", "--to-the-end"), many=hydra_flags.CONFIG_DIR)


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    retry, trust, to_the_end = (flag in given for flag in _FLAGS.switches)
    places = given.words
    if len(places) != 1:
        raise UsageError(
            "resume takes one directory (and --retry-errors, --config-dir DIR, --trust, --to-the-end): "
            "python -m runner resume outputs/DATE/RUN"
        )
    own_folders.add(given.config_dirs())
    path = Path(places[0]).absolute()
    if not path.is_dir():
        raise UsageError(f"{places[0]}: no such directory")
    if is_run(path):
        return launch.finish(RunDir(path), retry_errors=retry, trust=trust, to_the_end=to_the_end)
    if not is_sweep(path):
        raise UsageError(f"{places[0]}: neither a run (no config.yaml) nor a sweep (no sweep.json)")
    return _sweep(path, retry, trust, to_the_end)


def _sweep(path: Path, retry: bool, trust: bool, to_the_end: bool) -> int:
    """Finish every job of a sweep, those that never started included, then gate it."""
    plan = read_plan(path)
    RunDir(path).claim()  # a second resume of the same sweep is told at once
    found = {
        int(f.name.split("-", 1)[0]): f for f in path.iterdir() if f.is_dir() and f.name.split("-", 1)[0].isdigit()
    }
    runs = {number: RunDir(folder) for number, folder in found.items() if is_run(folder)}
    words = {job.number: job.words for job in plan.jobs or []}
    if not trust:
        left = {n: run for n, run in runs.items() if to_the_end or not run.decided()}
        _refuse_strange(path, left, [words[number] for number in words if number not in runs], plan.config_folders)
    for number in words or sorted(runs):
        run = runs.get(number)
        try:
            if run is not None:
                launch.finish(
                    run, retry_errors=retry, trust=True, to_the_end=to_the_end
                )  # every job was looked at above
                continue
            values = _composed(words[number], plan.config_folders)
            group = values.get("judge" if (values.get("run") or {}).get("from") else "arm")
            name = group.get("name", "no-arm") if isinstance(group, dict) else "no-arm"
            run = RunDir(found.get(number, path / f"{number}-{name}"))
            (run.path / "failure.json").unlink(missing_ok=True)
            launch.start(run, values, to_the_end=to_the_end)
        except launch.Interrupted:
            return 1
        except RunnerError as error:
            note_failure(run or RunDir(found.get(number, path / str(number))), error)
    from runner.cli.gate import gate_sweep

    print(f"sweep {directories.shown(path)}", file=sys.stderr)
    return gate_sweep(path)


def _refuse_strange(
    path: Path, runs: dict[int, RunDir], unstarted: list[list[str]], config_folders: Sequence[Path]
) -> None:
    """Refuse a sweep from elsewhere before any of its jobs runs, so that nothing is spent."""
    for run in runs.values():
        if not run.finished() and not run.sealed(cache_dir()):
            refuse_strange(run.path, run.experiment())
    if unstarted and not sealed(path, cache_dir()):
        for words in unstarted:
            try:
                experiment = load(_composed(words, config_folders))
            except ConfigError:
                continue  # it cannot run; the loop says why
            refuse_strange(path, experiment)


def _composed(words: Sequence[str], config_folders: Sequence[Path]) -> dict[str, Any]:
    from runner.cli.run import compose  # the config system, only where a job never started

    return compose(words, config_folders)
