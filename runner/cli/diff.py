"""``diff A B``: what differs between two recorded runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from runner.cli._words.flags import Flags
from runner.errors import UsageError
from runner.record.diff import diff
from runner.record.rundir import RunDir, is_run

_FLAGS: Final = Flags("diff", switches=("--all", "--json", "--md"))


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    places = given.words
    if len(places) != 2:
        raise UsageError("diff takes two run directories: python -m runner diff A B")
    for place in places:
        if not is_run(Path(place)):
            raise UsageError(f"{place}: not a run directory (no config.yaml)")
    rows = diff(RunDir(Path(places[0])), RunDir(Path(places[1])), everything="--all" in given)
    if "--json" in given:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif "--md" in given:
        from runner.report.diff import diff_markdown

        print(diff_markdown(rows, *places))
    elif not rows:
        print("no difference")
    else:
        from runner.report.console import console
        from runner.report.diff import diff_table

        console().print(diff_table(rows, *places))
    return 0
