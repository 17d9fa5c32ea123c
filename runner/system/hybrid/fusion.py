"""Fusion of several rankings of events, and the diversity of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from runner.system._retrieval.ranking import Floats, Order

RRF_K = 60


def fuse(rankings: Sequence[Order], size: int, *, weights: Sequence[float] | None = None, k: int = RRF_K) -> Floats:
    """Reciprocal rank fusion: the sum over rankings of weight / (k + rank), rank from 1; shape (size,).

    An event that no ranking holds scores 0.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009; k = 60 is theirs.
    """
    total = np.zeros(size)
    for at, ranking in enumerate(rankings):
        weight = 1.0 if weights is None else weights[at]
        total[ranking] += weight / (k + np.arange(1, len(ranking) + 1))
    return total


def diversify(candidates: Order, relevance: Floats, vectors: NDArray[np.float32], trade: float, count: int) -> Order:
    """Maximal marginal relevance: candidates reordered so that the first ``count`` repeat each other less.

    Each step takes the candidate with the largest ``trade * relevance - (1 - trade) * max cosine to those taken``;
    ties go to the earlier candidate. What is not taken follows in its former order.

    Parameters
    ----------
    candidates
        Positions, best first, shape (c,).
    relevance
        Relevance of each candidate, scaled to [0, 1], shape (c,).
    vectors
        Unit vectors of the candidates, shape (c, d).
    trade
        Lambda: 1 keeps the order, 0 looks at diversity alone.
    count
        How many to choose.

    Notes
    -----
    Source: Carbonell and Goldstein, "The use of MMR, diversity-based reranking", SIGIR 1998.
    """
    left = np.ones(len(candidates), dtype=bool)
    closest = np.zeros(len(candidates))
    taken: list[int] = []
    while len(taken) < min(count, len(candidates)):
        gain = np.where(left, trade * relevance - (1.0 - trade) * closest, -np.inf)
        best = int(np.argmax(gain))
        taken.append(best)
        left[best] = False
        closest = np.maximum(closest, (vectors @ vectors[best]).astype(np.float64))
    return np.concatenate([candidates[taken], candidates[left]]) if taken else candidates
