"""``calibrate DIR --second-judge NAME``: a sample of recorded answers under another judge, and how the two agree."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runner.cli._words import directories, overrides, rewriting
from runner.cli._words.flags import Flags
from runner.errors import RunnerError, UsageError
from runner.record.rundir import RunDir, runs_under

_FLAGS: Final = Flags(
    "calibrate DIR",
    switches=("--json",),
    valued=("--second-judge", "--sample", "--seed", "--into"),
    many=("--config-dir",),
)
_SAMPLE: Final = 100
_SEED: Final = 7
_RESULT: Final = "second_judge.json"


@dataclass
class _Words:
    """The parsed command line."""

    judge: str
    places: list[Path]
    changes: list[str]
    flags: list[str]
    sample: int
    seed: int
    into: Path | None
    as_json: bool


def main(argv: list[str]) -> int:
    """Grade a sample again, run by run, and show each beside its source; return 1 when a run failed."""
    words = _parsed(argv)
    sources = [RunDir(run.path.absolute()) for place in words.places for run in directories.runs_in(place)]
    into = (words.into or directories.new(f"second-{words.judge}")).absolute()
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
        code = runs.main(rewriting.rewritten(line))
    shown = _show(into, sources, words.as_json)
    return code or shown


def _show(into: Path, sources: list[RunDir], as_json: bool) -> int:
    from runner.analysis.judge_table import judge_table
    from runner.report.console import console
    from runner.report.judges import judge_tables

    tables: list[Any] = []
    records: list[dict[str, Any]] = []
    graded = {run.path.name.split("-", 1)[0]: run for run in runs_under(into)} if into.is_dir() else {}
    for number, source in enumerate(sources):
        run = graded.get(str(number))
        if run is None or not run.rows_path.is_file() or not run.rows_path.stat().st_size:
            continue
        table = judge_table([source, run], source.path.name)
        tables.append(table)
        records.append({"source": str(source.path), "run": str(run.path), **table.to_dict()})
    if tables:
        RunDir(into).write_json(_RESULT, records)
    if as_json:
        print(json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False))
    elif tables:
        console().print(judge_tables(tables))
    return 0 if len(tables) == len(sources) else 1


def _parsed(argv: list[str]) -> _Words:
    given = _FLAGS.parse(argv)
    judge, into = given.value("--second-judge") or "", given.value("--into")
    sample, seed = given.number("--sample", 1), given.number("--seed", 0)
    changes = [word for word in given.words if "=" in word and not Path(word).exists()]
    named = [Path(word) for word in given.words if word not in changes]
    if not named:
        raise UsageError(
            "--second-judge grades recorded answers again; name a run or a sweep: python -m runner calibrate DIR "
            f"--second-judge {judge}"
        )
    for word in changes:
        key = word.lstrip("+").partition("=")[0]
        if key in ("judge", "run.from", "run.sample", "run.seed"):
            flag = {"judge": "--second-judge", "run.sample": "--sample", "run.seed": "--seed"}.get(key, "a directory")
            raise UsageError(f"{word}: with --second-judge give {flag} instead")
    return _Words(
        judge=judge,
        places=named,
        changes=changes,
        flags=given.typed("--config-dir"),
        sample=_SAMPLE if sample is None else sample,
        seed=_SEED if seed is None else seed,
        into=None if into is None else Path(into),
        as_json="--json" in given,
    )


def _quoted(path: Path) -> str:
    text = str(path)
    if "'" in text or "\\" in text:
        raise RunnerError(f"{path}: a quote or a backslash in a path cannot be passed on; rename the folder")
    return f"'{text}'"
