from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.stats.bootstrap import bootstrap_many, paired_bootstrap, percentiles

# wins, ties, losses, clusters; mean and bounds in points, from the table "How wide the interval is".
SEED_TABLE = [
    (1, 59, 0, None, 1.7, 0.0, 5.0),
    (2, 26, 2, None, 0.0, -13.3, 13.3),
    (5, 50, 5, None, 0.0, -10.0, 10.0),
    (13, 138, 13, None, 0.0, -6.1, 6.1),
    (40, 420, 40, None, 0.0, -3.6, 3.6),
    (6, 52, 2, None, 6.7, -1.7, 16.7),
    (8, 50, 2, None, 10.0, 0.0, 20.0),
    (40, 440, 20, None, 4.0, 1.0, 7.0),
    (8, 50, 2, 10, 10.0, 0.0, 30.0),  # items 0-9 in cluster 0: all wins and losses lie there
]


def deltas_of(wins: int, ties: int, losses: int) -> list[float]:
    return [1.0] * wins + [-1.0] * losses + [0.0] * ties


@pytest.mark.parametrize("method", ["bootstrap", "exact"])
@pytest.mark.parametrize(("wins", "ties", "losses", "size", "mean", "low", "high"), SEED_TABLE)
def test_seed_table(wins, ties, losses, size, mean, low, high, method) -> None:
    deltas = deltas_of(wins, ties, losses)
    clusters = None if size is None else [f"c{i // size}" for i in range(len(deltas))]
    found = paired_bootstrap(deltas, clusters, method=method)
    assert [round(100 * value, 1) for value in (found.mean, found.low, found.high)] == [mean, low, high]
    assert found.n == len(deltas)
    assert found.clusters == (len(deltas) if size is None else 6)


def test_a_bound_of_zero_is_exactly_zero() -> None:
    assert paired_bootstrap(deltas_of(8, 50, 2)).low == 0.0
    assert paired_bootstrap([0.1] * 3 + [0.2] * 3 + [-0.1] * 3 + [-0.2] * 3).mean == 0.0


def test_equals_a_plain_loop_over_sorted_clusters() -> None:
    chooser = np.random.default_rng(1)
    deltas = chooser.integers(-1, 2, 90).astype(float)
    clusters = [f"k{chooser.integers(0, 12):02d}" for _ in deltas]
    groups: dict[str, list[float]] = {}
    for delta, key in zip(deltas, clusters, strict=True):
        groups.setdefault(key, []).append(delta)
    ordered = [groups[key] for key in sorted(groups)]
    rng = random.Random(7)
    estimates = []
    for _ in range(10_000):
        drawn = [ordered[rng.randrange(len(ordered))] for _ in ordered]
        estimates.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    low, high = np.percentile(estimates, [2.5, 97.5])
    found = paired_bootstrap(deltas, clusters)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-15), pytest.approx(high, abs=1e-15))
    assert found.mean == pytest.approx(deltas.mean(), abs=1e-15)


def test_line_and_record() -> None:
    found = paired_bootstrap(deltas_of(8, 50, 2), [f"c{i // 10}" for i in range(60)])
    assert found.line() == "+10.0 pp, 95% CI +0.0 .. +30.0 pp (n = 60, 6 clusters)"
    assert found.line(unit="", scale=1).startswith("+0.1 , 95% CI +0.0 .. +0.3")
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (record["resamples"], record["seed"]) == (10_000, 7)
    assert "random.Random" in record["algorithm"]


def test_negative_zero_is_not_printed() -> None:
    assert "-0.0" not in paired_bootstrap([-0.0001, 0.0001, 0.0, -0.0001]).line()


@pytest.mark.parametrize(
    ("deltas", "clusters", "says"),
    [
        ([], None, "no items"),
        ([1.0, float("nan")], None, "position 1"),
        ([1.0, float("inf")], None, "not finite"),
        ([1.0, None], None, "not finite"),
        (["yes", "no"], None, "must be a number"),
        ([[1.0, 0.0]], None, "flat list"),
        ([1.0, 0.0], ["a"], "1 keys for 2 items"),
        ([1.0, 0.0], ["a", None], "has no cluster"),
        ([1.0, 0.0], ["a", ""], "has no cluster"),
        ([1.0, 0.0], [1.0, float("nan")], "has no cluster"),
        ([1.0, 0.0], ["a", 1], "mixed types"),
        ([1.0, 0.0], [["a"], ["b"]], "text or a number"),
        ([1.0, 0.0], ["a", "a"], "one cluster"),
        ([1.0], None, "one cluster"),
    ],
)
def test_bad_input_is_one_clear_line(deltas, clusters, says) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        paired_bootstrap(deltas, clusters)
    assert "\n" not in str(caught.value)


def test_resamples_must_be_positive() -> None:
    with pytest.raises(UsageError, match="resamples"):
        paired_bootstrap([1.0, 0.0], resamples=0)


def test_many_rows_share_one_draw() -> None:
    chooser = np.random.default_rng(3)
    deltas = chooser.integers(-1, 2, (3, 80)).astype(float)
    clusters = [f"c{i % 9}" for i in range(80)]
    for row, found in zip(deltas, bootstrap_many(deltas, clusters), strict=True):
        assert found == paired_bootstrap(row, clusters)


def test_a_row_may_lack_items_and_clusters() -> None:
    deltas = np.array([[1.0, 0.0, 1.0, 0.0, 9.0, 9.0], [1.0, 1.0, 9.0, 9.0, 9.0, 9.0]])
    present = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]], dtype=bool)
    first, second = bootstrap_many(deltas, ["a", "a", "b", "b", "c", "c"], present=present)
    assert second is None
    assert first is not None
    assert (first.mean, first.n, first.clusters) == (0.5, 4, 2)
    assert (first.low, first.high) == (0.5, 0.5)  # both clusters have the mean of the whole


@pytest.mark.parametrize("grouped", [True, False])
def test_a_row_draws_from_its_own_clusters(grouped) -> None:
    chooser = np.random.default_rng(8)
    deltas = chooser.integers(-1, 2, (3, 120)).astype(float)
    keys = np.array([f"c{i % 20:02d}" for i in range(120)])
    present = np.stack([np.arange(120) % 20 < 10, np.arange(120) % 20 >= 10, chooser.random(120) < 0.7])
    found = bootstrap_many(deltas, keys if grouped else None, present=present)
    for row, here, interval in zip(deltas, present, found, strict=True):
        assert interval == paired_bootstrap(row[here], keys[here] if grouped else None)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=200), st.integers(0, 3))
def test_percentiles_are_those_of_numpy(values, unknown) -> None:
    low, high = np.percentile(values, [2.5, 97.5])
    found = percentiles(np.array([*([np.nan] * unknown), *values]))
    assert found == (pytest.approx(low, abs=1e-15), pytest.approx(high, abs=1e-15))


def test_percentiles_of_nothing_are_refused() -> None:
    with pytest.raises(UsageError, match="more resamples"):
        percentiles(np.array([np.nan, np.nan]))


floats = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=4, max_size=24)


@settings(max_examples=40, deadline=None)
@given(floats, st.randoms(use_true_random=False), st.booleans())
def test_order_does_not_matter(deltas, rng, grouped) -> None:
    keys = [f"c{i % 3}" for i in range(len(deltas))] if grouped else None
    order = list(range(len(deltas)))
    rng.shuffle(order)
    shuffled = paired_bootstrap([deltas[i] for i in order], keys and [keys[i] for i in order], resamples=300)
    assert shuffled == paired_bootstrap(deltas, keys, resamples=300)


@settings(max_examples=30, deadline=None)
@given(floats)
def test_labels_of_clusters_do_not_matter(deltas) -> None:
    keys = [i % 3 for i in range(len(deltas))]
    named = paired_bootstrap(deltas, [f"cluster {'xyz'[key]}" for key in keys], resamples=300)
    assert named == paired_bootstrap(deltas, keys, resamples=300)
    if len(deltas) <= 18:  # labels that also reorder clusters: the exact interval has no draw to reorder
        flipped = paired_bootstrap(deltas, [-key for key in keys], method="exact")
        assert flipped == paired_bootstrap(deltas, keys, method="exact")


@settings(max_examples=40, deadline=None)
@given(floats, st.booleans())
def test_swapping_the_arms_mirrors(deltas, grouped) -> None:
    keys = [f"c{i % 4}" for i in range(len(deltas))] if grouped else None
    one = paired_bootstrap(deltas, keys, resamples=400)
    other = paired_bootstrap([-delta for delta in deltas], keys, resamples=400)
    assert other.mean == pytest.approx(-one.mean, abs=1e-12)
    if grouped or abs(sum(deltas)) > 1e-9:
        assert (other.low, other.high) == (pytest.approx(-one.high, abs=1e-12), pytest.approx(-one.low, abs=1e-12))


@settings(max_examples=30, deadline=None)
@given(floats, st.sampled_from([-0.5, 0.25, 2.0]))
def test_a_constant_shift_shifts(deltas, shift) -> None:
    keys = [i % 4 for i in range(len(deltas))]
    one = paired_bootstrap(deltas, keys, resamples=400)
    other = paired_bootstrap([delta + shift for delta in deltas], keys, resamples=400)
    for name in ("mean", "low", "high"):
        assert getattr(other, name) == pytest.approx(getattr(one, name) + shift, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 12), st.integers(4, 40))
def test_twice_the_items_narrow_the_interval(wins, losses, ties) -> None:
    deltas = deltas_of(wins, ties, losses)
    once, twice = paired_bootstrap(deltas, method="exact"), paired_bootstrap(deltas * 2, method="exact")
    lattice = 1 / len(deltas)
    assert twice.high - twice.low <= once.high - once.low + lattice
    assert twice.mean == pytest.approx(once.mean)
    # Copies inside the same clusters add nothing: exactly the same interval.
    keys = [i % 4 for i in range(len(deltas))]
    assert (
        paired_bootstrap(deltas * 2, keys * 2, resamples=300).low == paired_bootstrap(deltas, keys, resamples=300).low
    )
