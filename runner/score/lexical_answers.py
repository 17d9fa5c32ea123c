"""Lexical scores of an answer that was cut to what it states. No model is asked here.

Token F1, BLEU-1 and ROUGE-L compare words with words: of a whole sentence they grade how much was said around the
answer, and a wrong date in two words can outscore a right sentence. They exist to sit beside published lexical tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from runner.score.lexical import bleu1, rouge_l, token_f1
from runner.types import Metric

WARNING: Final = (
    "lexical scores (F1, BLEU-1, ROUGE-L) compare words: a wrong date can outscore a right sentence; they sit beside "
    "published lexical tables and never replace the judge"
)
PREFIXES: Final = ("simplified", "heuristic")  # by a model, or by `simplified_by_rule`
SUFFIXES: Final = ("_f1", "_bleu1", "_rouge_l")
METRICS: Final = tuple(Metric(head + tail, share=True, shown="accuracy") for head in PREFIXES for tail in SUFFIXES)

_LEAD = re.compile(
    r"^(?:(?:so|well|yes|sure|okay|ok)[,.]\s+)?"
    r"(?:(?:according to|based on|from|in|given) (?:the |my |our |your )?"
    r"(?:memory|memories|conversations?|context|dialogue|history|notes|information|provided [a-z]+|given [a-z]+)"
    r"[^,:]{0,40}[,:]\s*)?"
    r"(?:(?:the |my |final |short |correct )*answer(?: to (?:the|this|your) question)?"
    r"\s*(?:is|was|would be|:)\s*:?\s*)?",
    re.IGNORECASE,
)
_TITLES = "".join(rf"(?<!\b{title})" for title in ("Mr", "Ms", "Dr", "St", "Jr", "Sr", "No", "Mrs", "Prof"))
_SENTENCE_END = re.compile(_TITLES + r"(?<=[^.\s][a-z0-9)\"'’”])[.!?]+(?=\s+[A-Z\"“(])")
_MARKS = re.compile(r"^[\s*_`#>\-•]+|[\s*_`]+$")


def simplified_by_rule(answer: str) -> str:
    """Return the first sentence of an answer, without lead-in ("Answer:", "According to the memory, …") and final stop.

    A rule of words, named ``heuristic`` wherever it is used: it cannot tell the phrase that answers from the sentence
    around it.

    >>> simplified_by_rule("Based on the conversation, the answer is: 7 May 2023. They met at noon.")
    '7 May 2023'
    """
    lines = (_MARKS.sub("", line) for line in answer.splitlines())
    text = next((line for line in lines if line), "")
    text = _LEAD.sub("", text, count=1).strip()
    end = _SENTENCE_END.search(text)
    if end is not None:
        text = text[: end.start()]
    return _MARKS.sub("", text).rstrip(".!").strip()


def lexical_scores(answer: str | None, golds: Sequence[str], prefix: str) -> dict[str, float | None]:
    """Return ``<prefix>_f1``, ``<prefix>_bleu1`` and ``<prefix>_rouge_l`` (F1, beta = 1), each against the best gold.

    Parameters
    ----------
    answer
        The simplified answer; ``None`` where there is none to score.
    golds
        Acceptable answers; empty: nothing to hold against.

    Returns
    -------
    dict
        The same names always; ``None`` where not measurable.
    """
    if answer is None or not golds:
        return {prefix + suffix: None for suffix in SUFFIXES}
    scores = (
        max(token_f1(answer, gold) for gold in golds),
        max(bleu1(answer, gold) for gold in golds),
        max(rouge_l(answer, gold)["f1"] for gold in golds),
    )
    return {prefix + suffix: score for suffix, score in zip(SUFFIXES, scores, strict=True)}
