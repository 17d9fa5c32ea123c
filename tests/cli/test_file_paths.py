"""Paths of a composed config are absolute before they are recorded; names stay names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.cli._launch.file_paths import load_here
from runner.config import Experiment, flatten

NONE = {"name": "none", "provider": "none"}


def loaded(harness: dict[str, Any], **changes: Any) -> Experiment:
    arm = {"name": "a", "system": "bm25"}
    return load_here({"harness": harness, "arm": arm, "reader": NONE, "judge": NONE, **changes})


def test_every_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.md").write_text("")
    experiment = loaded(
        {"name": "locomo_qa", "dataset": {"path": "a.json"}, "patches": ["b.yaml", "/c.yaml"]},
        reader={**NONE, "prompt": "p.md", "rubric": "absent"},
        gate={"band": "from:d", "calibration": "e.json", "human": "f.csv"},
        run={"prices": "g.yaml", "from": None},
    )
    flat = flatten(experiment.model_dump())
    expected = {
        "harness.dataset.path": "a.json",
        "reader.prompt": "p.md",
        "gate.calibration": "e.json",
        "gate.human": "f.csv",
        "run.prices": "g.yaml",
    }
    assert {key: flat[key] for key in expected} == {key: str(tmp_path / name) for key, name in expected.items()}
    assert flat["harness.patches"] == [str(tmp_path / "b.yaml"), "/c.yaml"]
    assert flat["gate.band"] == f"from:{tmp_path / 'd'}"
    assert (flat["reader.rubric"], flat["run.from"], flat["judge.prompt"]) == ("absent", None, "")


@pytest.mark.parametrize(
    ("name", "settings", "absolute"),
    [
        ("handoff", {"scenarios": "mine"}, {"scenarios"}),
        ("handoff", {"scenarios": "absent"}, set()),  # the message speaks of it as it was typed
        ("retrieval_recall", {"corpus": "c.jsonl"}, {"corpus"}),
        ("synthetic_memory", {"scenarios": 3}, set()),
        ("nobody", {"corpus": "c.jsonl"}, set()),
    ],
)
def test_a_benchmark_says_which_of_its_settings_are_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, Any], absolute: set[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    expected = {key: str(tmp_path / value) if key in absolute else value for key, value in settings.items()}
    assert loaded({"name": name, "settings": settings}).harness.settings == expected
