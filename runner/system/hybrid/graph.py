"""The graph leg: personalised PageRank over events and the words they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RESTART = 0.3
_STEPS = 30
_TOLERANCE = 1e-9
_MAX_SHARE = 0.2  # a word in more of the events than this connects everything with everything


class TermGraph:
    """A bipartite graph of events and terms; an edge where an event holds the term, weighted by the term's idf.

    A walk that starts at the question's terms and returns there with probability 0.3 also reaches events that share no
    word with the question but share rare words with events that do.

    Source: the personalisation follows Haveliwala, "Topic-sensitive PageRank", WWW 2002; passages and terms as one
    bipartite graph as in Gutierrez et al., "HippoRAG", NeurIPS 2024, with stems in the place of extracted entities.
    """

    def __init__(self, tokens: Sequence[Sequence[str]]) -> None:
        from scipy import sparse

        self.size = len(tokens)
        counts = Counter(term for text in tokens for term in set(text))
        most = max(2.0, _MAX_SHARE * self.size)
        kept = sorted(term for term, df in counts.items() if df <= most)
        self._terms = {term: at for at, term in enumerate(kept)}
        df = np.array([counts[term] for term in kept], dtype=np.float64)
        self.idf: Floats = np.log(1.0 + (self.size - df + 0.5) / (df + 0.5))
        pairs = [
            (row, self._terms[t]) for row, text in enumerate(tokens) for t in sorted(set(text)) if t in self._terms
        ]
        rows = np.array([pair[0] for pair in pairs], dtype=np.intp)
        columns = np.array([pair[1] for pair in pairs], dtype=np.intp)
        edges = sparse.csr_array((self.idf[columns], (rows, columns)), shape=(self.size, len(kept)))
        self._to_terms = _stochastic(edges).T.tocsr()  # event -> term, columns sum to 1
        self._to_events = _stochastic(edges.T.tocsr()).T.tocsr()  # term -> event

    def score(self, terms: Mapping[str, float]) -> Floats:
        """Stationary mass of each event, shape (n,); all 0 when no term is known."""
        start = np.zeros(len(self._terms))
        for term, weight in terms.items():
            at = self._terms.get(term)
            if at is not None:
                start[at] += weight * self.idf[at]
        if not start.any():
            return np.zeros(self.size)
        start /= start.sum()
        mass = start
        for _ in range(_STEPS):
            moved = _RESTART * start + (1.0 - _RESTART) * (self._to_terms @ (self._to_events @ mass))
            change = float(np.abs(moved - mass).sum())
            mass = moved
            if change < _TOLERANCE:
                break
        return np.asarray(self._to_events @ mass, dtype=np.float64)


def _stochastic(matrix: Any) -> Any:
    """Rows scaled to sum to 1; an empty row stays empty."""
    from scipy import sparse

    sums = np.asarray(matrix.sum(axis=1)).ravel()
    return sparse.diags_array(np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)) @ matrix
