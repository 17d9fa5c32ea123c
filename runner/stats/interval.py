"""The rule ``gate.interval``: it picks the interval that decides.

Percentile intervals are too narrow for few clusters. Simulated with 500 items and an intraclass correlation of 0.1,
the nominal 95 % covered 85 % with 6 clusters and 89 % with 10, and false passes were 6.8 % and 5.5 % where 2.5 % are
promised; widened by f(k), 95 % and 94 %. ``tests/bench/coverage.py`` repeats the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from runner.errors import UsageError
from runner.stats.clustered import (
    Bounds,
    cr3_interval,
    effective_clusters,
    few_cluster_factor,
    student_factor,
    widened,
)
from runner.stats.export import Exportable
from runner.stats.resample import Floats

Mode = Literal["auto", "percentile"]
Kind = Literal["percentile", "widened", "cr3_t", "tie_bound"]
Undecidable = Literal["too_few_clusters", "dominant_cluster"]

FEW: Final = 30  # from here on the percentile interval covers well enough
TOO_FEW: Final = 6  # below, nothing does: one conversation, or five, is a pilot

FEW_CLUSTERS: Final = "few_clusters"
TOO_FEW_CLUSTERS: Final[Undecidable] = "too_few_clusters"
DOMINANT_CLUSTER: Final[Undecidable] = "dominant_cluster"


@dataclass(frozen=True)
class Decision(Exportable):
    """The interval that decides, and what must be said about it.

    Attributes
    ----------
    interval
        The deciding interval, or the percentile one where nothing decides; ``None`` with one cluster.
    kind
        Which it is.
    undecidable
        Why there can be no verdict: too few clusters, or one that holds nearly everything; ``None`` when there can.
    cr3
        The CR3-t interval, shown beside it.
    clusters, effective
        k, and g_eff, the effective number of clusters.
    warnings
        Among ``few_clusters``, ``too_few_clusters`` and ``dominant_cluster``.
    """

    interval: Bounds | None
    kind: Kind | None
    undecidable: Undecidable | None
    cr3: Bounds | None
    clusters: int
    effective: float
    warnings: tuple[str, ...]

    @property
    def decidable(self) -> bool:
        return self.undecidable is None

    @property
    def factor(self) -> float:
        """Return the width of this kind of interval over that of the normal one: f(k), or t(.975, g_eff − 1)/1.96.

        What the interval loses, the minimum detectable effect loses too.
        """
        if self.kind == "widened":
            return few_cluster_factor(self.clusters)
        if self.kind == "cr3_t":
            return student_factor(self.effective - 1)
        return 1.0


def one_item_each(counts: Floats) -> bool:
    """Return whether every cluster is a single item."""
    return bool(np.all(counts == 1))


def is_dominated(counts: Floats) -> bool:
    """Return whether one cluster has over half of the items, or g_eff < k/2."""
    return bool(counts.max() > counts.sum() / 2 or effective_clusters(counts) < counts.size / 2)


def check_mode(mode: str) -> None:
    """Refuse a mode that does not exist.

    Raises
    ------
    UsageError
        Naming those that there are.
    """
    if mode not in ("auto", "percentile"):
        raise UsageError(f"gate.interval: '{mode}' is not known; choose auto or percentile")


def decide_interval(sums: Floats, counts: Floats, percentile: Bounds | None, mode: Mode = "auto") -> Decision:
    """Pick the interval that decides.

    ``auto``: fewer than 6 clusters decide nothing; where a cluster dominates, CR3-t with g_eff − 1 degrees of freedom;
    from 30 clusters on, or with one item per cluster, the percentile interval; between, the same widened by f(k).
    ``percentile``: always the percentile interval, with the warnings that ``auto`` would give.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items per cluster, shape (k,), every count above 0.
    percentile
        The percentile interval; ``None`` only with one cluster.
    mode
        ``"auto"`` or ``"percentile"``.

    Raises
    ------
    UsageError
        For another mode.
    """
    check_mode(mode)
    k, effective = counts.size, effective_clusters(counts)
    cr3 = cr3_interval(sums, counts)
    dominated = is_dominated(counts)
    warnings: list[str] = []
    if k < TOO_FEW:
        warnings.append(TOO_FEW_CLUSTERS)
    elif k < FEW and not one_item_each(counts):
        warnings.append(FEW_CLUSTERS)
    if dominated and k > 1:
        warnings.append(DOMINANT_CLUSTER)

    bounds = percentile
    kind: Kind | None = "percentile" if percentile is not None else None
    undecidable: Undecidable | None = None if percentile is not None else TOO_FEW_CLUSTERS
    if mode == "auto":
        if k < TOO_FEW:
            undecidable = TOO_FEW_CLUSTERS
        elif dominated:
            student = cr3_interval(sums, counts, effective - 1)
            if student is None:
                undecidable = DOMINANT_CLUSTER
            else:
                bounds, kind = student, "cr3_t"
        elif FEW_CLUSTERS in warnings and percentile is not None:
            mean = float(sums.sum() / counts.sum())
            bounds, kind = widened(mean, percentile.low, percentile.high, k), "widened"
    return Decision(bounds, kind, undecidable, cr3, k, effective, tuple(warnings))
