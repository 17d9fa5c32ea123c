"""LongMemEval: hypothesis, label and reference files joined by id; labels in every spelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import ConfigError, DatasetError
from runner.types import Gold
from tests.support.imported import bring, labels, rows, said, texts, write_json, write_lines


def hypothesis(name: str, text: str = "a dog") -> dict[str, Any]:
    return {"question_id": name, "hypothesis": text}


def labelled(name: str, label: Any, text: str = "a dog", model: str = "gpt-4o-2024-08-06") -> dict[str, Any]:
    return {**hypothesis(name, text), "autoeval_label": {"model": model, "label": label}}


def reference(name: str, kind: str = "multi-session", answer: Any = "a dog") -> dict[str, Any]:
    return {
        "question_id": name, "question_type": kind, "question": f"What is {name}?", "answer": answer,
        "question_date": "2023/05/30 (Tue) 23:40", "haystack_sessions": [[{"role": "user", "content": "…"}]],
    }  # fmt: skip


def test_three_files_are_joined_by_id_whatever_their_order(tmp_path: Path) -> None:
    answers = write_lines(
        tmp_path / "run.jsonl", hypothesis("q1"), hypothesis("q2", "two"), hypothesis("q3_abs", "unknown")
    )
    evaluated = write_lines(
        tmp_path / "run.jsonl.eval-results-gpt-4o",
        labelled("q3_abs", True, "unknown"), labelled("q1", True), labelled("q2", False, "two"),
    )  # fmt: skip
    data = write_json(
        tmp_path / "oracle.json",
        [reference("q2", "temporal-reasoning", 2), reference("q1"), reference("q3_abs", answer="You did not say.")],
    )
    arm = bring("longmemeval", answers, evaluated, data)
    assert labels(arm) == {"q1": ("CORRECT",), "q2": ("WRONG",), "q3_abs": ("CORRECT",)}
    assert {row.id: row.category for row in arm.rows} == {
        "q1": "multi-session",
        "q2": "temporal-reasoning",
        "q3_abs": "multi-session",
    }
    assert texts(arm)["q2"].gold == Gold(answers=("2",))
    assert texts(arm)["q3_abs"].gold == Gold(abstain=True)
    assert texts(arm)["q2"].answers == ("two",)
    assert texts(arm)["q2"].question == "What is q2?"
    assert all(row.cluster == row.id for row in arm.rows)
    assert arm.instrument.rows["judge.model"] == "openai:gpt-4o-2024-08-06"
    assert arm.instrument.rows["harness"] == "longmemeval"
    assert arm.instrument.rows["dataset.sha256"].startswith("content:")
    assert "questions that cannot be answered (_abs in the id): 1" in said(arm)
    assert "every question by itself" in said(arm)


def test_one_list_with_mixed_labels(tmp_path: Path) -> None:
    """The first word counts; a label that is missing or none is an error of the judge and never wrong."""
    spelled = [
        "yes",
        "No",
        "Yes.",
        " **no**, the date differs",
        True,
        "true",
        0,
        None,
        "",
        "It says yes",
        "not correct",
    ]
    items = [
        {
            "question_id": f"q{i}",
            "question_type": "knowledge-update",
            "answer": i,
            "hypothesis": "h",
            "evaluation": value,
        }
        for i, value in enumerate(spelled)
    ]
    arm = bring("longmemeval", write_json(tmp_path / "eval.json", items))
    assert [row.labels[0] for row in arm.rows] == [
        "CORRECT", "WRONG", "CORRECT", "WRONG", "CORRECT", "CORRECT", "WRONG",
        "judge_error", "judge_error", "judge_unparseable", "judge_unparseable",
    ]  # fmt: skip
    assert [row.status for row in arm.rows][7:] == ["judge_error"] * 2 + ["judge_unparseable"] * 2
    assert arm.instrument.rows["dataset.sha256"] == "unknown"  # the questions' texts are not told
    assert "correct: 4 of 7 (57.1%), wrong 3" in said(arm)
    assert "the question's text is not told for 11 of 11 questions" in said(arm)


def test_labels_in_parts_and_a_question_without_one(tmp_path: Path) -> None:
    answers = write_lines(tmp_path / "h.jsonl", *(hypothesis(f"q{i}") for i in range(4)))
    one = write_lines(tmp_path / "l1.jsonl", labelled("q2", True), labelled("q0", False))
    two = write_lines(tmp_path / "l2.jsonl", labelled("q3", "Yes"))
    arm = bring("longmemeval", answers, one, two)
    assert labels(arm)["q1"] == ("judge_error",)
    assert texts(arm)["q1"].answers == ("a dog",)
    assert [row.id for row in arm.rows if row.status == "ok"] == ["q0", "q2", "q3"]
    assert "l1.jsonl: graded answers to 2 of 4 questions" in said(arm)


def test_two_label_files_are_two_repeats(tmp_path: Path) -> None:
    one = write_lines(tmp_path / "a.jsonl", labelled("q0", True, "first"), labelled("q1", True))
    two = write_lines(tmp_path / "b.jsonl", labelled("q1", True), labelled("q0", False, "second"))
    arm = bring("longmemeval", one, two)
    assert labels(arm) == {"q0": ("CORRECT", "WRONG"), "q1": ("CORRECT", "CORRECT")}
    assert texts(arm)["q0"].answers == ("first", "second")
    assert arm.instrument.rows["repeats"] == 2
    assert "every question is in 2 files: repeats" in said(arm)


def test_a_question_of_the_reference_without_a_result_is_an_error_or_left_out(tmp_path: Path) -> None:
    evaluated = write_lines(tmp_path / "l.jsonl", labelled("q0", True))
    data = write_json(tmp_path / "oracle.json", [reference("q0"), reference("q1")])
    arm = bring("longmemeval", evaluated, data)
    assert rows(arm)["q1"].status == "reader_error"
    assert "without a result: 1, each an error of the reader" in said(arm)
    left = bring("longmemeval", evaluated, data, flags={"missing": "leave"})
    assert list(rows(left)) == ["q0"]
    with pytest.raises(ConfigError, match="--missing"):
        bring("longmemeval", evaluated, data, flags={"missing": "x"})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([[labelled("q0", True), labelled("q0", True)]], "stands twice in this file"),
        ([[labelled("q0", True)], [labelled("q1", True, model="other")]], "import each judge as its own arm"),
        ([[hypothesis("q0", "x")], [labelled("q0", True, "y")]], "labelled with another hypothesis"),
        ([[hypothesis("q0", "x")], [hypothesis("q0", "y")]], "two hypotheses"),
        ([[labelled("q0", True)], [reference("q0")], [reference("q0", "temporal-reasoning")]], "another category"),
        ([[{**labelled("q0", True), "label": "no"}]], "has both 'autoeval_label' and 'label'"),
        ([[{"hypothesis": "x"}]], "has no 'question_id'"),
        ([["text"]], "expected an object, found text"),
    ],
)
def test_contradictions_are_one_line(tmp_path: Path, files: list[list[Any]], expected: str) -> None:
    paths = [write_json(tmp_path / f"{i}.json", items) for i, items in enumerate(files)]
    with pytest.raises(DatasetError, match=expected) as told:
        bring("longmemeval", *paths)
    assert "\n" not in str(told.value)
