"""Warnings about samples too small for their interval: ties, clusters all alike, few discordant pairs.

A bootstrap knows only the differences that it has seen. Where it has seen none, or all clusters agree, its interval has
no width; what bounds the truth then is the number of independent units: with none of k differing, a share of
1 − .025^(1/k) of all units could (:func:`runner.stats.clustered.unseen_share`).
"""

from __future__ import annotations

import math
from typing import Final

from runner.stats.clustered import Bounds, unseen_share
from runner.stats.resample import GUARD

MIN_DISCORDANT: Final = 6  # five pairs that all agree have an exact p above .05
_NO_SPREAD: Final = 0.25  # of the half-width of independent items; below it by chance once in 300 with 6 clusters
_LEVEL: Final = 0.05


def tie_bound(units: float, scale: float) -> Bounds:
    """The interval of a difference when every pair is tied: ± the unseen share × the greatest difference of a pair.

    Parameters
    ----------
    units
        Independent units, g_eff: with clusters of one size their number, and without clusters that of the pairs.
    scale
        How far apart the values of a pair can be: 1 for labels.
    """
    width = unseen_share(units) * scale
    return Bounds(-width, width)


def lacks_spread(
    shown: Bounds, delta: float, min_delta: float, variance: float, n: int, units: float, scale: float
) -> bool:
    """Return whether clusters agree more closely than chance would let them and are too few for that to mean anything.

    That is, the percentile interval is under a quarter as wide as that of independent items would be (or has no width),
    and the share of clusters that could be otherwise unseen would carry the difference across ``min_delta``.

    Parameters
    ----------
    shown
        The percentile interval.
    delta, min_delta
        The difference, and the threshold.
    variance, n
        Variance of the deltas and their number.
    units, scale
        As :func:`tie_bound`.
    """
    half = (shown.high - shown.low) / 2
    independent = 1.96 * math.sqrt(max(0.0, variance) / n)
    if half > GUARD and half >= _NO_SPREAD * independent:
        return False
    return unseen_share(units) * (scale + abs(delta)) >= abs(delta - min_delta)


def is_fragile(companion: float, wins: int, losses: int, min_delta: float, units: float, scale: float) -> bool:
    """Return whether a pass rests on too little: the exact test does not confirm it, or only a handful of pairs differ.

    Against a threshold of 0 or more a pass needs pairs that B won, and fewer than 6 discordant ones prove nothing.
    Against a negative threshold few discordant pairs are what one hopes to see, so that their number alone says
    nothing; what must be small is the share of losses that so few could hide. With fewer than 6 discordant pairs the
    pass is fragile when the upper 97.5 % limit of the losing share (Clopper–Pearson over the independent units, each
    loss counted as one) reaches the threshold: no loss in 103 single items leaves 3.5 %, and a pass at −2 points is
    fragile; none in 10,000 leaves 0.04 %.

    Parameters
    ----------
    companion
        p of the exact companion.
    wins, losses
        Discordant pairs.
    min_delta, units, scale
        As :func:`lacks_spread`.
    """
    if companion > _LEVEL:
        return True
    if wins + losses >= MIN_DISCORDANT:
        return False
    return min_delta >= 0 or unseen_share(units, losses) * scale >= -min_delta
