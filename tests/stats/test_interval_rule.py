from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from runner.errors import UsageError
from runner.stats.clustered import Bounds, cr3_interval, few_cluster_factor
from runner.stats.interval import decide_interval

SHOWN = Bounds(-0.1, 0.3)


def sums_of(k: int) -> np.ndarray:
    return np.array([float(i % 3) for i in range(k)])


def test_thirty_clusters_decide_by_percentile() -> None:
    found = decide_interval(sums_of(30), np.full(30, 10.0), SHOWN)
    assert (found.kind, found.interval, found.warnings, found.decidable) == ("percentile", SHOWN, (), True)


def test_single_items_decide_by_percentile() -> None:
    found = decide_interval(sums_of(10), np.ones(10), SHOWN)
    assert (found.kind, found.warnings) == ("percentile", ())


@pytest.mark.parametrize("k", [6, 10, 29])
def test_few_clusters_are_widened(k) -> None:
    sums = sums_of(k)
    found = decide_interval(sums, np.full(k, 10.0), SHOWN)
    mean = sums.sum() / (10 * k)
    assert (found.kind, found.warnings, found.decidable) == ("widened", ("few_clusters",), True)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(mean - (mean + 0.1) * few_cluster_factor(k))
    assert found.cr3 == cr3_interval(sums, np.full(k, 10.0))


@pytest.mark.parametrize("size", [1.0, 10.0])
def test_five_clusters_decide_nothing(size) -> None:
    found = decide_interval(sums_of(5), np.full(5, size), SHOWN)
    assert not found.decidable
    assert found.warnings == ("too_few_clusters",)


def test_one_cluster_has_no_interval() -> None:
    for mode in ("auto", "percentile"):
        found = decide_interval(np.array([3.0]), np.array([10.0]), None, mode)
        assert (found.interval, found.kind, found.cr3, found.decidable) == (None, None, None, False)


@pytest.mark.parametrize(
    "counts",
    [
        [60.0, *[4.0] * 10],  # over half of the items in one
        [20.0] * 6 + [1.0] * 30,  # g_eff = 150²/2430 = 9.3 of 36
    ],
)
def test_a_dominant_cluster_decides_by_cr3(counts) -> None:
    sizes = np.array(counts)
    sums = sums_of(sizes.size)
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    found = decide_interval(sums, sizes, SHOWN)
    assert found.kind == "cr3_t"
    assert "dominant_cluster" in found.warnings
    assert found.interval == cr3_interval(sums, sizes, effective - 1)
    assert found.cr3 is not None
    assert found.interval is not None
    assert found.interval.high > found.cr3.high  # fewer degrees of freedom than k - 1


def test_percentile_mode_keeps_the_warnings() -> None:
    found = decide_interval(sums_of(5), np.full(5, 10.0), SHOWN, "percentile")
    assert (found.kind, found.interval, found.decidable) == ("percentile", SHOWN, True)
    assert found.warnings == ("too_few_clusters",)
    assert decide_interval(sums_of(9), np.full(9, 3.0), SHOWN, "percentile").warnings == ("few_clusters",)


def test_unknown_mode() -> None:
    with pytest.raises(UsageError, match="choose auto or percentile"):
        decide_interval(sums_of(9), np.full(9, 3.0), SHOWN, "bca")  # type: ignore[arg-type]


def test_a_cluster_of_nearly_everything_decides_nothing() -> None:
    sizes = np.array([10_000.0, *[1.0] * 9])  # g_eff = 1.002
    found = decide_interval(sums_of(10), sizes, SHOWN)
    assert (found.undecidable, found.decidable) == ("dominant_cluster", False)
    assert (found.kind, found.interval) == ("percentile", SHOWN)  # still shown
    assert "dominant_cluster" in found.warnings


def test_why_nothing_is_decided() -> None:
    assert decide_interval(sums_of(5), np.full(5, 10.0), SHOWN).undecidable == "too_few_clusters"
    assert decide_interval(np.array([3.0]), np.array([10.0]), None, "percentile").undecidable == "too_few_clusters"
    assert decide_interval(sums_of(6), np.full(6, 10.0), SHOWN).undecidable is None


def test_factor_of_each_kind() -> None:
    assert decide_interval(sums_of(30), np.full(30, 10.0), SHOWN).factor == 1
    # t(.975, 9) = 2.2622: 2.2622 / 1.96 * sqrt(10 / 9)
    assert decide_interval(sums_of(10), np.full(10, 10.0), SHOWN).factor == pytest.approx(1.21662, abs=1e-4)
    # 12 of 24 and 12 singles: g_eff = 24² / 156 = 3.6923, and t(.975, 2.6923) by scipy.
    dominated = decide_interval(sums_of(13), np.array([12.0, *[1.0] * 12]), SHOWN)
    assert dominated.kind == "cr3_t"
    assert dominated.factor == pytest.approx(t.ppf(0.975, 24**2 / 156 - 1) / 1.96, rel=1e-6)
