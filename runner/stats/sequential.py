"""The e-value of a run that is watched: it may be looked at after every pair.

Five looks at an ordinary interval raise false passes from 2.5 % to 7.5 %; an e-value keeps its promise at any time.
``tests/bench/sequential.py`` simulates both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runner.errors import UsageError
from runner.stats.export import Exportable
from runner.stats.resample import Floats

ALPHA: Final = 0.05  # both signs together: a false pass 2.5 %, a false fail 2.5 %
_EQUAL: Final = 1e-9  # a sum of deltas this near to 0 is a tie


def discordant_e_value(wins: int, losses: int) -> float:
    """Evidence against "wins and losses are equally likely", E = 2^(w+l) · B(w+½, l+½)/B(½, ½).

    The likelihood ratio of a fair coin against a Beta(½, ½) mixture of coins; a martingale under the null, so that
    E ≥ 1/α at any time happens with probability at most α (Ville). For independent pairs only.

    Returns
    -------
    float
        At least 0; 1 without discordant pairs; ``inf`` only beyond 1e308.

    Raises
    ------
    UsageError
        For a negative count.
    """
    logarithm = log_e_value(wins, losses)
    return math.exp(logarithm) if logarithm < 709 else math.inf


def log_e_value(wins: int, losses: int) -> float:
    """Natural logarithm of :func:`discordant_e_value`, finite for any counts.

    Raises
    ------
    UsageError
        For a negative count.
    """
    if wins < 0 or losses < 0:
        raise UsageError(f"e-value: {wins} wins and {losses} losses cannot be")
    n = wins + losses
    log_beta = math.lgamma(wins + 0.5) + math.lgamma(losses + 0.5) - math.lgamma(n + 1)
    return n * math.log(2) + log_beta - math.log(math.pi)


def is_decided(wins: int, losses: int, alpha: float = ALPHA) -> bool:
    """Return whether a watched run may stop: E ≥ 1/α.

    Raises
    ------
    UsageError
        For a negative count or an alpha outside 0 .. 1.
    """
    return log_e_value(wins, losses) >= -math.log(_checked_alpha(alpha))


def least_units(alpha: float = ALPHA) -> int:
    """The least number of independent units that can decide: that many wins and no loss. 7 for α = .05.

    Raises
    ------
    UsageError
        For an alpha outside 0 .. 1.
    """
    _checked_alpha(alpha)
    units = 1
    while not is_decided(units, 0, alpha):
        units += 1
    return units


def _checked_alpha(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise UsageError(f"alpha: {alpha} must lie between 0 and 1 (0.05 is usual)")
    return alpha


@dataclass(frozen=True)
class Crossing(Exportable):
    """The moment at which a watched comparison was decided.

    Attributes
    ----------
    wins, losses, ties
        Independent units that B won, lost, and neither, until then.
    e_value
        Of those wins and losses; at least 1/α.
    n, of
        Pairs in the units until then, and pairs that there are.
    delta
        Their mean difference; of the sign of wins − losses, and biased away from 0, as every estimate at a stop is.
    """

    wins: int
    losses: int
    ties: int
    e_value: float
    n: int
    of: int
    delta: float

    @property
    def units(self) -> int:
        """Units that differ: what the e-value counts."""
        return self.wins + self.losses

    @property
    def won(self) -> bool:
        return self.wins > self.losses

    def to_dict(self) -> dict[str, Any]:
        """Every field, and the units."""
        return {**super().to_dict(), "units": self.units}

    def __str__(self) -> str:
        return f"{self.wins} won, {self.losses} lost, {self.ties} tied; E = {self.e_value:.3g} at {self.n} of {self.of}"


class SignWatch:
    """Watches paired items as they finish, by the sign of each cluster's summed deltas.

    An independent unit is a cluster all of whose items are finished; with one item per cluster, an item. It is won or
    lost by the sign of the sum of its deltas; a sum of 0 is neither. An item without a value (it failed in either arm)
    never counts. Under the null each unit is as likely to be won as lost, whatever the others did. The comparison is
    decided the first time that E ≥ 1/α *and* the mean difference so far has the sign of wins − losses: the sign alone
    says nothing about the mean. The second condition can only make a false decision rarer.

    Parameters
    ----------
    clusters
        The cluster of each item that counts, whole numbers from 0; shape (n,).
    alpha
        The level; both signs together.

    Raises
    ------
    UsageError
        For an alpha outside 0 .. 1.
    """

    def __init__(self, clusters: ArrayLike, alpha: float = ALPHA) -> None:
        self._cluster: NDArray[np.intp] = np.asarray(clusters, dtype=np.intp)
        k = int(self._cluster.max()) + 1 if self._cluster.size else 0
        self._left = np.bincount(self._cluster, minlength=k)
        self.clusters = int((self._left > 0).sum())
        self._delta: Floats = np.full(self._cluster.size, np.nan)
        self._seen = np.zeros(self._cluster.size, dtype=np.bool_)
        self._sum, self._valued = np.zeros(k), np.zeros(k, dtype=np.intp)
        self._frozen = np.zeros(k, dtype=np.bool_)
        self._limit = -math.log(_checked_alpha(alpha))
        self._total = 0.0
        self._peak = 0.0
        self.wins = self.losses = self.ties = self.n = 0
        self.crossing: Crossing | None = None

    @property
    def single(self) -> bool:
        """Return whether every cluster is a single item."""
        return self.clusters == self._cluster.size

    @property
    def e_value(self) -> float:
        """The e-value of the items so far."""
        return discordant_e_value(self.wins, self.losses)

    @property
    def anytime_p(self) -> float:
        """1 over the greatest e-value so far: a p-value that holds whenever one stops (Ville)."""
        return math.exp(-self._peak)

    def add(self, item: int, delta: float) -> bool:
        """Add a finished item; return whether the comparison is decided, now or before.

        Parameters
        ----------
        item
            Its position in ``clusters``. An item that finishes again (a failed one that was asked anew) replaces what
            it was, unless its cluster was counted already.
        delta
            B − A, NaN when it failed in either arm.
        """
        cluster = int(self._cluster[item])
        if not self._frozen[cluster]:
            before = self._delta[item]
            if not math.isnan(before):
                self._sum[cluster] -= before
                self._valued[cluster] -= 1
            if not math.isnan(delta):
                self._sum[cluster] += delta
                self._valued[cluster] += 1
            self._delta[item] = delta
            if not self._seen[item]:
                self._seen[item] = True
                self._left[cluster] -= 1
            if not self._left[cluster] and self._valued[cluster]:
                self._count(cluster)
        return self.crossing is not None

    def _count(self, cluster: int) -> None:
        self._frozen[cluster] = True
        value = float(self._sum[cluster])
        self.n += int(self._valued[cluster])
        self._total += value
        self.wins += value > _EQUAL
        self.losses += value < -_EQUAL
        self.ties += abs(value) <= _EQUAL
        level = log_e_value(self.wins, self.losses)
        self._peak = max(self._peak, level)
        agrees = (self._total > _EQUAL) if self.wins > self.losses else (self._total < -_EQUAL)
        if self.crossing is None and level >= self._limit and agrees:
            self.crossing = Crossing(
                self.wins, self.losses, self.ties, self.e_value, self.n, self._cluster.size, self._total / self.n
            )
