"""``report DIR --failures``: what was missed and at which stage, from what is recorded. Asks no model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.cli._words.directories import distinct, name_of, runs_in
from runner.cli._words.flags import Flags
from runner.config import did_you_mean
from runner.errors import RecordError, UsageError

if TYPE_CHECKING:
    from runner.analysis.misses import Missed

_LISTED: Final = 10  # misses of a run that a terminal shows unless told
_HOW: Final = "report DIR [DIR ...] --failures [--stage NAME] [--category C] [--limit N] [--json]"
_VALUED: Final = ("--stage", "--category", "--limit")
_FLAGS: Final = Flags(
    "report --failures",
    switches=("--failures", "--json"),
    valued=_VALUED,
    there=_HOW,
    missing={flag: f"{flag}: give it a value: {_HOW}" for flag in _VALUED},
)


@dataclass
class _Options:
    """The parsed command line. ``limit`` is ``None`` when it was not given."""

    places: list[Path]
    stage: str | None = None
    category: str | None = None
    limit: int | None = None
    json: bool = False


def main(argv: list[str]) -> int:
    options = _parsed(argv)
    runs = [run for place in options.places for run in runs_in(place)]
    from runner.analysis.misses import Missed

    found: list[tuple[str, Missed]] = []
    broken: list[tuple[str, str]] = []
    for run in runs:
        try:
            found.append((name_of(run, runs), Missed(run)))
        except RecordError as error:
            if len(runs) == 1:
                raise
            broken.append((name_of(run, runs), str(error)))  # the other runs are told all the same
    wanted = _categories(options.category, [missed for _, missed in found])
    if options.json:
        _write_json(options, found, broken, wanted)
    else:
        _print(options, found, broken, wanted)
    return 1 if broken else 0


def _parsed(argv: list[str]) -> _Options:
    from runner.score.failure_stage import STAGES

    given = _FLAGS.parse(argv)
    stage, limit = given.value("--stage"), given.value("--limit")
    if stage is not None and stage not in STAGES:
        raise UsageError(f"--stage {stage}: no such stage{did_you_mean(stage, STAGES)}; there are {', '.join(STAGES)}")
    if limit is not None and not (limit.isdecimal() and limit.isascii() and len(limit) < 10):
        raise UsageError(f"--limit {limit}: a whole number of misses to list a run; 0 lists none")
    if not given.words:
        raise UsageError(f"report --failures takes directories: {_HOW}")
    return _Options(
        places=distinct("report", given.words),
        stage=stage,
        category=given.value("--category"),
        limit=None if limit is None else int(limit),
        json="--json" in given,
    )


def _categories(wanted: str | None, found: list[Missed]) -> list[str] | None:
    """Return the ids of the categories that have this id or name; ``None`` for all.

    Raises
    ------
    UsageError
        When no run has it.
    """
    if wanted is None:
        return None
    names: dict[str, str] = {}
    for missed in found:
        for key, name in missed.categories.items():
            names |= {key.casefold(): key, name.casefold(): key, name[len(key) :].strip().casefold(): key}
    if found and wanted.casefold() not in names:
        hint = did_you_mean(wanted, names)
        there = dict.fromkeys(name for missed in found for name in missed.categories.values())
        from runner.report.console import category

        raise UsageError(f"--category {wanted}: no such category{hint}; there are {', '.join(map(category, there))}")
    return [names[wanted.casefold()]] if found else []


def _print(
    options: _Options, found: list[tuple[str, Missed]], broken: list[tuple[str, str]], wanted: list[str] | None
) -> None:
    from runner.report import failures
    from runner.report.console import console, counted, text

    out = console()
    limit = _LISTED if options.limit is None else options.limit
    for position, (name, missed) in enumerate(found):
        out.print(text(f"\n{name}" if position else name, "bold"))
        out.print(failures.failure_table(missed))
        chosen = missed.chosen(options.stage, wanted)
        for shown in failures.failure_details(islice(missed.misses(options.stage, wanted), limit)):
            out.print(shown)
        if chosen > limit > 0:
            out.print(text(f"\n{chosen - limit} of {counted(chosen, 'miss', 'misses')} not shown (--limit N)", "dim"))
    for name, reason in broken:
        out.print(text(f"\n{name}: {reason}", "red"))
    for first, second, table in _moved(found):
        out.print(failures.transition_table(first, second, table))


def _write_json(
    options: _Options, found: list[tuple[str, Missed]], broken: list[tuple[str, str]], wanted: list[str] | None
) -> None:
    import json

    from runner.report import failures

    def pieces() -> Iterator[str]:
        yield '{"runs": {'
        for position, (name, missed) in enumerate(found):
            misses = islice(missed.misses(options.stage, wanted), options.limit)
            yield ("," if position else "") + json.dumps(name, ensure_ascii=False) + ": "
            yield from failures.failures_json(missed, misses)
        moved = [{"from": first, "to": second, "questions": table} for first, second, table in _moved(found)]
        yield "}, " + json.dumps({"unreadable": dict(broken), "moved": moved}, ensure_ascii=False)[1:] + "\n"

    sys.stdout.writelines(pieces())


def _moved(found: list[tuple[str, Missed]]) -> Iterable[tuple[str, str, dict[str, dict[str, int]]]]:
    """Yield the moves from the first run to each other with the same questions."""
    for name, missed in found[1:]:
        table = found[0][1].transitions(missed)
        if table is not None:
            yield found[0][0], name, table
