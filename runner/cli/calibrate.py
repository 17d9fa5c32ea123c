"""``calibrate``: how often a judge passes answers that are known to be right, or wrong.

From probes that it builds and has graded, or (``--known-wrong DIR``) from recorded runs whose answers are known.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from runner.cli._launch.file_paths import load_here
from runner.cli._launch.run_log import logged
from runner.cli._words import choices, directories, hydra_flags, overrides
from runner.cli._words.flags import Arguments, Flags
from runner.config import Experiment
from runner.errors import ConfigError, RecordError, Refused, Stopped, UsageError
from runner.record.instrument import rows_named

if TYPE_CHECKING:
    from runner.calibration.file import Calibration

_KNOWN: Final = {"--known-right": "right", "--known-wrong": "specific", "--known-vague": "vague"}
_FLAGS: Final = Flags(
    "calibrate",
    switches=("--json", "--retry-errors"),
    valued=("--probes", "--phrasing", "--seed", "--into", "--second-judge", *_KNOWN),
    many=("--declare", *hydra_flags.CONFIG_DIR),
)
_PROBES: Final = 200  # a kind
# What a reader would be where none is asked: an answer is graded, so the axis is that of answers.
_NO_READER: Final = {"name": "none", "provider": "imported"}


@dataclass
class _Words:
    """The parsed command line."""

    given: Arguments
    probes: int
    phrasing: str
    seed: int | None
    into: Path | None
    known: dict[str, Path]
    same: list[str]

    @property
    def overrides(self) -> list[str]:
        return self.given.words

    @property
    def as_json(self) -> bool:
        return "--json" in self.given


def main(argv: list[str]) -> int:
    if any(word.partition("=")[0] == "--second-judge" for word in argv):
        return int(importlib.import_module("runner.cli.calibrate_second_judge").main(argv))
    words = _parsed(argv)
    return _recorded(words) if words.known else _graded(words)


def _parsed(argv: list[str]) -> _Words:
    several = next((word for word in argv if word in ("-m", "--multirun")), None)
    if several is not None:
        raise UsageError(f"calibrate {several}: one judge is calibrated at a time; run it once for each")
    given = _FLAGS.parse(argv)
    probes, into = given.number("--probes", 1), given.value("--into")
    phrasing = given.value("--phrasing") or "templates"
    if phrasing not in ("templates", "reader"):
        raise UsageError(f"--phrasing {phrasing}: choose templates or reader")
    same = []
    for declared in given.values("--declare"):
        row, _, kind = declared.partition("=")
        if kind != "same":
            raise UsageError(f"--declare {declared}: give ROW=same, for a row that a record does not know")
        rows_named([row])
        same.append(row)
    known: dict[str, Path] = {}
    for flag, what in _KNOWN.items():
        for value in given.values(flag):
            if any(Path(value).absolute() == place.absolute() for place in known.values()):
                raise UsageError(f"calibrate {flag} {value}: named before; a run's answers are of one kind")
            known[what] = Path(value)
    return _Words(
        given=given,
        probes=_PROBES if probes is None else probes,
        phrasing=phrasing,
        seed=given.number("--seed", 0),
        into=None if into is None else Path(into),
        known=known,
        same=same,
    )


# --- from probes -----------------------------------------------------------------------------------------------------


def _graded(words: _Words) -> int:
    experiment = _experiment(words)
    from runner.calibration.prepare import prepare
    from runner.calibration.session import CalibrationDir
    from runner.llm import FAKE_JUDGE, FAKES, override_warning, require

    seed = experiment.run.seed if words.seed is None else words.seed
    setup = prepare(experiment, per_kind=words.probes, phrasing=words.phrasing, seed=seed)
    models = [experiment.judge, *([experiment.reader] if setup.rephrasing else [])]
    for model in models:
        require(model, FAKES if setup.rephrasing else FAKE_JUDGE)
        warning = override_warning(model)
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
    place = CalibrationDir((words.into or directories.new(f"calibration-{experiment.judge.name}")).absolute())
    _claim(place)
    try:
        return _show(_made(place, setup, words), place.path, words.as_json)
    finally:
        place.release()


def _made(place: Any, setup: Any, words: _Words) -> Calibration:
    from runner.calibration.calibrate import make
    from runner.report.progress import observer

    probes = len(setup.plan.probes)
    calls = probes * setup.experiment.run.repeats
    shown = directories.shown(place.path)
    print(
        f"calibrating judge {setup.experiment.judge.name} on {setup.experiment.harness.name}: {probes} probes, "
        f"{calls} judge calls → {shown}",
        file=sys.stderr,
    )
    again = _again(words.given, shown)
    with logged(place):
        try:
            made = make(place, setup, observer("calibration", "probes"), retry_errors="--retry-errors" in words.given)
        except KeyboardInterrupt:
            raise Stopped(f"interrupted; what is finished is kept. Go on with: {again}") from None
        except Stopped as stop:
            raise Stopped(f"{stop}; what is finished is kept. Go on with: {again}") from None
    if made.state != "complete":
        raise Refused(f"{made.reason}; no usable calibration. Mend the cause, then: {again} --retry-errors")
    return made


def _again(given: Arguments, shown: str) -> str:
    """Return the command that goes on: the same words, and the place."""
    words = [*given.without("--into", "--retry-errors"), "--into", shown]
    return shlex.join(["python", "-m", "runner", "calibrate", *words])


def _experiment(words: _Words) -> Experiment:
    """Return the experiment of the overrides; no arm is needed, since answers are made here and no memory is asked."""
    flags = words.given.typed(*hydra_flags.CONFIG_DIR)
    named = {word.lstrip("+").partition("=")[0] for word in words.overrides}
    for key in ("run.from", "run.sample"):
        if key in named:
            raise ConfigError([f"{key}: calibrate grades answers that it makes; recorded ones with --known-wrong DIR"])
    chosen = [*words.overrides, *([] if named & {"arm", "experiment"} else ["+arm=no_memory"])]
    # A sweep's words are spelt right here and refused below, unless they differ in the arm alone.
    overrides.checked([*chosen, *flags, "-m"], ())
    several = next((word for word in words.overrides if _sweeps(word)), None)
    if several is not None:
        raise UsageError(f"calibrate {several}: names several; one judge is calibrated at a time, on one benchmark")
    from runner.cli.run import compose, expand

    mine = hydra_flags.config_dirs(flags)
    composed = [_without_arm(compose(job, mine)) for job in expand([*chosen, *flags])]
    first = composed[0]
    if any(values != first for values in composed[1:]):
        raise UsageError("calibrate: the experiment sweeps over more than arms; one judge is calibrated at a time")
    judge = first.get("judge")
    if not isinstance(judge, dict) or judge.get("provider", "none") == "none":
        raise ConfigError(["judge: a judge is what is calibrated; choose one (judge=gpt-4.1)"])
    experiment = load_here(first)
    if words.phrasing != "reader" and "reader" in named:
        print(
            f"note: reader={experiment.reader.name} is not asked; --phrasing reader has it word the probes",
            file=sys.stderr,
        )
    return experiment


def _sweeps(word: str) -> bool:
    """Return whether a word gives a group several choices."""
    key, _, value = word.lstrip("+").partition("=")
    return key in choices.GROUPS and key not in ("arm", "experiment") and "," in value and "[" not in value


def _without_arm(values: dict[str, Any]) -> dict[str, Any]:
    """Return the config with a fixed arm and gate: neither takes part."""
    arm = {"name": "no_memory", "system": "none"}
    reader = values.get("reader")
    unread = isinstance(reader, dict) and reader.get("provider", "none") == "none"
    return {**values, "arm": arm, "gate": {}, **({"reader": _NO_READER} if unread else {})}


def _claim(place: Any) -> None:
    try:
        place.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(
            f"{place.path}: cannot be written ({error.strerror}); choose another place with --into DIR"
        ) from None
    place.claim()


# --- from recorded runs ----------------------------------------------------------------------------------------------


def _recorded(words: _Words) -> int:
    if words.overrides:
        raise UsageError(
            f"calibrate {words.overrides[0]}: recorded runs say what judged them; leave the overrides out, or leave "
            f"--known-… out to build probes"
        )
    if "specific" not in words.known and "vague" not in words.known:
        raise UsageError("calibrate --known-right: needs answers that are known to be wrong too (--known-wrong DIR)")
    for path in words.known.values():
        if not path.is_dir():
            raise UsageError(f"{path}: no such directory")
    from runner.calibration import file
    from runner.calibration.from_runs import from_runs
    from runner.record.rundir import RunDir

    made = from_runs(words.known, words.same)
    place = RunDir((words.into or directories.new("calibration-recorded")).absolute())
    _claim(place)
    try:
        if any(path.name != "lock" for path in place.path.iterdir()):
            raise UsageError(f"{place.path}: is not empty; give a folder that is new or empty (--into DIR)")
        place.write_json(file.NAME, made.to_dict())
    finally:
        place.release()
    code = _show(made, place.path, words.as_json)
    if made.state != file.COMPLETE:
        raise Refused(f"{made.reason}; no usable calibration")
    return code


def _show(made: Calibration, path: Path, as_json: bool) -> int:
    if as_json:
        print(json.dumps(made.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    from runner.calibration.rates import rates_of
    from runner.report.calibration import calibration_table
    from runner.report.console import console

    console().print(calibration_table(made))
    usable = all(made.kinds.get(kind) is not None and made.kinds[kind].graded for kind in ("right", "specific"))
    rates = rates_of(made.kinds, "specific") if usable else None
    if made.state == "complete" and rates is not None and rates.j > 0:
        print(f"use it: python -m runner gate DIR gate.calibration={shlex.quote(directories.shown(path))}")
    return 0
