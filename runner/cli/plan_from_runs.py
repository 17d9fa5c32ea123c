"""Figures of recorded runs for a plan: discordance, intraclass correlation and cluster sizes of one pair of arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.config import GateConfig, did_you_mean
from runner.errors import UsageError
from runner.gate import Arm, Comparison, open_arm
from runner.gate.disagreement import observed_disagreement, sizes_of
from runner.gate.sweep import SweepVerdict, gate
from runner.record.rundir import RunDir, is_run, runs_under
from runner.stats.planning.design import Assumed
from runner.stats.resample import Floats


@dataclass(frozen=True)
class Recorded:
    """One recorded pair, or one recorded run.

    Attributes
    ----------
    assumed
        ``None`` for a single run, which has nothing to disagree with.
    sizes
        Questions a cluster, shape (k,).
    unit
        What a cluster is, in words.
    notes
        What a person must know beside the numbers.
    """

    assumed: Assumed | None
    sizes: Floats
    unit: str
    harness: str
    metric: str
    settings: GateConfig
    notes: list[str] = field(default_factory=list)


def recorded(places: Sequence[Path], arm: str | None = None) -> Recorded:
    """Read a run, a sweep, or runs with the baseline first.

    Parameters
    ----------
    arm
        The arm that is compared with the baseline; the first that compares when ``None``.

    Raises
    ------
    UsageError
        When a place holds no run, no such arm, or no pair that can be compared.
    """
    for place in places:
        if not place.is_dir():
            raise UsageError(f"{place}: no such directory; give a recorded run or a sweep")
    if len(places) == 1 and is_run(places[0]):
        return _single(RunDir(places[0]), arm)
    verdicts = gate(places, _changes(places))
    where = ", ".join(place.name or str(place) for place in places)
    pairs = [(group.arms, pair) for group in verdicts.groups for pair in group.comparisons]
    if not pairs:
        raise UsageError(f"{where}: holds no pair of arms ({_why_no_pair(verdicts)})")
    if arm is not None:
        named = [(arms, pair) for arms, pair in pairs if arm in (pair.b, pair.b.split(" [")[0])]
        if not named:
            names = [pair.b for _, pair in pairs]
            raise UsageError(f"arm={arm}: no such arm here{did_you_mean(arm, names)}; there are {', '.join(names)}")
        pairs = named
    usable = [(arms, pair) for arms, pair in pairs if pair.verdict is not None]
    if not usable:
        first = pairs[0][1]
        why = first.reason if first.reason.startswith(first.b) else f"{first.b}: {first.reason}"
        raise UsageError(f"{where}: no pair says anything: {why}")
    usable.sort(key=lambda item: item[1].outcome == "null")  # a real pair before an A/A one; else as recorded
    return _pair(*usable[0], verdicts.settings, where, [pair for _, pair in usable[1:]] if arm is None else [])


def _changes(places: Sequence[Path]) -> dict[str, float]:
    """Without a measured band: nothing of it is used here, and the sweep that measured it may be gone."""
    runs = [run for place in places for run in runs_under(place)]
    measured = runs and runs[0].experiment().gate.band_source is not None
    return {"band": 4.0} if measured else {}


def _why_no_pair(verdicts: SweepVerdict) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in verdicts.failed) or "a sweep of one arm"


def _pair(arms: list[Arm], pair: Comparison, settings: GateConfig, where: str, others: list[Comparison]) -> Recorded:
    by_name = {arm.name: arm for arm in arms}
    a, b = by_name[pair.a], by_name[pair.b]
    found = observed_disagreement(a, b)
    if found is None:
        raise UsageError(f"{where}: no question was measured in both {pair.a} and {pair.b}")
    name = f"{pair.b} against {pair.a} in {where}, {pair.metric}"
    if not found.discordance:
        raise UsageError(f"{name}: the arms agree on every question, which says nothing about others; give another DIR")
    notes = [
        f"not used: {other.b} against {other.a}, which disagree on {other.discordance:.1%} (arm={other.b})"
        for other in _with_discordance(others)
    ]
    if pair.outcome == "null":
        notes.append(f"{name}: an A/A pair; two different arms disagree more often")
    if b.instrument.fakes or a.instrument.fakes:
        notes.append(f"{name}: {', '.join(a.instrument.fakes or b.instrument.fakes)}: a fake disagrees otherwise")
    if pair.early is not None and b.left:
        notes.append(f"{name}: decided early: what differs is of the questions until then, and likely too much")
    if found.icc is None:
        notes.append(f"{name}: the intraclass correlation cannot be told (one question a cluster); 0 is used")
    elif found.icc < 0:
        notes.append(f"{name}: the intraclass correlation is {found.icc:.3f}; 0 is used")
    assumed = Assumed(found.discordance, max(0.0, found.icc or 0.0), name)
    about = a.instrument.harness
    return Recorded(assumed, found.sizes, about.cluster, about.name, pair.metric, settings, notes)


@dataclass(frozen=True)
class _Disagreement:
    a: str
    b: str
    discordance: float


def _with_discordance(pairs: list[Comparison]) -> list[_Disagreement]:
    shares = [(pair, pair.verdict.discordance if pair.verdict else None) for pair in pairs]
    return [_Disagreement(pair.a, pair.b, share) for pair, share in shares if share is not None]


def _single(run: RunDir, arm: str | None) -> Recorded:
    if arm is not None:
        raise UsageError(f"arm={arm}: {run.path} is a single run; give the sweep that holds it")
    settings = run.experiment().gate
    opened = open_arm(run, run.path.name, settings)
    sizes = sizes_of(opened)
    if not sizes.size:
        raise UsageError(f"{run.path}: no question of it was measured by {opened.metric}; gate.metric names another")
    notes = [f"{run.path.name}: {opened.reason}"] if opened.state != "complete" else []
    about = opened.instrument.harness
    return Recorded(None, sizes, about.cluster, about.name, opened.metric, settings, notes)
