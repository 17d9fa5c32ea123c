"""Figures of a run by category, and the mean over categories that some benchmarks report."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.analysis.summary import summarise, summary_of
from runner.record.rundir import RunDir
from runner.types import Row
from tests.support.recorded import answered, arm_config, write_run


def test_a_mean_over_categories_counts_each_alike(tmp_path: Path) -> None:
    """Category 1: 3 of 4; category 5 is not comparable; category 2: 0 of 1. Task-averaged (.75 + 0)/2, overall .6."""
    rows = [answered(i, i < 3) for i in range(4)] + [answered(4, False, category="2"), answered(5, True, category="5")]
    run = RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))
    recorded = run.instrument()
    recorded.harness.comparable, recorded.harness.macro = ["1", "2"], "task_averaged"
    groups = summarise(run, recorded).groups
    assert groups["task_averaged"]["accuracy_abstain_wrong"] == pytest.approx(0.375)
    assert groups["task_averaged"]["questions"] == 5
    assert groups["overall_comparable"]["accuracy_abstain_wrong"] == pytest.approx(0.6)
    recorded.harness.macro = ""
    assert "task_averaged" not in summarise(run, recorded).groups


def test_f1_by_category_of_answers_that_name_one(tmp_path: Path) -> None:
    """Nine answers as scikit-learn scores them; one names no category and is no one's false positive."""
    from sklearn.metrics import f1_score

    truth = ["a", "a", "a", "b", "b", "b", "c", "c", "c"]
    named = ["a", "a", "b", "b", "b", "none", "a", "c", "b"]
    rows = []
    for number, (true, said) in enumerate(zip(truth, named, strict=True)):
        metrics = {f"said_{name}": float(said == name) for name in "abc"}
        rows.append(answered(number, true == said, category=true, metrics=metrics))
    run = RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))
    recorded = run.instrument()
    recorded.harness.comparable, recorded.harness.classifies = ["a", "b", "c"], True
    recorded.harness.categories = {name: name for name in "abc"}
    groups = summarise(run, recorded).groups
    expected = f1_score(truth, named, labels=["a", "b", "c"], average=None)
    for name, value in zip("abc", expected, strict=True):
        assert groups[f"{name} {name}"]["f1"] == pytest.approx(value)
    assert groups["overall_comparable"]["macro_f1"] == pytest.approx(
        f1_score(truth, named, labels=["a", "b", "c"], average="macro")
    )


def test_groups_by_tag_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    rows = [answered(i, i < 2, tags={"tokens": size}) for i, size in enumerate(("16k", "2k", "128k", "2k"))]
    run = RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))
    recorded = run.instrument()
    recorded.harness.tags = ["tokens", "absent"]
    groups = summarise(run, recorded).groups
    assert [name for name in groups if ":" in name] == ["tokens: 2k", "tokens: 16k", "tokens: 128k"]
    assert groups["tokens: 2k"]["accuracy"] == 0.5


def test_pairs_are_scored_together(tmp_path: Path) -> None:
    """Pair 0: F1 .5, both seen: .5. Pair 1: the twin was answered: 0. Question 2 has no twin."""
    rows = []
    for number, (answerable, f1, seen) in enumerate(
        [("yes", 0.5, 1.0), ("no", 1.0, 1.0), ("yes", 1.0, 1.0), ("no", 0.0, 0.0), ("yes", 1.0, 1.0)]
    ):
        metrics = {"answer_sufficiency_f1": f1, "sufficiency": seen}
        rows.append(answered(number, True, cluster=number // 2, tags={"answerable": answerable}, metrics=metrics))
    run = RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))
    recorded = run.instrument()
    recorded.harness.paired = True
    pairs = summarise(run, recorded).groups["pairs"]
    assert pairs["pairs"] == 2
    assert pairs["group_answer_sufficiency_f1"] == pytest.approx(0.25)
    assert pairs["group_support_sufficiency_f1"] is None
    recorded.harness.paired = False
    assert "pairs" not in summarise(run, recorded).groups


def measured(number: int, **metrics: float | None) -> Row:
    return answered(number, True, label="", labels=(), metrics=metrics)


def test_scored_are_the_labelled_questions_else_those_of_the_metric_that_most_have(tmp_path: Path) -> None:
    """Recall is known of 3, the first rank of 2, and how many events a hit cites, which scores nothing, of all 4.

    Of the other run 2 of 3 answers are labelled, and all 3 have a metric: the labels count.
    """
    rows = [
        measured(0, recall=1.0, mrr=1.0, sources_per_hit=1.0),
        measured(1, recall=0.0, mrr=0.5, sources_per_hit=1.0),
        measured(2, recall=0.5, mrr=None, sources_per_hit=1.0),
        measured(3, sources_per_hit=3.0),
    ]
    run = RunDir(write_run(tmp_path / "recall", rows, arm=arm_config("a"), axis="recall"))
    whole = summarise(run, run.instrument()).groups["overall_all"]
    assert (whole["questions"], whole["scored"], whole["recall"], whole["mrr"]) == (4, 3, 0.5, 0.75)
    assert whole["sources_per_hit"] == 1.5

    rows = [answered(0, True, metrics={"f1": 1.0}), answered(1, False, metrics={"f1": 0.0}), measured(2, f1=0.5)]
    run = RunDir(write_run(tmp_path / "labels", rows, arm=arm_config("a")))
    whole = summarise(run, run.instrument()).groups["overall_all"]
    assert (whole["questions"], whole["scored"], whole["f1"], whole["accuracy"]) == (3, 2, 0.5, 0.5)


def test_repeats_that_retrieved_the_same_are_a_share_of_those_that_were_repeated(tmp_path: Path) -> None:
    """Three questions were repeated, two of them retrieved the same each time; the fourth was asked once."""
    repeats = [("a", "a"), ("b", "c"), ("d", "d"), ()]
    rows = [answered(i, True, repeat_keys=keys) for i, keys in enumerate(repeats)]
    run = RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))
    figures = summarise(run, run.instrument())
    assert figures.identical_share == pytest.approx(2 / 3)
    run.write_summary(figures, "complete")
    assert summary_of(run, run.instrument()).identical_share == figures.identical_share, "as it is recorded"

    once = RunDir(write_run(tmp_path / "once", rows[3:], arm=arm_config("a")))
    assert "identical_share" not in summarise(once, once.instrument()).to_dict()
