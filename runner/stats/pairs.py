"""Judge one arm against another, item by item: values in, :class:`~runner.stats.verdict.Verdict` out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from runner.errors import UsageError
from runner.stats.bootstrap import Clusters, interval_of, reduce_many
from runner.stats.clustered import Bounds, mcnemar_p, sign_flip_test
from runner.stats.interval import TOO_FEW_CLUSTERS, Mode, check_mode, decide_interval
from runner.stats.leverage import has_leverage
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
_MAX_ABSENCE: Final = 50_000_000  # cells of the table of absences: 50 MB; beyond, no cluster of so many has leverage


@dataclass(frozen=True)
class _Rule:
    """The settings of a gate, checked."""

    min_delta: float
    band: float
    mode: Mode
    resamples: int
    seed: int
    unclustered: bool

    def __post_init__(self) -> None:
        check_mode(self.mode)
        if not math.isfinite(self.min_delta):
            raise UsageError(f"min_delta: {self.min_delta} must be a number")
        if not (math.isfinite(self.band) and self.band >= 0):
            raise UsageError(f"band: {self.band} must be a number and not negative")

    def nothing(self) -> Verdict:
        return no_items(self.min_delta, self.band, self.mode, unclustered=self.unclustered)


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

    clusters, min_delta, band, mode, resamples, seed, unclustered
        As :func:`judge_pairs`, shared by all rows.

    Returns
    -------
    list of Verdict
        One a row. With clusters, a row that has every item equals :func:`judge_pairs`.

    Raises
    ------
    UsageError
        As :func:`judge_pairs`.
    """
    rule = _Rule(min_delta, band, mode, resamples, seed, unclustered)
    left, right = _rows(a, "a"), _rows(b, "b")
    if left.shape[1] != right.shape[1] or left.shape[0] not in (1, right.shape[0]):
        raise UsageError(f"pairs: a is {left.shape} and b {right.shape}; pair the arms by question id first")
    left = np.broadcast_to(left, right.shape)
    if not right.shape[1]:
        return [rule.nothing()] * len(right)
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
            found.append(rule.nothing())
            continue
        line = None if ratios is None else ratios[row]
        found.append(_judge_row(one, two, data, row, line, absent, rule))
    return found


def _judge_row(
    a: Floats,
    b: Floats,
    data: ClusterSums,
    row: int,
    ratios: Floats | None,
    absent: Bools | None,
    rule: _Rule,
) -> Verdict:
    used = data.counts[row] > 0
    sums, counts = data.sums[row][used], data.counts[row][used]
    n, k = a.size, counts.size
    interval = interval_of(data, row, ratios, rule.resamples, rule.seed) if ratios is not None and k > 1 else None
    delta = interval.mean if interval else float(sums.sum() / n)
    decision = decide_interval(sums, counts, Bounds(interval.low, interval.high) if interval else None, rule.mode)
    wins, losses = int((b - a > GUARD).sum()), int((a - b > GUARD).sum())
    warnings = list(decision.warnings)

    outcome: Outcome = "unresolved"
    reason: Reason | None = TOO_FEW_CLUSTERS
    equivalent = False
    if decision.decidable and decision.interval is not None:
        outcome, reason, equivalent = verdict_of(
            delta, decision.interval.low, decision.interval.high, rule.min_delta, rule.band
        )
    if wins + losses == 0:
        warnings.append(ALL_TIES)
        # An interval without width proves nothing: the share of pairs that could differ unseen is 1 − .025^(1/k).
        equivalent = equivalent and 1 - 0.025 ** (1 / k) <= rule.band
        if outcome == "pass":
            outcome, reason = "unresolved", "noise_floor"

    flip = sign_flip_test(sums, counts, rule.min_delta, rule.seed) if k > 1 else None
    binary = bool(np.all((a == 0) | (a == 1)) and np.all((b == 0) | (b == 1)))
    mcnemar = mcnemar_p(wins, losses) if binary else None
    companion = mcnemar if mcnemar is not None and k == n and rule.min_delta == 0 else (flip.p if flip else 1.0)
    if outcome == "pass" and (companion > 0.05 or (rule.min_delta >= 0 and wins + losses < _MIN_DISCORDANT)):
        warnings.append(FRAGILE_PASS)
    if absent is not None and ratios is not None and decision.decidable and k > 2 and wins + losses:
        kept = np.flatnonzero(used)
        if has_leverage(sums, counts, ratios, absent[kept], decision, outcome, rule.min_delta, rule.band):
            warnings.append(LEVERAGE)
    if rule.unclustered:
        warnings.append(UNCLUSTERED)

    mean_square = float(data.squares[row]) / n
    icc = icc_of_sums(sums, counts, float(data.squares[row]))
    inflation = design_effect(max(1.0, mean_cluster_size(counts)), icc or 0.0)
    mde = detectable_of(n, mean_square, inflation) if wins + losses else None
    if mde is not None and binary and mde > mean_square:
        mde = None  # arms that disagree this seldom cannot differ by so much
    return Verdict(
        verdict=outcome,
        reason=reason,
        equivalent=equivalent,
        n=n,
        clusters=k,
        effective_clusters=decision.effective,
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        delta=delta,
        min_delta=rule.min_delta,
        band=rule.band,
        mode=rule.mode,
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
        needed_n=_needed(delta, rule.min_delta, mean_square, inflation) if reason == "under_powered" else None,
        warnings=tuple(warnings),
    )


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


def _rows(values: ArrayLike, name: str) -> Floats:
    try:
        return np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise UsageError(f"{name}: every value must be a number, and every row as long as the others") from None
