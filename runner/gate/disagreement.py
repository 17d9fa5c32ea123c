"""Disagreement of the arms of a recorded pair, overall and by cluster: assumptions for the next run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.gate.arm import Arm
from runner.stats.power import icc_of_sums
from runner.stats.resample import Floats


@dataclass(frozen=True)
class ObservedDisagreement:
    """The headline questions that two arms both answered.

    Attributes
    ----------
    sizes
        Questions a cluster, shape (k,).
    discordance
        Mean squared difference: for 0/1 labels the share of questions on which the arms disagree.
    icc
        Intraclass correlation of the differences; ``None`` where it cannot be told.
    """

    sizes: Floats
    discordance: float
    icc: float | None


def observed_disagreement(a: Arm, b: Arm) -> ObservedDisagreement | None:
    """Return how often the arms of a pair disagree; ``None`` without a headline question that both measured.

    Parameters
    ----------
    a, b
        Arms over the same questions, which :func:`runner.gate.compare_arms` did compare.
    """
    both, in_a, in_b = np.intersect1d(a.data.ids, b.data.ids, assume_unique=True, return_indices=True)
    if not both.size:
        return None
    usable = (_measured(a)[in_a]) & (_measured(b)[in_b])
    deltas = (b.values[in_b] - a.values[in_a])[usable]
    if not deltas.size:
        return None
    codes = a.data.cluster[in_a][usable]
    counts = np.bincount(codes).astype(np.float64)
    sums: Floats = np.bincount(codes, weights=deltas).astype(np.float64)
    squares = float(deltas @ deltas)
    kept = counts > 0
    return ObservedDisagreement(counts[kept], squares / deltas.size, icc_of_sums(sums[kept], counts[kept], squares))


def sizes_of(arm: Arm) -> Floats:
    """Return the questions per cluster that a single run measured, over the headline; shape (k,)."""
    counts = np.bincount(arm.data.cluster[_measured(arm)]).astype(np.float64)
    return counts[counts > 0]


def _measured(arm: Arm) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = arm.headline_rows & arm.data.ok & np.isfinite(arm.values)
    return mask
