"""The BM25 leg."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from runner.system._retrieval.words import stems

Scores = NDArray[np.float64]


class Bm25Index:
    """BM25 (bm25s, Lucene's variant, k1 = 1.5, b = 0.75) over English stems without stopwords.

    Parameters
    ----------
    texts
        The corpus, one text per event, in event order.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self.tokens = stems(texts)
        self.size = len(texts)
        self._vocabulary = {token for tokens in self.tokens for token in tokens}
        self._bm25 = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        if self._vocabulary:
            self._bm25.index(self.tokens, show_progress=False)

    def score(self, text: str) -> Scores:
        """Return one score per event, shape (n,); 0 where no word is shared."""
        return self.weighted(Counter(stems([text])[0]))

    def weighted(self, terms: Mapping[str, float]) -> Scores:
        """Scores of a weighted bag of stems, shape (n,): BM25 is a sum over terms, so a weight scales its term."""
        total = np.zeros(self.size)
        for term in sorted(terms):
            if term in self._vocabulary:
                total += terms[term] * np.asarray(self._bm25.get_scores([term]), dtype=np.float64)
        return total
