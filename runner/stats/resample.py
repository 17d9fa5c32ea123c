"""The seeded draw of clusters, and the reduction of items to clusters that makes it cheap.

A resample draws k of k clusters with replacement. The draw is, number for number, that of::

    rng = random.Random(seed)
    for _ in range(resamples):
        drawn = [rng.randrange(k) for _ in range(k)]

but made by numpy: ``randrange(k)`` takes the top ``k.bit_length()`` bits of a 32-bit Mersenne Twister word and
tries again while they are not below k (``Random._randbelow_with_getrandbits`` of CPython), so the same words,
shifted and filtered as arrays, give the same indices.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runner.errors import UsageError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GUARD: Final = 1e-12  # a sum of floats this near to 0 is 0: "above zero" is strict
_KEPT_CELLS: Final = 2_000_000  # 16 MB of a draw are kept for the next arm; larger ones are drawn again
_CHUNK_CELLS: Final = 100_000  # weights held at once: small enough for a processor cache
_CHUNK_ROWS: Final = 500


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Sums and counts of the items: one row per metric (or arm, or category), one column per cluster.

    Attributes
    ----------
    sums
        Sum of deltas, shape (m, k).
    counts
        Items, shape (m, k); 0 where a cluster has no item of that row.
    squares
        Sum of squared deltas a row, shape (m,).
    """

    sums: Floats
    counts: Floats
    squares: Floats

    @property
    def clusters(self) -> int:
        return int(self.sums.shape[1])

    def row(self, index: int) -> ClusterSums:
        """One row with the clusters that hold its items, and no other."""
        used = self.counts[index] > 0
        return ClusterSums(
            self.sums[index : index + 1, used], self.counts[index : index + 1, used], self.squares[index : index + 1]
        )


def as_values(values: ArrayLike, name: str) -> Floats:
    """A finite one-dimensional float array, or a clear refusal.

    Raises
    ------
    UsageError
        For anything that is not a flat list of finite numbers.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name}: every value must be a number; drop items that have none before comparing") from None
    if array.ndim != 1:
        raise UsageError(f"{name}: give one value per item in a flat list, not an array of shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise UsageError(
            f"{name}: {bad.size} of {array.size} values are not finite (first at position {bad[0]}); "
            "drop items that have none before comparing"
        )
    return array


def cluster_codes(clusters: Sequence[Hashable] | NDArray[Any], n: int) -> tuple[NDArray[np.intp], int]:
    """Clusters as integers 0..k-1 in the order of their sorted keys, so that the order of the input does not matter.

    Parameters
    ----------
    clusters
        One key per item: all text, or all numbers.
    n
        Number of items.

    Raises
    ------
    UsageError
        When a key is missing or not finite, keys cannot be sorted together, or there is not one for each item.
    """
    keys = clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
    if len(keys) != n:
        raise UsageError(f"clusters: {len(keys)} keys for {n} items; give one per item, in the same order")
    try:
        known = list(dict.fromkeys(keys))
    except TypeError:
        raise UsageError("clusters: a key must be a text or a number") from None
    for key in known:
        if key is None or key == "" or (isinstance(key, float) and not math.isfinite(key)):
            raise UsageError(
                f"clusters: an item has no cluster ({key!r}, first at position {keys.index(key)}); "
                "give every item one, or leave clusters out"
            )
    try:
        ordered = sorted(known)
    except TypeError:
        raise UsageError("clusters: keys of mixed types cannot be sorted; make them all text") from None
    code = {key: index for index, key in enumerate(ordered)}
    return np.fromiter(map(code.__getitem__, keys), dtype=np.intp, count=n), len(code)


def reduce_clusters(
    deltas: Floats, clusters: Sequence[Hashable] | NDArray[Any] | None, present: Bools | None = None
) -> ClusterSums:
    """Sums and counts by cluster.

    Without clusters every item is its own, and the items of each row are sorted by their deltas (largest first when
    they sum to more than 0, else smallest first), so that neither the order of the input nor which arm is called B can
    move the result.

    Parameters
    ----------
    deltas
        Shape (m, n), finite.
    clusters
        One key per item, or ``None``.
    present
        Shape (m, n): which items a row has; all when ``None``. Only with clusters.
    """
    m, n = deltas.shape
    here = np.ones((m, n)) if present is None else present.astype(np.float64)
    values = deltas if present is None else np.where(present, deltas, 0.0)
    squares = np.einsum("ij,ij->i", values, values)
    if clusters is None:
        assert present is None
        ordered = np.sort(values, axis=1)
        for row in range(m):
            if (values[row].sum() or (values[row] ** 3).sum()) > 0:
                ordered[row] = ordered[row, ::-1].copy()
        return ClusterSums(ordered, here, squares)
    codes, k = cluster_codes(clusters, n)
    whole = bool(np.all(values == np.rint(values)))
    sums, counts = np.empty((m, k)), np.empty((m, k))
    for row in range(m):
        if whole:  # sums of integers are exact in any order
            sums[row] = np.bincount(codes, weights=values[row], minlength=k)
        else:  # added from the smallest up, so that the order of the input cannot change the last bit
            order = np.argsort(values[row], kind="stable")
            sums[row] = np.bincount(codes[order], weights=values[row][order], minlength=k)
        counts[row] = np.bincount(codes, weights=here[row], minlength=k)
    return ClusterSums(sums, counts, squares)


@dataclass(frozen=True)
class Resampler:
    """A draw of ``resamples`` × ``clusters`` indices that serves any number of metrics.

    Attributes
    ----------
    clusters
        k: how many clusters there are, and how many a resample draws.
    resamples
        How many resamples.
    seed
        Seed of ``random.Random``.
    """

    clusters: int
    resamples: int = 10_000
    seed: int = 7

    def __post_init__(self) -> None:
        if self.clusters < 1:
            raise UsageError("bootstrap: there is nothing to resample; give at least one item")
        if self.clusters >= 2**32:
            raise UsageError("bootstrap: more than 2**32 - 1 clusters cannot be drawn; use coarser clusters")
        if self.resamples < 1:
            raise UsageError(f"resamples: {self.resamples} is too few; give at least 1 (10000 is usual)")

    def draws(self) -> Iterator[NDArray[np.int64]]:
        """The indices, some resamples at a time: arrays of shape (r, k)."""
        k = self.clusters
        shift = np.uint64(32 - k.bit_length())
        limit = np.uint64(k)
        kept_share = k / (1 << k.bit_length())
        generator = np.random.MT19937()
        words = random.Random(self.seed).getstate()[1]
        generator.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(words[:-1], dtype=np.uint32), "pos": words[-1]},
        }
        rows = max(1, min(_CHUNK_ROWS, _CHUNK_CELLS // k))
        left = self.resamples
        pool = np.empty(0, dtype=np.uint64)
        while left:
            rows = min(rows, left)
            need = rows * k
            parts, have = [pool], pool.size
            while have < need:
                raw = generator.random_raw(int((need - have) / kept_share * 1.01) + 64)
                raw >>= shift
                raw = raw[raw < limit]
                parts.append(raw)
                have += raw.size
            pool = parts[0] if len(parts) == 1 else np.concatenate(parts)
            yield pool[:need].view(np.int64).reshape(rows, k)
            pool = pool[need:]
            left -= rows

    def ratios(self, sums: ArrayLike, counts: ArrayLike) -> Floats:
        """Ratio of sums ΣS/ΣN of every resample.

        Parameters
        ----------
        sums, counts
            Shape (k,) or (m, k); one ``counts`` may serve many ``sums``.

        Returns
        -------
        ndarray
            Shape (resamples,) or (m, resamples). Not a number where a resample drew no item of a row, which happens
            only to rows that some clusters have no item of.
        """
        return self._run(sums, counts, keep_absent=False)[0]

    def ratios_and_absence(self, sums: ArrayLike, counts: ArrayLike) -> tuple[Floats, Bools]:
        """The same, with the resamples that lack each cluster: shape (k, resamples).

        Resamples without cluster c are a bootstrap of the others (jackknife-after-bootstrap, Efron 1992), so that one
        draw also answers what dropping a cluster would change.
        """
        ratios, absent = self._run(sums, counts, keep_absent=True)
        assert absent is not None
        return ratios, absent

    def _run(self, sums: ArrayLike, counts: ArrayLike, *, keep_absent: bool) -> tuple[Floats, Bools | None]:
        top, bottom = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
        flat = top.ndim == 1
        top, bottom = np.atleast_2d(top), np.atleast_2d(bottom)
        k = self.clusters
        if top.shape[1] != k or bottom.shape[1] != k or bottom.shape[0] not in (1, top.shape[0]):
            raise UsageError(
                f"bootstrap: sums {top.shape} and counts {bottom.shape} must have one column a cluster ({k})"
            )
        # Arms of one category share their counts: those are added up once.
        distinct, which = (
            np.unique(bottom, axis=0, return_inverse=True) if len(bottom) > 1 else (bottom, np.zeros(1, dtype=np.intp))
        )
        lines = np.concatenate([top, distinct])
        m = len(top)
        out = np.empty((m, self.resamples))
        absent = np.empty((k, self.resamples), dtype=np.bool_) if keep_absent else None
        start = 0
        for weights in self._weights():
            rows = weights.shape[1]
            totals = lines @ weights
            with np.errstate(invalid="ignore", divide="ignore"):
                estimates = totals[:m] / totals[m:][which.ravel()]
            estimates[np.abs(estimates) < GUARD] = 0.0
            out[:, start : start + rows] = estimates
            if absent is not None:
                absent[:, start : start + rows] = weights == 0
            start += rows
        return (out[0] if flat else out), absent

    def _weights(self) -> Iterator[Floats]:
        """Yield how often each cluster was drawn, some resamples at a time: arrays of shape (k, r)."""
        if self.clusters * self.resamples <= _KEPT_CELLS:
            yield _kept_weights(self)
            return
        for drawn in self.draws():
            yield _counted(drawn, self.clusters)


def _counted(drawn: NDArray[np.int64], k: int) -> Floats:
    rows = len(drawn)
    cells = (drawn + (np.arange(rows) * k)[:, None]).ravel()
    return np.bincount(cells, minlength=rows * k).reshape(rows, k).T.astype(np.float64)


@lru_cache(maxsize=4)
def _kept_weights(draw: Resampler) -> Floats:
    """The whole draw, kept: one serves every metric, category and arm of a gate."""
    weights = np.concatenate([_counted(drawn, draw.clusters) for drawn in draw.draws()], axis=1)
    weights.flags.writeable = False
    return weights
