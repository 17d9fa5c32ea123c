"""Plans: what a design detects, how many questions it takes, and the seed's table of widths."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.stats.paired import judge_pairs
from runner.stats.planning.design import Assumed, Design, Goal
from runner.stats.planning.intervals import Thresholds, Width, width, width_table
from runner.stats.planning.layout import laid_out, packed
from runner.stats.planning.outlook import outlook
from runner.stats.planning.sample_size import detectable, needed
from runner.stats.power import intraclass_correlation, pairs_needed


def points(value: float) -> float:
    return round(100 * value, 1) + 0.0


# --- what is detected, and how many it takes -------------------------------------------------------------------------


def test_figures_of_the_specification() -> None:
    """80 % power, 16 % discordant: 164 pairs detect 8.7 points, 500 detect 5.0."""
    assert points(detectable(Design(164, 164), Assumed(0.16))) == 8.7
    assert points(detectable(Design(500, 500), Assumed(0.16))) == 5.0


def test_clusters_by_hand() -> None:
    # 500 in 10 clusters: m = 50, design effect 1 + 49 * .05 = 3.45, f(10) = 2.26216 / 1.96 * sqrt(10 / 9) = 1.21662.
    # With 500 / 3.45 = 144.93 units: (m + .70832) d^2 - 2 * 1.95996 * sqrt(144.93 * .16) d + 3.13314 * .16 = 0, that is
    # 145.635 d^2 - 18.8763 d + .501302 = 0, d = (9.43815 + sqrt(89.0787 - 73.0071)) / 145.635 = .092334; * f = .112335
    found = detectable(Design(500, 10), Assumed(0.16, 0.05))
    assert found == pytest.approx(0.11233, abs=2e-5)
    assert detectable(Design(500, 10), Assumed(0.16, 0.05), icc=0.0) == pytest.approx(0.05 * 1.21662, rel=1e-3)
    assert detectable(Design(500, 5), Assumed(0.16)) is None
    assert detectable(Design(500, 5, mode="percentile"), Assumed(0.16), icc=0.0) == pytest.approx(0.05, rel=1e-3)
    assert "5 clusters are too few" in Design(500, 5).why_undecidable


@pytest.mark.parametrize("effect", [0.01, 0.02, 0.05, 0.1, -0.05])
def test_single_questions_need_what_connors_formula_says(effect: float) -> None:
    found = needed(effect, Design(500, 500), Assumed(0.16))
    assert found.n == found.clusters == pairs_needed(effect, 0.16)
    assert found.in_same_clusters is None


@pytest.mark.parametrize(("effect", "icc"), [(0.1, 0.05), (0.08, 0.05), (0.05, 0.05), (0.05, 0.0), (0.02, 0.2)])
def test_the_clusters_needed_are_the_least_that_detect_it(effect: float, icc: float) -> None:
    found = needed(effect, Design(500, 10), Assumed(0.16, icc))
    assert found.clusters is not None
    assert found.n == 50 * found.clusters
    enough = detectable(Design(found.n, found.clusters), Assumed(0.16, icc))
    assert enough is not None
    assert enough <= effect + 1e-9
    short = detectable(Design(found.n - 50, found.clusters - 1), Assumed(0.16, icc))
    assert short is None or short > effect


def test_more_questions_of_the_same_clusters_help_only_so_far() -> None:
    # Ten clusters with ICC .05 are never worth more than 10 / .05 = 200 independent questions; 10 points with f(10)
    # are 8.22 for the formula: (1.95996 * .4 + .84162 * sqrt(.16 - .006756))^2 / .006756 = 183.4 units, which is
    # n (1 - 183.4 * .05 / 10) = 183.4 * .95, n = 2,099 or so; 8 points are 6.58: 287 units, more than 200.
    found = needed(0.1, Design(500, 10), Assumed(0.16, 0.05))
    assert found.in_same_clusters == pytest.approx(2_100, rel=0.02)
    assert needed(0.08, Design(500, 10), Assumed(0.16, 0.05)).in_same_clusters is None


def test_another_threshold_by_hand() -> None:
    # No true difference, told from -2 points: (1.95996 * sqrt(.16 - .0004) + .84162 * .4)^2 / .0004 = 3134.07 pairs.
    found = needed(0.0, Design(500, 500), Assumed(0.16), Goal(min_delta=-0.02))
    assert found.n == 3135
    assert detectable(Design(3135, 3135), Assumed(0.16), Goal(min_delta=-0.02)) == pytest.approx(0, abs=1e-5)
    # A true loss of 5 points fails a threshold of -2 as a gain of 5 passes one of +2.
    below = needed(-0.05, Design(500, 500), Assumed(0.16), Goal(min_delta=-0.02))
    assert below.n == needed(0.05, Design(500, 500), Assumed(0.16), Goal(min_delta=0.02)).n
    assert needed(-0.02, Design(500, 500), Assumed(0.16), Goal(min_delta=-0.02)).why == "on_the_threshold"
    assert needed(0.2, Design(500, 500), Assumed(0.16)).why == "beyond_discordance"


def test_simulated_power_of_a_non_inferiority_gate() -> None:
    # 3,135 pairs, 16 % discordant, no difference: the lower bound lies above -2 points in about 80 % of data sets.
    draw = np.random.default_rng(5).multinomial(3_135, [0.08, 0.08, 0.84], size=20_000)
    means = (draw[:, 0] - draw[:, 1]) / 3_135
    spread = np.sqrt((draw[:, 0] + draw[:, 1]) / 3_135 - means**2) / math.sqrt(3_135)
    assert np.mean(means - 1.95996 * spread > -0.02) == pytest.approx(0.80, abs=0.015)


def test_recorded_sizes() -> None:
    sizes = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
    found = Design.from_sizes(sizes)
    assert (found.n, found.clusters) == (280, 7)
    assert found.cluster_size == pytest.approx(14_000 / 280)
    # One cluster with most questions: Student's interval with g_eff - 1 degrees of freedom, wider than f(7).
    dominated = Design.from_sizes([5.0] * 6 + [200.0])
    assert dominated.factor() > Design(230, 7).factor() > 1
    assert detectable(dominated, Assumed(0.16)) is None or detectable(dominated, Assumed(0.16)) > 0.1


@settings(max_examples=40, deadline=None)
@given(st.integers(6, 60), st.integers(1, 30), st.floats(0.02, 0.9), st.floats(0, 0.5))
def test_more_clusters_never_detect_less(clusters: int, size: int, psi: float, icc: float) -> None:
    assumed = Assumed(psi, icc)
    few = detectable(Design(clusters * size, clusters), assumed)
    many = detectable(Design(2 * clusters * size, 2 * clusters), assumed)
    assert few is None or (many is not None and many <= few + 1e-12)
    independent = detectable(Design(clusters * size, clusters), assumed, icc=0.0)
    assert few is None or (independent is not None and independent <= few + 1e-12)


# --- how wide the interval is ----------------------------------------------------------------------------------------

# The seed's table: n, wins, losses, mean, bounds, and its reading where it gives one.
TABLE = [
    (60, 1, 0, 1.7, 0.0, 5.0, "unresolved"),
    (30, 2, 2, 0.0, -13.3, 13.3, "unresolved"),
    (60, 5, 5, 0.0, -10.0, 10.0, "unresolved"),
    (164, 13, 13, 0.0, -6.1, 6.1, "unresolved"),
    (500, 40, 40, 0.0, -3.6, 3.6, "unresolved"),
    (60, 6, 2, 6.7, -1.7, 16.7, "unresolved"),
    (60, 8, 2, 10.0, 0.0, 20.0, "unresolved"),
    (500, 40, 20, 4.0, 1.0, 7.0, "pass"),
]


@pytest.mark.parametrize(("n", "wins", "losses", "mean", "low", "high", "reading"), TABLE)
def test_the_published_table(
    n: int, wins: int, losses: int, mean: float, low: float, high: float, reading: str
) -> None:
    row = width(Design(n, n), wins, losses)
    verdict = row.verdict
    assert (row.wins, row.ties, row.losses) == (wins, n - wins - losses, losses)
    assert verdict.percentile is not None
    assert [points(verdict.delta), points(verdict.percentile.low), points(verdict.percentile.high)] == [mean, low, high]
    assert verdict.verdict == reading


def test_the_last_row_of_the_published_table() -> None:
    """60 in 6 clusters of 10, 8 / 50 / 2, won in as few clusters as can hold it: +10.0, +0.0 .. +30.0."""
    rows = width_table(Design(60, 6), Assumed(10 / 60, 0.0), 0.1)
    (row,) = [row for row in rows if "as few clusters" in row.what]
    assert (row.wins, row.ties, row.losses) == (8, 50, 2)
    percentile = row.verdict.percentile
    assert percentile is not None
    assert [points(row.verdict.delta), points(percentile.low), points(percentile.high)] == [10.0, 0.0, 30.0]
    assert row.verdict.verdict == "unresolved"


def test_rows_of_a_table() -> None:
    rows = {row.what: row for row in width_table(Design(500, 500), Assumed(0.16), 0.05)}
    same = rows["the same configuration twice"].verdict
    assert same.percentile is not None
    assert [points(same.percentile.low), points(same.percentile.high)] == [-3.6, 3.6]  # 40 / 420 / 40
    passes, not_yet = rows["the smallest difference that passes"], rows["the largest that does not"]
    assert passes.verdict.verdict == "pass"
    assert not_yet.verdict.verdict != "pass"
    assert passes.wins - passes.losses == not_yet.wins - not_yet.losses + 2
    assert passes.wins + passes.losses == 80
    assert rows["a gain of 5.0 points"].verdict.verdict == "pass"
    assert rows["a loss of 5.0 points"].verdict.verdict == "fail"
    assert rows["a loss of 5.0 points"].verdict_words == "FAIL"


def test_readings_are_those_of_the_gate_itself() -> None:
    design, rule = Design(120, 12), Thresholds(min_delta=-0.05, band=0.02)
    row = width(design, 12, 9, rule, icc=0.1)
    deltas = laid_out(12, 9, design.counts(), 0.1)
    clusters = np.repeat(np.arange(12), 10)
    assert row.verdict == judge_pairs(deltas < 0, deltas > 0, clusters, min_delta=-0.05, band=0.02)


def test_few_clusters_decide_nothing_in_the_table() -> None:
    rows = width_table(Design(50, 5), Assumed(0.16), 0.1)
    assert {row.verdict.reason for row in rows} == {"too_few_clusters"}
    assert not [row for row in rows if "passes" in row.what]
    assert {row.verdict.percentile for row in width_table(Design(50, 1), Assumed(0.16), 0.1)} == {None}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=30), st.data(), st.floats(0, 0.9))
def test_a_layout_holds_what_it_was_given(sizes: list[int], data: st.DataObject, icc: float) -> None:
    n = sum(sizes)
    wins = data.draw(st.integers(0, n))
    losses = data.draw(st.integers(0, n - wins))
    deltas = laid_out(wins, losses, np.array(sizes, dtype=np.float64), icc)
    assert deltas.size == n
    assert ((deltas == 1).sum(), (deltas == -1).sum()) == (wins, losses)
    assert set(deltas.tolist()) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize("icc", [0.0, 0.05, 0.1, 0.3])
@pytest.mark.parametrize(("k", "m", "wins", "losses"), [(10, 50, 40, 40), (30, 20, 70, 40), (10, 150, 160, 85)])
def test_a_layout_goes_together_as_it_was_told(k: int, m: int, wins: int, losses: int, icc: float) -> None:
    deltas = laid_out(wins, losses, np.full(k, float(m)), icc)
    found = intraclass_correlation(deltas, np.repeat(np.arange(k), m))
    assert found == pytest.approx(icc, abs=0.06)


def test_a_correlation_widens_the_interval() -> None:
    def wide(row: Width) -> float:
        assert row.verdict.percentile is not None
        return row.verdict.percentile.high - row.verdict.percentile.low

    widths = [wide(width(Design(500, 10), 45, 35, icc=icc)) for icc in (0.0, 0.05, 0.2)]
    assert widths == sorted(widths)
    # The standard error of a mean of clusters: sqrt(.16 * (1 + 49 icc) / 500), times 3.92 and sqrt(9 / 10).
    assert widths[1] == pytest.approx(3.92 * math.sqrt(0.16 * 3.45 / 500 * 0.9), rel=0.08)


def test_packed_is_wins_then_losses() -> None:
    assert packed(2, 1, 5).tolist() == [1, 1, -1, 0, 0]


# --- all of it, and bad input ----------------------------------------------------------------------------------------


def test_an_outlook_prints_and_exports() -> None:
    found = outlook(Design(500, 10), Assumed(0.16, 0.05, "a pilot"), effect=0.04)
    assert str(found) == "n = 500, 10 clusters: detects about 11.2 pp with a power of 80%"
    value = json.loads(found.to_json())
    assert value["assumed"] == {"discordance": 0.16, "icc": 0.05, "source": "a pilot"}
    assert [row["effect"] for row in value["needed"]] == [0.01, 0.02, 0.03, 0.04, 0.05, 0.08, 0.1]
    assert value["table"][0]["wins"] == 1
    assert "too few" in str(outlook(Design(500, 5)))
    assert 0.0 in {row.effect for row in outlook(Design(500, 500), goal=Goal(min_delta=-0.02)).needed}


def test_a_design_without_end_is_planned_without_a_table() -> None:
    found = outlook(Design(10**9, 10**7))
    assert found.table == ()
    assert found.detects is not None
    with pytest.raises(UsageError, match="is made for up to"):
        width_table(Design(10**6, 10), Assumed(0.16), 0.05)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Design(0, 1),
        lambda: Design(10, 11),
        lambda: Design(10, 0),
        lambda: Design(10, 2, mode="bca"),
        lambda: Design.from_sizes([]),
        lambda: Design.from_sizes([3, 0]),
        lambda: Assumed(0.0),
        lambda: Assumed(1.5),
        lambda: Assumed(float("nan")),
        lambda: Assumed(0.16, 1.1),
        lambda: Assumed(0.16, float("nan")),
        lambda: Goal(alpha=0),
        lambda: Goal(power=1),
        lambda: Goal(power=float("nan")),
        lambda: Goal(min_delta=2),
        lambda: detectable(Design(100, 100), Assumed(0.1), Goal(min_delta=0.2)),
        lambda: width(Design(10, 10), 8, 3),
        lambda: width(Design(10, 10), -1, 3),
    ],
)
def test_bad_input(call) -> None:
    with pytest.raises(UsageError):
        call()
