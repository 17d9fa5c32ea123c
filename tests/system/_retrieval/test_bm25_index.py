"""BM25 against the formula, and the tokeniser."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from runner.system._retrieval.bm25_index import Bm25Index
from runner.system._retrieval.words import stems

TEXTS = ["cat cat dog", "dog bird", "fish", "cat bird bird fish fish"]


def bm25(term: str, at: int) -> float:
    docs = [text.split() for text in TEXTS]
    average = sum(map(len, docs)) / len(docs)
    df = sum(term in doc for doc in docs)
    tf = docs[at].count(term)
    idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * len(docs[at]) / average))


def test_scores_are_those_of_the_formula() -> None:
    expected = [bm25("cat", at) + bm25("bird", at) for at in range(4)]
    np.testing.assert_allclose(Bm25Index(TEXTS).score("cats birds"), expected, rtol=1e-6)


def test_a_weight_scales_its_term() -> None:
    expected = [2.0 * bm25("cat", at) + 0.5 * bm25("fish", at) for at in range(4)]
    np.testing.assert_allclose(
        Bm25Index(TEXTS).weighted({"cat": 2.0, "fish": 0.5, "unknown": 9.0}), expected, rtol=1e-6
    )


@pytest.mark.parametrize("texts", [[""], ["the of and"], ["", "?!"]])
def test_a_corpus_without_words_scores_nothing(texts: list[str]) -> None:
    assert Bm25Index(texts).score("cat").tolist() == [0.0] * len(texts)


def test_words_are_stemmed_and_stopwords_dropped() -> None:
    assert stems(["When did Caroline go hiking?", "the connected connections", ""]) == [
        ["carolin", "go", "hike"],
        ["connect", "connect"],
        [],
    ]


def test_repeats_in_a_question_count() -> None:
    lexical = Bm25Index(TEXTS)
    np.testing.assert_allclose(lexical.weighted(Counter(["cat", "cat"])), 2 * lexical.score("cat"))
