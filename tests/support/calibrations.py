"""Calibrations from counts, and a judge that makes no mistake, for tests of everything that needs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from runner.calibration import file, rates
from runner.calibration.file import Calibration


def calibration(
    right: tuple[int, int] = (90, 100),
    specific: tuple[int, int] = (10, 100),
    vague: tuple[int, int] = (60, 100),
    **more: Any,
) -> Calibration:
    """A complete one from counts, passed of all, of category 1."""
    graded = [
        (kind, "1", ("CORRECT" if n < passed else "WRONG",))
        for kind, (passed, total) in (("right", right), ("specific", specific), ("vague", vague))
        for n in range(total)
    ]
    kinds, categories = rates.tallies(graded)
    values: dict[str, Any] = {
        "source": "probes",
        "judge": "j",
        "harness": "locomo_qa",
        "rows": {**dict.fromkeys(("dataset.version", *file.ROWS), "x"), "repeats": 1},
        "repeats": 1,
        "wording": file.Wording(by="templates"),
        **{key: value for key, value in more.items() if key != "state"},
    }
    made = file.empty(kinds=kinds, categories=categories, youden=rates.youden(kinds), **values)
    made.state = more.get("state", "complete")
    return made


def written(folder: Path, made: Calibration | dict[str, Any] | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    value = made.to_dict() if isinstance(made, Calibration) else made
    path = folder / "calibration.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


def between(body: dict[str, Any], tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", body["messages"][-1]["content"], re.DOTALL)
    return found[1] if found else ""


def honest(body: dict[str, Any]) -> str:
    """A judge that looks for the reference in the answer."""
    right = between(body, "reference").lower().rstrip(".") in between(body, "answer").lower()
    return json.dumps({"label": "CORRECT" if right else "WRONG", "reason": "looked"})
