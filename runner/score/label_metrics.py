"""Accuracy of labelled answers, and F1 by the category that an answer names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from runner.types import ABSTAIN, CORRECT, JUDGE_SCORE, LABELS, WRONG, Metric

ACCURACY: Final = "accuracy_abstain_wrong"  # correct / (correct + wrong + abstained): what a gate reads by default
METRICS: Final = (
    Metric(JUDGE_SCORE, share=True, shown="accuracy"),
    Metric(ACCURACY, share=True, shown="accuracy"),
    Metric("accuracy", share=True, shown="accuracy"),
    Metric("abstained", share=True, higher=None, shown="accuracy"),
    Metric("accuracy_if_errors_wrong", share=True, shown="never"),
    Metric("accuracy_if_errors_right", share=True, shown="never"),
)


def accuracy(labels: Mapping[str, int], errors: int) -> dict[str, Any]:
    """Return counts and shares of the labels of one group; nothing where none was given.

    Parameters
    ----------
    labels
        How many answers have each of ``CORRECT``, ``WRONG`` and ``ABSTAIN``.
    errors
        Questions without a label. They are in no denominator but those of the two bounds.
    """
    graded = sum(labels.values())
    if not graded:
        return {}
    correct, decided = labels.get(CORRECT, 0), labels.get(CORRECT, 0) + labels.get(WRONG, 0)
    return {
        **{label.lower(): labels.get(label, 0) for label in LABELS},
        ACCURACY: correct / graded,
        "accuracy": correct / decided if decided else None,
        "accuracy_if_errors_wrong": correct / (graded + errors),
        "accuracy_if_errors_right": (correct + errors) / (graded + errors),
        "abstained": labels.get(ABSTAIN, 0) / graded,
    }


def label_f1(
    groups: Mapping[str, Mapping[str, Any]], categories: Collection[str], prefix: str
) -> tuple[dict[str, float | None], float | None]:
    """Return F1 by category, and their mean: of answers that name a category.

    A category's rows are those that are of it; the metric ``<prefix><category>`` is the share of a category's rows
    whose answer named it. A row that named none of them is a false negative of its own and no one's false positive. F1
    is 0 where nothing is right, and ``None`` where there is nothing: no row of the category, and none that named it.

    Parameters
    ----------
    groups
        Metrics of the rows of each category, with ``scored``, their number.

    Returns
    -------
    tuple
        F1 by category, and the unweighted mean over the categories that have one (scikit-learn's
        ``average="macro"``); ``None`` where none has.
    """
    scored = {key: group["scored"] for key, group in groups.items() if key in categories}
    named = {  # [category named][category of the rows]
        key: {other: (groups[other].get(prefix + key) or 0.0) * scored[other] for other in scored} for key in categories
    }
    every: dict[str, float | None] = {}
    for key in categories:
        said, rows = sum(named[key].values()), scored.get(key, 0)
        right = named[key].get(key, 0.0)
        every[key] = 2 * right / (said + rows) if said + rows else None
    known = [value for value in every.values() if value is not None]
    return every, sum(known) / len(known) if known else None
