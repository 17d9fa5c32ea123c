"""Long tables to arms, and the page of examples."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runner.stats
from runner.errors import UsageError
from runner.stats import correct_by_id, judge_pairs, majority_by_id, pair_by_id

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "runner/stats/__init__.py"])
def test_the_examples_print_what_they_say(page: str) -> None:
    found = doctest.testfile(str(ROOT / page), module_relative=False, verbose=False)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_name_is_there() -> None:
    for name in runner.stats.__all__:
        assert callable(getattr(runner.stats, name))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = runner.stats.nonsense


@given(st.permutations(range(12)))
def test_the_order_of_either_table_does_not_matter(order: list[int]) -> None:
    ids = [f"q{i}" for i in range(12)]
    values = [float(i % 2) for i in range(12)]
    straight = pair_by_id(ids, values, ids, values[::-1], dict(zip(ids, "aabbccddeeff", strict=True)))
    mixed = pair_by_id(
        [ids[i] for i in order],
        [values[i] for i in order],
        ids,
        values[::-1],
        dict(zip(ids, "aabbccddeeff", strict=True)),
    )
    assert straight.ids == mixed.ids == tuple(sorted(ids))
    np.testing.assert_array_equal(straight.deltas, mixed.deltas)
    assert straight.clusters == mixed.clusters


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids_b": ["x", "z"]}, r"1 of 2 ids of a are not in b \(first 'y'\)"),
        ({"ids_b": ["x"], "b": [1]}, "1 of 2 ids of a are not in b"),
        ({"ids_a": ["x", "x"]}, "a: id 'x' stands 2 times"),
        ({"a": [1, float("nan")]}, "a"),
        ({"a": [1]}, "a: 2 ids for 1 values"),
        ({"clusters": {"x": "c"}}, r"clusters: 1 ids have none \(first 'y'\)"),
        ({"ids_a": [1, "y"], "ids_b": [1, "y"]}, "mixed types"),
    ],
)
def test_what_does_not_pair_is_refused(change: dict[str, object], message: str) -> None:
    values: dict[str, object] = {"ids_a": ["x", "y"], "a": [0, 1], "ids_b": ["y", "x"], "b": [1, 1], **change}
    with pytest.raises(UsageError, match=message):
        pair_by_id(**values)  # type: ignore[arg-type]


def test_a_missing_cluster_never_reaches_a_verdict() -> None:
    found = pair_by_id(["x", "y"], [0, 1], ["x", "y"], [1, 1], {"x": "c", "y": float("nan")})
    with pytest.raises(UsageError, match="no cluster"):
        judge_pairs(found.a, found.b, found.clusters)


def test_majorities() -> None:
    found = majority_by_id(
        ["a", "b", "a", "c", "a", "b"], [0, 0, 1, 0, 2, 1], ["CORRECT", "CORRECT", "CORRECT", "x", "WRONG", "WRONG"]
    )
    assert found == {"a": "CORRECT", "b": "WRONG", "c": "ERROR"}  # a tie is WRONG
    assert correct_by_id(found) == {"a": 1.0, "b": 0.0}
    with pytest.raises(UsageError, match="item 'a' has two lines for repeat 0"):
        majority_by_id(["a", "a"], [0, 0], ["CORRECT", "CORRECT"])
    with pytest.raises(UsageError, match="1 ids, 2 repeats"):
        majority_by_id(["a"], [0, 1], ["CORRECT"])


def test_results_print_in_one_line_and_export() -> None:
    from runner.stats import JudgeRates, cohen_kappa, correct_for_judge, paired_bootstrap, sign_flip_test, tally

    rates = JudgeRates(9, 10, 1, 10)
    sums = np.array([3.0, 1.0, 2.0])
    results = [
        judge_pairs([0] * 9, [1] * 9),
        paired_bootstrap([1, 0, 1]),
        rates,
        correct_for_judge(0.1, 0.0, 0.2, rates),
        cohen_kappa(["WRONG"], ["WRONG"]),
        tally([]),
        sign_flip_test(sums),
        pair_by_id(["x"], [0], ["x"], [1]),
    ]
    for result in results:
        assert str(result)
        assert "\n" not in str(result)
        assert "nan" not in str(result).lower()
        assert isinstance(json.loads(result.to_json()), dict)
