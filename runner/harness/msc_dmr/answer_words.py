"""Recall of an answer's words in a text, where a benchmark does not say which events hold the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runner.score.lexical import rouge_tokens
from runner.types import Metric

ANSWER_RECALL: Final = Metric("answer_recall", share=True)
ANSWER_HELD: Final = Metric("answer_held", share=True)  # answer_recall is 1

_FUNCTION = """
a about all also am an and any are as at be been but by can could d did do does doing for from had has have having he
her hers him his how i if in into is it its just ll m me mine my of on or our ours re s she should so some t than that
the their theirs them then there these they this those to too us ve very was we were what when where which who whom
whose why will with would you your yours
"""
# Words that stand in any text. Written out, so that the metric is the same with every version of every library.
FUNCTION_WORDS: Final = frozenset(_FUNCTION.split())


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text (:func:`~runner.score.lexical.rouge_tokens`) less function words; all, if no other."""
    tokens = frozenset(rouge_tokens(text))
    return tokens - FUNCTION_WORDS or tokens


def answer_recall(text: str, golds: Sequence[str]) -> float | None:
    """Return the share of a gold answer's words that stand anywhere in a text, of the best gold.

    ``None`` without a gold word.

    A set of words without order, stems or synonyms: a paraphrase is missed, and a gold of common words is found in any
    long text. It compares arms over the same questions; as a number by itself it says little.

    >>> answer_recall("we went to the lake at dawn", ["A lake in Ohio"])
    0.5
    """
    wanted = [words for words in (content_words(gold) for gold in golds) if words]
    if not wanted:
        return None
    present = frozenset(rouge_tokens(text))
    return max(len(words & present) / len(words) for words in wanted)
