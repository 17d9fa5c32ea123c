"""The verdict on a pair of arms: pass, fail or unresolved, why, and everything that belongs beside it.

:mod:`runner.stats.pairs` makes one from the values of two arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from runner.errors import Refused
from runner.stats.bootstrap import Interval
from runner.stats.clustered import Bounds, ExactTest
from runner.stats.export import Exportable
from runner.stats.interval import Kind, Mode
from runner.stats.resample import GUARD

Outcome = Literal["pass", "fail", "unresolved"]
Reason = Literal["noise_floor", "under_powered", "too_few_clusters", "no_items"]

DEFAULT_BAND: Final = 0.04  # four points
LEVERAGE: Final = "leverage"
FRAGILE_PASS: Final = "fragile_pass"
UNCLUSTERED: Final = "unclustered"
ALL_TIES: Final = "all_ties"


@dataclass(frozen=True)
class Verdict(Exportable):
    """What a gate says of one pair, in the unit of the values compared (0.04 is four points of 0/1 labels).

    Attributes
    ----------
    verdict, reason
        ``reason`` is ``None`` unless unresolved.
    equivalent
        Unresolved, with the whole interval inside the band.
    n, clusters, effective_clusters
        Pairs, clusters that have one, and g_eff.
    mean_a, mean_b, delta
        Means over the pairs, and B − A.
    percentile, deciding, deciding_kind, cr3
        The seed-exact interval, the one that decides and which it is, and CR3-t.
    sign_flip
        Exact two-sided test of the cluster sums against ``min_delta``.
    mcnemar_p
        Exact two-sided McNemar p over items; ``None`` unless all values are 0 or 1.
    wins, losses, ties, discordance
        Pairs in which B is above, below or at A, and the share of those that differ.
    mde, icc
        Minimum detectable effect of this n at 80 % power, given the discordance and the intraclass correlation seen.
        ``None`` when it cannot be told.
    needed_n
        Pairs that would resolve a difference like this one at 80 % power; only for ``under_powered``.
    warnings
        Among ``few_clusters``, ``too_few_clusters``, ``dominant_cluster``, ``leverage``, ``fragile_pass``,
        ``unclustered`` and ``all_ties``.
    """

    verdict: Outcome
    reason: Reason | None
    equivalent: bool
    n: int
    clusters: int
    effective_clusters: float | None
    mean_a: float | None
    mean_b: float | None
    delta: float | None
    min_delta: float
    band: float
    mode: Mode
    percentile: Interval | None
    deciding: Bounds | None
    deciding_kind: Kind | None
    cr3: Bounds | None
    sign_flip: ExactTest | None
    mcnemar_p: float | None
    wins: int
    losses: int
    ties: int
    discordance: float | None
    icc: float | None
    mde: float | None
    needed_n: int | None
    warnings: tuple[str, ...]

    @property
    def companion_p(self) -> float | None:
        """The p of the exact companion: McNemar for 0/1 items that are their own clusters, else the sign-flip.

        For Holm and Benjamini-Hochberg. Against another ``min_delta`` than 0 always the sign-flip.
        """
        if self.mcnemar_p is not None and self.clusters == self.n and self.min_delta == 0:
            return self.mcnemar_p
        return None if self.sign_flip is None else self.sign_flip.p

    def to_dict(self) -> dict[str, Any]:
        """Every field, and the companion's p."""
        return {**super().to_dict(), "companion_p": self.companion_p}

    def line(self, unit: str = "pp", scale: float = 100) -> str:
        """One line for people: verdict, reason, difference and interval, clusters, discordant pairs, MDE."""
        parts = [
            self.verdict.upper()
            + (f" ({self.reason}{', equivalent' if self.equivalent else ''})" if self.reason else "")
        ]
        if self.delta is not None:
            parts.append(f"{round(self.delta * scale, 1) + 0.0:+.1f} {unit}")
        if self.deciding is not None:
            low, high = (round(bound * scale, 1) + 0.0 for bound in (self.deciding.low, self.deciding.high))
            parts.append(f"95% CI {low:+.1f} .. {high:+.1f} {unit} ({self.deciding_kind})")
        parts.append(f"n = {self.n}, {self.clusters} clusters, {self.wins + self.losses} discordant")
        if self.mde is not None:
            parts.append(f"detects {self.mde * scale:.1f} {unit}")
        if self.needed_n is not None:
            parts.append(f"about {self.needed_n} pairs would resolve it")
        return "; ".join([*parts, *(f"warning: {name}" for name in self.warnings)])

    def __str__(self) -> str:
        return self.line()


def verdict_of(
    mean: float, low: float, high: float, min_delta: float = 0.0, band: float = DEFAULT_BAND
) -> tuple[Outcome, Reason | None, bool]:
    """Outcome, reason and equivalence of an interval; all five in one unit.

    Pass when the lower bound is above ``min_delta``, strictly: one that only reaches it is not a pass. Fail when the
    upper bound is below it. Otherwise unresolved: ``noise_floor`` when the mean lies inside the band, ``under_powered``
    when not; equivalent when the whole interval does. A negative ``min_delta`` is a non-inferiority gate.
    """
    if low - min_delta > GUARD:
        return "pass", None, False
    if min_delta - high > GUARD:
        return "fail", None, False
    reason: Reason = "noise_floor" if abs(mean) <= band + GUARD else "under_powered"
    return "unresolved", reason, bool(max(abs(low), abs(high)) <= band + GUARD)


def band_from_null(interval: Interval | Bounds) -> float:
    """The null band of an A/A run: the wider side of its interval.

    Parameters
    ----------
    interval
        Of the same configuration against itself, over the same items.

    Raises
    ------
    Refused
        When the interval excludes 0 (the two runs were not alike) or has no width (a cache answered, or too few items).
    """
    if interval.low > GUARD or interval.high < -GUARD:
        raise Refused(
            f"band: the A/A interval {interval.low:+.4f} .. {interval.high:+.4f} excludes 0, so the two runs were not "
            "alike; find what differed before using them as a null"
        )
    band = max(abs(interval.low), abs(interval.high))
    if band <= GUARD:
        raise Refused(
            "band: the A/A runs agree on every item, which is no evidence about noise; check that nothing was cached, "
            "add items, or set gate.band"
        )
    return band


def no_items(min_delta: float, band: float, mode: Mode, *, unclustered: bool = False) -> Verdict:
    """The verdict on nothing: unresolved, and named so."""
    return Verdict(
        verdict="unresolved",
        reason="no_items",
        equivalent=False,
        n=0,
        clusters=0,
        effective_clusters=None,
        mean_a=None,
        mean_b=None,
        delta=None,
        min_delta=min_delta,
        band=band,
        mode=mode,
        percentile=None,
        deciding=None,
        deciding_kind=None,
        cr3=None,
        sign_flip=None,
        mcnemar_p=None,
        wins=0,
        losses=0,
        ties=0,
        discordance=None,
        icc=None,
        mde=None,
        needed_n=None,
        warnings=(UNCLUSTERED,) if unclustered else (),
    )
