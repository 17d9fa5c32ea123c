"""Judge one arm against another, item by item: values in, :class:`~runner.stats.verdict.Verdict` out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from runner.errors import UsageError
from runner.stats.bootstrap import Clusters, interval_of, percentiles, reduce_many
from runner.stats.clustered import (
    Bounds,
    cr3_interval,
    drop_one_means,
    effective_clusters,
    mcnemar_p,
    sign_flip_test,
    widened,
)
from runner.stats.interval import TOO_FEW_CLUSTERS, Decision, Kind, Mode, decide_interval
from runner.stats.power import design_effect, detectable_of, icc_of_sums, mean_cluster_size, needed_of
from runner.stats.resample import GUARD, Bools, ClusterSums, Floats, Resampler, as_values
from runner.stats.verdict import (
    ALL_TIES,
    DEFAULT_BAND,
    FRAGILE_PASS,
    LEVERAGE,
    UNCLUSTERED,
    Outcome,
    Reason,
    Verdict,
    no_items,
    verdict_of,
)

_MIN_DISCORDANT: Final = 6
_LEVERAGE_CLUSTERS: Final = 4  # tried on each side: those whose absence moves the mean most
_MAX_ABSENCE: Final = 50_000_000  # cells of the table of absences: 50 MB; beyond, no cluster of so many has leverage


def judge_pairs(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Clusters | None = None,
    *,
    min_delta: float = 0.0,
    band: float = DEFAULT_BAND,
    mode: Mode = "auto",
    resamples: int = 10_000,
    seed: int = 7,
    unclustered: bool = False,
) -> Verdict:
    """Judge arm B against arm A on the same items.

    Parameters
    ----------
    a, b
        One value an item in each arm, in the same order; shape (n,). 0/1 for labels.
    clusters
        One key an item, or ``None``.
    min_delta
        What B must exceed A by, in the unit of the values; negative for a non-inferiority gate.
    band
        Differences this small are run-to-run noise; same unit.
    mode
        Which interval decides (:func:`runner.stats.interval.decide_interval`).
    resamples, seed
        Of the bootstrap.
    unclustered
        True when the items have a cluster key that is not used here: adds the warning.

    Returns
    -------
    Verdict
        With no item or one cluster, unresolved and named so; never a pass.

    Raises
    ------
    UsageError
        Different lengths, a value that is not finite, a missing cluster, or settings out of range.
    """
    left, right = as_values(a, "a"), as_values(b, "b")
    if left.size != right.size:
        raise UsageError(f"pairs: {left.size} values in a and {right.size} in b; pair the arms by question id first")
    return judge_many(
        left[None, :],
        right[None, :],
        clusters,
        min_delta=min_delta,
        band=band,
        mode=mode,
        resamples=resamples,
        seed=seed,
        unclustered=unclustered,
    )[0]


def judge_many(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Clusters | None = None,
    *,
    present: ArrayLike | None = None,
    min_delta: float = 0.0,
    band: float = DEFAULT_BAND,
    mode: Mode = "auto",
    resamples: int = 10_000,
    seed: int = 7,
    unclustered: bool = False,
) -> list[Verdict]:
    """Judge many pairs of arms, metrics or categories over the same items, from one draw of resamples.

    Parameters
    ----------
    a, b
        Shape (m, n): a row a comparison, a column an item. ``a`` of shape (1, n) serves every row.
    present
        Shape (m, n): which items a comparison has (a category; a pair without an error); all when ``None``.

    Other parameters, errors and results as :func:`judge_pairs`.
    """
    _check(min_delta, band)
    left, right = _rows(a, "a"), _rows(b, "b")
    if left.shape[1] != right.shape[1] or left.shape[0] not in (1, right.shape[0]):
        raise UsageError(f"pairs: a is {left.shape} and b {right.shape}; pair the arms by question id first")
    left = np.broadcast_to(left, right.shape)
    if not right.shape[1]:
        return [no_items(min_delta, band, mode, unclustered)] * len(right)
    here = np.ones(right.shape, dtype=np.bool_) if present is None else np.asarray(present, dtype=np.bool_)
    if here.shape != right.shape:
        raise UsageError(f"present: shape {here.shape} must be that of the values, {right.shape}")
    left, right = np.where(here, left, 0.0), np.where(here, right, 0.0)
    as_values(left.ravel(), "a")
    as_values(right.ravel(), "b")
    data = reduce_many(right - left, clusters, None if present is None else here)
    k = data.clusters
    grouped = k > 1 and not np.all(data.counts <= 1)  # a single item's leverage is what fragile_pass tells
    draw = Resampler(k, resamples, seed)
    absent: Bools | None = None
    ratios: Floats | None = None
    if k > 1 and grouped and k * resamples <= _MAX_ABSENCE:
        ratios, absent = draw.ratios_and_absence(data.sums, data.counts)
    elif k > 1:
        ratios = draw.ratios(data.sums, data.counts)
    found = []
    for row in range(len(right)):
        one, two = left[row][here[row]], right[row][here[row]]
        if not one.size:
            found.append(no_items(min_delta, band, mode, unclustered))
            continue
        line = None if ratios is None else ratios[row]
        found.append(_judge_row(one, two, data, row, line, absent, min_delta, band, mode, resamples, seed, unclustered))
    return found


def _judge_row(
    a: Floats,
    b: Floats,
    data: ClusterSums,
    row: int,
    ratios: Floats | None,
    absent: Bools | None,
    min_delta: float,
    band: float,
    mode: Mode,
    resamples: int,
    seed: int,
    unclustered: bool,
) -> Verdict:
    used = data.counts[row] > 0
    sums, counts = data.sums[row][used], data.counts[row][used]
    n, k = a.size, counts.size
    interval = interval_of(data, row, ratios, resamples, seed) if ratios is not None and k > 1 else None
    delta = interval.mean if interval else float(sums.sum() / n)
    decision = decide_interval(sums, counts, Bounds(interval.low, interval.high) if interval else None, mode)
    wins, losses = int((b - a > GUARD).sum()), int((a - b > GUARD).sum())
    warnings = list(decision.warnings)

    outcome: Outcome = "unresolved"
    reason: Reason | None = TOO_FEW_CLUSTERS
    equivalent = False
    if decision.decidable and decision.interval is not None:
        outcome, reason, equivalent = verdict_of(delta, decision.interval.low, decision.interval.high, min_delta, band)
    if wins + losses == 0:
        warnings.append(ALL_TIES)
        # An interval without width proves nothing: the share of pairs that could differ unseen is 1 − .025^(1/k).
        equivalent = equivalent and 1 - 0.025 ** (1 / k) <= band
        if outcome == "pass":
            outcome, reason = "unresolved", "noise_floor"

    flip = sign_flip_test(sums, counts, min_delta, seed) if k > 1 else None
    binary = bool(np.all((a == 0) | (a == 1)) and np.all((b == 0) | (b == 1)))
    mcnemar = mcnemar_p(wins, losses) if binary else None
    companion = mcnemar if mcnemar is not None and k == n and min_delta == 0 else (flip.p if flip else 1.0)
    if outcome == "pass" and (companion > 0.05 or (min_delta >= 0 and wins + losses < _MIN_DISCORDANT)):
        warnings.append(FRAGILE_PASS)
    if absent is not None and ratios is not None and decision.decidable and k > 2:
        kept = np.flatnonzero(used)
        if _has_leverage(sums, counts, ratios, absent[kept], decision, outcome, min_delta, band):
            warnings.append(LEVERAGE)
    if unclustered:
        warnings.append(UNCLUSTERED)

    mean_square = float(data.squares[row]) / n
    icc = icc_of_sums(sums, counts, float(data.squares[row]))
    inflation = design_effect(max(1.0, mean_cluster_size(counts)), icc or 0.0)
    mde = detectable_of(n, mean_square, inflation) if wins + losses else None
    if mde is not None and binary and mde > mean_square:
        mde = None  # arms that disagree this seldom cannot differ by so much
    return Verdict(
        outcome=outcome,
        reason=reason,
        equivalent=equivalent,
        n=n,
        clusters=k,
        effective_clusters=decision.effective,
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        delta=delta,
        min_delta=min_delta,
        band=band,
        mode=mode,
        percentile=interval,
        deciding=decision.interval,
        deciding_kind=decision.kind,
        cr3=decision.cr3,
        sign_flip=flip,
        mcnemar_p=mcnemar,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        discordance=(wins + losses) / n,
        icc=icc,
        mde=mde,
        needed_n=_needed(delta, min_delta, mean_square, inflation) if reason == "under_powered" else None,
        warnings=tuple(warnings),
    )


def _has_leverage(
    sums: Floats,
    counts: Floats,
    ratios: Floats,
    absent: Bools,
    decision: Decision,
    outcome: Outcome,
    min_delta: float,
    band: float,
) -> bool:
    """Whether the verdict changes without one cluster, by the resamples that happen to lack it.

    The clusters tried are those whose absence moves the mean most, up or down.
    """
    means = drop_one_means(sums, counts)
    order = np.argsort(means, kind="stable")
    tried: Sequence[int] = list(dict.fromkeys([*order[:_LEVERAGE_CLUSTERS], *order[-_LEVERAGE_CLUSTERS:]]))
    for c in tried:
        rest = np.arange(sums.size) != c
        without = ratios[absent[c]]
        if without.size < 100 or np.isnan(without).all():
            continue
        low, high = percentiles(without)
        bounds: Bounds | None = Bounds(low, high)
        if decision.kind != "percentile":
            # The same kind of interval as decided: rules may change with k, and that would not be the cluster's doing.
            bounds = _again(sums[rest], counts[rest], low, high, decision.kind)
        if bounds is not None and verdict_of(float(means[c]), bounds.low, bounds.high, min_delta, band)[0] != outcome:
            return True
    return False


def _again(sums: Floats, counts: Floats, low: float, high: float, kind: Kind | None) -> Bounds | None:
    if kind == "cr3_t":
        return cr3_interval(sums, counts, effective_clusters(counts) - 1)
    return widened(float(sums.sum() / counts.sum()), low, high, sums.size)


def _needed(delta: float, min_delta: float, mean_square: float, inflation: float) -> int | None:
    """Pairs that resolve a difference like the one seen; against another threshold, its variance is the one seen."""
    gap = abs(delta - min_delta)
    if gap <= GUARD:
        return None
    if min_delta == 0:
        return needed_of(gap, mean_square, inflation)
    # The mean square of deltas that lie ``gap`` from the threshold and vary as those seen do.
    variance = mean_square - delta**2
    return needed_of(gap, variance + gap**2, inflation)


def _check(min_delta: float, band: float) -> None:
    if not math.isfinite(min_delta):
        raise UsageError(f"min_delta: {min_delta} must be a number")
    if not (math.isfinite(band) and band >= 0):
        raise UsageError(f"band: {band} must be a number and not negative")


def _rows(values: ArrayLike, name: str) -> Floats:
    try:
        return np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise UsageError(f"{name}: every value must be a number, and every row as long as the others") from None
