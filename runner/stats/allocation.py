"""A seeded sample over strata: how many of each, and which."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Collection, Mapping


def proportional_counts(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Return ``total`` allotted to strata in proportion to their sizes, so that a sample has the mix of the whole.

    The divisor method of Sainte-Laguë: each next one goes to the stratum with the greatest size / (2 allotted + 1), the
    first by name among equals. A larger total gives no stratum less.

    >>> proportional_counts({"a": 282, "b": 321, "c": 96, "d": 841}, 20)
    {'a': 4, 'b': 4, 'c': 1, 'd': 11}
    """
    counts = dict.fromkeys(sorted(sizes), 0)
    waiting = [(-float(size), name) for name, size in sizes.items() if size]
    heapq.heapify(waiting)
    for _ in range(min(total, sum(sizes.values()))):
        _, name = heapq.heappop(waiting)
        counts[name] += 1
        if counts[name] < sizes[name]:
            heapq.heappush(waiting, (-sizes[name] / (2 * counts[name] + 1), name))
    return counts


def stratified_sample(strata: Mapping[str, Collection[str]], size: int, seed: int) -> frozenset[str]:
    """Return ``size`` ids, of every stratum in proportion to its size.

    Within a stratum the ids with the least sha256 of seed and id are drawn (bottom-k sampling, Cohen and Kaplan 2007):
    the order of the file and the version of Python do not matter, and a larger sample holds every smaller one.

    Parameters
    ----------
    strata
        Ids by stratum; one stratum draws over all alike.
    size
        Ids to draw; all of them when there are fewer.
    seed
        Of the draw.
    """
    share = proportional_counts({name: len(ids) for name, ids in strata.items()}, size)
    found: list[str] = []
    for name, ids in strata.items():
        found += sorted(ids, key=lambda item: hashlib.sha256(f"{seed}:{item}".encode()).digest())[: share[name]]
    return frozenset(found)
