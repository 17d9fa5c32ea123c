"""Minimum detectable effect and sample size by the rule that the gate decides by.

:mod:`~runner.stats.power` has the formulas; here they meet a :mod:`~runner.stats.planning.design` (questions
in clusters), what is assumed of the arms, and the widening that ``gate.interval: auto`` does for few clusters.
:mod:`~runner.stats.planning.intervals` makes the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from runner.errors import UsageError
from runner.stats.export import Exportable
from runner.stats.planning.design import USUAL, Assumed, Design, Goal
from runner.stats.power import design_effect, detectable_of
from runner.stats.resample import GUARD

EFFECTS: Final = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1)

_MOST: Final = 10**12  # questions beyond which nobody plans

Why = Literal["on_the_threshold", "beyond_discordance", "beyond_reason"]


@dataclass(frozen=True)
class Needed(Exportable):
    """The number of questions that a difference takes.

    Attributes
    ----------
    effect
        The true difference B − A, as a share.
    n, clusters
        Questions, and the clusters of the design's size that hold them; ``None`` where no number will do.
    in_same_clusters
        Questions if they all came from the clusters that there are; ``None`` where no number of them will do, as
        questions of one cluster repeat each other, or every question is its own cluster.
    why
        Why there is no number.
    """

    effect: float
    n: int | None
    clusters: int | None
    in_same_clusters: int | None
    why: Why | None = None


def detectable(design: Design, assumed: Assumed, goal: Goal = USUAL, *, icc: float | None = None) -> float | None:
    """The least true difference that the gate finds to be above ``goal.min_delta`` with ``goal.power``.

    Parameters
    ----------
    design, assumed, goal
        The questions, the arms, and what is asked.
    icc
        Instead of that of ``assumed``.

    Returns
    -------
    float or None
        A share; ``None`` when nothing decides, or it is more than arms that disagree on ψ can differ by.

    Raises
    ------
    UsageError
        When the threshold is beyond the discordance.
    """
    correlation = assumed.icc if icc is None else icc
    gap = _gap(design, assumed.discordance, correlation, goal, design.n, design.clusters)
    return None if gap is None else goal.min_delta + gap


def needed(effect: float, design: Design, assumed: Assumed, goal: Goal = USUAL) -> Needed:
    """Return the questions, in clusters of the design's sizes, that find a difference; and the number of such clusters.

    Parameters
    ----------
    effect
        The true difference B − A, as a share. With a threshold of 0 its sign does not matter.
    design, assumed, goal
        As :func:`detectable`.

    Raises
    ------
    UsageError
        When the threshold is beyond the discordance.
    """
    psi, icc = assumed.discordance, assumed.icc
    if abs(effect) > psi + GUARD:
        return Needed(effect, None, None, None, "beyond_discordance")
    wanted = abs(effect - goal.min_delta)
    if wanted <= GUARD:
        return Needed(effect, None, None, None, "on_the_threshold")
    if effect < goal.min_delta:  # a difference below the threshold fails by the mirror image of a pass
        goal = Goal(-goal.min_delta, goal.alpha, goal.power)
    a_cluster = design.n / design.clusters

    def in_clusters(k: int) -> bool:
        found = _gap(design, psi, icc, goal, k * a_cluster, k)
        return found is not None and found <= wanted + GUARD

    def in_same(n: int) -> bool:
        found = _gap(design, psi, icc, goal, n, design.clusters)
        return found is not None and found <= wanted + GUARD

    clusters = _least(in_clusters, 1, int(_MOST / a_cluster))
    same = None if design.single else _least(in_same, design.clusters, _MOST)
    if clusters is None:
        return Needed(effect, None, None, same, "beyond_reason")
    return Needed(effect, math.ceil(clusters * a_cluster - GUARD), clusters, same)


def _gap(design: Design, psi: float, icc: float, goal: Goal, n: float, clusters: int) -> float | None:
    """Return how far above the threshold a difference must lie, with n questions in this many clusters."""
    factor = design.factor(clusters)
    if factor is None:
        return None
    size = design.cluster_size * (n / clusters) / (design.n / design.clusters)
    units = n / design_effect(max(1.0, size), icc)
    gap = factor * (
        detectable_of(n, psi, n / units, goal.alpha, goal.power) if goal.min_delta == 0 else _gap_from(units, psi, goal)
    )
    return gap if gap > 0 and abs(goal.min_delta + gap) <= psi + GUARD else None


def _gap_from(units: float, psi: float, goal: Goal) -> float:
    """Connor's formula about another threshold m: √units · g = z_α√(ψ − m²) + z_β√(ψ − (m + g)²), solved for g."""
    if abs(goal.min_delta) > psi:
        raise UsageError(
            f"min_delta: {goal.min_delta * 100:g} points are more than arms that disagree on {psi * 100:g} % of the "
            "questions can differ by; every pair of such arms lies on one side of it"
        )

    def enough(gap: float) -> bool:
        return needed_about(goal.min_delta, gap, psi, goal) <= units

    low, high = 0.0, 2 * psi
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def needed_about(threshold: float, gap: float, psi: float, goal: Goal) -> float:
    """Independent pairs that tell a difference of ``threshold + gap`` from ``threshold`` (Connor 1987, shifted).

    ((z_α√(ψ − m²) + z_β√(ψ − δ²))/(δ − m))² for m = ``threshold`` and δ = m + ``gap``: the deltas have the variance
    ψ − m² under the null and ψ − δ² under the alternative. With m = 0 it is ``power.needed_of``.
    """
    from scipy.special import ndtri

    z_alpha, z_beta = float(ndtri(1 - goal.alpha / 2)), float(ndtri(goal.power))
    delta = threshold + gap
    null, other = (math.sqrt(max(0.0, psi - value**2)) for value in (threshold, delta))
    return ((z_alpha * null + z_beta * other) / gap) ** 2 if gap > 0 else math.inf


def _least(enough: Callable[[int], bool], low: int, most: int) -> int | None:
    """The least whole number from ``low`` for which ``enough`` holds, which it then does for every greater one."""
    high = max(1, low)
    while not enough(high):
        if high >= most:
            return None
        low, high = high + 1, min(most, 2 * high)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high
