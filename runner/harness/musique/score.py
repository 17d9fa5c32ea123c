"""The official scores beside the answer's: supporting paragraphs, and pairs of an answerable and an unanswerable row.

Source: Trivedi et al. 2022 (TACL) and the official ``evaluate_v1.0.py`` with ``metrics/support.py``,
``metrics/group_answer_sufficiency.py`` and ``metrics/group_support_sufficiency.py``. A pair scores its answerable row's
answer (support) F1 when the system saw of both rows whether they can be answered, and 0 otherwise
(:func:`runner.score.pairs.pair_scores`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from runner.score.lexical import ANSWER_EM, ANSWER_F1
from runner.types import Metric, PairProduct

SUPPORT_F1: Final = Metric("support_f1@all", share=True, shown="recall")
SUFFICIENCY: Final = Metric("sufficiency", share=True, shown="accuracy")
SUFFICIENT_F1: Final = Metric("answer_sufficiency_f1", share=True, shown="accuracy")


def _of_pairs(name: str, *first: Metric) -> Metric:
    made = PairProduct(
        first=tuple(metric.name for metric in first),
        second=(SUFFICIENCY.name,),
        both=SUFFICIENCY.name,
        only_first=ANSWER_F1.name,
        second_tag=("answerable", "no"),
    )
    return Metric(name, share=True, shown="accuracy", made=made)


GROUP_ANSWER_F1: Final = _of_pairs("group_answer_sufficiency_f1", SUFFICIENT_F1)
GROUP_SUPPORT_F1: Final = _of_pairs("group_support_sufficiency_f1", SUPPORT_F1, SUFFICIENCY)
METRICS: Final = (SUPPORT_F1, ANSWER_EM, ANSWER_F1, SUFFICIENCY, SUFFICIENT_F1, GROUP_ANSWER_F1, GROUP_SUPPORT_F1)


def support_f1(found: Collection[str], gold: Collection[str]) -> float:
    """Return the F1 of two sets of ids: 1 when both are empty, 0 when one is."""
    left, right = set(found), set(gold)
    if not left and not right:
        return 1.0
    return 2 * len(left & right) / (len(left) + len(right))
