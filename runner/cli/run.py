"""Runs and sweeps. The only file that touches hydra: it composes configs and launches jobs, and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra

# The config system has no public way to expand a sweep without running it, and a second expansion of our own could
# count other jobs than it launches.
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from runner.cli._launch import launch
from runner.cli._launch.run_log import note_failure, remove_if_empty
from runner.cli._words import directories, hydra_flags, own_folders, rewriting
from runner.config import cache_dir, conf_dir
from runner.errors import ConfigError, RecordError, RunnerError, UsageError
from runner.record.rundir import RunDir
from runner.record.sweepdir import PlannedJob, write_plan
from runner.safe import mask

# What composing a config can raise: a wrong override, a wrong interpolation, a file that is not YAML or not text.
_COMPOSING = (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError)

# The first line that an experiment's file wants: without it, its keys are those of a section `experiment`.
_GLOBAL = "an experiment's file begins with the line: # @package _global_"

_sweeps: list[Path] = []  # the sweep of this process, once it has begun


class _EndSweep(BaseException):
    """Raised when a person interrupts. Not an ``Exception``, so that the launcher does not go on with the next job."""


class SweepMemory(Callback):
    """Remembers a sweep's directory and writes down its jobs, so that a killed sweep can be finished from its files.

    The gate does not run here: an exception in a callback is only a warning.
    """

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        sweep_dir = Path(str(config.hydra.sweep.dir)).absolute()
        _sweeps.append(sweep_dir)
        target = str(config.hydra.sweeper.get("_target_", ""))
        jobs = None
        if target.endswith("BasicSweeper"):
            # As they were typed: an interpolation is not resolved, so that no environment variable is written down.
            raw: Any = OmegaConf.to_container(config.hydra, resolve=False)
            words = [f"{key}={value}" for key, value in (raw["sweeper"].get("params") or {}).items()]
            words += [str(word) for word in raw["overrides"]["task"]]
            parsed = OverridesParser.create().parse_overrides(words)
            batches = BasicSweeper.split_arguments(parsed, None)
            jobs = [PlannedJob(number, list(words)) for number, words in enumerate(batches[0])]
        with contextlib.suppress(OSError):  # the sweeper meets the same folder next, which reports the error
            write_plan(sweep_dir, jobs, hydra_flags.config_dirs(sys.argv[1:]), cache_dir())


def main(argv: Sequence[str]) -> int:
    """Run what the overrides describe; gate a sweep."""
    _sweeps.clear()
    outcomes: list[RunnerError | int] = []
    _launch(argv, outcomes)
    if not _sweeps:
        (outcome,) = outcomes or [0]
        if isinstance(outcome, RunnerError):
            raise outcome
        return outcome
    refused = [outcome for outcome in outcomes if isinstance(outcome, UsageError)]
    if refused and len(refused) == len(outcomes):
        return UsageError.exit_code  # no job could start: a mistake of the command line, reported above
    from runner.cli.gate import gate_sweep

    return gate_sweep(_sweeps[-1])


def _launch(argv: Sequence[str], outcomes: list[RunnerError | int]) -> None:
    """Hand argv to the config system and append the outcome of each job; its errors become ours."""
    entered = False

    def job(config: DictConfig) -> int:
        nonlocal entered
        entered = True
        try:
            outcomes.append(_task(config))
        except RunnerError as error:
            outcomes.append(error)  # raised again by `main`: the launcher would print about it
        last = outcomes[-1]
        return last if isinstance(last, int) else last.exit_code

    job.__module__ = __name__
    app = hydra.main(version_base="1.3", config_path=str(conf_dir().absolute()), config_name="config")(job)
    verbose = os.environ.get("HYDRA_FULL_ERROR")
    before = sys.argv
    # Shell completion asks for the console script by its name; messages show what most people type.
    sys.argv = ["memory-runner" if hydra_flags.passes_through(argv) else "python -m runner", *argv]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that errors arrive here instead of being printed
    try:
        app()
    except _COMPOSING as error:
        if verbose == "1" or entered:
            raise
        raise ConfigError(_one_line(error)) from None
    except ValueError as error:  # flags that do not go together
        if verbose == "1" or entered:
            raise
        raise UsageError(mask(str(error).splitlines()[0])) from None
    except OSError as error:
        if verbose == "1" or entered:
            raise
        raise RecordError(
            f"{error.filename}: cannot be written ({error.strerror}); choose another place with hydra.run.dir=DIR "
            f"(a sweep: hydra.sweep.dir=DIR)"
        ) from None
    except _EndSweep:
        if _sweeps:
            print(f"The whole sweep: {directories.resume_line(_sweeps[-1])}", file=sys.stderr)
        outcomes.append(1)
    except KeyboardInterrupt:
        if not _sweeps:
            raise
        print(f"interrupted. Go on with: {directories.resume_line(_sweeps[-1])}", file=sys.stderr)
        outcomes.append(1)
    finally:
        sys.argv = before
        if verbose is None:
            os.environ.pop("HYDRA_FULL_ERROR", None)
        else:
            os.environ["HYDRA_FULL_ERROR"] = verbose


def _one_line(error: BaseException) -> list[str]:
    """Return an error of the config system as one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = error.__cause__
    if cause is not None and str(cause) and str(cause).splitlines()[0] not in lines:
        lines.append(str(cause).splitlines()[0])
    lines = [text for text in lines if not text.startswith(("full_key:", "object_type=", "See https", "Check that"))]
    line = " — ".join(dict.fromkeys(lines)) or type(error).__name__
    tilde = re.search(r"LexerNoViableAltException: (\S+?)=~", line)
    if tilde:
        return [
            mask(f"{tilde[1]}: write the whole path, or quote it ('{tilde[1]}=\"~/FILE\"'): `~` is not expanded here")
        ]
    if re.search(r"@experiment\.\w+'", line):
        line += f" — {_GLOBAL}"
    if "mismatched input" in line or "no viable alternative" in line or "extraneous input" in line:
        line += " — quote a value that holds = : , or brackets, for instance 'KEY=\"http://host/v1?x=1\"'"
    return [mask(line)]


def plain(config: DictConfig) -> dict[str, Any]:
    """Return the composed config as plain data, everything resolved.

    Raises
    ------
    ConfigError
        For a missing value or an interpolation that leads nowhere.
    UsageError
        When ``run.from`` names no run whose answers could be graded.
    """
    try:
        recorded = OmegaConf.select(config, "run.from")
        values = OmegaConf.to_container(config, resolve=True)
        missing = OmegaConf.missing_keys(config)
    except OmegaConfBaseException as error:
        raise ConfigError(_one_line(error)) from None
    assert isinstance(values, dict)
    values.pop("hydra", None)
    plain = {str(key): value for key, value in values.items()}
    if "experiment" in plain:
        raise ConfigError([f"experiment: {_GLOBAL}"])
    if recorded:
        from runner.experiment.regrade.source import config_of_recorded

        if {"arm.name", "arm.system"} <= missing:  # none was chosen: the recorded run has one
            del plain["arm"]
        return config_of_recorded(plain)
    unknown = sorted(missing - {"arm.name", "arm.system"})
    if unknown:
        raise ConfigError([f"Missing mandatory value: {key}" for key in unknown])
    for key in missing:
        del plain["arm"][key.removeprefix("arm.")]
    return plain


def _task(config: DictConfig) -> int:
    """Run one job; one that fails leaves a note and does not end the sweep."""
    context = HydraConfig.get()
    # A job may run in a process of its own (joblib, ray): the person's folders are added there too.
    sources = context.runtime.config_sources
    own_folders.add(Path(source.path) for source in sources if source.provider == "command-line")
    run = RunDir(Path(context.runtime.output_dir).absolute())
    sweeping = context.mode is not None and context.mode.name == "MULTIRUN"
    try:
        return launch.start(run, _values(config, run))
    except launch.Interrupted as stop:
        if sweeping:
            raise _EndSweep from stop
        return 1
    except RunnerError as error:
        if sweeping:
            note_failure(run, error)
        raise
    except Exception as error:
        if not sweeping:
            raise
        traceback.print_exc()  # a bug; the other jobs of the sweep go on all the same
        note_failure(run, RunnerError(f"a bug: {type(error).__name__}: {error}; see {run.log_path}"))
        return 1


def _values(config: DictConfig, run: RunDir) -> dict[str, Any]:
    """Return the config of a job; one that cannot be resolved leaves no empty folder behind."""
    try:
        return plain(config)
    except RunnerError:
        remove_if_empty(run.path)
        raise


def _searchpath(mine: Sequence[Path]) -> list[str]:
    places = ",".join(f"'{folder.absolute()}'" for folder in mine)
    return [f"hydra.searchpath=[{places}]"] if mine else []


def compose(words: Sequence[str], config_folders: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the config of one job, composed and not run.

    Raises
    ------
    ConfigError
        When it does not compose.
    """
    GlobalHydra.instance().clear()
    try:
        with hydra.initialize_config_dir(version_base="1.3", config_dir=str(conf_dir().absolute())):
            config = hydra.compose("config", [*rewriting.rewritten(words), *_searchpath(config_folders)])
            return plain(config)
    except _COMPOSING as error:
        raise ConfigError(_one_line(error)) from None


def expand(argv: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each job of a command line, sweeps of an experiment included.

    Raises
    ------
    ConfigError
        When the words do not parse.
    """
    words, flags = hydra_flags.split(rewriting.rewritten(argv))
    GlobalHydra.instance().clear()
    try:
        parsed = OverridesParser.create().parse_overrides(words)
        fixed = [item.input_line or "" for item in parsed if not item.is_sweep_override()]
        params: dict[str, Any] = {}
        if any(word.startswith("+experiment=") for word in fixed):
            mine = hydra_flags.config_dirs(argv)
            with hydra.initialize_config_dir(version_base="1.3", config_dir=str(conf_dir().absolute())):
                composed = hydra.compose("config", [*fixed, *_searchpath(mine)], return_hydra_config=True)
                if composed.hydra.mode is not None and composed.hydra.mode.name == "MULTIRUN":
                    params = dict(composed.hydra.sweeper.params or {})
                    flags = [*flags, "-m"]
        if not {"-m", "--multirun"} & set(flags):
            return [list(words)]
        parsed = OverridesParser.create().parse_overrides([*(f"{k}={v}" for k, v in params.items()), *words])
        return [list(job) for job in BasicSweeper.split_arguments(parsed, None)[0]]
    except _COMPOSING as error:
        raise ConfigError(_one_line(error)) from None
