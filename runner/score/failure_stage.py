"""The stage of the pipeline at which a missed question was lost.

Stages, in the order in which a memory works; a question is lost at the first one that is known to have failed it:

``extraction``
    The store is known to hold nothing that was made from the needed evidence.
``graph_resolution``
    A system that follows links holds all of it, found a part without the answer and missed another.
``retrieval_ranking``
    It is held, or not known not to be, and no delivered hit comes from it, or from a part that was needed.
``compression_loss``
    A delivered hit comes from it; the answer's words stand in the raw event and not in what was delivered.
``reader``
    What was delivered holds the answer.
``not_verbatim``
    The evidence was delivered and the answer's words stand in no event: it has to be inferred, and words cannot tell
    whether compressing or reading lost it.

``unknown`` is said where the record does not tell. Where a memory comes from decides first, by event ids, so that the
stages hold for systems that rewrite what they store. Words decide only between the last three, and only the words of
hits from the evidence, or of hits that name no events: another person's job is a job, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from runner.score.wording import Alternative, alternatives, is_stated_in
from runner.types import Hit, Texts

EXTRACTION: Final = "extraction"
GRAPH_RESOLUTION: Final = "graph_resolution"
RETRIEVAL_RANKING: Final = "retrieval_ranking"
COMPRESSION_LOSS: Final = "compression_loss"
READER: Final = "reader"
NOT_VERBATIM: Final = "not_verbatim"
UNKNOWN: Final = "unknown"
# In pipeline order.
STAGES: Final = (EXTRACTION, GRAPH_RESOLUTION, RETRIEVAL_RANKING, COMPRESSION_LOSS, READER, NOT_VERBATIM, UNKNOWN)

_NAMED: Final = 4  # ids that a sentence names


@dataclass(frozen=True)
class Failure:
    """A stage, and why it is that one in a sentence."""

    stage: str
    why: str


@dataclass(frozen=True)
class EvidenceRank:
    """One evidence event: the rank (from 1) of the first delivered hit that comes from it, and whether it is stored."""

    id: str
    rank: int | None
    stored: bool | None  # None: the system cannot tell


def evidence_of(texts: Texts) -> tuple[str, ...]:
    """Return ids of the evidence: those that the benchmark labels, else of the events that hold the answer's words."""
    located = [passage.id for passage in texts.evidence or ()]
    return tuple(dict.fromkeys(texts.gold.evidence or located))


def ranks_of_evidence(texts: Texts) -> tuple[EvidenceRank, ...]:
    """Return rank and storage of every evidence event."""
    ranks = _ranks(texts.hits)
    held = None if texts.stored is None else set(texts.stored)
    return tuple(
        EvidenceRank(name, ranks.get(name), None if held is None else name in held) for name in evidence_of(texts)
    )


def stage_of_recall(texts: Texts, k: int | None = None) -> Failure:
    """Return the stage of a question of the recall axis, none of whose first ``k`` hits comes from the evidence.

    ``None`` counts every hit. Only what was stored and what came back is looked at, no words.
    """
    evidence = evidence_of(texts)
    if not evidence:
        return Failure(UNKNOWN, "no event is known to be evidence")
    ranks = [place.rank for place in ranks_of_evidence(texts) if place.rank is not None]
    if not ranks and _never_stored(evidence, texts.stored):
        return Failure(EXTRACTION, f"nothing in the store was made from {_listed(evidence)}")
    if ranks and k is not None and min(ranks) > k:
        return Failure(RETRIEVAL_RANKING, f"the evidence comes at rank {min(ranks)}, beyond the first {k} that count")
    return Failure(RETRIEVAL_RANKING, _missed(evidence, texts))


def stage_of_answer(texts: Texts, *, reading_known: bool = True, lost: bool = False) -> Failure:
    """Return the stage of a question that was answered wrong, or with a refusal where an answer was to be had.

    Parameters
    ----------
    texts
        What is recorded of the question; ``evidence=None`` and ``stored=None`` where the record does not tell.
    reading_known
        Whether the record says what was read: a system that answers by itself need not say it.
    lost
        The system kept nothing that survived the loss of its index.
    """
    if texts.gold.abstain:
        return Failure(READER, "there was nothing to find: the right answer is that the memory does not hold it")
    if lost:
        return Failure(EXTRACTION, "nothing that was stored survived the loss of the index")
    wanted, evidence = alternatives(texts.gold.answers), evidence_of(texts)
    if not (reading_known or texts.hits or texts.context):
        if evidence and _never_stored(evidence, texts.stored):
            return Failure(EXTRACTION, f"nothing in the store was made from {_listed(evidence)}")
        return Failure(UNKNOWN, "what it read for the answer is not recorded")
    if not evidence:
        return _unlabelled(texts, wanted)
    return _labelled(texts, wanted, evidence)


def _unlabelled(texts: Texts, wanted: Sequence[Alternative]) -> Failure:
    """Return the stage where no event is known to hold the answer: only what was delivered tells."""
    if is_stated_in(wanted, _delivered(texts, texts.hits)):
        return Failure(READER, "the answer's words stand in what was delivered")
    if not texts.hits and not texts.context:
        return Failure(RETRIEVAL_RANKING, "nothing was delivered")
    if texts.evidence is None:
        return Failure(UNKNOWN, "no event is labelled as evidence, and the raw events are not recorded")
    return Failure(NOT_VERBATIM, "no event is labelled as evidence, and none is found by the answer's words")


def _labelled(texts: Texts, wanted: Sequence[Alternative], evidence: tuple[str, ...]) -> Failure:
    ranks = _ranks(texts.hits)
    got = [name for name in evidence if name in ranks]
    missing = [name for name in evidence if name not in ranks]
    nameless = any(hit.sources is None for hit in texts.hits) or (bool(texts.context) and not texts.hits)
    by_words = not texts.gold.evidence  # then events that were not recorded may hold the words as well
    own = [hit for hit in texts.hits if by_words or hit.sources is None or set(hit.sources) & set(got)]
    raw = {passage.id: passage.text for passage in texts.evidence or ()}

    if not got and not by_words and _never_stored(evidence, texts.stored):
        return Failure(EXTRACTION, f"nothing in the store was made from {_listed(evidence)}")
    if is_stated_in(wanted, _delivered(texts, own) if own or nameless else []):
        origin = f"what was delivered of {_listed(got)}" if got else "what was delivered"
        beside = f", though no hit cites {_listed(missing)}" if got and _all_needed(texts) and missing else ""
        return Failure(READER, f"the answer's words stand in {origin}{beside}")
    if is_stated_in(wanted, [raw[name] for name in got if name in raw]):
        return Failure(
            COMPRESSION_LOSS, f"the answer's words stand in {_listed(got)} and not in what was delivered of it"
        )
    lacking = _lacking(texts, wanted, got, missing, raw)
    if lacking:
        return _undelivered(texts, wanted, got, lacking, nameless=nameless)
    if not wanted:
        points = "it is graded by points" if texts.gold.points else "it has none that could be looked for"
        return Failure(NOT_VERBATIM, f"the evidence was delivered, and the answer's words cannot tell more: {points}")
    if not raw:
        return Failure(
            UNKNOWN, "the evidence was delivered without the answer's words, and the raw events are not recorded"
        )
    return Failure(
        NOT_VERBATIM, "the evidence was delivered, and the answer's words do not stand in the raw events either"
    )


def _lacking(
    texts: Texts, wanted: Sequence[Alternative], got: Sequence[str], missing: Sequence[str], raw: dict[str, str]
) -> Sequence[str]:
    """Return the evidence that was needed and not delivered.

    Events that are labelled one by one are all needed. Of a session that is labelled whole, and of events that were
    found by words, those are that hold the words.
    """
    if _all_needed(texts):
        return missing
    holding = [name for name in missing if name in raw and is_stated_in(wanted, [raw[name]])]
    if holding or not got:
        return holding or missing
    return missing if is_stated_in(wanted, list(raw.values())) else ()


def _undelivered(
    texts: Texts, wanted: Sequence[Alternative], got: Sequence[str], lacking: Sequence[str], *, nameless: bool
) -> Failure:
    part = f"; {_listed(got)} was delivered" if got else ""
    if _never_stored(lacking, texts.stored):
        return Failure(EXTRACTION, f"nothing in the store was made from {_listed(lacking)}{part}")
    if nameless:
        return Failure(UNKNOWN, "its hits name no events, and the answer's words do not stand in them")
    linked = texts.links and texts.stored is not None and _all_needed(texts)
    if linked and got and set(lacking) <= set(texts.stored or ()):
        return Failure(
            GRAPH_RESOLUTION, f"all evidence is stored, {_listed(got)} was found, {_listed(lacking)} was not"
        )
    elsewhere = ""
    if is_stated_in(wanted, _delivered(texts, texts.hits)):
        elsewhere = "; the answer's words stand in a hit from other events, which proves nothing"
    return Failure(RETRIEVAL_RANKING, f"{_missed(lacking, texts)}{part}{elsewhere}")


def _all_needed(texts: Texts) -> bool:
    """Tell if the benchmark labels events one by one."""
    return bool(texts.gold.evidence) and not texts.gold.sessions


def _never_stored(evidence: Sequence[str], stored: Sequence[str] | None) -> bool:
    """Tell if nothing in the store is known to have been made from these events."""
    return stored is not None and not set(evidence) & set(stored)


def _missed(evidence: Sequence[str], texts: Texts) -> str:
    if not texts.hits:
        return "nothing was delivered"
    count = "the only delivered hit does not come" if len(texts.hits) == 1 else "no delivered hit comes"
    return f"{count} from {_listed(evidence)}"


def _ranks(hits: Sequence[Hit]) -> dict[str, int]:
    """Return the rank, from 1, of the first hit that comes from each event."""
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits, start=1):
        for source in hit.sources or ():
            ranks.setdefault(source, rank)
    return ranks


def _delivered(texts: Texts, hits: Sequence[Hit]) -> list[str]:
    """Return what a reader saw of some hits, a text each.

    Only a hit that was delivered alone can have been cut to the budget: then the context is what was seen of it.
    """
    if texts.context and len(texts.hits) <= 1:
        return [texts.context]
    return [hit.text if hit.time is None else f"[{hit.time:%d %B %Y, %H:%M}] {hit.text}" for hit in hits]


def _listed(names: Iterable[str]) -> str:
    """Return ids for a sentence, the first few by name."""
    all_names = list(names)
    shown = ", ".join(all_names[:_NAMED])
    return shown if len(all_names) <= _NAMED else f"{shown} and {len(all_names) - _NAMED} more"
