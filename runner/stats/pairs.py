"""Judge one arm against another, item by item: values in, :class:`~runner.stats.verdict.Verdict` out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from runner.errors import UsageError
from runner.stats.bootstrap import Clusters, by_clusters, interval_of, reduce_many, stacked
from runner.stats.cautions import is_fragile, lacks_spread, tie_bound
from runner.stats.clustered import Bounds, mcnemar_p, sign_flip_test
from runner.stats.interval import DOMINANT_CLUSTER, Decision, Mode, check_mode, decide_interval
from runner.stats.leverage import has_leverage
from runner.stats.power import design_effect, detectable_of, icc_of_sums, mean_cluster_size, resolving_n
from runner.stats.resample import GUARD, Bools, ClusterSums, Floats, Resampler, as_values
from runner.stats.verdict import (
    ALL_TIES,
    DEFAULT_BAND,
    FRAGILE_PASS,
    LEVERAGE,
    NO_SPREAD,
    UNCLUSTERED,
    MdeNote,
    Outcome,
    Reason,
    Verdict,
    no_items,
    verdict_of,
)

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
    differ: ArrayLike | None = None,
    min_delta: float = 0.0,
    band: float = DEFAULT_BAND,
    mode: Mode = "auto",
    resamples: int = 10_000,
    seed: int = 7,
    unclustered: bool = False,
) -> list[Verdict]:
    """Judge many pairs of arms, metrics or categories over the same items, with as few draws as there can be.

    Parameters
    ----------
    a, b
        Shape (m, n): a row a comparison, a column an item. ``a`` of shape (1, n) serves every row.
    present
        Shape (m, n): which items a comparison has (a category; a pair without an error); all when ``None``.
    differ
        Shape (m, n) or (1, n), boolean: whether the majority labels of a pair differ, of which ``discordance`` is then
        the share; an abstention and a wrong answer do, though their values are equal. ``None``: whether values differ.
    clusters, min_delta, band, mode, resamples, seed, unclustered
        As :func:`judge_pairs`, shared by all rows.

    Returns
    -------
    list of Verdict
        One a row, equal to :func:`judge_pairs` of the items that the row has: clusters without one are not drawn.

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
    labels = _labels(differ, right.shape)
    rows = reduce_many(right - left, clusters, None if present is None else here)
    found = [rule.nothing()] * len(rows)
    for k, members in by_clusters(rows).items():
        if not k:
            continue
        ratios, absent = _drawn(*stacked(rows, members), rule)
        for position, row in enumerate(members):
            mask = here[row]
            line = None if ratios is None else ratios[position]
            unlike = None if labels is None else labels[row][mask]
            found[row] = _judge_row(left[row][mask], right[row][mask], rows[row], line, absent, unlike, rule)
    return found


def _drawn(sums: Floats, counts: Floats, rule: _Rule) -> tuple[Floats | None, Bools | None]:
    """Resampled ratios of rows of one number of clusters, and which resamples lack each cluster, where that is asked.

    Not of single items: their leverage is what ``fragile_pass`` tells.
    """
    k = sums.shape[1]
    if k < 2:
        return None, None
    draw = Resampler(k, rule.resamples, rule.seed)
    if k > 2 and not np.all(counts <= 1) and k * rule.resamples <= _MAX_ABSENCE:
        return draw.ratios_and_absence(sums, counts)
    return draw.ratios(sums, counts), None


def _judge_row(
    a: Floats,
    b: Floats,
    data: ClusterSums,
    ratios: Floats | None,
    absent: Bools | None,
    unlike: Bools | None,
    rule: _Rule,
) -> Verdict:
    sums, counts = data.sums[0], data.counts[0]
    n, k = a.size, counts.size
    interval = interval_of(data, ratios, rule.resamples, rule.seed) if ratios is not None else None
    delta = interval.mean if interval else float(sums.sum() / n)
    decision = decide_interval(sums, counts, Bounds(interval.low, interval.high) if interval else None, rule.mode)
    wins, losses = int((b - a > GUARD).sum()), int((a - b > GUARD).sum())
    discordant = wins + losses
    warnings = list(decision.warnings)
    # How far apart the values of a pair can be: labels and shares lie in 0 .. 1, other units show their range.
    scale = max(1.0, float(max(a.max(), b.max()) - min(a.min(), b.min())))
    units = decision.effective

    if not discordant:
        warnings.append(ALL_TIES)
        if decision.decidable:
            decision = replace(decision, interval=tie_bound(units, scale), kind="tie_bound")
    outcome: Outcome = "unresolved"
    reason: Reason | None = decision.undecidable
    equivalent = False
    if decision.decidable and decision.interval is not None:
        outcome, reason, equivalent = verdict_of(
            delta, decision.interval.low, decision.interval.high, rule.min_delta, rule.band
        )

    flip = sign_flip_test(sums, counts, rule.min_delta, rule.seed) if k > 1 else None
    binary = bool(np.all((a == 0) | (a == 1)) and np.all((b == 0) | (b == 1)))
    mcnemar = mcnemar_p(wins, losses) if binary else None
    companion = mcnemar if mcnemar is not None and k == n and rule.min_delta == 0 else (flip.p if flip else 1.0)
    if outcome == "pass" and is_fragile(companion, wins, losses, rule.min_delta, units, scale):
        warnings.append(FRAGILE_PASS)
    mean_square = float(data.squares[0]) / n
    if interval is not None and discordant and outcome != "unresolved":
        shown, variance = Bounds(interval.low, interval.high), mean_square - delta**2
        if lacks_spread(shown, delta, rule.min_delta, variance, n, units, scale):
            warnings.append(NO_SPREAD)
    asked = absent is not None and ratios is not None and decision.decidable and discordant
    if asked and has_leverage(sums, counts, ratios, absent, decision, outcome, rule.min_delta, rule.band):
        warnings.append(LEVERAGE)
    if rule.unclustered:
        warnings.append(UNCLUSTERED)

    icc = icc_of_sums(sums, counts, float(data.squares[0]))
    inflation = design_effect(max(1.0, mean_cluster_size(counts)), icc or 0.0)
    mde, mde_note = _detectable(decision, n, mean_square, inflation, scale, binary=binary)
    needed = None
    if reason == "under_powered" and decision.interval is not None and DOMINANT_CLUSTER not in warnings:
        above = delta > rule.min_delta
        half = delta - decision.interval.low if above else decision.interval.high - delta
        needed = resolving_n(delta, rule.min_delta, mean_square, inflation, n, half)
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
        ties=n - discordant,
        discordance=(discordant if unlike is None else int(unlike.sum())) / n,
        icc=icc,
        mde=mde,
        needed_n=needed,
        warnings=tuple(warnings),
        mde_note=mde_note,
    )


def _detectable(
    decision: Decision, n: int, mean_square: float, inflation: float, scale: float, *, binary: bool
) -> tuple[float | None, MdeNote | None]:
    """The minimum detectable effect, as much greater as the deciding interval is wider; or why there is none."""
    if decision.undecidable is not None:
        return None, decision.undecidable
    if mean_square <= GUARD:
        return None, "all_ties"
    effect = detectable_of(n, mean_square, inflation) * decision.factor
    if effect > scale:
        return None, "beyond_range"
    # Arms that disagree on a share ψ of 0/1 labels differ by at most ψ.
    return effect, "beyond_discordance" if binary and effect > mean_square + GUARD else None


def _labels(differ: ArrayLike | None, shape: tuple[int, ...]) -> Bools | None:
    if differ is None:
        return None
    labels = np.atleast_2d(np.asarray(differ, dtype=np.bool_))
    if labels.shape not in ((1, shape[1]), shape):
        raise UsageError(f"differ: shape {labels.shape} must be that of the values, {shape}, or one row of it")
    return np.broadcast_to(labels, shape)


def _rows(values: ArrayLike, name: str) -> Floats:
    try:
        return np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise UsageError(f"{name}: every value must be a number, and every row as long as the others") from None
