"""``resume DIR``: finish an interrupted run or sweep."""

from __future__ import annotations

import sys
from pathlib import Path

from runner.cli import folders, overrides, perform
from runner.config import cache_dir, load
from runner.errors import Refused, RunnerError, UsageError
from runner.record.rundir import RunDir, is_run
from runner.record.sweepdir import is_sweep, read_plan, sealed


def main(argv: list[str]) -> int:
    retry, trust = "--retry-errors" in argv, "--trust" in argv
    places, flags = overrides.words([word for word in argv if word not in ("--retry-errors", "--trust")])
    mine = overrides.config_dirs(flags)
    if len(places) != 1 or len(flags) != 2 * len(mine):
        raise UsageError(
            "resume takes one directory (and --retry-errors, --config-dir DIR, --trust): "
            "python -m runner resume outputs/DATE/RUN"
        )
    folders.add(mine)
    path = Path(places[0]).absolute()
    if not path.is_dir():
        raise UsageError(f"{places[0]}: no such directory")
    if is_run(path):
        return perform.finish(RunDir(path), retry_errors=retry, trust=trust)
    if not is_sweep(path):
        raise UsageError(f"{places[0]}: neither a run (no config.yaml) nor a sweep (no sweep.json)")
    return _sweep(path, retry, trust)


def _sweep(path: Path, retry: bool, trust: bool) -> int:
    """Every job of a sweep, those that never started included, then the gate."""
    plan = read_plan(path)
    RunDir(path).claim()  # a second resume of the same sweep is told at once
    folders = {
        int(f.name.split("-", 1)[0]): f for f in path.iterdir() if f.is_dir() and f.name.split("-", 1)[0].isdigit()
    }
    numbers = [job.number for job in plan.jobs] if plan.jobs is not None else sorted(folders)
    words = {job.number: job.words for job in plan.jobs or []}
    for number in numbers:
        folder = folders.get(number)
        try:
            if folder is not None and is_run(folder):
                perform.finish(RunDir(folder), retry_errors=retry, trust=trust)
            elif number in words:
                from runner.cli.run import compose

                values = compose(words[number], plan.config_folders)
                if not trust and not sealed(path, cache_dir()):
                    perform.refuse_strange(path, load(values))
                arm = values.get("arm")
                name = arm.get("name", "no-arm") if isinstance(arm, dict) else "no-arm"
                fresh = RunDir(folder or path / f"{number}-{name}")
                (fresh.path / "failure.json").unlink(missing_ok=True)
                perform.start(fresh, values)
        except perform.Interrupted:
            return 1
        except Refused:
            raise
        except RunnerError as error:
            perform.note_failure(RunDir(folder or path / str(number)), error)
    from runner.cli.gate import gate_sweep

    print(f"sweep {perform.shown(path)}", file=sys.stderr)
    return gate_sweep(path)
