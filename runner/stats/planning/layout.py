"""Made-up wins and losses, laid out in clusters with a given intraclass correlation."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runner.stats.resample import Floats

_SCALES: Final = np.linspace(0, 3, 46)
_POWERS: Final = (1.0, 2.0, 4.0, 8.0)  # of the normal scores: what few questions differ on lies in fewer clusters
_NEAR: Final = 0.05

Codes = NDArray[np.int64]


def packed(wins: int, losses: int, n: int) -> Floats:
    """Deltas of n questions, all that differ before all that do not: in as few clusters as can hold them."""
    return np.concatenate([np.ones(wins), -np.ones(losses), np.zeros(n - wins - losses)])


def laid_out(wins: int, losses: int, counts: Floats, icc: float) -> Floats:
    """Deltas of questions in clusters, sorted by cluster, that go together as an intraclass correlation says.

    The net sums of the clusters are whole numbers about their share of wins − losses, spread like normal scores, with
    the variance N_c(1 + (N_c − 1)·ICC)(ψ − δ²) that they would have on average (like a power of them, where so few
    pairs differ that they must lie in fewer clusters to go together so closely); what is left of wins and losses is
    spread evenly. Nothing is drawn but which cluster gets which score (seeded).

    Parameters
    ----------
    wins, losses
        Pairs; together at most as many as there are questions.
    counts
        Questions a cluster, shape (k,).
    icc
        Intraclass correlation of the deltas; below 0 counts as 0.
    """
    n, k = int(counts.sum()), counts.size
    if n == k:
        return packed(wins, losses, n)
    sums = _net_sums(wins, losses, counts, icc)
    extra = (wins + losses - int(np.abs(sums).sum())) // 2  # pairs of a win and a loss that cancel in their cluster
    room = (counts.astype(np.int64) - np.abs(sums)) // 2
    if room.sum() < extra:  # nearly every question differs: no room to arrange anything
        deltas = packed(wins, losses, n).tolist()
        Random(7).shuffle(deltas)
        return np.array(deltas)
    both = _shared(extra * room / max(1, room.sum()), extra, room)
    parts = []
    for size, net, cancelling in zip(counts.astype(int), sums.tolist(), both.tolist(), strict=True):
        up, down = cancelling + max(0, net), cancelling + max(0, -net)
        parts.append(packed(up, down, size))
    return np.concatenate(parts)


def _net_sums(wins: int, losses: int, counts: Floats, icc: float) -> Codes:
    from scipy.special import ndtri

    n, k = counts.sum(), counts.size
    net, discordant = wins - losses, wins + losses
    ordered = ndtri((np.arange(k) + 0.5) / k).tolist()
    Random(7).shuffle(ordered)
    scores = np.array(ordered)
    variance = discordant / n - (net / n) ** 2
    inflated = counts * (1 + (counts - 1) * max(0.0, icc))
    wanted = float(inflated.sum()) * variance * (k - 1) / k
    base, most = net * counts / n, counts.astype(np.int64)
    best, gap = _shared(base, net, most, -most), np.inf
    for power in _POWERS:
        spread = np.sqrt(inflated * max(0.0, variance)) * np.sign(scores) * np.abs(scores) ** power
        spread -= spread.sum() * counts / n  # the sums add up to the net difference
        for scale in _SCALES:
            sums = _shared(base + scale * spread, net, most, -most)
            off = abs(float(((sums - base) ** 2).sum()) - wanted)
            if np.abs(sums).sum() <= discordant and off < gap:
                best, gap = sums, off
        if gap <= _NEAR * wanted:
            break
    return best


def _shared(wanted: Floats, total: int, most: Codes, least: Codes | None = None) -> Codes:
    """Whole numbers near ``wanted`` that add up to ``total``, from ``least`` (0) to ``most``, by largest remainders."""
    low = np.zeros_like(most) if least is None else least
    found = np.clip(np.floor(wanted).astype(np.int64), low, most)
    while missing := total - int(found.sum()):
        step = 1 if missing > 0 else -1
        able = np.flatnonzero(found < most) if missing > 0 else np.flatnonzero(found > low)
        order = able[np.argsort(-step * (wanted[able] - found[able]), kind="stable")]
        found[order[: abs(missing)]] += step
    return found
