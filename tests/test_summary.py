"""Figures of a run by category, and the mean over categories that some benchmarks report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded import answered, arm_config, write_run

from runner.record.rundir import RunDir
from runner.summary import summarise


def test_a_mean_over_categories_counts_each_alike(tmp_path: Path) -> None:
    """Category 1: 3 of 4; category 5 is not comparable; category 2: 0 of 1. Task-averaged (.75 + 0)/2, overall .6."""
    rows = [answered(i, i < 3) for i in range(4)] + [answered(4, False, category="2"), answered(5, True, category="5")]
    run = RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))
    recorded = json.loads((run.path / "instrument.json").read_text())
    recorded["harness"] |= {"comparable": ["1", "2"], "macro": "task_averaged"}
    groups = summarise(run, recorded)["groups"]
    assert groups["task_averaged"]["accuracy_abstain_wrong"] == pytest.approx(0.375)
    assert groups["task_averaged"]["questions"] == 5
    assert groups["overall_comparable"]["accuracy_abstain_wrong"] == pytest.approx(0.6)
    recorded["harness"]["macro"] = ""
    assert "task_averaged" not in summarise(run, recorded)["groups"]
