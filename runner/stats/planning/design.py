"""The parts of a plan: questions in clusters, assumptions about the arms, and the goal of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from runner.errors import UsageError
from runner.stats.clustered import Bounds, effective_clusters, few_cluster_factor, student_factor
from runner.stats.export import Exportable
from runner.stats.interval import FEW, TOO_FEW, Mode, check_mode, decide_interval, is_dominated
from runner.stats.power import mean_cluster_size
from runner.stats.resample import Floats

DISCORDANCE: Final = 0.16  # until a first run has measured it, and named where it is used
ICC: Final = 0.05

_LEAST_DF: Final = 0.1


@dataclass(frozen=True)
class Assumed(Exportable):
    """Assumptions about two arms.

    Attributes
    ----------
    discordance
        ψ, the share of pairs that disagree; for graded scores the mean squared delta.
    icc
        Intraclass correlation of the deltas; below 0 counts as 0.
    source
        Where the two come from, in words; empty when nothing was measured.
    """

    discordance: float = DISCORDANCE
    icc: float = ICC
    source: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.discordance <= 1:
            raise UsageError(
                f"discordance: {self.discordance:g} must lie above 0 and at most at 1; it is a share (16 % is 0.16)"
            )
        if not self.icc <= 1:
            raise UsageError(f"icc: {self.icc:g} must be at most 1; it is a correlation (0.05 is usual)")


GUESSED: Final = Assumed()


@dataclass(frozen=True, eq=False)
class Design(Exportable):
    """Questions in clusters.

    Attributes
    ----------
    n, clusters
        Questions, and the clusters that hold them.
    sizes
        Questions a cluster, shape (clusters,); ``None``: all of one size, as nearly as whole numbers allow.
    mode
        Which interval will decide.
    """

    n: int
    clusters: int
    sizes: Floats | None = None
    mode: Mode = "auto"

    def __post_init__(self) -> None:
        check_mode(self.mode)
        if self.n < 1:
            raise UsageError(f"n: {self.n} must be at least 1")
        if not 1 <= self.clusters <= self.n:
            raise UsageError(f"clusters: {self.clusters} must be at least 1 and at most n, {self.n}")

    @classmethod
    def from_sizes(cls, sizes: ArrayLike, mode: Mode = "auto") -> Design:
        """The design of recorded clusters.

        Raises
        ------
        UsageError
            When there is none, or one has less than one question.
        """
        counts = np.asarray(sizes, dtype=np.float64)
        if counts.ndim != 1 or not counts.size or counts.min() < 1:
            raise UsageError("sizes: give the questions of each cluster, at least one each")
        return cls(int(counts.sum()), counts.size, counts, mode)

    def counts(self) -> Floats:
        """Questions per cluster, shape (clusters,)."""
        if self.sizes is not None:
            return self.sizes
        base, more = divmod(self.n, self.clusters)
        return np.array([base + (c < more) for c in range(self.clusters)], dtype=np.float64)

    @property
    def cluster_size(self) -> float:
        """ΣN²/ΣN, the cluster size that the design effect needs."""
        return self.n / self.clusters if self.sizes is None else mean_cluster_size(self.sizes)

    @property
    def single(self) -> bool:
        """Return whether every question is its own cluster."""
        return self.n == self.clusters

    def factor(self, clusters: int | None = None) -> float | None:
        """Return the width of the deciding interval over that of the normal one, for this many clusters of these sizes.

        ``None`` where nothing decides.
        """
        k = self.clusters if clusters is None else clusters
        if self.mode == "percentile":
            return 1.0 if k > 1 else None
        if k < TOO_FEW:
            return None
        if self.sizes is not None:
            if k == self.clusters:
                decision = decide_interval(np.zeros(k), self.sizes, Bounds(0.0, 0.0), self.mode)
                return decision.factor if decision.decidable else None
            balance = effective_clusters(self.sizes) / self.clusters
            if balance < 0.5:  # the mixture of sizes stays; that one cluster holds most does not
                freedom = k * balance - 1
                return student_factor(freedom) if freedom >= _LEAST_DF else None
        return 1.0 if self.single or k >= FEW else few_cluster_factor(k)

    @property
    def why_undecidable(self) -> str:
        """Return the reason why :meth:`factor` is ``None`` here; empty when it is not."""
        if self.factor() is not None:
            return ""
        if self.sizes is not None and self.clusters >= TOO_FEW and is_dominated(self.sizes):
            return "one cluster holds nearly everything"
        least = 2 if self.mode == "percentile" else TOO_FEW
        return f"{self.clusters} {'cluster is' if self.clusters == 1 else 'clusters are'} too few, {least} are needed"


@dataclass(frozen=True)
class Goal(Exportable):
    """The goal of a run: level, power, and the least difference that matters.

    Attributes
    ----------
    min_delta
        The threshold of the gate, as a share; negative for a non-inferiority gate.
    alpha, power
        Two-sided error of the first kind, and the probability of detecting the effect.
    """

    min_delta: float = 0.0
    alpha: float = 0.05
    power: float = 0.8

    def __post_init__(self) -> None:
        if not -1 <= self.min_delta <= 1:
            raise UsageError(f"min_delta: {self.min_delta:g} lies outside -1 .. 1")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha: {self.alpha:g} must lie between 0 and 1 (0.05 is usual)")
        if not self.alpha / 2 < self.power < 1:
            raise UsageError(f"power: {self.power:g} must lie between alpha/2 and 1 (0.8 is usual)")


USUAL: Final = Goal()
