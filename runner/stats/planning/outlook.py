"""Minimum detectable effect, questions needed and interval widths of one design, in one call."""

from __future__ import annotations

from dataclasses import dataclass

from runner.stats.export import Exportable
from runner.stats.planning.design import GUESSED, USUAL, Assumed, Design, Goal
from runner.stats.planning.intervals import Thresholds, Width, is_feasible, width_table
from runner.stats.planning.sample_size import EFFECTS, Needed, detectable, needed
from runner.stats.verdict import DEFAULT_BAND


@dataclass(frozen=True)
class Outlook(Exportable):
    """The differences that a design can show, as shares: 0.05 is five points.

    Attributes
    ----------
    n, clusters, cluster_size
        Questions, clusters, and ΣN²/ΣN, the cluster size of the average question.
    assumed, goal
        What it rests on, and what is asked.
    detects, detects_if_independent
        The least true difference that passes with the power asked for, with the intraclass correlation assumed and with
        none; ``None`` where no difference would (``why_not``, or more than such arms can differ by).
    needed
        How many questions a true difference takes, by difference.
    table
        What the gate would say; empty where that many questions would take minutes.
    """

    n: int
    clusters: int
    cluster_size: float
    assumed: Assumed
    goal: Goal
    detects: float | None
    detects_if_independent: float | None
    why_not: str
    needed: tuple[Needed, ...]
    table: tuple[Width, ...]

    def __str__(self) -> str:
        where = f"n = {self.n}, {self.clusters} clusters"
        if self.detects is None:
            return f"{where}: detects nothing ({self.why_not})"
        return f"{where}: detects about {self.detects * 100:.1f} pp with a power of {self.goal.power:.0%}"


def outlook(
    design: Design,
    assumed: Assumed = GUESSED,
    goal: Goal = USUAL,
    *,
    effect: float | None = None,
    band: float = DEFAULT_BAND,
) -> Outlook:
    """Minimum detectable effect, questions needed, and how wide the intervals are, for one design.

    Parameters
    ----------
    design
        Questions in clusters, and which interval decides: ``Design(1536, 10)``.
    assumed
        Discordance and intraclass correlation: ``Assumed(0.16, 0.05)``.
    goal
        Threshold, alpha and power.
    effect
        A true difference to plan for, as a share, beside 1, 2, 3, 5, 8 and 10 points; rows of the table are made for
        it (5 points, or less where arms disagree on less, when ``None``).
    band
        Of the gate, as a share, for the readings of the table.

    Raises
    ------
    UsageError
        For values out of range, and an effect that is 0 or more than arms that disagree so rarely can differ by.

    Examples
    --------
    >>> from runner.stats import outlook, Design
    >>> print(outlook(Design(500, 500)))
    n = 500, 500 clusters: detects about 5.0 pp with a power of 80%
    """
    effects = set(EFFECTS)
    if goal.min_delta:
        effects.add(0.0)  # a non-inferiority gate asks how many questions show that there is no difference
    if effect is not None:
        effects.add(effect)
    shown = min(0.05, assumed.discordance) if effect is None else effect
    detects = detectable(design, assumed, goal)
    why = design.why_undecidable
    if detects is None and not why:
        why = f"arms that disagree on {assumed.discordance:.1%} of the questions cannot differ by enough"
    rule = Thresholds(goal.min_delta, band)
    return Outlook(
        n=design.n,
        clusters=design.clusters,
        cluster_size=design.cluster_size,
        assumed=assumed,
        goal=goal,
        detects=detects,
        detects_if_independent=detectable(design, assumed, goal, icc=0.0),
        why_not=why,
        needed=tuple(needed(item, design, assumed, goal) for item in sorted(effects)),
        table=tuple(width_table(design, assumed, shown, rule)) if is_feasible(design) else (),
    )
