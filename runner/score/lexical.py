"""Lexical scores of an answer against gold, and the abstention phrases. No model is asked.

They are cheap companions of a judge and never replace it: a short gold and a full sentence share few tokens even
when they agree, so feed them a simplified answer. Each function names its tokeniser.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import exp
from typing import Final

from runner.types import Metric

# An answer against the best gold, as benchmarks name it.
ANSWER_EM: Final = Metric("answer_em", share=True, shown="accuracy")  # exact_match
ANSWER_F1: Final = Metric("answer_f1", share=True, shown="accuracy")  # token_f1
ROUGE_L_RECALL: Final = Metric("rouge_l_recall", share=True, shown="accuracy")
ROUGE_L_F1: Final = Metric("rouge_l_f1", share=True, shown="never")
TOKEN_F1: Final = Metric("token_f1", share=True, shown="never")

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SQUAD_ARTICLES = re.compile(r"\b(a|an|the)\b")
# The official script's regular expressions count an accent that is a character of its own as part of the word.
_STEMMED_WORD = r"[\w\u0300-\u036f]"
_STEMMED_ARTICLES = re.compile(rf"(?<!{_STEMMED_WORD})(a|an|the|and)(?!{_STEMMED_WORD})")
_ROUGE_TOKENS = re.compile(r"[a-z0-9]+")


def overlap_f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1 of two bags of tokens; 0 when they share none."""
    same = sum((Counter(answer) & Counter(gold)).values())
    return 2 * same / (len(answer) + len(gold)) if same else 0.0


def squad_tokens(text: str) -> list[str]:
    """Return SQuAD's tokens: lower case, ASCII punctuation and a|an|the dropped, split at white space.

    Source: the SQuAD 1.1 evaluation (Rajpurkar et al. 2016).
    """
    return _SQUAD_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def spaced_tokens(text: str) -> str:
    """:func:`squad_tokens` with blanks between and around them: what is contained in another stands there word by word.

    >>> spaced_tokens("The cat") in spaced_tokens("A cat sat"), spaced_tokens("cat") in spaced_tokens("concatenate")
    (True, False)
    """
    return f" {' '.join(squad_tokens(text))} "


def exact_match(answer: str, gold: str) -> float:
    """Return 1 if answer and gold are the same after :func:`squad_tokens`, else 0."""
    return float(squad_tokens(answer) == squad_tokens(gold))


def token_f1(answer: str, gold: str) -> float:
    """Return token F1 after :func:`squad_tokens`: 1 when both are empty, 0 when one is (the SQuAD 2.0 rule)."""
    left, right = squad_tokens(answer), squad_tokens(gold)
    if not left or not right:
        return float(left == right)
    return overlap_f1(left, right)


def bleu1(answer: str, gold: str) -> float:
    """Return BLEU-1: clipped unigram precision times the brevity penalty; tokens as :func:`squad_tokens`.

    Source: Papineni et al. 2002, equation 2 with N = 1 and one reference, no smoothing. 1 when both are empty, 0 when
    one is.
    """
    left, right = squad_tokens(answer), squad_tokens(gold)
    if not left or not right:
        return float(left == right)
    clipped = sum((Counter(left) & Counter(right)).values())
    brevity = 1.0 if len(left) >= len(right) else exp(1 - len(right) / len(left))
    return brevity * clipped / len(left)


def rouge_tokens(text: str) -> list[str]:
    """Return ``[a-z0-9]+`` of the lower-cased text, no stemming: the default tokeniser of rouge-score."""
    return _ROUGE_TOKENS.findall(text.lower())


def rouge_l(answer: str, gold: str) -> dict[str, float]:
    """Return ROUGE-L: precision, recall and F1 (beta = 1) of the longest common subsequence of :func:`rouge_tokens`.

    Source: Lin 2004, section 3, one reference. All 1 when both are empty, all 0 when one is.
    """
    left, right = rouge_tokens(answer), rouge_tokens(gold)
    if not left or not right:
        value = float(left == right)
        return {"precision": value, "recall": value, "f1": value}
    common = _common_subsequence(left, right)
    return {
        "precision": common / len(left),
        "recall": common / len(right),
        "f1": 2 * common / (len(left) + len(right)),
    }


def _common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    row = [0] * (len(right) + 1)
    for token in left:
        diagonal = 0
        for column, other in enumerate(right, start=1):
            above = row[column]
            row[column] = diagonal + 1 if token == other else max(above, row[column - 1])
            diagonal = above
    return row[-1]


@lru_cache(maxsize=1)
def _porter() -> Callable[[str], str]:
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer("porter").stemWord
    return stem


def stemmed_tokens(text: str) -> list[str]:
    """Return Porter stems: commas dropped, lower case, punctuation and a|an|the|and dropped, split at white space.

    Source: ``task_eval/evaluation.py`` of snap-research/locomo.
    The stemmer is Porter's of 1980 as Snowball publishes it, with the author's own rule that words of one or two
    letters stay as they are. The official script uses NLTK's default, which adds extensions (*day* keeps its y,
    *possibly* meets *possible*, *dying* is irregular). Stems are compared with stems, so the two scores part only
    where an extension joins or separates two words that meet in one question.
    """
    words = _STEMMED_ARTICLES.sub(" ", text.replace(",", "").lower().translate(_PUNCTUATION)).split()
    stem = _porter()
    return [word if len(word) <= 2 else stem(word) for word in words]


# --- abstention ----------------------------------------------------------------------------------------------------

_PLACE = (
    r"(?: (?:in|from|by) (?:the|my|this|that|your|our)"
    r"(?: (?:provided|given|available|retrieved|above))?"
    r" (?:memory|memories|conversations?|context|dialogue|history|notes|transcript|text|information))?"
)
_ABSTENTION = re.compile(
    r"(?:answer )?(?:"
    r"(?:(?:it|this|that|the answer) (?:is|was) )?not (?:mentioned|stated|specified)" + _PLACE + "|"
    r"(?:there is |i have )?no (?:relevant )?information(?: is)?(?: available)?" + _PLACE + "|"
    r"(?:sorry )?i (?:do not|dont) know|"
    r"(?:it )?cannot be (?:answered|determined)" + _PLACE + ")"
)


def is_abstention(answer: str) -> bool:
    """Tell if the whole answer is an explicit refusal, so that no judge need be asked.

    Conservative on purpose: the answer, less case, punctuation and a leading "Answer:", must *be* one of a few
    phrases ("NOT MENTIONED", "No information available.", "It is not mentioned in the conversation.", "I don't
    know"). One that hedges, goes on after the refusal, or merely contains the phrase is left to the judge.
    """
    plain = " ".join(answer.lower().replace("’", "'").translate(_PUNCTUATION).split())
    return _ABSTENTION.fullmatch(plain) is not None
