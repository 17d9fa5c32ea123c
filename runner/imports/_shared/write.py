"""Write an imported arm as a run directory: whole, or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runner.analysis.summary import summarise
from runner.config import cache_dir
from runner.errors import RecordError, UsageError
from runner.imports._shared.instrument import written
from runner.imports._shared.prepare import PreparedArm
from runner.record import journal, provenance
from runner.record.rundir import RunDir
from runner.types import Row, Texts


def write(arms: Sequence[PreparedArm], target: Path) -> list[Path]:
    """Write run directories: one arm into ``target`` itself, several into folders of it.

    Raises
    ------
    UsageError
        When the place is taken.
    RecordError
        When the disk does not take it.
    """
    with _fresh(target):
        if len(arms) == 1:
            _write(arms[0], target)
            return [target]
        paths = [target / f"{number}-{arm.name}" for number, arm in enumerate(arms)]
        for arm, path in zip(arms, paths, strict=True):
            _write(arm, path)
        return paths


def _write(arm: PreparedArm, path: Path) -> None:
    run = RunDir(path)
    begun = provenance.start()
    run.create(arm.config, cache_dir())
    try:
        run.write_json("instrument.json", written(arm.instrument))
        _journal(run.texts_path, arm.texts)
        _journal(run.rows_path, arm.rows)
        session = {**begun, "ended": provenance.now()}
        run.write_json("provenance.json", {"import": arm.source, "found": arm.lines, "sittings": [session]})
        run.write_summary(summarise(run, arm.instrument), "complete")
    finally:
        run.release()


def _journal(path: Path, items: Sequence[Row] | Sequence[Texts]) -> None:
    file: journal.Journal[Any] = journal.Journal(path)
    try:
        for item in items:
            file.append(item)
    finally:
        file.close()


@contextmanager
def _fresh(target: Path) -> Iterator[None]:
    """Make a folder that is not there yet, or take an empty one; leave it as it was when something goes wrong."""
    try:
        made = [folder for folder in (target, *target.parents) if not folder.exists()]
        if target not in made and (not target.is_dir() or any(target.iterdir())):
            raise UsageError(f"{target}: is there already and not empty; choose another place with --into DIR")
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"{target}: cannot be written ({error.strerror}); choose another place: --into DIR") from None
    try:
        yield
    except BaseException:
        for item in target.iterdir():
            shutil.rmtree(item, ignore_errors=True) if item.is_dir() else item.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise
