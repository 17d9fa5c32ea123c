"""Where MemBench's trajectories come from: a checkout of the repository, its four joined files, or one file of either.

Layouts that are read:

- ``MemData/FirstAgent/<task>.json`` and ``MemData/ThirdAgent/<task>.json``: ``{topic: [trajectory]}``. The folder
  above them, one of the two, or one file.
- ``FirstAgentDataLowLevel.json`` and its three siblings, also with a suffix (``…_multiple_0.json``): ``{task: {topic:
  [trajectory]}}``. The folder that holds them, or one of them.

Files have tens of megabytes: one trajectory is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runner.config import Dataset
from runner.data.files_ import combined
from runner.data.json_stream import members
from runner.data.source import check_pin, looked_at, sha256_of
from runner.errors import DatasetError

FACTUAL: Final = (
    "simple",
    "conditional",
    "comparative",
    "aggregative",
    "post_processing",
    "noisy",
    "knowledge_update",
    "lowlevel_rec",
    "RecMultiSession",
)
REFLECTIVE: Final = ("highlevel", "highlevel_rec")
TASKS: Final = (*FACTUAL, *REFLECTIVE)
AGENTS: Final = ("FirstAgent", "ThirdAgent")

_LAYOUT: Final = "a published MemBench file is {topic: [trajectory]} or {task: {topic: [trajectory]}}"
_GET: Final = (
    "clone https://github.com/import-myself/Membench and give its folder (harness.dataset.path=Membench/MemData)"
)


@dataclass(frozen=True)
class File:
    """One file of trajectories. ``agent`` is what its place says of the view, empty where it says nothing."""

    path: Path
    agent: str


@dataclass(frozen=True)
class Found:
    """The data on disk, verified; ``sha256`` of a folder is over the place and digest of every file."""

    files: tuple[File, ...]
    sha256: str
    pinned: bool


@dataclass(frozen=True)
class RawTrajectory:
    """One trajectory, decoded and not understood. ``number`` is its place in the list of its topic, from 0."""

    file: File
    task: str
    topic: str
    number: int
    value: object


def find(harness: str, dataset: Dataset) -> Found:
    """Find and verify.

    Raises
    ------
    DatasetError
        When no data is named, it is not there, holds no file of MemBench, cannot be read or does not match its pin.
    """
    if dataset.path is None:
        raise DatasetError(f"{harness}: no data is configured and none can be downloaded by itself; {_GET}")
    path = looked_at(harness, dataset.path)
    if path.is_file():
        sha = sha256_of(harness, path)
        check_pin(harness, str(path), sha, dataset.sha256)
        return Found((File(path, _agent(path)),), sha, dataset.sha256 is not None)
    if not path.is_dir():
        raise DatasetError(f"{harness}: there is no file or folder {path} (looked in {Path.cwd()}); {_GET}")
    files = _inside(path)
    if not files:
        raise DatasetError(
            f"{harness}: {path} holds neither FirstAgent/*.json nor ThirdAgent/*.json nor FirstAgentData*.json; {_GET}"
        )
    names = [file.path.relative_to(path).as_posix().removeprefix("MemData/") for file in files]
    sha = combined([(name, sha256_of(harness, file.path)) for name, file in zip(names, files, strict=True)])
    check_pin(harness, str(path), sha, dataset.sha256)
    return Found(tuple(files), sha, dataset.sha256 is not None)


def _inside(path: Path) -> list[File]:
    """The files of a folder, first those of participation; a checkout's categories win over its joined files."""
    for root in (path / "MemData", path):
        found = [File(file, agent) for agent in AGENTS for file in sorted((root / agent).glob("*.json"))]
        if not found and root.name in AGENTS:
            found = [File(file, root.name) for file in sorted(root.glob("*.json"))]
        if not found:
            found = [File(file, agent) for agent in AGENTS for file in sorted(root.glob(f"{agent}Data*.json"))]
        if found:
            return found
    return []


def _agent(path: Path) -> str:
    """What a single file's name or folder says of the view."""
    return next((agent for agent in AGENTS if path.name.startswith(agent) or path.parent.name == agent), "")


def raw_trajectories(harness: str, found: Found) -> Iterator[RawTrajectory]:
    """The trajectories of all files, one after another.

    Raises
    ------
    DatasetError
        When a file is damaged, holds something else, or a kind of question that is not known.
    """
    for file in found.files:
        counts: dict[tuple[str, ...], int] = {}
        for keys, value in members(harness, file.path, _LAYOUT):
            task, topic = _place(harness, file.path, keys)
            number = counts.get(keys, 0)
            counts[keys] = number + 1
            yield RawTrajectory(file, task, topic, number, value)


def _place(harness: str, path: Path, keys: tuple[str, ...]) -> tuple[str, str]:
    """Task and topic: both are keys of a joined file, else the task is the file's name."""
    if len(keys) > 2:
        raise DatasetError(f"{harness}: {path} nests lists under {'/'.join(keys)[:80]}; {_LAYOUT}")
    task = keys[0] if len(keys) == 2 else path.stem
    topic = keys[-1] if keys else ""
    if task not in TASKS:
        said = "key" if len(keys) == 2 else "file name"
        raise DatasetError(
            f"{harness}: {path}: the {said} '{' '.join(task.split())[:60]}' is no kind of question; there are "
            f"{', '.join(TASKS)} ({_LAYOUT})"
        )
    return task, topic
