"""``calibrate``: how often a judge passes answers that are known to be right, or wrong.

From probes that it builds and has graded, or (``--known-wrong DIR``) from recorded runs whose answers are known.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from runner.cli import overrides, perform
from runner.config import Experiment, did_you_mean, load
from runner.errors import ConfigError, RecordError, Refused, Stopped, UsageError
from runner.record.instrument import rows_named

if TYPE_CHECKING:
    from runner.calibration.file import Calibration

_KNOWN: Final = {"--known-right": "right", "--known-wrong": "specific", "--known-vague": "vague"}
_VALUED: Final = ("--probes", "--phrasing", "--seed", "--into", "--declare", "--config-dir", "-cd", *_KNOWN)
_FLAGS: Final = (*_VALUED, "--json", "--retry-errors", "--second-judge")
_PROBES: Final = 200  # a kind
# What a reader would be where none is asked: an answer is graded, so the axis is that of answers.
_NO_READER: Final = {"name": "none", "provider": "imported"}


@dataclass
class _Words:
    """A command line, taken apart."""

    overrides: list[str] = field(default_factory=list)
    config_dirs: list[str] = field(default_factory=list)
    probes: int = _PROBES
    phrasing: str = "templates"
    seed: int | None = None
    into: Path | None = None
    known: dict[str, Path] = field(default_factory=dict)
    same: list[str] = field(default_factory=list)
    as_json: bool = False
    retry_errors: bool = False


def main(argv: list[str]) -> int:
    if any(word.partition("=")[0] == "--second-judge" for word in argv):
        return int(importlib.import_module("runner.cli.second_judge").main(argv))
    words = _parsed(argv)
    return _recorded(words) if words.known else _graded(words, argv)


def _parsed(argv: list[str]) -> _Words:
    found = _Words()
    for flag, value in _pairs(argv):
        if flag == "":
            found.overrides.append(value)
        elif flag in ("--config-dir", "-cd"):
            found.config_dirs.append(value)
        elif flag == "--probes":
            found.probes = _whole(flag, value, 1)
        elif flag == "--seed":
            found.seed = _whole(flag, value, 0)
        elif flag == "--phrasing":
            if value not in ("templates", "reader"):
                raise UsageError(f"--phrasing {value}: choose templates or reader")
            found.phrasing = value
        elif flag == "--into":
            found.into = Path(value)
        elif flag == "--declare":
            row, _, kind = value.partition("=")
            if kind != "same":
                raise UsageError(f"--declare {value}: give ROW=same, for a row that a record does not know")
            rows_named([row])
            found.same.append(row)
        elif flag in _KNOWN:
            if any(Path(value).absolute() == place.absolute() for place in found.known.values()):
                raise UsageError(f"calibrate {flag} {value}: named before; a run's answers are of one kind")
            found.known[_KNOWN[flag]] = Path(value)
        elif flag == "--json":
            found.as_json = True
        elif flag == "--retry-errors":
            found.retry_errors = True
    return found


def _pairs(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values; an override has no flag."""
    rest = iter(argv)
    for word in rest:
        if not word.startswith("-"):
            yield "", word
            continue
        flag, sign, value = word.partition("=")
        if flag in ("-m", "--multirun"):
            raise UsageError(f"calibrate {flag}: one judge is calibrated at a time; run it once for each")
        if flag not in _FLAGS:
            raise UsageError(
                f"calibrate {flag}: no such flag{did_you_mean(flag, _FLAGS)}; there are {', '.join(_FLAGS)}"
            )
        if flag in _VALUED and not sign:
            following = next(rest, None)
            if following is None:
                raise UsageError(f"calibrate {flag}: needs a value")
            value = following
        elif flag not in _VALUED and sign:
            raise UsageError(f"calibrate {flag}: takes no value")
        yield flag, value


def _whole(flag: str, value: str, least: int) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 18 or int(value) < least:
        raise UsageError(f"{flag} {value}: give a whole number of at least {least}")
    return int(value)


# --- from probes -----------------------------------------------------------------------------------------------------


def _graded(words: _Words, argv: list[str]) -> int:
    experiment = _experiment(words)
    from runner.calibration.grading import Place
    from runner.calibration.setup import prepare
    from runner.llm import override_warning, require

    seed = experiment.run.seed if words.seed is None else words.seed
    setup = prepare(experiment, per_kind=words.probes, phrasing=words.phrasing, seed=seed)
    models = [experiment.judge, *([experiment.reader] if setup.rephrasing else [])]
    for model in models:
        require(model)
        warning = override_warning(model)
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
    place = Place((words.into or _place(experiment.judge.name)).absolute())
    _claim(place)
    try:
        return _tell(_made(place, setup, words, argv), place.path, words.as_json)
    finally:
        place.release()


def _made(place: Any, setup: Any, words: _Words, argv: list[str]) -> Calibration:
    from runner.calibration.making import make
    from runner.report.progress import observer

    probes = len(setup.plan.probes)
    calls = probes * setup.experiment.run.repeats
    shown = perform.shown(place.path)
    print(
        f"calibrating judge {setup.experiment.judge.name} on {setup.experiment.harness.name}: {probes} probes, "
        f"{calls} judge calls → {shown}",
        file=sys.stderr,
    )
    again = _again(argv, shown)
    with perform.logged(place):
        try:
            made = make(place, setup, observer("calibration", "probes"), retry_errors=words.retry_errors)
        except KeyboardInterrupt:
            raise Stopped(f"interrupted; what is finished is kept. Go on with: {again}") from None
        except Stopped as stop:
            raise Stopped(f"{stop}; what is finished is kept. Go on with: {again}") from None
    if made.state != "complete":
        raise Refused(f"{made.reason}; no usable calibration. Mend the cause, then: {again} --retry-errors")
    return made


def _again(argv: list[str], shown: str) -> str:
    """The command that goes on: the same words, and the place."""
    kept: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--into":
            next(rest, None)
        elif not word.startswith("--into=") and word != "--retry-errors":
            kept.append(word)
    return shlex.join(["python", "-m", "runner", "calibrate", *kept, "--into", shown])


def _experiment(words: _Words) -> Experiment:
    """What the overrides describe. No arm is needed: answers are made here and no memory is asked."""
    flags = [part for folder in words.config_dirs for part in ("--config-dir", folder)]
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

    mine = overrides.config_dirs(flags)
    composed = [_without_arm(compose(job, mine)) for job in expand([*chosen, *flags])]
    first = composed[0]
    if any(values != first for values in composed[1:]):
        raise UsageError("calibrate: the experiment sweeps over more than arms; one judge is calibrated at a time")
    judge = first.get("judge")
    if not isinstance(judge, dict) or judge.get("provider", "none") == "none":
        raise ConfigError(["judge: a judge is what is calibrated; choose one (judge=gpt-4.1)"])
    experiment = load(perform.anchored(first))
    if words.phrasing != "reader" and "reader" in named:
        print(
            f"note: reader={experiment.reader.name} is not asked; --phrasing reader has it word the probes",
            file=sys.stderr,
        )
    return experiment


def _sweeps(word: str) -> bool:
    """Whether a group is given several choices."""
    key, _, value = word.lstrip("+").partition("=")
    return key in overrides.GROUPS and key not in ("arm", "experiment") and "," in value and "[" not in value


def _without_arm(values: dict[str, Any]) -> dict[str, Any]:
    """The config with one arm and one gate whatever they are: neither takes part."""
    arm = {"name": "no_memory", "system": "none"}
    reader = values.get("reader")
    unread = isinstance(reader, dict) and reader.get("provider", "none") == "none"
    return {**values, "arm": arm, "gate": {}, **({"reader": _NO_READER} if unread else {})}


def _place(judge: str) -> Path:
    now = datetime.now()
    return Path("outputs") / f"{now:%Y-%m-%d}" / f"{now:%H%M%S-%f}-calibration-{judge}"


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
    from runner.calibration.recorded import from_runs
    from runner.record.rundir import RunDir

    made = from_runs(words.known, words.same)
    place = RunDir((words.into or _place("recorded")).absolute())
    _claim(place)
    try:
        if any(path.name != "lock" for path in place.path.iterdir()):
            raise UsageError(f"{place.path}: is not empty; give a folder that is new or empty (--into DIR)")
        place.write_json(file.NAME, made.to_dict())
    finally:
        place.release()
    code = _tell(made, place.path, words.as_json)
    if made.state != file.COMPLETE:
        raise Refused(f"{made.reason}; no usable calibration")
    return code


def _tell(made: Calibration, path: Path, as_json: bool) -> int:
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
        print(f"use it: python -m runner gate DIR gate.calibration={shlex.quote(perform.shown(path))}")
    return 0
