"""Graded probes as counts, rates and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from runner.calibration.file import ProbeTally, Repeat, Youden
from runner.calibration.probes import KINDS, RIGHT, SPECIFIC, VAGUE
from runner.stats.agreement import ERROR, flip_rate, majority_label
from runner.stats.judge_error import JudgeRates
from runner.types import ABSTAIN, CORRECT, LABELS

MAX_ERROR_SHARE: Final = 0.05  # of the probes of a kind; above it, those that did not fail are no sample of it
_Z: Final = 1.959963984540054  # 97.5 % point of the normal

GradedLabels = tuple[str, str, Sequence[str]]  # kind, category, a label (or error status) per repeat


def tally(items: Sequence[Sequence[str]]) -> ProbeTally:
    """Count one kind of probe.

    Parameters
    ----------
    items
        For each probe, a label or error status per repeat. The majority counts, as in a gate; an abstention is not a
        pass; a probe all of whose repeats failed is an error and in no rate.
    """
    majority = [majority_label(labels) for labels in items]
    graded = [label for label in majority if label != ERROR]
    passed = graded.count(CORRECT)
    repeats = []
    for number in range(max((len(labels) for labels in items), default=0)):
        said = [labels[number] for labels in items if number < len(labels) and labels[number] in LABELS]
        repeats.append(Repeat(graded=len(said), passed=said.count(CORRECT)))
    means = [repeat.passed / repeat.graded for repeat in repeats if repeat.graded]
    low, high = wilson(passed, len(graded)) if graded else (None, None)
    return ProbeTally(
        probes=len(items),
        graded=len(graded),
        passed=passed,
        abstained=graded.count(ABSTAIN),
        errors=len(items) - len(graded),
        failed_repeats=sum(label not in LABELS for labels in items for label in labels),
        rate=passed / len(graded) if graded else None,
        low=low,
        high=high,
        repeats=repeats,
        mean_over_repeats=math.fsum(means) / len(means) if means else None,
        flip_rate=flip_rate(items),
    )


def wilson(passed: int, total: int) -> tuple[float, float]:
    """Return Wilson's (1927) score interval of a share, 95 %, through scipy."""
    from scipy.stats import binomtest

    bounds = binomtest(passed, total).proportion_ci(0.95, method="wilson")
    return float(bounds.low), float(bounds.high)


def tallies(graded: Iterable[GradedLabels]) -> tuple[dict[str, ProbeTally], dict[str, dict[str, ProbeTally]]]:
    """Count by kind, and by category and kind. Every kind of :data:`KINDS` has a tally, empty ones included."""
    by_kind: dict[str, list[Sequence[str]]] = {kind: [] for kind in KINDS}
    by_category: dict[str, dict[str, list[Sequence[str]]]] = {}
    for kind, category, labels in graded:
        by_kind[kind].append(labels)
        by_category.setdefault(category, {}).setdefault(kind, []).append(labels)
    return (
        {kind: tally(items) for kind, items in by_kind.items()},
        {
            category: {kind: tally(kinds[kind]) for kind in KINDS if kind in kinds}
            for category, kinds in sorted(by_category.items(), key=lambda item: (len(item[0]), item[0]))
        },
    )


def rates_of(kinds: Mapping[str, ProbeTally], wrong: str) -> JudgeRates | None:
    """Return the rates with one of the two classes of wrong answers; ``None`` where a class is empty."""
    right, other = kinds.get(RIGHT), kinds.get(wrong)
    if right is None or other is None or not right.graded or not other.graded:
        return None
    return JudgeRates(right.passed, right.graded, other.passed, other.graded)


def youden(kinds: Mapping[str, ProbeTally]) -> dict[str, Youden]:
    """Return Youden's J with each class of wrong answers that there is, ± z√VarJ within -1 .. 1."""
    found = {}
    for wrong in (SPECIFIC, VAGUE):
        rates = rates_of(kinds, wrong)
        if rates is not None:
            half = _Z * math.sqrt(rates.var_j)
            found[wrong] = Youden(j=rates.j, low=max(-1.0, rates.j - half), high=min(1.0, rates.j + half))
    return found


def too_many_errors(kinds: Mapping[str, ProbeTally]) -> list[str]:
    """Return the kinds of which more than :data:`MAX_ERROR_SHARE` could not be graded."""
    return [kind for kind, item in kinds.items() if item.probes and item.errors / item.probes > MAX_ERROR_SHARE]
