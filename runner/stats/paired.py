"""Judge one arm against another, item by item: values in, :class:`~runner.stats.verdict.Verdict` out."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from runner.errors import UsageError
from runner.stats.bootstrap import Clusters, by_clusters, reduce_many, stacked
from runner.stats.interval import Mode
from runner.stats.paired_row import VerdictRule, judge_row
from runner.stats.resample import Bools, Floats, Resampler, as_values
from runner.stats.verdict import DEFAULT_BAND, Verdict

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
        One value per item in each arm, in the same order; shape (n,). 0/1 for labels.
    clusters
        One key per item, or ``None``.
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
        One per row, equal to :func:`judge_pairs` of the items that the row has: clusters without one are not drawn.

    Raises
    ------
    UsageError
        As :func:`judge_pairs`.
    """
    rule = VerdictRule(min_delta, band, mode, resamples, seed, unclustered)
    left, right = _rows(a, "a"), _rows(b, "b")
    if left.shape[1] != right.shape[1] or left.shape[0] not in (1, right.shape[0]):
        raise UsageError(f"pairs: a is {left.shape} and b {right.shape}; pair the arms by question id first")
    left = np.broadcast_to(left, right.shape)
    if not right.shape[1]:
        return [rule.empty_verdict()] * len(right)
    here = np.ones(right.shape, dtype=np.bool_) if present is None else np.asarray(present, dtype=np.bool_)
    if here.shape != right.shape:
        raise UsageError(f"present: shape {here.shape} must be that of the values, {right.shape}")
    left, right = np.where(here, left, 0.0), np.where(here, right, 0.0)
    as_values(left.ravel(), "a")
    as_values(right.ravel(), "b")
    labels = _labels(differ, right.shape)
    rows = reduce_many(right - left, clusters, None if present is None else here)
    found = [rule.empty_verdict()] * len(rows)
    for k, members in by_clusters(rows).items():
        if not k:
            continue
        ratios, absent = _resampled(*stacked(rows, members), rule)
        for position, row in enumerate(members):
            mask = here[row]
            line = None if ratios is None else ratios[position]
            unlike = None if labels is None else labels[row][mask]
            found[row] = judge_row(left[row][mask], right[row][mask], rows[row], line, absent, unlike, rule)
    return found


def _resampled(sums: Floats, counts: Floats, rule: VerdictRule) -> tuple[Floats | None, Bools | None]:
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
