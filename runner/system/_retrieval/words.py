"""Words: the one tokeniser of the lexical legs, the graph and the abstention gate."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from runner.system._base.text import clean

_local = threading.local()


def _stemmer() -> Any:
    """PyStemmer's English (Porter 2) stemmer; an instance is not safe between threads, so each has its own."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return stemmer


@cache
def stopwords() -> frozenset[str]:
    """The English stopwords of bm25s (Lucene's list) with question words, auxiliaries and pronouns."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)


def stems(texts: Sequence[str]) -> list[list[str]]:
    """Content stems of each text, in order, repeats kept."""
    import bm25s

    return bm25s.tokenize(  # type: ignore[no-any-return]
        [clean(text) for text in texts],
        stopwords=sorted(stopwords()),
        stemmer=_stemmer(),
        return_ids=False,
        show_progress=False,
    )
