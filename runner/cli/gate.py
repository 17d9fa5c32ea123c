"""``gate DIR [DIR ...]``: the verdict from recorded runs."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from runner.cli._words.choices import choices
from runner.cli._words.flags import Flags
from runner.config import GateConfig, conf_dir, did_you_mean
from runner.errors import RecordError, UsageError
from runner.record.files import Instrument
from runner.record.instrument import GROUPS, rows_named
from runner.record.rundir import RunDir
from runner.record.sweepdir import Sweep

_FLAGS: Final = Flags(
    "gate",
    switches=("--json",),
    many=("--declare",),
    there="there are --json, --declare ROW=same|treatment, and gate.KEY=VALUE",
)


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    changes: dict[str, Any] = {}
    places = []
    declared: dict[str, list[str]] = {"same": [], "treatment": []}
    for part in ",".join(given.values("--declare")).split(",") if "--declare" in given else ():
        row, kind = _declaration(part)
        declared[kind].append(row)
    for word in given.words:
        key, sign, value = word.partition("=")
        if sign and key.startswith("gate."):
            name = key.removeprefix("gate.")
            if name not in GateConfig.model_fields:
                raise UsageError(f"{key}: no such key{did_you_mean(name, GateConfig.model_fields)}")
            changes[name] = _value(key, value)
        elif key == "gate" and sign:
            changes |= _preset(value)
        elif sign and not Path(word).exists():
            raise UsageError(f"{word}: gate takes directories, gate=NAME and gate.KEY=VALUE")
        else:
            places.append(Path(word))
    if not places:
        raise UsageError("gate takes a sweep, or runs with the baseline first: python -m runner gate DIR [DIR ...]")
    for place in places:
        if not place.is_dir():
            raise UsageError(f"{place}: no such directory")
    for kind, rows in declared.items():
        if rows:
            before = changes.get(kind, [])
            changes[kind] = [*([before] if isinstance(before, str) else before), *rows]
    return _show_verdict([Sweep(place) for place in places], changes, "--json" in given)[0]


def _declaration(text: str) -> tuple[str, str]:
    """Return the row and the kind of ``ROW=same`` or ``ROW=treatment``."""
    row, _, kind = text.partition("=")
    if not row or kind not in ("same", "treatment"):
        raise UsageError(
            f"--declare {text}: give ROW=same (unknown in a record, and the same in both arms) or ROW=treatment (what "
            f"is compared); a ROW may be one of {', '.join(GROUPS)}"
        )
    rows_named([row])
    return row, kind


def gate_sweep(path: Path) -> int:
    """Gate a sweep that has just ended, and keep the verdict beside it.

    A job that failed the smoke test of its benchmark decides the exit code before any verdict.
    """
    from runner.analysis.smoke import exit_code_of_sweep, smoke_of

    sweep = Sweep(path)
    runs = sweep.runs
    known: dict[RunDir, Instrument] = {}
    if runs and not runs[0].experiment().gate.enabled:
        failed = any((folder / "failure.json").is_file() for folder in path.iterdir())
        code = 1 if failed or not all(run.finished() for run in runs) else 0
    else:
        code, known = _show_verdict([sweep], {}, False)
    smokes = []
    for run in runs:
        with suppress(RecordError):  # one that cannot be read is told above, as incomplete
            smokes.append(smoke_of(run, known.get(run)))
    failed_jobs = sum(smoke is not None and smoke.outcome == "fail" for smoke in smokes)
    if failed_jobs:
        print(f"smoke test failed in {failed_jobs} of {len(smokes)} jobs: exit 3, whatever the gate says")
    return exit_code_of_sweep(code, smokes)


def _show_verdict(sweeps: list[Sweep], changes: dict[str, Any], as_json: bool) -> tuple[int, dict[RunDir, Instrument]]:
    """Print the verdict; return its exit code and the instruments that were read on the way."""
    from runner.gate.sweep import gate
    from runner.record.rundir import is_run

    (alone,) = sweeps if len(sweeps) == 1 else (None,)
    if alone and alone.is_planned and not is_run(alone.path):
        from runner.cli.report_judges import show_sweep

        code = show_sweep(alone, as_json)
        if code is not None:
            return code, {}
    verdict = gate(sweeps, changes)
    if alone and not alone.is_planned and not is_run(alone.path):
        print(f"warning: {alone.path} has no sweep.json; whether every job ran cannot be told", file=sys.stderr)
    if as_json:
        print(json.dumps(verdict.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from runner.report.console import console
        from runner.report.verdict import gate_tables

        console().print(gate_tables(verdict))
    if alone and alone.is_planned:
        try:
            RunDir(alone.path).write_json("gate.json", verdict.to_dict())
        except RecordError as error:
            print(f"warning: {error}; the verdict above stands", file=sys.stderr)
    return verdict.exit_code, {arm.run: arm.instrument for group in verdict.groups for arm in group.arms}


def _preset(name: str) -> dict[str, Any]:
    """Return the settings of a shipped choice of the group that differ from the defaults."""
    known = choices("gate", [conf_dir()])
    if name not in known:
        raise UsageError(f"gate={name}: no such choice{did_you_mean(name, known)}; there are {', '.join(known)}")
    values = yaml.safe_load(known[name].read_text(encoding="utf-8"))
    return {key: value for key, value in values.items() if key != "defaults"}


def _value(key: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise UsageError(f"{key}: '{text}' is not a YAML value") from None
