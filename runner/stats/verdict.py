"""The verdict on a pair of arms: pass, fail or unresolved, why, and everything that belongs beside it.

:mod:`runner.stats.paired` makes one from the values of two arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from runner.errors import Refused
from runner.stats.bootstrap import Interval
from runner.stats.clustered import Bounds, ExactTest, least_p
from runner.stats.export import Exportable
from runner.stats.interval import DOMINANT_CLUSTER, TOO_FEW, Kind, Mode
from runner.stats.resample import GUARD

Outcome = Literal["pass", "fail", "unresolved"]
Reason = Literal["noise_floor", "under_powered", "too_few_clusters", "dominant_cluster", "no_items"]
MdeNote = Literal["all_ties", "beyond_discordance", "beyond_range", "too_few_clusters", "dominant_cluster", "no_items"]

DEFAULT_BAND: Final = 0.04  # four points
LEVERAGE: Final = "leverage"
FRAGILE_PASS: Final = "fragile_pass"
UNCLUSTERED: Final = "unclustered"
ALL_TIES: Final = "all_ties"
NO_SPREAD: Final = "no_spread"
_MDE_NOTES: Final[dict[MdeNote, str]] = {
    "all_ties": "no pair disagrees",
    "beyond_discordance": "more than the share of pairs that disagree",
    "beyond_range": "not even the greatest difference there can be",
    "too_few_clusters": "too few clusters",
    "dominant_cluster": "one cluster holds nearly everything",
    "no_items": "no pairs",
}


@dataclass(frozen=True)
class Verdict(Exportable):
    """The verdict on one pair, in the unit of the values compared (0.04 is four points of 0/1 labels).

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
        The seed-exact interval, the one that decides and which it is, and CR3-t. When every pair is tied, what decides
        is ``tie_bound`` (:func:`runner.stats.warnings.tie_bound`), as an interval without width proves nothing.
    sign_flip
        Exact two-sided test of the cluster sums against ``min_delta``.
    mcnemar_p
        Exact two-sided McNemar p over items; ``None`` unless all values are 0 or 1.
    wins, losses, ties, discordance
        Pairs in which B is above, below or at A by their values, and the share of pairs that differ: by their majority
        labels where those were given (an abstention and a wrong answer differ, and are tied in value), else by values.
    mde, mde_note, icc
        About the least effect that this n detects at 80 % power or more, given the discordance and the intraclass
        correlation seen, and widened as the deciding interval is. The note says why it is ``None`` (``all_ties``,
        ``beyond_range``, ``too_few_clusters``, ``dominant_cluster``, ``no_items``), or that it is more than the pairs
        disagree (``beyond_discordance``), so that no difference of such arms would be detected.
    needed_n
        About how many pairs, in clusters of the same size, would resolve a difference like this one at 80 % power, more
        than n; only for ``under_powered``, and ``None`` where a cluster dominates: it takes more clusters then.
    warnings
        Among ``few_clusters``, ``too_few_clusters``, ``dominant_cluster``, ``leverage``, ``fragile_pass``,
        ``unclustered``, ``all_ties`` and ``no_spread`` (clusters agree more closely than chance would let them).
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
    mde_note: MdeNote | None = None

    @property
    def _by_items(self) -> bool:
        return self.mcnemar_p is not None and self.clusters == self.n and self.min_delta == 0

    @property
    def companion_p(self) -> float | None:
        """The p of the exact companion: McNemar for 0/1 items that are their own clusters, else the sign-flip.

        For Holm and Benjamini-Hochberg. Against another ``min_delta`` than 0 always the sign-flip.
        """
        if self._by_items:
            return self.mcnemar_p
        return None if self.sign_flip is None else self.sign_flip.p

    @property
    def companion_least_p(self) -> float | None:
        """The least that :attr:`companion_p` could be, if every unit that differs did so in one direction.

        2 · 2⁻ᵐ for m discordant pairs, or clusters that do not sum to the threshold. Holm's adjustment never lowers
        when a p is raised, so that ``holm`` of the least p of all arms is the least that their adjusted p could be: at
        6 clusters 1/32, and .0625 among two arms.
        """
        if self._by_items:
            return least_p(self.wins + self.losses)
        return None if self.sign_flip is None else self.sign_flip.least

    def to_dict(self) -> dict[str, Any]:
        """Every field, the companion's p, and the least that it could be."""
        return {
            **super().to_dict(),
            "companion_p": self.companion_p,
            "companion_least_p": self.companion_least_p,
        }

    def detects(self, unit: str = "pp", scale: float = 100) -> str:
        """The minimum detectable effect in words; never empty."""
        why = "" if self.mde_note is None else f" ({_MDE_NOTES[self.mde_note]})"
        if self.mde is None:
            return f"what it detects cannot be told{why}"
        beyond = f" beyond the threshold of {self.min_delta * scale:+.1f}" if self.min_delta else ""
        return f"detects about {self.mde * scale:.1f} {unit}{beyond}{why}"

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
        parts.append(self.detects(unit, scale))
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


def excludes_zero(null: Verdict) -> bool:
    """Return whether the deciding interval of an A/A pair excludes 0; by chance it does in 2.5 % of cases per side."""
    interval = null.deciding
    return null.clusters >= TOO_FEW and interval is not None and (interval.low > GUARD or interval.high < -GUARD)


def band_from_null(null: Verdict) -> float:
    """The null band of an A/A run: the wider side of its deciding interval.

    Parameters
    ----------
    null
        Of the same configuration against itself, over the same items. Its ``min_delta`` does not matter.

    Raises
    ------
    Refused
        With fewer than 6 clusters or one that dominates beyond measure, when the interval excludes 0, or when it has no
        width (a cache answered, or too few items).
    """
    interval = null.deciding
    if null.clusters < TOO_FEW:
        raise Refused(
            f"band: {null.clusters} clusters are too few to measure noise ({TOO_FEW} are needed); add clusters or set "
            "gate.band"
        )
    if interval is None or null.reason == DOMINANT_CLUSTER:
        raise Refused("band: one cluster holds nearly all items, so noise cannot be measured; add clusters")
    if excludes_zero(null):
        raise Refused(
            f"band: the A/A interval {interval.low * 100:+.1f} .. {interval.high * 100:+.1f} pp excludes 0: either "
            "something changed that no setting tells (the code or the data of the system, a served model), or it is "
            "chance, 2.5 % a side; repeat the A/A run before either number is used"
        )
    band = max(abs(interval.low), abs(interval.high))
    if null.wins + null.losses == 0 or band <= GUARD:
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
        mde_note="no_items",
    )
