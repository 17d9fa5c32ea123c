"""docs/benchmarks.md shows layouts: each is read by the loader of its benchmark, as a file of one's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.harness import build
from runner.types import Question
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def shown(section: str) -> list[str]:
    """The layouts of a section."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    return re.findall(r"```json\n(.*?)```", text, re.DOTALL)


def asked(name: str, path: Path, **settings: Any) -> list[Question]:
    built = build(HarnessConfig(name=name, dataset={"path": str(path), "sha256": None}, settings=settings))
    assert built.check()
    return [question for scenario in built.load(SliceConfig()) for question in scenario.questions]


@pytest.mark.parametrize(
    ("name", "answers"),
    [("musique", ("Lund", "the town of Lund")), ("msc_dmr", ("Nine of them.",))],
)
def test_one_line_laid_out(tmp_path: Path, name: str, answers: tuple[str, ...]) -> None:
    (layout,) = shown(name)
    (tmp_path / "rows.jsonl").write_text(json.dumps(json.loads(layout)) + "\n")
    (question,) = asked(name, tmp_path / "rows.jsonl")
    assert question.gold.answers == answers


def test_memoryagentbench(tmp_path: Path) -> None:
    (layout,) = shown("memoryagentbench")
    row = json.loads(layout)
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (question,) = asked("memoryagentbench", tmp_path / "rows.jsonl")
    assert question.gold.answers == ("drum", "the drum")
    from runner.harness.memoryagentbench.source import COLUMNS

    columns = [key for key in row if key != "metadata"] + [f"metadata.{key}" for key in row["metadata"]]
    assert set(columns) == set(COLUMNS), "every column that is read, and no other"


def test_membench_in_both_views(tmp_path: Path) -> None:
    for view, layout in zip(("FirstAgent", "ThirdAgent"), shown("membench"), strict=True):
        assert f"`{view}/simple.json`" in TEXT
        (tmp_path / view).mkdir()
        (tmp_path / view / "simple.json").write_text(layout)
    questions = asked("membench", tmp_path, sample=None, noise=0)
    assert [len(question.gold.evidence) for question in questions] == [1, 1]
    assert {question.gold.answers[0] for question in questions} == {"tune pianos", "Lund"}


def test_dialogue_consistency(tmp_path: Path) -> None:
    (layout,) = shown("dialogue_consistency")
    (tmp_path / "dialogue_nli_test.jsonl").write_text(layout)
    questions = asked("dialogue_consistency", tmp_path, distractors=0, sample=None)
    assert [question.category for question in questions] == ["entailment", "neutral"]


def test_labels_of_ones_own(tmp_path: Path) -> None:
    (layout,) = shown("retrieval_recall")
    (tmp_path / "labels.jsonl").write_text(layout)
    questions = asked("retrieval_recall", tmp_path / "labels.jsonl", namespace="mine")
    assert [question.gold.evidence for question in questions] == [("deploy-2024", "runbook-3"), ("team-billing",)]
    assert [question.category for question in questions] == ["where", "who"]
    assert questions[1].cluster == "monday"
