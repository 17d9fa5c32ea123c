"""Mem0's evaluation: no ids, no category 5; positions are LoCoMo's indexes only where a conversation is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import DatasetError
from runner.harness.locomo_qa.conversations import CONVERSATIONS
from runner.imports.mem0 import answerable
from tests.support.imported import bring, rows, said, texts, write_json


def entry(i: int, score: Any = 1, category: str = "4") -> dict[str, Any]:
    return {
        "question": f"Question {i}?", "answer": f"gold {i}", "response": f"answer {i}", "category": category,
        "bleu_score": 0.1, "f1_score": 0.2, "llm_score": score,
    }  # fmt: skip


def test_a_whole_conversation_gets_locomos_ids(tmp_path: Path) -> None:
    """conv-30 has 81 questions of categories 1-4, and an adversarial one at 79: the last two are 80 and 81."""
    file = write_json(tmp_path / "m.json", {"1": [entry(i, i % 2) for i in range(81)]})
    arm = bring("mem0", file)
    names = [row.id for row in arm.rows]
    assert names[:2] == ["conv-30/0", "conv-30/1"]
    assert names[-3:] == ["conv-30/78", "conv-30/80", "conv-30/81"]
    assert texts(arm)["conv-30/81"].question == "Question 80?"
    assert {row.cluster for row in arm.rows} == {"conv-30"}
    assert [row.label for row in arm.rows][:3] == ["WRONG", "CORRECT", "WRONG"]
    assert "correct: 40 of 81 (49.4%), wrong 41" in said(arm)


def test_a_part_of_a_conversation_keeps_positions_and_says_so(tmp_path: Path) -> None:
    file = write_json(tmp_path / "m.json", {"1": [entry(0), entry(1, None)], "0": [entry(i) for i in range(152)]})
    arm = bring("mem0", file)
    assert rows(arm)["1/1"].status == "judge_error"
    assert rows(arm)["0/151"].cluster == "conv-26"
    assert "conversation 1 holds 2 questions, and LoCoMo has 81" in said(arm)
    assert "pair with no other layout" in said(arm)


def test_an_adversarial_question_shifts_the_positions(tmp_path: Path) -> None:
    file = write_json(tmp_path / "m.json", {"1": [entry(i, category="5" if i == 80 else "4") for i in range(81)]})
    arm = bring("mem0", file)
    assert "1/80" in rows(arm)
    assert texts(arm)["1/80"].gold.abstain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"ten": [entry(0)]}, "expected the position of a LoCoMo conversation"),
        ({"10": [entry(0)]}, "0 to 9"),
        ({"0": [{"question": "?"}]}, "has no 'category'"),
        ({"0": 3}, "expected a list, found a number"),
        ([entry(0)], "expected an object, found a list"),
        ({"0": []}, "no question in it"),
    ],
)
def test_another_layout_is_one_line(tmp_path: Path, value: Any, expected: str) -> None:
    with pytest.raises(DatasetError, match=expected):
        bring("mem0", write_json(tmp_path / "m.json", value))


def test_the_counts_of_locomo(shared_data: Path) -> None:
    """The map of positions is that of the real file."""
    import json

    for conversation in json.loads((shared_data / "locomo" / "locomo10.json").read_text()):
        name = conversation["sample_id"]
        real = [i for i, qa in enumerate(conversation["qa"]) if qa["category"] != 5]
        assert answerable(name) == real
        assert len(real) == CONVERSATIONS[name]
