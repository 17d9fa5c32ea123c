"""MuSiQue's own scores beside the answer's: supporting paragraphs, and pairs of an answerable and an unanswerable twin.

Source: Trivedi et al. 2022 (TACL) and the official ``evaluate_v1.0.py`` with ``metrics/support.py``,
``metrics/group_answer_sufficiency.py`` and ``metrics/group_support_sufficiency.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from runner.types import Row

SUFFICIENCY = "sufficiency"
ANSWER_F1 = "answer_sufficiency_f1"
SUPPORT_F1 = "support_f1@all"
GROUP_ANSWER_F1 = "group_answer_sufficiency_f1"


def support_f1(found: Collection[str], gold: Collection[str]) -> float:
    """F1 of two sets of ids: 1 when both are empty, 0 when one is."""
    left, right = set(found), set(gold)
    if not left and not right:
        return 1.0
    return 2 * len(left & right) / (len(left) + len(right))


def group_scores(rows: Iterable[Row]) -> dict[str, float | int | None]:
    """The official scores of the full set, over the pairs that are whole in ``rows``.

    A pair scores its answerable row's answer (support) F1 when the system saw of both rows whether they can be
    answered, and 0 otherwise. Rows carry means over repeats; the product of a row's mean with its twin's is the mean
    over every combination of their repeats, and with one repeat it is the official number.

    Parameters
    ----------
    rows
        Of a run of the full set; the twins share their cluster, and the tag ``answerable`` tells them apart.

    Returns
    -------
    dict
        ``pairs``; ``group_answer_sufficiency_f1`` and ``group_support_sufficiency_f1`` in [0, 1], ``None`` without a
        pair that has the metric in question.
    """
    answerable: dict[str, Row] = {}
    twins: dict[str, Row] = {}
    for row in rows:
        known = twins if row.tags.get("answerable") == "no" else answerable
        known[row.cluster] = row
    answers: list[float] = []
    supports: list[float] = []
    pairs = 0
    for name in sorted(answerable.keys() & twins.keys()):
        seen, blind = answerable[name].metrics, twins[name].metrics.get(SUFFICIENCY)
        if blind is None or seen.get(SUFFICIENCY) is None:
            continue
        pairs += 1
        _collect(answers, seen, (ANSWER_F1,), blind)
        _collect(supports, seen, (SUPPORT_F1, SUFFICIENCY), blind)
    return {
        "pairs": pairs,
        GROUP_ANSWER_F1: _mean(answers),
        "group_support_sufficiency_f1": _mean(supports),
    }


def _collect(values: list[float], metrics: Mapping[str, float | None], names: Collection[str], product: float) -> None:
    for name in names:
        value = metrics.get(name)
        if value is None:
            return
        product *= value
    values.append(product)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
