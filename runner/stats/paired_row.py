"""One row of :func:`runner.stats.paired.judge_many`: values and resampled ratios in, a verdict out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from runner.errors import UsageError
from runner.stats.bootstrap import interval_of
from runner.stats.clustered import Bounds, mcnemar_p, sign_flip_test
from runner.stats.interval import DOMINANT_CLUSTER, Decision, Mode, check_mode, decide_interval, one_item_each
from runner.stats.leverage import has_leverage
from runner.stats.power import design_effect, detectable_of, icc_of_sums, mean_cluster_size, resolving_n
from runner.stats.resample import GUARD, Bools, ClusterSums, Floats
from runner.stats.verdict import (
    ALL_TIES,
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
from runner.stats.warnings import is_fragile, lacks_spread, tie_bound


@dataclass(frozen=True)
class VerdictRule:
    """The settings of a gate, checked.

    Raises
    ------
    UsageError
        For a setting out of range.
    """

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

    def empty_verdict(self) -> Verdict:
        """The verdict on no items."""
        return no_items(self.min_delta, self.band, self.mode, unclustered=self.unclustered)


def judge_row(
    a: Floats,
    b: Floats,
    data: ClusterSums,
    ratios: Floats | None,
    absent: Bools | None,
    unlike: Bools | None,
    rule: VerdictRule,
) -> Verdict:
    """Judge one row.

    Parameters
    ----------
    a, b
        Values of the two arms, shape (n,), n at least 1.
    data
        Its deltas reduced to the clusters that hold its items.
    ratios, absent
        Resampled ratios, ``None`` for one cluster; and which resamples lack each cluster, ``None`` when not asked.
    unlike
        Whether the labels of each pair differ, shape (n,); ``None``: whether values do.
    rule
        The settings.
    """
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
    if (
        absent is not None
        and ratios is not None
        and decision.decidable
        and discordant
        and not one_item_each(counts)
        and has_leverage(sums, counts, ratios, absent, decision, outcome, rule.min_delta, rule.band)
    ):
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
        # Against a threshold below 0 every tie counts as evidence for it: what was never seen to differ is given no p.
        sign_flip=flip if discordant else None,
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
