"""Labels that people gave to recorded answers: a CSV file, read strictly."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from runner.config import did_you_mean
from runner.errors import UsageError
from runner.gate.arm import Arm
from runner.types import ABSTAIN, CORRECT, WRONG

_COLUMNS: Final = ("id", "arm", "label")
_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("correct", "1", "true", "yes"), CORRECT),
    **dict.fromkeys(("wrong", "0", "false", "no"), WRONG),
    "abstain": ABSTAIN,
}
_LARGEST: Final = 200_000_000  # bytes


@dataclass(frozen=True)
class HumanLabel:
    """A label by a person: of which answer, and where in the file it stands."""

    id: str
    arm: str
    label: str  # CORRECT, WRONG or ABSTAIN
    line: int


def read(path: Path) -> list[HumanLabel]:
    """Return the labels of a file with the columns ``id``, ``arm`` and ``label``; further columns are not read.

    Raises
    ------
    UsageError
        Naming the line, when a column, a value or the whole file is missing, or a label is not one of those known.
    """
    where = f"gate.human={path}"
    try:
        if (path.exists() and not path.is_file()) or path.stat().st_size > _LARGEST:
            raise UsageError(f"{where}: not a CSV file of labels; give one with the columns id, arm, label")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{where}: no such file; give a CSV with the columns id, arm, label") from None
    except OSError as error:
        raise UsageError(f"{where}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{where}: is not UTF-8; export it again as UTF-8") from None
    try:
        found = list(_labels(where, text))
    except csv.Error as error:
        raise UsageError(f"{where}: is not CSV ({error})") from None
    if not found:
        raise UsageError(f"{where}: holds no label")
    return found


def _labels(where: str, text: str) -> Iterator[HumanLabel]:
    rows = csv.reader(text.splitlines(keepends=True), strict=True)
    header = [name.strip().lower() for name in next(rows, [])]
    for name in _COLUMNS:
        if header.count(name) != 1:
            many = "stands twice in" if name in header else "is missing from"
            raise UsageError(
                f"{where}: the column '{name}' {many} the header; it has {', '.join(header)[:200] or 'nothing'}"
            )
    places = [header.index(name) for name in _COLUMNS]
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        line = rows.line_num
        if len(row) != len(header):
            raise UsageError(f"{where}, line {line}: {len(row)} values, and the header has {len(header)}")
        item, arm, word = (row[place].strip() for place in places)
        label = _WORDS.get(word.lower())
        if label is None:
            raise UsageError(
                f"{where}, line {line}: '{word[:40]}' is not a label; there are CORRECT, WRONG and ABSTAIN, 1 and 0, "
                f"true and false, yes and no"
            )
        if not item or not arm:
            raise UsageError(f"{where}, line {line}: the {'id' if not item else 'arm'} is empty")
        yield HumanLabel(item, arm, label, line)


def labels_by_arm(path: Path, labels: Sequence[HumanLabel], arms: Sequence[Arm]) -> dict[str, dict[str, str]]:
    """Return the labels by run directory and question id.

    An arm is named as the gate's table names it, by the name in its config where that is one arm's only, or by its run
    directory.

    Raises
    ------
    UsageError
        For an arm or an id that there is not, an arm's name that means several, and an answer that is labelled twice.
    """
    where = f"gate.human={path}"
    called: dict[str, set[str]] = {}
    opened: dict[str, Arm] = {}
    for arm in arms:
        key = str(arm.run.path)
        opened[key] = arm
        for name in (
            arm.name,
            arm.name.split(" [")[0],
            str(arm.config.get("arm", {}).get("name", "")),
            arm.run.path.name,
        ):
            called.setdefault(name, set()).add(key)
    found: dict[str, dict[str, str]] = {}
    for item in labels:
        keys = called.get(item.arm, set())
        if not keys:
            names = ", ".join(dict.fromkeys(arm.name for arm in arms))
            hint = did_you_mean(item.arm, called)
            raise UsageError(f"{where}, line {item.line}: no arm '{item.arm[:80]}' here{hint}; there are {names}")
        if len(keys) > 1:
            folders = ", ".join(sorted(Path(key).name for key in keys))
            raise UsageError(
                f"{where}, line {item.line}: '{item.arm}' names {len(keys)} arms; name the run directory ({folders})"
            )
        (key,) = keys
        known = found.setdefault(key, {})
        if item.id in known:
            raise UsageError(
                f"{where}, line {item.line}: '{item.id[:80]}' of {item.arm} is labelled twice; keep one label"
            )
        if not _has_question(opened[key], item.id):
            raise UsageError(f"{where}, line {item.line}: {item.arm} has no question '{item.id[:80]}'")
        known[item.id] = item.label
    return found


def _has_question(arm: Arm, name: str) -> bool:
    ids = arm.data.ids  # sorted
    wanted = name.encode("utf-8", "replace")
    place = int(np.searchsorted(ids, np.bytes_(wanted)))
    return place < len(ids) and bytes(ids[place]) == wanted
