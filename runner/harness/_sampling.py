"""A seeded sample of a benchmark: which of its ids, whatever their order in the file."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from runner.stats.allocation import shares


def drawn(strata: Mapping[str, Collection[str]], size: int, seed: int) -> frozenset[str]:
    """``size`` ids, of every stratum in proportion to its size.

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
    share = shares({name: len(ids) for name, ids in strata.items()}, size)
    found: list[str] = []
    for name, ids in strata.items():
        found += sorted(ids, key=lambda item: hashlib.sha256(f"{seed}:{item}".encode()).digest())[: share[name]]
    return frozenset(found)
