"""Run directories written by hand, for tests of everything that reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from runner.record.id_set import IdSet
from runner.record.instrument import WHY
from runner.record.rundir import FORMAT
from runner.types import Row


def arm_config(name: str, **changes: Any) -> dict[str, Any]:
    value = {
        "name": name,
        "system": "hybrid",
        "ingest": {},
        "recall": {"limit": 10, "max_chars": None, "mode": "default"},
        "knobs": {"graph": name != "a"},
        "settings": {},
    }
    return {**value, **changes}


def write_run(
    path: Path,
    rows: Sequence[Row],
    *,
    arm: dict[str, Any],
    axis: str = "accuracy",
    instrument: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    fakes: Sequence[str] = (),
    questions: int | None = None,
    slice_of: Sequence[Row] | None = None,
    synthetic: bool = False,
    about: dict[str, Any] | None = None,
) -> Path:
    """A complete run directory of one arm."""
    path.mkdir(parents=True)
    values: dict[str, Any] = {
        "harness": {"name": "locomo_qa"},
        "arm": arm,
        "reader": {"name": "none", "provider": "none"},
        "judge": {"name": "none", "provider": "none"},
        "gate": {"name": "default"},
        "run": {"repeats": 1},
        **(config or {}),
    }
    (path / "config.yaml").write_text(yaml.safe_dump(values))
    harness = {
        "name": "locomo_qa",
        "synthetic": synthetic,
        "cluster": "conversation",
        "categories": {"1": "multi-hop", "5": "adversarial"},
        "comparable": ["1"],
        "headline": "accuracy_abstain_wrong" if axis == "accuracy" else "recall@10",
        **(about or {}),
    }
    ids = IdSet()
    ids.add({row.id.encode() for row in slice_of or rows})
    pinned = {"slice.sha256": ids.hexdigest()}
    facts = dict.fromkeys(WHY, "x") | pinned | {"axis": axis, "k": 10, "repeats": 1} | (instrument or {})
    total = len(rows) if questions is None else questions
    (path / "instrument.json").write_text(
        json.dumps(
            {
                "format": FORMAT,
                "runner": "0",
                "rows": facts,
                "fakes": list(fakes),
                "harness": harness,
                "census": {"questions": total, "clusters": len({row.cluster for row in rows})},
            }
        )
    )
    encoder = msgspec.json.Encoder()
    (path / "rows.jsonl").write_bytes(b"".join(encoder.encode(row) + b"\n" for row in rows))
    return path


def failed(row: Row, status: str = "reader_error") -> Row:
    """The same question, whose every repeat failed."""
    return replace(row, status=status, label="", labels=(status,))


def answered(
    number: int, correct: bool, *, cluster: int | None = None, keys: str = "", category: str = "1", **more: Any
) -> Row:
    """A graded row; clusters of ten unless told otherwise."""
    label = "CORRECT" if correct else "WRONG"
    group = f"c{number // 10 if cluster is None else cluster}"
    values: dict[str, Any] = {"label": label, "labels": (label,), **more}
    return Row(id=f"{group}/{number}", scenario=group, cluster=group, category=category, keys=keys, **values)
