"""p-values of many comparisons at once, and the rank test over per-task means."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from runner.errors import UsageError
from runner.stats.resample import Floats, as_values


def _p_values(p_values: ArrayLike) -> Floats:
    p = as_values(p_values, "p-values")
    if p.size and (p.min() < 0 or p.max() > 1):
        raise UsageError(f"p-values: {p[(p < 0) | (p > 1)][0]} lies outside 0 .. 1")
    return p


def holm(p_values: ArrayLike) -> Floats:
    """Holm (1979) adjusted p-values, in the order given: any false pass among the arms stays at the level.

    Raises
    ------
    UsageError
        For a value outside 0 .. 1.
    """
    p = _p_values(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini-Hochberg (1995) adjusted p-values, in the order given: the share of false finds stays at the level.

    Raises
    ------
    UsageError
        For a value outside 0 .. 1.
    """
    p = _p_values(p_values)
    order = np.argsort(p, kind="stable")[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1)))
    return adjusted


def paired_wilcoxon(differences: ArrayLike) -> float:
    """Two-sided p of the Wilcoxon signed-rank test, beside the bootstrap, for per-task means over seeds.

    Parameters
    ----------
    differences
        B − A of each task's mean. Zeros are dropped; 1 when nothing else is left.

    Raises
    ------
    UsageError
        For a difference that is not finite.
    """
    from scipy.stats import wilcoxon

    values = np.round(as_values(differences, "differences"), 12)  # means of thirds must tie where they are equal
    values = values[values != 0]
    return float(wilcoxon(values).pvalue) if values.size else 1.0


def unit_means(values: ArrayLike, units: ArrayLike) -> Floats:
    """Mean of each independent unit, in the order of the units' codes; units without an item are left out.

    Parameters
    ----------
    values
        One per item, shape (n,).
    units
        One whole number from 0 per item, shape (n,): the cluster, or the item itself.
    """
    codes = np.asarray(units, dtype=np.int64)
    sums, counts = np.bincount(codes, weights=as_values(values, "values")), np.bincount(codes)
    means: Floats = sums[counts > 0] / counts[counts > 0]
    return means
