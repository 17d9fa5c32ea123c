"""Which interval decides: the rule ``gate.interval``.

Percentile intervals are too narrow for few clusters. Simulated with 500 items and an intraclass correlation of 0.1,
the nominal 95 % covered 85 % with 6 clusters and 89 % with 10, and false passes were 6.8 % and 5.5 % where 2.5 % are
promised; widened by f(k), 95 % and 94 %. ``tests/bench/coverage.py`` repeats the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from runner.errors import UsageError
from runner.stats.clustered import Bounds, cr3_interval, effective_clusters, widened
from runner.stats.export import Exportable
from runner.stats.resample import Floats

Mode = Literal["auto", "percentile"]
Kind = Literal["percentile", "widened", "cr3_t"]

FEW: Final = 30  # from here on the percentile interval covers well enough
TOO_FEW: Final = 6  # below, nothing does: one conversation, or five, is a pilot

FEW_CLUSTERS: Final = "few_clusters"
TOO_FEW_CLUSTERS: Final = "too_few_clusters"
DOMINANT_CLUSTER: Final = "dominant_cluster"


@dataclass(frozen=True)
class Decision(Exportable):
    """The interval that decides, and what must be said about it.

    Attributes
    ----------
    interval
        The deciding interval; ``None`` when there is none (one cluster).
    kind
        Which it is.
    decidable
        False when there are too few clusters for any verdict.
    cr3
        The CR3-t interval, shown beside it.
    effective
        g_eff, the effective number of clusters.
    warnings
        Among ``few_clusters``, ``too_few_clusters`` and ``dominant_cluster``.
    """

    interval: Bounds | None
    kind: Kind | None
    decidable: bool
    cr3: Bounds | None
    effective: float
    warnings: tuple[str, ...]


def one_item_each(counts: Floats) -> bool:
    """Whether every cluster is a single item."""
    return bool(np.all(counts == 1))


def is_dominated(counts: Floats) -> bool:
    """Whether one cluster has over half of the items, or g_eff < k/2."""
    return bool(counts.max() > counts.sum() / 2 or effective_clusters(counts) < counts.size / 2)


def check_mode(mode: str) -> None:
    """Refuse a mode that there is not.

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
    from 30 clusters on, or with one item a cluster, the percentile interval; between, the same widened by f(k).
    ``percentile``: always the percentile interval, with the warnings that ``auto`` would give.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items a cluster, shape (k,), every count above 0.
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

    bounds, kind, decidable = percentile, "percentile" if percentile else None, percentile is not None
    if mode == "auto":
        if k < TOO_FEW:
            decidable = False
        elif dominated:
            bounds, kind = cr3_interval(sums, counts, effective - 1), "cr3_t"
            decidable = bounds is not None
        elif FEW_CLUSTERS in warnings and percentile is not None:
            mean = float(sums.sum() / counts.sum())
            bounds, kind = widened(mean, percentile.low, percentile.high, k), "widened"
    return Decision(bounds, kind, decidable, cr3, effective, tuple(warnings))  # type: ignore[arg-type]
