"""The cross-encoder: reads question and event together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.system._retrieval import onnx_models
from runner.system._retrieval.result_cache import ResultCache, key


@dataclass(frozen=True)
class Scores:
    """One logit per text, shape (n,); higher is better, comparable within one query. ``reused`` were in the cache."""

    logits: NDArray[np.float64]
    reused: int


class Reranker:
    """ms-marco-MiniLM-L-12-v2 as int8 ONNX: one logit per pair. Thread-safe.

    Source: cross-encoder/ms-marco-MiniLM-L-12-v2, Apache-2.0.
    """

    def __init__(self, cache: ResultCache) -> None:
        self._cache = cache
        self._network = onnx_models.network(onnx_models.MINILM_L12)
        self.identity = f"{onnx_models.MINILM_L12.name}@sha256:{onnx_models.MINILM_L12.model_sha256}"
        self._kind = f"pair/{onnx_models.MAX_TOKENS}/{onnx_models.runtime()}"

    def score(self, query: str, texts: Sequence[str]) -> Scores:
        """Read each text together with the query."""
        keys = [key(onnx_models.MINILM_L12.model_sha256, self._kind, query, text) for text in texts]
        held = self._cache.read(keys)
        todo = {name: text for name, text in zip(keys, texts, strict=True) if name not in held}
        made = onnx_models.each(lambda text: self._network.run(query, text), todo.values(), "read")
        fresh = {name: np.asarray(logit[0], dtype="<f8").tobytes() for name, logit in zip(todo, made, strict=True)}
        self._cache.write(fresh)
        held.update(fresh)
        logits = np.array([np.frombuffer(held[name], dtype="<f8")[0] for name in keys], dtype=np.float64)
        return Scores(logits, len(texts) - len(todo))
