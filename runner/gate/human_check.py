"""``gate.human``: prediction-powered inference from labels that people gave to a part of the recorded answers.

Beside the raw difference, never in its place; :mod:`runner.stats.ppi` has the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from runner.config import GateConfig, own_path
from runner.errors import Refused, UsageError
from runner.gate import human_labels
from runner.gate.arm import Arm
from runner.gate.comparison import AT_RANDOM, INDEPENDENT, Comparison, HumanCheck, JudgeAgainstPeople
from runner.score.label_metrics import ACCURACY
from runner.stats.agreement import cohen_kappa
from runner.stats.clustered import Bounds
from runner.stats.interval import TOO_FEW
from runner.stats.ppi import PredictionPowered, load_library, prediction_powered
from runner.stats.resample import Bools, Floats
from runner.types import CORRECT, WRONG

# Where arms seldom differ, few labels hold few pairs that do. Simulated, a 95 % interval covered 91 to 95 % with 50
# labelled pairs, and one file in eight held no pair that differs; with 100, 93.5 to 95 % and one in sixty
# (tests/bench/human_coverage.py).
MIN_LABELLED: Final = 100


def add_human_check(groups: Sequence[tuple[Sequence[Arm], Sequence[Comparison]]], settings: GateConfig) -> None:
    """Add the estimates from people's labels to every pair that has a verdict.

    Parameters
    ----------
    groups
        Arms that were compared, and their pairs, whose ``human`` is set.

    Raises
    ------
    UsageError
        When the file is not one of labels, or speaks of arms or questions that there are not.
    Refused
        When no pair has enough labels.
    MissingExtra
        Without ppi-python.
    """
    if settings.human is None:
        return
    path = own_path(settings.human)
    labels = human_labels.labels_by_arm(path, human_labels.read(path), [arm for arms, _ in groups for arm in arms])
    load_library()
    judged = []
    for arms, pairs in groups:
        named = {arm.name: arm for arm in arms}
        for pair in pairs:
            if pair.metric != ACCURACY:
                raise UsageError(
                    f"gate.human: {pair.metric} is not a label of an answer; leave it out, or gate on answers"
                )
            if pair.verdict is not None:
                a, b = named[pair.a], named[pair.b]
                pair.human = _human_check(path, a, b, labels, pair.verdict.deciding)
                judged.append(pair.human)
    if judged and all(item.difference is None and not any(item.arms.values()) for item in judged):
        raise Refused(f"gate.human={path}: {max(judged, key=lambda item: item.pairs).reason}")


def _human_check(path: Path, a: Arm, b: Arm, labels: Mapping[str, Mapping[str, str]], raw: Bounds | None) -> HumanCheck:
    """Check one pair against people's labels; its rows line up, as it has a verdict."""
    given_labels = {arm.name: labels.get(str(arm.run.path), {}) for arm in (a, b)}
    mine = {arm.name: _values(arm, given_labels[arm.name]) for arm in (a, b)}
    arms: dict[str, PredictionPowered | None] = {}
    against: dict[str, JudgeAgainstPeople] = {}
    unused = 0
    for arm in (a, b):
        here = a.headline_rows & b.headline_rows & arm.data.ok
        labelled = here & np.isfinite(mine[arm.name])
        unused += len(given_labels[arm.name]) - int(labelled.sum())
        arms[arm.name], _ = _estimate(mine[arm.name], arm.values, here, labelled)
        if labelled.any():
            against[arm.name] = _judge_against_people(arm.values[labelled], mine[arm.name][labelled])
    change = mine[b.name] - mine[a.name]  # NaN unless people labelled both
    here = a.headline_rows & a.data.ok & b.data.ok
    labelled = here & np.isfinite(change)
    difference, reason = _estimate(change, b.values - a.values, here, labelled)
    spread, all_of_them = (len(np.unique(a.data.cluster[rows])) for rows in (labelled, here))
    caveats: list[str] = [INDEPENDENT, AT_RANDOM]
    if difference is not None and spread < min(TOO_FEW, all_of_them):
        difference, reason = (
            None,
            (
                f"the labelled pairs lie in {spread} of {all_of_them} {a.instrument.harness.cluster}s, and "
                f"{TOO_FEW} are needed: label a random sample of all questions"
            ),
        )
    if difference is not None and raw is not None and difference.high - difference.low < raw.high - raw.low:
        caveats.append("it is narrower than the interval that decides, because that one minds the clusters")
    return HumanCheck(str(path), difference, arms, against, int(labelled.sum()), unused, reason, tuple(caveats))


def _values(arm: Arm, given: Mapping[str, str]) -> Floats:
    """Return 1 per row where people say correct, 0 where not, NaN where they did not say."""
    values = np.full(len(arm.data), np.nan)
    if given:
        names = np.array([name.encode() for name in given], dtype=np.bytes_)
        values[np.searchsorted(arm.data.ids, names)] = [label == CORRECT for label in given.values()]
    return values


def _estimate(mine: Floats, judge: Floats, here: Bools, labelled: Bools) -> tuple[PredictionPowered | None, str]:
    """Return the estimate, or ``None`` with the reason."""
    count = int(labelled.sum())
    if count < MIN_LABELLED:
        return None, (
            f"{count} items are labelled in both arms and {MIN_LABELLED} are needed: of fewer, too few differ "
            f"(simulated with 50: none in one file of eight, and a 95 % interval that covers as little as 91 %); label "
            f"more"
        )
    if np.ptp(mine[labelled]) == 0:
        return None, f"people say the same of all {count} labelled items, from which no interval can be had; label more"
    return prediction_powered(mine[labelled], judge[labelled], judge[here & ~labelled]), ""


def _judge_against_people(judge: Floats, mine: Floats) -> JudgeAgainstPeople:
    """Return the agreement on correct or not: an abstention counts as wrong, as it does in the gate."""
    words = [[CORRECT if value == 1 else WRONG for value in values] for values in (judge, mine)]
    return JudgeAgainstPeople(
        cohen_kappa(*words), int(((judge == 1) & (mine == 0)).sum()), int(((judge == 0) & (mine == 1)).sum())
    )
