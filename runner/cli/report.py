"""``report DIR [DIR ...]``: the tables of runs and sweeps, rebuilt from what is recorded."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from runner.analysis.summary import summary_of
from runner.cli import report_judges
from runner.cli._words import own_folders
from runner.cli._words.directories import distinct, name_of, runs_in
from runner.cli._words.flags import Flags
from runner.cli._words.hydra_flags import CONFIG_DIR
from runner.errors import RecordError, UsageError
from runner.record.rundir import RunDir, is_run
from runner.record.sweepdir import Sweep

_FLAGS: Final = Flags(
    "report",
    switches=("--json",),
    valued=("--reference",),
    many=CONFIG_DIR,
    there="there are --json, --reference NAME and --failures, and --config-dir DIR for a benchmark of your own",
    missing={"--reference": "--reference: name a judge of the table (--reference opus)"},
)


def main(argv: list[str]) -> int:
    if "--failures" in argv:
        from runner.cli import report_failures

        return report_failures.main(argv)
    given = _FLAGS.parse(argv)
    if not given.words:
        raise UsageError(
            "report takes directories (and --json, --reference NAME): python -m runner report DIR [DIR ...]"
        )
    own_folders.add(given.config_dirs())
    reference = given.value("--reference")
    paths = distinct("report", given.words)
    runs = [run for path in paths for run in runs_in(path)]
    if "--json" in given:
        print(json.dumps(_as_json(runs, reference), indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    from runner.analysis.smoke import exit_code_of_sweep, smoke_of
    from runner.report.console import console, text
    from runner.report.judges import origin
    from runner.report.run import run_table
    from runner.report.section import sections

    side_by_side = report_judges.tables(runs, reference)
    smokes = []
    for run in runs:
        console().print(text(name_of(run, runs), "bold"))
        try:
            smokes.append(smoke_of(run))
            about = origin(run)
            if about is not None:
                console().print(text(about, "dim"))
            console().print(run_table(run))
        except RecordError as error:
            if len(runs) == 1:
                raise
            console().print(text(error, "red"))  # the other runs are told all the same
    for section in sections(runs):
        console().print(section)
    if len(paths) == 1 and not is_run(paths[0]):
        code = report_judges.show_sweep(Sweep(paths[0]), False, reference)
        if code is not None:
            return code
        report_judges.show(side_by_side)
        from runner.cli.gate import main as gate

        return exit_code_of_sweep(gate([str(paths[0])]), smokes)
    report_judges.show(side_by_side)
    return exit_code_of_sweep(0, smokes)


def _as_json(runs: list[RunDir], reference: str | None) -> dict[str, Any]:
    """Return instrument and summary of every run by name; with judges of the same answers, those under ``judges``."""
    from runner.analysis.smoke import smoke_of
    from runner.report.section import figures_of

    named: dict[str, Any] = {
        name_of(run, runs): {
            "instrument": msgspec.to_builtins(instrument := run.instrument()),
            **summary_of(run, instrument).to_dict(),
            **figures_of(run),
            **({"smoke": smoke.to_dict()} if (smoke := smoke_of(run, instrument)) else {}),
        }
        for run in runs
    }
    found = report_judges.tables(runs, reference)
    return {"runs": named, "judges": [table.to_dict() for table in found]} if found else named
