"""One embedding model, cosine similarity, every event compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from runner.system import hit_of, within
from runner.system._retrieval.embedder import Vectors
from runner.system._retrieval.ranking import order
from runner.system._retrieval.vector_system import VectorSystem
from runner.types import Event, Query, Retrieval

Store = tuple[Sequence[Event], Vectors]


class Dense(VectorSystem):
    """Events by cosine to the question, best first; ties in event order."""

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Store:
        return events, np.stack(prepared)

    def find(self, store: Store, query: Query) -> Retrieval:
        events, vectors = store
        asked = self.embedder.embed_query(query.text)
        scores = (vectors @ asked.vectors[0]).astype(np.float64)
        found = within((hit_of(events[at], float(scores[at]), float(scores[at])) for at in order(scores)), query)
        return replace(found, cached=asked.reused > 0)


SYSTEM = Dense
