"""EverMemOS eval_results: ids of LoCoMo, judgments as repeats, metadata or none, gold patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import DatasetError
from runner.imports._shared.instrument import written
from runner.types import Gold
from tests.support.imported import bring, labels, rows, said, texts, write_json


def item(
    name: str, *judged: Any, category: str = "2", gold: Any = "Tuesday", answer: str = "On Tuesday"
) -> dict[str, Any]:
    return {
        "question_id": name,
        "question": f"When was {name}?",
        "golden_answer": gold,
        "generated_answer": answer,
        "llm_judgments": {f"judgment_{i}": value for i, value in enumerate(judged, 1)},
        "category": category,
    }


def results(users: dict[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {"detailed_results": users, **more}


def test_ids_judgments_and_models_become_ours(tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "my arm (v2).json",
        results(
            {
                "locomo_exp_user_0": [
                    item("locomo_0_qa0", True, True, False),
                    item("locomo_0_qa12", False, True, False, category="1", gold=2022),
                ],
                "locomo_exp_user_9": [
                    item("locomo_9_qa157", False, False, False, category="4", answer="No information")
                ],
            },
            total_questions=3,
            correct=2,
            metadata={"answer_model": "m-1", "judge_model": "j-1", "num_runs": 3, "answer_prompt": "short"},
        ),
    )
    arm = bring("evermemos", file)
    assert arm.name == "my-arm-v2"
    assert labels(arm) == {
        "conv-26/0": ("CORRECT", "CORRECT", "WRONG"),
        "conv-26/12": ("WRONG", "CORRECT", "WRONG"),
        "conv-50/157": ("WRONG", "WRONG", "WRONG"),
    }
    first = rows(arm)["conv-26/0"]
    assert (first.label, first.cluster, first.category, first.status) == ("CORRECT", "conv-26", "2", "ok")
    assert rows(arm)["conv-26/12"].label == "WRONG"
    assert rows(arm)["conv-50/157"].label == "WRONG"  # a refusal is not graded again
    assert texts(arm)["conv-26/12"].gold == Gold(answers=("2022",))
    assert texts(arm)["conv-26/0"].answers == ("On Tuesday",) * 3  # one a repeat, as a run of our own has it
    known = arm.instrument.rows
    assert known["reader.model"] == "openai:m-1"
    assert known["judge.model"] == "openai:j-1"
    assert known["repeats"] == 3
    assert known["harness"] == "locomo_qa"
    assert known["denominator"] == "correct / (correct + wrong + abstained) over categories 1,2,3,4; errors excluded"
    assert known["reader.prompt"] == known["dataset.patches"] == known["k"] == "unknown"
    assert arm.config["reader"]["prompt"] == "short"
    assert "questions: 3, as the file states" in said(arm)
    assert "correct: 1 of 3 (33.3%), wrong 2 by majority; by repeat 1, 2, 0, mean 33.33%; the file states 2" in said(
        arm
    )
    assert "they disagree for 2" in said(arm)


def test_without_metadata_and_with_judgments_missing(tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "a.json",
        results(
            {
                "u": [
                    item("locomo_1_qa0", True, None),
                    item("locomo_1_qa1"),
                    item("locomo_1_qa2", None, "maybe"),
                    item("locomo_1_qa3", True, True),
                ]
            },
            total_questions=5,
        ),
    )
    arm = bring("evermemos", file)
    found = rows(arm)
    assert labels(arm)["conv-30/0"] == ("CORRECT", "judge_error")
    assert found["conv-30/0"].label == "CORRECT"
    assert (found["conv-30/1"].status, found["conv-30/1"].label) == ("judge_error", "")
    assert found["conv-30/2"].status == "judge_unparseable"
    assert arm.instrument.rows["repeats"] == "unknown"  # one question has 1, the others 2
    assert arm.instrument.rows["reader.model"] == "unknown"
    assert "WARNING: the file states 5" in said(arm)
    assert "repeats: 1 for 1 questions, 2 for 3 questions" in said(arm)
    assert "questions without a label: 1 judge_error, 1 judge_unparseable; none of them counts as wrong" in said(arm)


def test_category_five_is_right_to_abstain(tmp_path: Path) -> None:
    file = write_json(tmp_path / "a.json", results({"u": [item("locomo_2_qa152", True, category="5", gold="a trap")]}))
    assert texts(bring("evermemos", file))["conv-41/152"].gold == Gold(abstain=True)


def test_another_dataset_keeps_its_ids(tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "a.json", results({"user_7": [item("longmemeval_7_qa0", True, category="multi-session")]})
    )
    arm = bring("evermemos", file)
    assert rows(arm)["longmemeval_7_qa0"].cluster == "user_7"
    assert written(arm.instrument)["harness"] == {
        "name": "imported", "synthetic": False, "cluster": "conversation",
        "categories": {"multi-session": "multi-session"}, "comparable": ["multi-session"],
        "headline": "accuracy_abstain_wrong",
    }  # fmt: skip


def test_several_files_are_parts_or_repeats(tmp_path: Path) -> None:
    one = write_json(tmp_path / "a.json", results({"u": [item("locomo_0_qa0", True), item("locomo_0_qa1", True)]}))
    two = write_json(tmp_path / "b.json", results({"u": [item("locomo_0_qa0", False), item("locomo_0_qa2", True)]}))
    arm = bring("evermemos", one, two)
    assert labels(arm) == {
        "conv-26/0": ("CORRECT", "WRONG"),
        "conv-26/1": ("CORRECT",),
        "conv-26/2": ("CORRECT",),
    }
    assert rows(arm)["conv-26/0"].label == "WRONG"  # a tie
    assert "WARNING: 2 questions are not graded in each of these files" in said(arm)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (results({"u": [item("locomo_0_qa0", True), item("locomo_0_qa0", True)]}), "stands 2 times as repeat 1"),
        (results({"u": [item("locomo_10_qa0", True)]}), "beyond the 10 conversations"),
        (results({"u": [item("locomo_0_qa0", True), item("other_0_qa0", True)]}), "no id of LoCoMo"),
        (results({"u": [item("locomo_0_qa0", True, category="6")]}), "category '6'"),
        (results({"u": [item("locomo_0_qa0", "perhaps", "unsure")]}), "no label is understood"),
        (results({}), "no question in it"),
        ({"results": []}, "has no 'detailed_results'"),
        (results({"u": {"a": 1}}), "expected a list, found an object"),
        (results({"u": [item("locomo_0_qa0", True, answer=["x"])]}), "expected text, found a list"),
        (results({"u": [item("", True)]}), "the id '' is empty"),
    ],
)
def test_what_is_not_understood_is_one_line(tmp_path: Path, value: Any, expected: str) -> None:
    with pytest.raises(DatasetError, match=expected) as told:
        bring("evermemos", write_json(tmp_path / "a.json", value))
    assert "\n" not in str(told.value)


# --- gold patches --------------------------------------------------------------------------------------------------


def audited(name: str, kind: str, gold: str = "Tuesday") -> dict[str, Any]:
    return {
        "question_id": name, "question": f"When was {name}?", "golden_answer": gold, "category": 2, "error_type": kind,
        "correct_evidence": ["D1:2"], "cited_evidence": ["D1:1"], "reasoning": "", "correct_answer": gold,
    }  # fmt: skip


def four(tmp_path: Path) -> Path:
    questions = [item(f"locomo_0_qa{i}", i % 2 == 0, category="4" if i == 3 else "2") for i in range(4)]
    return write_json(tmp_path / "a.json", results({"u": questions}))


def test_an_audit_flags_rows_and_keeps_every_question(tmp_path: Path) -> None:
    entries = [
        audited("locomo_0_qa0", "WRONG_CITATION"),
        audited("locomo_0_qa3", "HALLUCINATION"),
        audited("locomo_5_qa1", "AMBIGUOUS"),
    ]
    patch = write_json(tmp_path / "errors.json", entries)
    arm = bring("evermemos", four(tmp_path), patches=[str(patch)])
    assert {row.id: row.flags for row in arm.rows} == {
        "conv-26/0": ("gold_fixed",),
        "conv-26/1": (),
        "conv-26/2": (),
        "conv-26/3": ("gold_excluded",),
    }
    assert len(arm.instrument.rows["dataset.patches"]) == 64
    assert "denominators: 4 as published, 3 patched; ceiling against the published gold 75.0 %" in said(arm)
    assert "1 patches name questions that were not imported" in said(arm)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([audited("locomo_0_qa0", "AMBIGUOUS", gold="Friday")], "another published answer"),
        ([{**audited("locomo_0_qa0", "AMBIGUOUS"), "question": "Who?"}], "another question"),
        ([audited("locomo_7_qa0", "AMBIGUOUS")], "none of the 1 patches"),
        ([{"id": "conv-26/0", "action": "fix", "answer": "Friday", "reason": "r"}], "exclude the question instead"),
        ("nonsense", "must be a list"),
    ],
)
def test_a_patch_for_other_data_is_refused(tmp_path: Path, entries: Any, expected: str) -> None:
    patch = write_json(tmp_path / "p.json", entries)
    with pytest.raises(DatasetError, match=expected):
        bring("evermemos", four(tmp_path), patches=[str(patch)])


def test_a_fixed_answer_that_was_graded_against_counts(tmp_path: Path) -> None:
    patch = write_json(tmp_path / "p.json", [{"id": "conv-26/0", "action": "fix", "answer": "Tuesday", "reason": "r"}])
    assert rows(bring("evermemos", four(tmp_path), patches=[str(patch)]))["conv-26/0"].flags == ("gold_fixed",)
