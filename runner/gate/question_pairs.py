"""A metric of pairs of questions, an item a pair: MuSiQue's answerable question and its unanswerable twin.

A pair scores its answer's F1 when the system saw of both questions whether they can be answered, else 0
(:func:`runner.score.musique.group_scores`). Row by row, declining everything would earn half of all points.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from runner.record.columns import Columns
from runner.score.musique import ANSWER_F1, GROUP_ANSWER_F1, SUFFICIENCY

_F1: Final = "answer_f1"  # measured of answerable questions only: tells the twins apart
PARTS: Final = {GROUP_ANSWER_F1: (ANSWER_F1, SUFFICIENCY, _F1)}  # what a row must have recorded


def joined(data: Columns, metric: str, *also: str) -> Columns:
    """The columns with a pair's value in the row of its answerable question; the twin's row has none.

    A pair of which either row failed, or has a gold that is patched away, is failed or patched away as a whole, and
    counted once. A pair that is not whole has no value.

    Parameters
    ----------
    data
        Columns of :data:`PARTS`; twins share their cluster.
    metric
        Name of the value.
    also
        Other names that are asked for and that no pair has.
    """
    answer, seen, f1 = (data.values[name] for name in PARTS[metric])
    ok, cluster, size = data.ok, data.cluster, len(data.clusters)
    first = ok & np.isfinite(f1)
    blind = ok & np.isfinite(seen) & ~first
    twin = np.full(size, np.nan)
    twin[cluster[blind]] = seen[blind]
    value = np.where(first, answer * twin[cluster], np.nan)

    status = np.zeros(size, dtype=data.status.dtype)
    np.maximum.at(status, cluster, data.status)
    excluded = np.zeros(size, dtype=np.bool_)
    np.logical_or.at(excluded, cluster, data.excluded)
    speaks = first.copy()
    left = np.flatnonzero(~blind & ~np.isin(cluster, cluster[first]))  # the answerable one failed, or both did
    speaks[left[np.unique(cluster[left], return_index=True)[1]]] = True
    return replace(
        data,
        status=np.where(speaks, status[cluster], 0).astype(data.status.dtype),
        excluded=excluded[cluster],
        values={metric: value, **{name: np.full(len(data), np.nan) for name in also}},
    )
