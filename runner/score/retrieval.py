"""Retrieval metrics of one question, over the evidence that its gold names.

Every function takes

- ``ranked``: for each returned hit, best first, the ids of the events that it came from (one id for a verbatim
  store, several for a system that merges or chunks, none for text that comes from no event);
- ``gold``: the ids of the evidence events, at least one.

Values lie in [0, 1]. Aggregating over questions is the caller's: recall@K of a run is the mean of :func:`recall_at`.
With hits of one distinct id each, the definitions are those of ``trec_eval``/``ir_measures``: recall@K (any hit) is
their ``Success@K``, :func:`fraction_at` their ``R@K``, :func:`ndcg_at` their ``nDCG@K`` with binary gains
(Järvelin & Kekäläinen 2002, log2 discount), :func:`reciprocal_rank` their ``RR``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite, log2
from typing import Final

from runner.types import Hit, Metric

Ranked = Sequence[Collection[str]]

DEPTHS = (1, 5, 10, 20)

# The metrics of :func:`profile`: those of the first K hits, which a table shows; of all hits; and others.
_FIRST_K: Final = ("recall@K", "recall_all@K", "fraction@K", "ndcg@K", "mrr")
_ALL_HITS: Final = ("fraction@all",)
_MORE: Final = ("precision@K", "recall@all", "rank@1")
BEST_COS_RANK: Final = Metric("best_cos_rank", higher=False, unit="ranks", shown="recall")
NDCG_ANY: Final = Metric("ndcg_any@K", share=True, shown="never")
SOURCES_PER_HIT: Final = Metric("sources_per_hit", higher=None, unit="events", shown="never")


def profile_metrics(*levels: str) -> tuple[Metric, ...]:
    """Return the declarations of what :func:`profile` gives, in the order of their columns.

    Parameters
    ----------
    levels
        Further levels by their prefix (``session_``); a table shows their recall@K alone.
    """
    shown = [Metric(name, share=True, shown="recall") for name in _FIRST_K]
    shown += [Metric(f"{level}recall@K", share=True, shown="recall") for level in levels]
    shown += [Metric(name, share=True, shown="recall") for name in _ALL_HITS]
    every = [prefix + name for prefix in ("", *levels) for name in (*_FIRST_K, *_ALL_HITS, *_MORE)]
    known = {metric.name for metric in shown}
    return (*shown, *(Metric(name, share=True, shown="never") for name in every if name not in known))


def ranked_sources(hits: Sequence[Hit]) -> list[tuple[str, ...]] | None:
    """Return the sources of each hit, best first; ``None`` where any hit does not say: then nothing is measurable.

    A hit without a source of its own is an empty one; only ``Hit.sources=None`` says that the system cannot tell.
    """
    known = [hit.sources for hit in hits if hit.sources is not None]
    return known if len(known) == len(hits) else None


def _first_ranks(ranked: Ranked, gold: Collection[str]) -> dict[str, int]:
    """Return the rank, from 1, at which each evidence id first appears; ids never returned are absent."""
    wanted = _required(gold)
    ranks: dict[str, int] = {}
    for rank, sources in enumerate(ranked, start=1):
        for source in sources:
            if source in wanted and source not in ranks:
                ranks[source] = rank
    return ranks


def _required(gold: Collection[str]) -> set[str]:
    if not gold:
        raise ValueError("no evidence: the metric is not measurable for this question")
    return set(gold)


def _depth(k: int) -> int:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return k


def recall_at(ranked: Ranked, gold: Collection[str], k: int) -> float:
    """Return 1 if any of the first ``k`` hits comes from an evidence event, else 0."""
    _depth(k)
    return float(any(rank <= k for rank in _first_ranks(ranked, gold).values()))


def recall_all_at(ranked: Ranked, gold: Collection[str], k: int) -> float:
    """Return 1 if the first ``k`` hits cover every evidence event, else 0 (LongMemEval's ``recall_all@K``)."""
    return float(fraction_at(ranked, gold, k) == 1.0)


def fraction_at(ranked: Ranked, gold: Collection[str], k: int) -> float:
    """Return the share of the evidence events that the first ``k`` hits cover: recall as in information retrieval."""
    _depth(k)
    found = sum(rank <= k for rank in _first_ranks(ranked, gold).values())
    return found / len(_required(gold))


def ndcg_at(ranked: Ranked, gold: Collection[str], k: int) -> float:
    """Return the normalised discounted cumulative gain at ``k``, binary gains, discount 1/log2(rank + 1).

    An evidence id gains once, at the rank where it first appears. A hit that covers several ids gains for each; the
    sum is capped at the ideal (one id a rank), so that a merged hit at rank 1 is perfect and not more.
    """
    _depth(k)
    gain = sum(1 / log2(rank + 1) for rank in _first_ranks(ranked, gold).values() if rank <= k)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(_required(gold))) + 1))
    return min(1.0, gain / ideal)


def ndcg_any_at(ranked: Ranked, gold: Collection[str], k: int) -> float:
    """Return ``ndcg_any@K``: as :func:`ndcg_at` with discount 1/log2(rank), and none at the first two ranks.

    Source: ``src/retrieval/eval_utils.py`` of xiaowu0162/LongMemEval (Järvelin & Kekäläinen 2002 with base 2, where
    ranks below the base are not discounted). Published figures are of this one.
    """
    _depth(k)
    gain = sum(1 / max(1.0, log2(rank)) for rank in _first_ranks(ranked, gold).values() if rank <= k)
    ideal = sum(1 / max(1.0, log2(rank)) for rank in range(1, min(k, len(_required(gold))) + 1))
    return min(1.0, gain / ideal)


def reciprocal_rank(ranked: Ranked, gold: Collection[str]) -> float:
    """Return 1/rank of the first hit from an evidence event, 0 when there is none. Its mean is MRR."""
    ranks = _first_ranks(ranked, gold)
    return 1 / min(ranks.values()) if ranks else 0.0


def precision_at(ranked: Ranked, gold: Collection[str], k: int) -> float | None:
    """Return the share of the hits *returned* within the first ``k`` that come from an evidence event.

    The divisor is what came back, not ``k``: a system that returns two good hits and stops is not punished for
    stopping. ``None`` when nothing came back.
    """
    wanted = _required(gold)
    top = ranked[: _depth(k)]
    if not top:
        return None
    return sum(any(source in wanted for source in sources) for sources in top) / len(top)


def best_cos_rank(cosines: Sequence[float | None]) -> int | None:
    """Return the rank, from 1, of the hit that is closest to the query by cosine; of equally close ones the first.

    Parameters
    ----------
    cosines
        For each returned hit, best first, its cosine with the query; ``None`` where the system does not tell.

    Returns
    -------
    int or None
        1: the ranking begins with the closest hit. More: whatever fuses or reranks put a weaker match first, which may
        be right and is worth a look. ``None`` when no hit tells its cosine.
    """
    measured = [(value, -rank) for rank, value in enumerate(cosines, start=1) if value is not None and isfinite(value)]
    return -max(measured)[1] if measured else None


def depths(k: int) -> tuple[int, ...]:
    """Return the K's that a row records: 1, 5, 10, 20 and the harness's own."""
    return tuple(sorted({*DEPTHS, k}))


def profile(
    ranked: Ranked | None, gold: Collection[str], k: int, *, prefix: str = "", precision: bool = True
) -> dict[str, float | None]:
    """Return the retrieval metrics that a row records, by name.

    ``recall@K`` and ``fraction@K`` at every K of :func:`depths`; ``recall_all@k``, ``ndcg@k`` and ``precision@k`` at
    the harness's own; ``recall@all`` and ``fraction@all`` over all hits; ``mrr`` and ``rank@1``. All are ``None``,
    never 0, when ``ranked`` is ``None`` (the system does not say where its hits come from) or ``gold`` is empty
    (nothing to find): the keys are the same either way.
    A K beyond the number of hits asked for measures the hits that there are.
    """
    measurable = ranked is not None and bool(gold)
    found: Ranked = ranked if ranked is not None else ()
    values: dict[str, float | None] = {}
    for depth in depths(k):
        values[f"recall@{depth}"] = recall_at(found, gold, depth) if measurable else None
        values[f"fraction@{depth}"] = fraction_at(found, gold, depth) if measurable else None
    values[f"recall_all@{k}"] = recall_all_at(found, gold, k) if measurable else None
    values[f"ndcg@{k}"] = ndcg_at(found, gold, k) if measurable else None
    if precision:
        values[f"precision@{k}"] = precision_at(found, gold, k) if measurable else None
    # Whatever their order: what a system is measured on that returns a history and not a ranking.
    values["recall@all"] = recall_at(found, gold, len(found) or 1) if measurable else None
    values["fraction@all"] = fraction_at(found, gold, len(found) or 1) if measurable else None
    values["mrr"] = reciprocal_rank(found, gold) if measurable else None
    values["rank@1"] = recall_at(found, gold, 1) if measurable else None
    return {prefix + name: value for name, value in values.items()}
