"""How many of a sample each stratum gets."""

from __future__ import annotations

import heapq
from collections.abc import Mapping


def shares(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """``total`` dealt over strata in proportion to their sizes, so that what is drawn has the mix of the whole.

    The divisor method of Sainte-Laguë: each next one goes to the stratum with the greatest size / (2 dealt + 1), the
    first by name among equals. A larger total gives no stratum less.

    >>> shares({"a": 282, "b": 321, "c": 96, "d": 841}, 20)
    {'a': 4, 'b': 4, 'c': 1, 'd': 11}
    """
    dealt = dict.fromkeys(sorted(sizes), 0)
    waiting = [(-float(size), name) for name, size in sizes.items() if size]
    heapq.heapify(waiting)
    for _ in range(min(total, sum(sizes.values()))):
        _, name = heapq.heappop(waiting)
        dealt[name] += 1
        if dealt[name] < sizes[name]:
            heapq.heappush(waiting, (-sizes[name] / (2 * dealt[name] + 1), name))
    return dealt
