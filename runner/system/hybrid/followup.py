"""The follow-up: a second round of retrieval, asked in the words of what the first round found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

TOP = 3  # hits of the first round that are believed
_TERMS = 10  # words added
_TERM_SHARE = 0.4  # weight of all added words together, the question's own words together weighing 1
_BETA = 0.5  # weight of the hits' mean vector, the question's weighing 1


def vector(query: Vector, hits: Vector) -> Vector:
    """Rocchio: the question's unit vector moved towards the mean of the hits', shape (d,) from (d,) and (m, d).

    Source: Rocchio, "Relevance feedback in information retrieval", 1971, without the negative part.
    """
    moved = query + np.float32(_BETA) * hits.mean(axis=0)
    length = np.linalg.norm(moved)
    return moved / length if length else query


def terms(query: Sequence[str], hits: Sequence[Sequence[str]], df: Mapping[str, int], size: int) -> dict[str, float]:
    """The question's stems with the hits' most telling ones added, as weights.

    Source: RM3 in the form of Abdul-Jaleel et al., TREC 2004, with tf-idf in the place of the relevance model.
    """
    asked = Counter(query)
    weights = {term: float(count) for term, count in asked.items()}
    found = Counter(term for hit in hits for term in hit if term not in asked)
    telling = {term: count * math.log(1.0 + size / (1.0 + df.get(term, 0))) for term, count in found.items()}
    best = sorted(telling, key=lambda term: (-telling[term], term))[:_TERMS]
    total = sum(telling[term] for term in best)
    for term in best:
        weights[term] = _TERM_SHARE * max(1, len(query)) * telling[term] / total
    return weights
