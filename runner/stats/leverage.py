"""Would the verdict stand without any one cluster?

Asked of the resamples that happen to lack it, which are a bootstrap of the other clusters (jackknife-after-bootstrap,
Efron 1992), so that nothing is drawn again. Tried are the clusters whose absence moves the mean most, up and down.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from runner.stats.bootstrap import percentiles
from runner.stats.clustered import Bounds, cr3_interval, drop_one_means, effective_clusters, widened
from runner.stats.interval import Decision, Kind
from runner.stats.resample import Bools, Floats
from runner.stats.verdict import Outcome, verdict_of

_TRIED: Final = 2  # on each side
_ENOUGH: Final = 100  # resamples that make a percentile


def has_leverage(
    sums: Floats,
    counts: Floats,
    ratios: Floats,
    absent: Bools,
    decision: Decision,
    outcome: Outcome,
    min_delta: float,
    band: float,
) -> bool:
    """Whether the verdict changes without one cluster.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items a cluster, shape (k,), every count above 0, k at least 3.
    ratios, absent
        The resampled ratios, and which resamples lack each of these clusters:
        :meth:`runner.stats.resample.Resampler.ratios_and_absence`.
    decision, outcome
        What was decided with all clusters.
    min_delta, band
        As :func:`runner.stats.verdict.verdict_of`.
    """
    means = drop_one_means(sums, counts)
    order = np.argsort(means, kind="stable")
    tried: Sequence[int] = list(dict.fromkeys([*order[:_TRIED], *order[-_TRIED:]]))
    for c in tried:
        rest = np.arange(sums.size) != c
        without = ratios[absent[c]]
        if without.size < _ENOUGH or np.isnan(without).all():
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
