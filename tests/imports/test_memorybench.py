"""memorybench reports: the label counts, LoCoMo's categories go by number, ids by conversation and index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import DatasetError
from runner.types import Gold
from tests.support.imported import bring, rows, said, texts, write_json


def evaluation(
    name: str, label: Any, kind: str = "single-hop", score: float = 1, gold: Any = "a hat"
) -> dict[str, Any]:
    return {
        "questionId": name, "questionType": kind, "question": f"What is {name}?", "score": score, "label": label,
        "explanation": "because", "hypothesis": "the hat", "groundTruth": gold, "searchResults": [{"text": "…"}],
        "searchDurationMs": 1, "answerDurationMs": 2, "totalDurationMs": 3,
    }  # fmt: skip


def report(benchmark: str, *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "provider": "supermemory", "benchmark": benchmark, "runId": "r", "dataSourceRunId": "r", "judge": "gpt-4o",
        "answeringModel": "gpt-4o-mini", "timestamp": "2026-01-01T00:00:00Z",
        "summary": {"totalQuestions": len(items), "correctCount": 1, "accuracy": 0.5},
        "evaluations": list(items), **more,
    }  # fmt: skip


def test_locomo_goes_by_number(tmp_path: Path) -> None:
    """What it calls single-hop is category 1, which the paper calls multi-hop."""
    file = write_json(
        tmp_path / "report.json",
        report(
            "locomo",
            evaluation("conv-26-q5", "correct"),
            evaluation("conv-26-q07", "incorrect", "world-knowledge", 0),
            evaluation("conv-30-q79", "correct", "adversarial", gold="undefined"),
        ),
    )
    arm = bring("memorybench", file)
    assert {row.id: (row.category, row.label, row.cluster) for row in arm.rows} == {
        "conv-26/5": ("1", "CORRECT", "conv-26"),
        "conv-26/7": ("4", "WRONG", "conv-26"),
        "conv-30/79": ("5", "CORRECT", "conv-30"),
    }
    assert texts(arm)["conv-30/79"].gold == Gold(abstain=True)
    assert arm.instrument.rows["reader.model"] == "openai:gpt-4o-mini"
    assert arm.instrument.rows["judge.model"] == "openai:gpt-4o"
    assert arm.instrument.harness.categories["1"] == "multi-hop"
    assert "the file states 1" in said(arm)
    assert "provider supermemory" in said(arm)


def test_longmemeval_and_a_benchmark_without_a_harness(tmp_path: Path) -> None:
    file = write_json(tmp_path / "r.json", report("longmemeval", evaluation("q1_abs", "correct", "multi-session")))
    arm = bring("memorybench", file)
    assert arm.instrument.rows["harness"] == "longmemeval"
    assert texts(arm)["q1_abs"].gold == Gold(abstain=True)
    other = write_json(tmp_path / "o.json", report("convomem", evaluation("x", "correct", "user_evidence")))
    assert bring("memorybench", other).instrument.rows["harness"] == "imported"


def test_a_label_that_is_none_is_an_error_of_the_judge(tmp_path: Path) -> None:
    """A partial score beside "incorrect" stays wrong: the report's own label counts."""
    file = write_json(
        tmp_path / "r.json",
        report("beam", evaluation("a", "incorrect", score=0.5), evaluation("b", None), evaluation("c", "skipped")),
    )
    arm = bring("memorybench", file)
    assert {row.id: row.status for row in arm.rows} == {"a": "ok", "b": "judge_error", "c": "judge_unparseable"}
    assert rows(arm)["a"].label == "WRONG"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([report("locomo", evaluation("26_5", "correct"))], "no id of a LoCoMo question"),
        (
            [report("a", evaluation("x", "correct")), report("a", evaluation("y", "correct"), judge="other")],
            "several values as judge",
        ),
        ([report("a", evaluation("x", "correct"), evaluation("x", "correct"))], "stands 2 times"),
        ([report("locomo", evaluation("conv-26-q1", "correct", "chitchat"))], "category 'chitchat'"),
        ([{"benchmark": "locomo"}], "has no 'evaluations'"),
    ],
)
def test_contradictions_are_one_line(tmp_path: Path, values: list[Any], expected: str) -> None:
    files = [write_json(tmp_path / f"{i}.json", value) for i, value in enumerate(values)]
    with pytest.raises(DatasetError, match=expected):
        bring("memorybench", *files)
