"""The scenario files of a run: checked all at once, then read one by one, so that they need not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from runner.config import digest
from runner.errors import ConfigError
from runner.harness.handoff import lint
from runner.harness.handoff.scenario_file import ScenarioSpec, read_spec

_KEPT: Final = 64 * 1024  # bytes; larger files are read again each time
_MOST_SHOWN: Final = 100  # problems


@dataclass(frozen=True)
class Entry:
    """A scenario file without problems, in short."""

    path: Path
    id: str
    family: str
    skill: str
    expect: str
    sha256: str  # of its content: comments, order of keys and line ends aside


@dataclass(frozen=True)
class Index:
    """Every scenario by id, and what an author should look at."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    def own(self, shipped: Path) -> int:
        """Count the scenarios that are not shipped."""
        return sum(entry.path.parent != shipped for entry in self.entries)


def index(folders: Sequence[Path]) -> Index:
    """Check every scenario of some folders.

    Raises
    ------
    ConfigError
        With every problem of every file.
    """
    problems: list[str] = []
    notes: list[str] = []
    entries: dict[str, Entry] = {}
    for folder in folders:
        for path in _listed(folder):
            try:
                spec = spec_of(path)
            except ConfigError as error:
                problems += error.problems
                continue
            problems += [f"{path.name}: {line}" for line in lint.errors(spec)]
            notes += [f"{path.name}: {line}" for line in lint.notes(spec)]
            if spec.id != path.stem:
                problems.append(f"{path.name}: id: is '{spec.id}'; a file is named after its scenario ({spec.id}.yaml)")
            if spec.id in entries:
                other = entries[spec.id].path
                where = other.name if other.parent == path.parent else f"{other.name}, which is shipped"
                problems.append(f"{path.name}: id: '{spec.id}' is the id of {where} as well; choose another")
                continue
            content = digest(spec.model_dump(mode="json"))
            entries[spec.id] = Entry(path, spec.id, spec.family, spec.skill, spec.expect, content)
    if problems:
        more = len(problems) - _MOST_SHOWN
        raise ConfigError(problems[:_MOST_SHOWN] + ([f"… and {more} more problems"] if more > 0 else []))
    return Index(tuple(entries[name] for name in sorted(entries)), tuple(notes))


def spec_of(path: Path) -> ScenarioSpec:
    """Read a scenario; small ones are kept as long as the file stays as it is.

    Raises
    ------
    ConfigError
        When it is not one.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise ConfigError([f"{path.name}: cannot be read ({error.strerror or error})"]) from None
    return _read(path, stat.st_mtime_ns, stat.st_size) if stat.st_size <= _KEPT else read_spec(path)


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int, _size: int) -> ScenarioSpec:
    return read_spec(path)


def _listed(folder: Path) -> list[Path]:
    try:
        names = sorted(folder.iterdir())
    except OSError as error:
        raise ConfigError([f"harness.settings.scenarios: {folder}: {error.strerror or error}"]) from None
    found = [path for path in names if path.suffix in (".yaml", ".yml") and path.is_file()]
    if not found:
        raise ConfigError([f"harness.settings.scenarios: {folder} holds no scenario (*.yaml)"])
    return found
