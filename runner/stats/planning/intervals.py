"""Widths of intervals to expect: the gate's reading of made-up differences of several sizes.

Width depends on how many pairs disagree and how they lie in clusters, not only on n. Every row is judged by
:func:`runner.stats.paired.judge_many` itself; nothing of the verdict is done again here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from runner.errors import UsageError
from runner.stats.export import Exportable
from runner.stats.paired import judge_many
from runner.stats.planning.design import Assumed, Design
from runner.stats.planning.layout import laid_out, packed
from runner.stats.power import design_effect
from runner.stats.resample import Floats
from runner.stats.verdict import DEFAULT_BAND, Verdict

MOST_PAIRS: Final = 100_000  # beyond, the table takes minutes, and the interval is the normal one
MOST_CLUSTERS: Final = 2_500
_AT_ONCE: Final = 12  # candidates judged with one draw
_REACH: Final = 5
_ONE: Final = "one question"

_Asked = tuple[str, int, int, bool]  # what a row is, wins, losses, and whether they lie close together


@dataclass(frozen=True)
class Width(Exportable):
    """One row: wins, ties and losses, and the gate's reading of them."""

    what: str
    wins: int
    ties: int
    losses: int
    verdict: Verdict

    @property
    def verdict_words(self) -> str:
        """The verdict in words."""
        told = self.verdict.verdict.upper() + (f" {self.verdict.reason}" if self.verdict.reason else "")
        return told + (", equivalent" if self.verdict.equivalent else "")


@dataclass(frozen=True)
class Thresholds:
    """The settings of the gate that the rows are judged by; shares, not points."""

    min_delta: float = 0.0
    band: float = DEFAULT_BAND


PLAIN: Final = Thresholds()


def is_feasible(design: Design) -> bool:
    """Return whether the table can be made in seconds."""
    return design.n <= MOST_PAIRS and design.clusters <= MOST_CLUSTERS


def width_table(design: Design, assumed: Assumed, effect: float, rule: Thresholds = PLAIN) -> list[Width]:
    """The rows for a design: one question, no difference, what passes and what does not, and the effect asked about.

    Parameters
    ----------
    design
        Questions and clusters; its mode decides.
    assumed
        How many pairs disagree, and how closely those of a cluster go together: the rows are laid out so that the
        differences of clusters vary as the intraclass correlation says (:func:`laid_out`).
    effect
        A difference as a share, for rows of a gain and a loss.
    rule
        Threshold and band of the gate.

    Raises
    ------
    UsageError
        When it would take too long (:func:`is_feasible`).
    """
    if not is_feasible(design):
        raise UsageError(f"the table is made for up to {MOST_PAIRS} questions in up to {MOST_CLUSTERS} clusters")
    n, counts = design.n, design.counts()
    discordant = min(n, max(1, round(assumed.discordance * n)))
    half = discordant // 2
    gain = min(n, max(1, round(abs(effect) * n)))
    wins, losses = _split(discordant, gain, n)
    points = f"{100 * gain / n:.1f} points"
    asked: list[_Asked] = [
        (_ONE, 1, 0, False),
        ("the same configuration twice", half, half, False),
        (f"a gain of {points}", wins, losses, False),
        (f"a loss of {points}", losses, wins, False),
    ]
    if not design.single:
        asked.append((f"a gain of {points}, in as few clusters as can hold it", wins, losses, True))
    nets = _near(discordant, design, assumed.icc, rule)
    likely: list[_Asked] = [("", *_split(discordant, net, n), False) for net in nets]
    rows = _judged([*asked, *likely], counts, assumed.icc, design, rule)  # one draw serves them all
    edge = _edge(nets, rows[len(asked) :], discordant, counts, assumed.icc, design, rule)
    return sorted([*rows[: len(asked)], *edge], key=_order)


def width(design: Design, wins: int, losses: int, rule: Thresholds = PLAIN, *, icc: float = 0.0) -> Width:
    """Return one row of the table.

    Raises
    ------
    UsageError
        When there are more wins and losses than questions, or too many questions.
    """
    if wins < 0 or losses < 0 or wins + losses > design.n:
        raise UsageError(f"{wins} wins and {losses} losses cannot be among {design.n} questions")
    if not is_feasible(design):
        raise UsageError(f"a row is made for up to {MOST_PAIRS} questions in up to {MOST_CLUSTERS} clusters")
    return _judged([("", wins, losses, False)], design.counts(), icc, design, rule)[0]


def _order(row: Width) -> tuple[bool, bool, int, int]:
    """One question first, then from no difference to the greatest, losses last."""
    net = row.wins - row.losses
    return row.what != _ONE, row.what.startswith("a loss"), net, len(row.what)


def _split(discordant: int, net: int, n: int) -> tuple[int, int]:
    """Wins and losses whose difference is ``net``, ``discordant`` of them together or as few more as parity wants."""
    total = max(discordant, net)
    total += (total - net) % 2
    if total > n:
        total -= 2
    return (total + net) // 2, (total - net) // 2


def _judged(asked: list[_Asked], counts: Floats, icc: float, design: Design, rule: Thresholds) -> list[Width]:
    rows, codes = [], np.repeat(np.arange(counts.size), counts.astype(np.int64))
    for _, wins, losses, close in asked:
        rows.append(packed(wins, losses, design.n) if close else laid_out(wins, losses, counts, icc))
    deltas = np.stack(rows)
    verdicts = judge_many(
        (deltas < 0).astype(np.float64),
        (deltas > 0).astype(np.float64),
        None if design.single else codes,
        min_delta=rule.min_delta,
        band=rule.band,
        mode=design.mode,
    )
    return [
        Width(what, wins, design.n - wins - losses, losses, verdict)
        for (what, wins, losses, _), verdict in zip(asked, verdicts, strict=True)
    ]


def _near(discordant: int, design: Design, icc: float, rule: Thresholds) -> list[int]:
    """Net differences about the one that should just pass, by the normal interval, widened as the rule widens it."""
    inflation = design_effect(max(1.0, design.cluster_size), icc)
    guess = rule.min_delta * design.n + 1.96 * (design.factor() or 1.0) * math.sqrt(discordant * inflation)
    middle = 2 * round((guess - discordant) / 2) + discordant
    nets = [middle + 2 * offset for offset in range(-_REACH, _REACH + 1)]
    return [net for net in nets if -discordant <= net <= discordant] or [discordant]


def _edge(
    nets: list[int], rows: list[Width], discordant: int, counts: Floats, icc: float, design: Design, rule: Thresholds
) -> list[Width]:
    """The smallest difference that passes at this discordance, and the one below it that does not."""
    least, most = (-discordant if rule.min_delta < 0 else discordant % 2), discordant
    while True:
        passing = [row.verdict.verdict == "pass" for row in rows]
        if any(passing):
            first = passing.index(True)
            if nets[first] <= least or (first and nets[first] - nets[first - 1] <= 2):
                break
            least, most = nets[first - 1] if first else least, nets[first]
        elif nets[-1] >= most:
            return []
        else:
            least = nets[-1]
        step = max(2, (most - least) // _AT_ONCE // 2 * 2)
        nets = [*range(least, most, step), most]
        rows = _judged([("", *_split(discordant, net, design.n), False) for net in nets], counts, icc, design, rule)
    found = [_named(rows[first], "the smallest difference that passes")]
    if first:
        found.insert(0, _named(rows[first - 1], "the largest that does not"))
    return found


def _named(row: Width, what: str) -> Width:
    return Width(what, row.wins, row.ties, row.losses, row.verdict)
