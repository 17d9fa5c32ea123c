"""The official answer score: token F1 over stems, by the rule of the category."""

from __future__ import annotations

from typing import Final

from runner.score.lexical import overlap_f1, stemmed_tokens
from runner.types import Metric

LOCOMO_F1: Final = Metric("locomo_f1", share=True, shown="accuracy")
# Of a gold that a patch changed: the same against the evidence as published.
PUBLISHED: Final = tuple(Metric(f"published_{name}@K", share=True, shown="never") for name in ("recall", "fraction"))
ABSTENTIONS: Final = ("no information available", "not mentioned")


def locomo_f1(answer: str, gold: str, category: int) -> float:
    """Return LoCoMo's official answer score (``task_eval/evaluation.py`` of snap-research/locomo).

    Parameters
    ----------
    answer
        What the reader said.
    gold
        The gold answer; not read in category 5.
    category
        1 multi-hop: gold and answer are split at "," and the score is the mean over golds of the best token F1.
        2, 4: token F1. 3 open-domain: token F1 against the gold before its first ";". 5 adversarial: 1 if the answer
        says "no information available" or "not mentioned", anywhere and in any case.

    Raises
    ------
    ValueError
        On any other category.
    """
    if category == 5:
        said = answer.lower()
        return float(any(phrase in said for phrase in ABSTENTIONS))
    if category == 1:
        answers = [stemmed_tokens(part) for part in answer.split(",")]
        golds = [stemmed_tokens(part) for part in gold.split(",")]
        return sum(max(overlap_f1(part, one) for part in answers) for one in golds) / len(golds)
    if category == 3:
        gold = gold.split(";")[0]
    elif category not in (2, 4):
        raise ValueError(f"LoCoMo has no category {category}")
    return overlap_f1(stemmed_tokens(answer), stemmed_tokens(gold))
