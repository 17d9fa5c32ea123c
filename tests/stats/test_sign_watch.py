"""The e-value of clusters that finish one after the other."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import beta

from runner.errors import UsageError
from runner.stats.sequential import SignWatch, discordant_e_value, is_decided, least_units

NAN = math.nan


def bench(name: str) -> ModuleType:
    """A script of tests/bench, without putting that folder on the path: it has a ``coverage.py``."""
    path = Path(__file__).resolve().parents[1] / "bench" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def watched(clusters: list[int], rows: list[tuple[int, float]]) -> SignWatch:
    watch = SignWatch(clusters)
    for item, delta in rows:
        watch.add(item, delta)
    return watch


def test_ten_wins_by_the_beta_function() -> None:
    expected = 2.0**10 * beta(10.5, 0.5) / beta(0.5, 0.5)  # 180.4
    watch = watched(list(range(10)), [(i, 1.0) for i in range(10)])
    assert watch.e_value == pytest.approx(expected)
    assert watch.anytime_p == pytest.approx(1 / expected)
    assert watch.single


def test_seven_of_one_sign_decide_and_six_do_not() -> None:
    # E(m, 0) = C(2m, m) / 2^m: 924 / 64 = 14.4 and 3432 / 128 = 26.8.
    assert least_units() == 7
    assert not is_decided(6, 0)
    watch = SignWatch(list(range(9)))
    said = [watch.add(i, 1.0) for i in range(9)]
    assert said == [False] * 6 + [True] * 3
    crossing = watch.crossing
    assert crossing is not None
    assert (crossing.wins, crossing.losses, crossing.ties, crossing.units) == (7, 0, 0, 7)
    assert crossing.e_value == pytest.approx(3432 / 128)
    assert (crossing.n, crossing.of, crossing.delta) == (7, 9, 1.0)
    assert watch.wins == 9  # what finishes later is counted, and changes nothing of the moment
    assert crossing.to_dict()["units"] == 7


def test_a_cluster_counts_when_all_of_it_is_finished_and_by_its_sign() -> None:
    clusters = [0, 0, 0, 1, 1, 2, 2]
    watch = watched(clusters, [(0, 1.0), (1, 1.0), (3, 1.0)])
    assert (watch.wins, watch.losses, watch.ties) == (0, 0, 0)
    watch.add(2, -1.0)
    assert (watch.wins, watch.losses, watch.ties) == (1, 0, 0)  # 1 + 1 - 1
    watch.add(4, -1.0)
    assert (watch.wins, watch.losses, watch.ties) == (1, 0, 1)  # a tie is no unit
    assert watch.e_value == discordant_e_value(1, 0)
    watch.add(5, 0.0)
    watch.add(6, -1.0)
    assert (watch.wins, watch.losses, watch.ties, watch.n) == (1, 1, 1, 7)
    assert not watch.single


def test_what_failed_never_counts() -> None:
    watch = watched([0, 0, 1], [(0, NAN), (1, -1.0), (2, NAN)])
    assert (watch.wins, watch.losses, watch.ties, watch.n) == (0, 1, 0, 1)
    watch.add(2, 1.0)  # asked again: it was no unit yet, and is one now
    assert (watch.wins, watch.losses) == (1, 1)
    watch.add(0, 1.0)  # its cluster was counted: the moment stays what it was
    assert (watch.wins, watch.losses, watch.n) == (1, 1, 2)


def test_shares_are_summed_without_rounding_into_a_sign() -> None:
    watch = watched([0, 0, 0], [(0, 0.1), (1, 0.2), (2, -0.3)])
    assert (watch.wins, watch.losses, watch.ties) == (0, 0, 1)


def test_many_small_wins_do_not_decide_against_the_mean() -> None:
    """Seven clusters are won by one question of ten and one is lost by all ten: B is worse on average."""
    clusters = [c for c in range(8) for _ in range(10)]
    rows = [(70 + i, -1.0) for i in range(10)]
    rows += [(10 * c + i, 1.0 if i == 0 else 0.0) for c in range(7) for i in range(10)]
    watch = watched(clusters, rows)
    assert (watch.wins, watch.losses) == (7, 1)
    lost = SignWatch(list(range(30)))
    for item in range(20):
        lost.add(item, 0.01 if item else -1.0)
    assert discordant_e_value(19, 1) > 20
    assert lost.crossing is None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.sampled_from([-1.0, 0.0, 1.0])), min_size=1, max_size=60), st.data())
def test_order_within_a_cluster_and_names_of_clusters_do_not_matter(items: list[tuple[int, float]], data) -> None:
    clusters = [c for c, _ in items]
    order = sorted(range(len(items)), key=lambda i: clusters[i])
    one = watched(clusters, [(i, items[i][1]) for i in order])
    mixed = sorted(order, key=lambda i: (clusters[i], data.draw(st.integers(0, 9))))
    other = watched([11 - c for c in clusters], [(i, items[i][1]) for i in mixed])
    assert (one.wins, one.losses, one.ties, one.crossing) == (other.wins, other.losses, other.ties, other.crossing)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0, 1.0]), min_size=1, max_size=80))
def test_swapping_the_arms_turns_the_decision_round(deltas: list[float]) -> None:
    one = watched(list(range(len(deltas))), list(enumerate(deltas)))
    other = watched(list(range(len(deltas))), [(i, -delta) for i, delta in enumerate(deltas)])
    assert (one.wins, one.losses, one.e_value, one.anytime_p) == (
        other.losses,
        other.wins,
        other.e_value,
        other.anytime_p,
    )
    assert (one.crossing is None) == (other.crossing is None)
    if one.crossing and other.crossing:
        assert one.crossing.won is not other.crossing.won
        assert one.crossing.n == other.crossing.n


def test_the_promise_is_kept_and_peeking_breaks_one() -> None:
    """No difference, looked at after every unit: at most 2.5 % a side. Five looks at an interval: 7.5 % for 2.5 %."""
    sequential = bench("sequential")
    found = sequential.simulate(np.random.default_rng(3), 2_000, 500, 1, 0.16, 0.0, 5)
    assert found["once"] == pytest.approx(0.025, abs=0.01)
    assert found["peeked"] == pytest.approx(0.075, abs=0.018)
    assert found["won"] + found["lost"] <= 0.05
    assert found["both"] <= 0.05
    clustered = sequential.simulate(np.random.default_rng(4), 1_000, 500, 10, 0.16, 0.0, 5)
    assert clustered["won"] + clustered["lost"] <= 0.05
    better = sequential.simulate(np.random.default_rng(5), 400, 500, 1, 0.16, 0.10, 5)
    assert better["won"] > 0.95
    assert better["asked"] < 0.4


def test_nothing_to_watch_and_bad_levels() -> None:
    empty = SignWatch([])
    assert (empty.clusters, empty.crossing) == (0, None)
    assert empty.e_value == pytest.approx(1)
    for alpha in (0.0, 1.0, NAN):
        with pytest.raises(UsageError, match="alpha"):
            SignWatch([0], alpha)
        with pytest.raises(UsageError, match="alpha"):
            least_units(alpha)
