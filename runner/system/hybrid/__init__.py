"""BM25 and an embedding model, fused by rank, with every further stage a knob that the arm states.

The stages run in this order; a knob that is off is not computed::

    hyde       a model invents an answer; the question is asked with it appended
    legs       bm25, dense, graph, temporal_arm       each a ranking of the events
    fusion     reciprocal ranks, k = 60
    followup   a second round of bm25 and dense legs, asked in the words of the first round's top hits
    temporal   events of the time that the question names move up, and the cross-encoder reads the events' dates
    mmr        hits that repeat each other move down
    cross_encoder   the first 20 are read again, together with the question
    min_overlap     abstain when nothing returned shares the question's words
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from msgspec import structs
from pydantic import Field

from runner.config import ArmConfig, ModelConfig, Strict
from runner.errors import ConfigError
from runner.system import Opening, Provenance, hit_of, spoken, within
from runner.system._base.threads import in_own_thread
from runner.system._retrieval import onnx_models
from runner.system._retrieval.bm25_index import Bm25Index
from runner.system._retrieval.embedder import Vectors
from runner.system._retrieval.ranking import Floats, Order, order
from runner.system._retrieval.vector_system import VectorSettings, VectorSystem
from runner.system._retrieval.words import stems
from runner.system.hybrid import followup as second_round
from runner.system.hybrid.cross_encoder import Reranker
from runner.system.hybrid.dates import asks_when, spans
from runner.system.hybrid.fusion import diversify, fuse
from runner.system.hybrid.graph import TermGraph
from runner.system.hybrid.hyde import Hyde
from runner.system.hybrid.timeline import Timeline
from runner.types import ABSTAINED_MIN_OVERLAP, Event, Query, Retrieval

RERANKED = 20  # events that the cross-encoder reads
_MMR_POOL = 40  # events that mmr chooses from
_MMR_LAMBDA = 0.9
_BOOST = 1.5  # factor on the fused score of an event that falls in the time asked for
_FOLLOWUP_WEIGHT = 0.5  # of each second-round leg; every leg of the first round weighs 1


Share = Annotated[float, Field(ge=0, le=1)]


class MinScore(Strict):
    """The score that an event must exceed to be ranked by a leg; 0 is off."""

    bm25: Annotated[float, Field(ge=0)]
    dense: Share


class Knobs(Strict):
    """Every stage, on or off. There are no defaults: an arm states them all."""

    graph: bool
    cross_encoder: bool
    mmr: bool
    temporal: bool
    temporal_arm: bool
    followup: bool
    hyde: bool
    min_overlap: Share  # share of the question's content stems that one hit must hold, else abstain; 0 is off
    min_score: MinScore


class Settings(VectorSettings):
    """``hyde`` is the model that writes the hypothetical answer."""

    hyde: ModelConfig | None = None


class _Expanded(Query, frozen=True, kw_only=True):
    """A question with a hypothetical answer in its ``text``, for the legs; all else reads the question alone."""

    question: str


@dataclass(frozen=True)
class Store:
    """One namespace, indexed; a part that only a knob that is off would read is ``None``."""

    events: Sequence[Event]
    texts: Sequence[str]
    vectors: Vectors
    lexical: Bm25Index
    df: Counter[str]
    graph: TermGraph | None
    timeline: Timeline | None


class Hybrid(VectorSystem):
    """Reciprocal rank fusion of BM25 and dense retrieval, and what the knobs add."""

    Settings = Settings
    Knobs = Knobs

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        if self.knobs.hyde and self.settings.hyde is None:
            raise ConfigError(
                [
                    "arm.knobs.hyde: is on and has no model to write with; set arm.settings.hyde to a model "
                    "(name, provider, model, base_url …), or take +arm=hybrid_hyde"
                ]
            )
        self.capabilities = replace(self.capabilities, links=self.knobs.graph)
        self._reranker: Reranker
        self._hyde = Hyde(self.settings.hyde) if self.knobs.hyde else None

    def missing(self) -> str | None:
        if self.knobs.cross_encoder and not onnx_models.installed():
            return onnx_models.EXTRA
        return super().missing()

    async def open(self, opening: Opening) -> Provenance:
        opened = await super().open(opening)
        if self.knobs.cross_encoder:
            self._reranker = await in_own_thread(Reranker, self.cache)
            opened = replace(opened, reranker=self._reranker.identity)
        if self._hyde is not None:
            self._hyde.open(opening)
            fake = opened.fake or self.settings.hyde.provider == "fake"
            opened = replace(opened, fake=fake, extra={**opened.extra, "hyde": self._hyde.identity})
        return opened

    async def search(self, ns: str, query: Query) -> Retrieval:
        if self._hyde is None:
            return await super().search(ns, query)
        text = await self._hyde.expand(query.text, query.now)
        return await super().search(ns, _Expanded(**{**structs.asdict(query), "text": text, "question": query.text}))

    def index(self, events: Sequence[Event], prepared: Sequence[Any]) -> Store:
        texts = [spoken(event) for event in events]
        lexical = Bm25Index(texts)
        timed = self.knobs.temporal or self.knobs.temporal_arm
        return Store(
            events=events,
            texts=texts,
            vectors=np.stack(prepared),
            lexical=lexical,
            df=Counter(term for tokens in lexical.tokens for term in set(tokens)),
            graph=TermGraph(lexical.tokens) if self.knobs.graph else None,
            timeline=Timeline(events) if timed else None,
        )

    def find(self, store: Store, query: Query) -> Retrieval:
        question = query.question if isinstance(query, _Expanded) else query.text
        embedded = self.embedder.embed_query(query.text)
        named = spans(question, query.now) if store.timeline is not None else []
        away = store.timeline.distance(named) if store.timeline is not None and named else None
        # Of every event, whatever leg finds it; with hyde it is that of the question and its hypothetical answer.
        similar = (store.vectors @ embedded.vectors[0]).astype(np.float64)
        fused = self._fused(store, query, question, embedded.vectors[0], similar, away)
        ranked = order(fused, above=0.0)
        reused = embedded.reused
        if self.knobs.mmr:
            ranked = _diverse(store, ranked, fused)
        shown: list[float | None] = [float(fused[at]) for at in ranked]
        if self.knobs.cross_encoder:
            head = ranked[:RERANKED]
            texts = [_dated(store, at) if self.knobs.temporal and named else store.texts[at] for at in head]
            scored = self._reranker.score(question, texts)
            logits, reused = scored.logits, scored.reused  # its time is that of a hundred embedded questions
            best = order(logits)
            ranked = np.concatenate([head[best], ranked[RERANKED:]])
            # A logit and a fused score are not on one scale: what was not read again shows none.
            shown = [*(float(logits[at]) for at in best), *([None] * (len(ranked) - len(head)))]
        scores = zip(ranked, shown, strict=True)
        found = within((hit_of(store.events[at], score, float(similar[at])) for at, score in scores), query)
        found = structs.replace(found, cached=reused > 0)
        return self._unless_unrelated(found, question) if self.knobs.min_overlap else found

    def _fused(
        self,
        store: Store,
        query: Query,
        question: str,
        vector: second_round.Vector,
        similar: Floats,
        away: Floats | None,
    ) -> Floats:
        knobs = self.knobs
        asked = stems([query.text])[0]
        rankings = [
            order(store.lexical.weighted(Counter(asked)), above=knobs.min_score.bm25),
            order(similar, above=knobs.min_score.dense or None),
        ]
        if store.graph is not None:
            rankings.append(order(store.graph.score(Counter(asked)), above=0.0))
        if knobs.temporal_arm and store.timeline is not None:
            leg = _by_time(store.timeline, away, similar, question)
            if leg is not None:
                rankings.append(leg)
        size = len(store.events)
        fused = fuse(rankings, size)
        if knobs.followup:
            top = order(fused, above=0.0)[: second_round.TOP]
            if len(top):
                words = second_round.terms(asked, [store.lexical.tokens[at] for at in top], store.df, size)
                moved = store.vectors @ second_round.vector(vector, store.vectors[top])
                weights = [1.0] * len(rankings) + [_FOLLOWUP_WEIGHT] * 2
                rankings.append(order(store.lexical.weighted(words), above=knobs.min_score.bm25))
                rankings.append(order(moved.astype(np.float64), above=knobs.min_score.dense or None))
                fused = fuse(rankings, size, weights=weights)
        if knobs.temporal and away is not None:
            fused = np.where(away == 0.0, fused * _BOOST, fused)
        return fused

    def _unless_unrelated(self, found: Retrieval, question: str) -> Retrieval:
        """Abstain when no hit shares enough of the question's content words."""
        asked = set(stems([question])[0])
        if not asked or not found.hits:
            return found
        shared = max(len(asked & set(words)) for words in stems([hit.text for hit in found.hits])) / len(asked)
        if shared >= self.knobs.min_overlap:
            return found
        return structs.replace(found, hits=(), notes=(*found.notes, ABSTAINED_MIN_OVERLAP))

    async def close(self) -> None:
        await super().close()
        if self._hyde is not None:
            await self._hyde.close()


def _dated(store: Store, at: int) -> str:
    """An event with its date before it: what a cross-encoder needs to match it with the time a question names."""
    time = store.events[at].time
    return store.texts[at] if time is None else f"{time:%d %B %Y}: {store.texts[at]}"


def _diverse(store: Store, ranked: Order, fused: Floats) -> Order:
    """The pool reordered by maximal marginal relevance; relevance is the fused score over the best one."""
    pool = ranked[:_MMR_POOL]
    if len(pool) == 0:
        return ranked
    relevance = fused[pool] / fused[pool[0]]
    return np.concatenate([diversify(pool, relevance, store.vectors[pool], _MMR_LAMBDA, RERANKED), ranked[_MMR_POOL:]])


def _by_time(timeline: Timeline, away: Floats | None, similar: Floats, question: str) -> Order | None:
    """The temporal leg: nearest in time to the date asked about, or, for a *when*, what speaks of a time."""
    if away is not None:
        ranked = np.lexsort((-similar, away))
        return ranked[np.isfinite(away[ranked])]
    if asks_when(question):
        ranked = order(similar)
        return ranked[timeline.speaks[ranked]]
    return None


SYSTEM = Hybrid
