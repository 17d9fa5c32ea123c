"""Retrieval metrics against hand-worked values, scikit-learn and each other's definitions."""

from __future__ import annotations

import random
from math import log2

import numpy as np
import pytest

from runner.score import retrieval as r

RANKED = [("a",), ("b",), ("c",), ("d",)]


def test_recall_at_is_any_hit():
    assert [r.recall_at(RANKED, {"c", "x"}, k) for k in (1, 2, 3, 4)] == [0, 0, 1, 1]


def test_recall_all_and_fraction():
    gold = ["b", "d"]
    assert [r.fraction_at(RANKED, gold, k) for k in (1, 2, 3, 4)] == [0, 0.5, 0.5, 1]
    assert [r.recall_all_at(RANKED, gold, k) for k in (1, 2, 3, 4)] == [0, 0, 0, 1]


def test_reciprocal_rank():
    assert r.reciprocal_rank(RANKED, ["c", "d"]) == pytest.approx(1 / 3)
    assert r.reciprocal_rank(RANKED, ["x"]) == 0
    assert r.reciprocal_rank([], ["x"]) == 0


def test_precision_divides_by_what_came_back():
    assert r.precision_at(RANKED, ["a", "b"], 3) == pytest.approx(2 / 3)
    assert r.precision_at(RANKED[:2], ["a", "b"], 10) == 1
    assert r.precision_at([], ["a"], 10) is None


def test_ndcg_by_hand():
    # gold at ranks 2 and 4 of two: (1/log2 3 + 1/log2 5) / (1 + 1/log2 3)
    expected = (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))
    assert r.ndcg_at(RANKED, ["b", "d"], 4) == pytest.approx(expected)
    assert r.ndcg_at(RANKED, ["a", "b", "c"], 1) == 1  # the ideal is cut at k too


@pytest.mark.parametrize("seed", range(20))
def test_ndcg_equals_scikit_learn(seed):
    from sklearn.metrics import ndcg_score

    rng = random.Random(seed)
    ids = [str(n) for n in range(12)]
    rng.shuffle(ids)
    gold = set(rng.sample(ids, 3))
    truth = np.array([[float(name in gold) for name in ids]])
    scores = np.array([[float(len(ids) - n) for n in range(len(ids))]])
    for k in (1, 3, 10):
        assert r.ndcg_at([(name,) for name in ids], gold, k) == pytest.approx(ndcg_score(truth, scores, k=k))


def test_merged_hits_count_every_source_once_and_never_exceed_one():
    merged = [("a", "b", "z"), ("a",), ("c",)]
    assert r.fraction_at(merged, ["a", "b", "c"], 1) == pytest.approx(2 / 3)
    assert r.recall_all_at([("a", "b", "c")], ["a", "b", "c"], 1) == 1
    assert r.ndcg_at([("a", "b", "c")], ["a", "b", "c"], 5) == 1
    assert r.precision_at(merged, ["a"], 3) == pytest.approx(2 / 3)


def test_repeats_do_not_count_twice():
    assert r.fraction_at([("a",), ("a",)], ["a", "b"], 2) == 0.5
    assert r.ndcg_at([("a",), ("a",)], ["a"], 2) == 1
    assert r.fraction_at(RANKED, ["a", "a", "x"], 4) == 0.5


def test_hits_that_come_from_no_event_are_only_irrelevant():
    assert r.reciprocal_rank([(), ("a",)], ["a"]) == 0.5


def test_longmemevals_ndcg_does_not_discount_the_second_rank():
    assert r.ndcg_any_at([("x",), ("a",)], ["a"], 5) == 1
    # a at 3, b at 5: 1/log2(3) + 1/log2(5) of 1 + 1
    ranked = [("x",), ("y",), ("a",), ("z",), ("b",)]
    assert r.ndcg_any_at(ranked, ["a", "b"], 5) == pytest.approx((1 / log2(3) + 1 / log2(5)) / 2)
    assert r.ndcg_any_at(ranked, ["a", "b"], 2) == 0
    assert r.ndcg_any_at([("a",), ("b",), ("c",)], ["a", "b", "c"], 10) == 1


@pytest.mark.parametrize(
    "function", [r.recall_at, r.recall_all_at, r.fraction_at, r.ndcg_at, r.ndcg_any_at, r.precision_at]
)
def test_bad_arguments(function):
    with pytest.raises(ValueError, match="at least 1"):
        function(RANKED, ["a"], 0)
    with pytest.raises(ValueError, match="not measurable"):
        function(RANKED, [], 1)


def test_profile_names_and_not_measurable():
    full = r.profile([("a",), ("b",)], ["b"], 3)
    assert set(full) == {
        *(f"{name}@{k}" for name in ("recall", "fraction") for k in (1, 3, 5, 10, 20)),
        "recall_all@3",
        "ndcg@3",
        "precision@3",
        "recall@all",
        "fraction@all",
        "mrr",
        "rank@1",
    }
    assert full["recall@all"] == full["fraction@all"] == 1
    assert full["recall@1"] == 0
    assert full["recall@3"] == 1
    assert full["mrr"] == 0.5
    for blind in (r.profile(None, ["b"], 3), r.profile([("a",)], [], 3)):
        assert blind.keys() == full.keys()
        assert set(blind.values()) == {None}


def test_profile_of_an_empty_result_is_zero_and_not_unmeasurable():
    empty = r.profile([], ["b"], 5, prefix="session_", precision=False)
    assert set(empty.values()) == {0.0}
    assert all(name.startswith("session_") for name in empty)


@pytest.mark.parametrize(
    ("cosines", "rank"),
    [
        ([0.9, 0.5, 0.1], 1),
        ([0.2, 0.9, 0.5], 2),
        ([-0.9, -0.2, -0.5], 2),
        ([0.5, 0.9, 0.9], 2),
        ([None, 0.1, None, 0.4], 4),
        ([float("nan"), 0.1], 2),
        ([None, None], None),
        ([], None),
    ],
)
def test_best_cos_rank_is_that_of_the_first_closest_hit_that_tells(cosines, rank):
    assert r.best_cos_rank(cosines) == rank
