"""A metric of pairs of questions, an item per pair: of single rows, declining everything would score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from runner.record.columns import Columns
from runner.stats.resample import Floats
from runner.types import PairProduct


def recorded_metrics(made: PairProduct) -> tuple[str, ...]:
    """Return the metrics that rows must have recorded, each once."""
    return tuple(dict.fromkeys((*made.first, *made.second, made.both, made.only_first)))


def with_pair_values(data: Columns, made: PairProduct, metric: str, *also: str) -> Columns:
    """Return the columns with a pair's value in the row of its first question; the second one's row has none.

    A pair of which either row failed, or has a gold that is patched away, is failed or patched away as a whole, and
    counted once. A pair that is not whole has no value.

    Parameters
    ----------
    data
        Columns of :func:`recorded_metrics`; the questions of a pair share their cluster.
    made
        What the metric is the product of.
    metric
        Name of the value.
    also
        Other names that are asked for and that no pair has.
    """
    ok, cluster, size = data.ok, data.cluster, len(data.clusters)
    first = ok & np.isfinite(data.values[made.only_first])
    second = ok & np.isfinite(data.values[made.both]) & ~first
    theirs = np.full(size, np.nan)
    theirs[cluster[second]] = _product(data, made.second)[second]
    mine = _product(data, made.first)
    value = np.where(first, mine * theirs[cluster], np.nan)

    status = np.zeros(size, dtype=data.status.dtype)
    np.maximum.at(status, cluster, data.status)
    excluded = np.zeros(size, dtype=np.bool_)
    np.logical_or.at(excluded, cluster, data.excluded)
    speaks = first.copy()
    left = np.flatnonzero(~second & ~np.isin(cluster, cluster[first]))  # the first one failed, or both did
    speaks[left[np.unique(cluster[left], return_index=True)[1]]] = True
    return replace(
        data,
        status=np.where(speaks, status[cluster], 0).astype(data.status.dtype),
        excluded=excluded[cluster],
        values={metric: value, **{name: np.full(len(data), np.nan) for name in also}},
    )


def _product(data: Columns, names: Sequence[str]) -> Floats:
    return np.asarray(np.prod([data.values[name] for name in names], axis=0))
