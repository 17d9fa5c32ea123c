"""The source of MemBench's trajectories: a checkout of the repository, its four joined files, or one file of either.

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
from runner.data.json_stream import members
from runner.data.source import DataFiles, in_folder, locate, own_copy
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
class RawTrajectory:
    """One trajectory, decoded and not understood. ``number`` is its place in the list of its topic, from 0."""

    path: Path
    task: str
    topic: str
    number: int
    value: object


def find(dataset: Dataset) -> DataFiles:
    """Find and verify.

    Raises
    ------
    DatasetError
        When no data is named, it is not there, holds no file of MemBench, cannot be read or does not match its pin.
    """
    path = own_copy(dataset, _GET)
    if path.is_file():
        return locate("", dataset)
    files = _inside(path)
    if not files:
        raise DatasetError(
            f"{path} holds neither FirstAgent/*.json nor ThirdAgent/*.json nor FirstAgentData*.json; {_GET}"
        )
    names = {file.relative_to(path).as_posix().removeprefix("MemData/"): file for file in files}
    return in_folder(path, names, dataset.sha256)


def _inside(path: Path) -> list[Path]:
    """List the files of a folder, first those of participation; a checkout's categories win over its joined files."""
    for root in (path / "MemData", path):
        found = [file for agent in AGENTS for file in sorted((root / agent).glob("*.json"))]
        if not found and root.name in AGENTS:
            found = sorted(root.glob("*.json"))
        if not found:
            found = [file for agent in AGENTS for file in sorted(root.glob(f"{agent}Data*.json"))]
        if found:
            return found
    return []


def agent_of(path: Path) -> str:
    """Return what a file's name or folder says of the view, empty where it says nothing."""
    return next((agent for agent in AGENTS if path.name.startswith(agent) or path.parent.name == agent), "")


def raw_trajectories(found: DataFiles) -> Iterator[RawTrajectory]:
    """Yield the trajectories of all files, one after another.

    Raises
    ------
    DatasetError
        When a file is damaged, holds something else, or a kind of question that is not known.
    """
    for path in found.paths:
        counts: dict[tuple[str, ...], int] = {}
        for keys, value in members(path, _LAYOUT):
            task, topic = _place(path, keys)
            number = counts.get(keys, 0)
            counts[keys] = number + 1
            yield RawTrajectory(path, task, topic, number, value)


def _place(path: Path, keys: tuple[str, ...]) -> tuple[str, str]:
    """Return task and topic: both are keys of a joined file, else the task is the file's name."""
    if len(keys) > 2:
        raise DatasetError(f"{path} nests lists under {'/'.join(keys)[:80]}; {_LAYOUT}")
    task = keys[0] if len(keys) == 2 else path.stem
    topic = keys[-1] if keys else ""
    if task not in TASKS:
        place = "key" if len(keys) == 2 else "file name"
        raise DatasetError(
            f"{path}: the {place} '{' '.join(task.split())[:60]}' is no kind of question; there are "
            f"{', '.join(TASKS)} ({_LAYOUT})"
        )
    return task, topic
