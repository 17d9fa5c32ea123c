"""``calibrate DIR --second-judge NAME``: a sample of recorded answers under another judge, and how the two agree."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from runner.cli import overrides
from runner.config import did_you_mean
from runner.errors import RunnerError, UsageError
from runner.record.rundir import RunDir, is_run, runs_under

_VALUED: Final = ("--second-judge", "--sample", "--seed", "--into", "--config-dir")
_FLAGS: Final = (*_VALUED, "--json")
_SAMPLE: Final = 100
_RESULT: Final = "second_judge.json"


@dataclass
class _Words:
    """A command line, taken apart."""

    judge: str = ""
    places: list[Path] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    sample: int = _SAMPLE
    seed: int = 7
    into: Path | None = None
    as_json: bool = False


def main(argv: list[str]) -> int:
    """Grade a sample again, run by run, and tell each beside its source; 1 when a run failed."""
    words = _parsed(argv)
    sources = [run for place in words.places for run in _runs(place)]
    now = datetime.now()
    into = words.into or Path("outputs") / f"{now:%Y-%m-%d}" / f"{now:%H%M%S-%f}-second-{words.judge}"
    into = into.absolute()
    if into.exists() and any(into.iterdir()):
        raise UsageError(f"--into {words.into}: is not empty; give a folder that is new or empty")
    line = [
        f"run.from={','.join(_quoted(run.path) for run in sources)}",
        f"judge={words.judge}",
        f"run.sample={words.sample}",
        f"run.seed={words.seed}",
        *words.changes,
        "gate.enabled=false",  # two judges, not two arms
        f"hydra.sweep.dir={_quoted(into)}",
        "-m",
        *words.flags,
    ]
    overrides.checked(line, ())
    from runner.cli import run as runs

    # With --json nothing but JSON goes to standard output.
    with contextlib.redirect_stdout(sys.stderr) if words.as_json else contextlib.nullcontext():
        code = runs.main(overrides.rewritten(line))
    told = _tell(into, sources, words.as_json)
    return code or told


def _tell(into: Path, sources: list[RunDir], as_json: bool) -> int:
    from runner.gate.judges import judge_table
    from runner.report.console import console
    from runner.report.judges import judge_tables

    found: list[Any] = []
    told: list[dict[str, Any]] = []
    graded = {run.path.name.split("-", 1)[0]: run for run in runs_under(into)} if into.is_dir() else {}
    for number, source in enumerate(sources):
        run = graded.get(str(number))
        if run is None or not run.rows_path.is_file() or not run.rows_path.stat().st_size:
            continue
        table = judge_table([source, run], source.path.name)
        found.append(table)
        told.append({"source": str(source.path), "run": str(run.path), **table.to_dict()})
    if found:
        RunDir(into).write_json(_RESULT, told)
    if as_json:
        print(json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False))
    elif found:
        console().print(judge_tables(found))
    return 0 if len(found) == len(sources) else 1


def _parsed(argv: list[str]) -> _Words:
    found = _Words()
    for flag, value in _pairs(argv):
        if flag == "" and "=" in value and not Path(value).exists():
            found.changes.append(value)
        elif flag == "":
            found.places.append(Path(value))
        elif flag == "--second-judge":
            found.judge = value
        elif flag == "--sample":
            found.sample = _whole(flag, value, 1)
        elif flag == "--seed":
            found.seed = _whole(flag, value, 0)
        elif flag == "--into":
            found.into = Path(value)
        elif flag == "--config-dir":
            found.flags += [flag, value]
        else:
            found.as_json = True
    if not found.places:
        raise UsageError(
            "--second-judge grades recorded answers again; name a run or a sweep: python -m runner calibrate DIR "
            f"--second-judge {found.judge or 'NAME'}"
        )
    for word in found.changes:
        key = word.lstrip("+").partition("=")[0]
        if key in ("judge", "run.from", "run.sample", "run.seed"):
            flag = {"judge": "--second-judge", "run.sample": "--sample", "run.seed": "--seed"}.get(key, "a directory")
            raise UsageError(f"{word}: with --second-judge give {flag} instead")
    return found


def _pairs(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values; a directory or an override has no flag."""
    rest = iter(argv)
    for word in rest:
        flag, sign, value = word.partition("=")
        if not word.startswith("-"):
            yield "", word
        elif flag not in _FLAGS:
            hint = did_you_mean(flag, _FLAGS)
            raise UsageError(f"--second-judge with {flag}: no such flag{hint}; there are {', '.join(_FLAGS)}")
        elif flag not in _VALUED:
            yield flag, ""
        else:
            value = value if sign else next(rest, "")
            if not value or value.startswith("-"):
                raise UsageError(f"{flag}: needs a value")
            yield flag, value


def _whole(flag: str, value: str, least: int) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 18 or int(value) < least:
        raise UsageError(f"{flag} {value}: give a whole number of at least {least}")
    return int(value)


def _runs(place: Path) -> list[RunDir]:
    if not place.is_dir():
        raise UsageError(f"{place}: no such directory")
    found = [RunDir(place)] if is_run(place) else runs_under(place)
    if not found:
        raise UsageError(f"{place}: neither a run (no config.yaml) nor a sweep")
    return [RunDir(run.path.absolute()) for run in found]


def _quoted(path: Path) -> str:
    text = str(path)
    if "'" in text or "\\" in text:
        raise RunnerError(f"{path}: a quote or a backslash in a path cannot be passed on; rename the folder")
    return f"'{text}'"
