"""The stage of a miss: each one, each boundary, and what holds for every record."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runner.score.failure_stage import (
    COMPRESSION_LOSS,
    EXTRACTION,
    GRAPH_RESOLUTION,
    NOT_VERBATIM,
    READER,
    RETRIEVAL_RANKING,
    STAGES,
    UNKNOWN,
    evidence_of,
    ranks_of_evidence,
    stage_of_answer,
    stage_of_recall,
)
from runner.types import Gold, Hit, Passage, Texts

RAW = {
    "e1": "Gustav started as a court reporter.",
    "e2": "Zelda sat beside Gustav.",
    "e3": "Kwame is a court reporter, too.",
}


def hit(*sources: str, text: str | None = None, **more) -> Hit:
    """A hit that comes from events, verbatim unless told otherwise."""
    said = " ".join(RAW[name] for name in sources) if text is None else text
    return Hit(key="/".join(sources) or "k", text=said, sources=sources, **more)


def nameless(text: str) -> Hit:
    return Hit(key="k", text=text)


def record(
    *hits: Hit,
    gold=("court reporter",),
    evidence=("e1",),
    raw: tuple[str, ...] | None = None,
    stored=None,
    links=False,
    context: str | None = None,
    **more,
) -> Texts:
    passages = tuple(Passage(id=name, text=RAW[name]) for name in (evidence if raw is None else raw))
    return Texts(
        id="c/0",
        question="?",
        gold=Gold(answers=gold, evidence=evidence, **more),
        hits=hits,
        context="\n".join(one.text for one in hits) if context is None else context,
        evidence=passages,
        stored=stored,
        links=links,
    )


def stage(texts: Texts, **more) -> str:
    return stage_of_answer(texts, **more).stage


# --- extraction -------------------------------------------------------------------------------------------------------


def test_nothing_was_stored_of_it():
    got = stage_of_answer(record(hit("e3"), stored=()))
    assert (got.stage, got.why) == (EXTRACTION, "nothing in the store was made from e1")


def test_stored_or_not_known_not_to_be_is_no_loss_of_extraction():
    assert stage(record(hit("e3"), stored=("e1",))) == RETRIEVAL_RANKING
    assert stage(record(hit("e3"), stored=None)) == RETRIEVAL_RANKING


def test_the_part_that_was_not_delivered_was_never_stored():
    texts = record(hit("e2"), evidence=("e1", "e2"), stored=("e2",))
    assert stage_of_answer(texts).why == "nothing in the store was made from e1; e2 was delivered"
    assert stage(texts) == EXTRACTION


def test_a_hit_that_names_no_events_does_not_undo_an_empty_store():
    assert stage(record(nameless("a court reporter"), stored=())) == EXTRACTION
    assert stage(record(nameless("a court reporter"), stored=("e1",))) == READER


def test_a_system_that_lost_everything():
    assert stage(record(), lost=True) == EXTRACTION


# --- graph_resolution -------------------------------------------------------------------------------------------------


def hop(*hits: Hit, **more) -> Texts:
    values = {"evidence": ("e1", "e2"), "stored": ("e1", "e2"), "links": True, **more}
    return record(*hits, **values)


def test_a_hop_that_a_linked_system_missed():
    got = stage_of_answer(hop(hit("e2")))
    assert (got.stage, got.why) == (GRAPH_RESOLUTION, "all evidence is stored, e2 was found, e1 was not")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (hop(hit("e2"), links=False), RETRIEVAL_RANKING),
        (hop(hit("e2"), stored=None), RETRIEVAL_RANKING),  # not known to be held
        (hop(hit("e2"), stored=("e2",)), EXTRACTION),
        (hop(hit("e3")), RETRIEVAL_RANKING),  # found no part to go on from
        (hop(hit("e1"), hit("e2")), READER),
        (hop(hit("e2"), nameless("something else")), UNKNOWN),  # it may come from the other one
        (hop(hit("e2"), sessions=("s1",)), RETRIEVAL_RANKING),  # of a session, no one knows which are needed
        (hop(hit("e1")), READER),  # the part that was found tells the answer, with links as without
        (hop(hit("e1", text="a job")), COMPRESSION_LOSS),
    ],
    ids=["no-links", "unknown-store", "not-stored", "none-found", "all-found", "nameless", "session", "told", "lost"],
)
def test_what_is_no_missed_hop(texts: Texts, expected: str):
    assert stage(texts) == expected


# --- retrieval_ranking ------------------------------------------------------------------------------------------------


def test_no_hit_comes_from_it():
    got = stage_of_answer(record(hit("e2"), hit("e2", text="and more")))
    assert (got.stage, got.why) == (RETRIEVAL_RANKING, "no delivered hit comes from e1")
    got = stage_of_answer(record())
    assert (got.stage, got.why) == (RETRIEVAL_RANKING, "nothing was delivered")


def test_words_of_a_hit_from_other_events_prove_nothing():
    """Kwame is one, too: a reader that is shown that and nothing of Gustav cannot know."""
    got = stage_of_answer(record(hit("e3")))
    assert got.stage == RETRIEVAL_RANKING
    assert got.why.endswith("the answer's words stand in a hit from other events, which proves nothing")


def test_a_hit_that_comes_from_no_event_is_from_no_evidence():
    assert stage(record(Hit(key="k", text="a court reporter", sources=()))) == RETRIEVAL_RANKING


def test_a_part_that_holds_no_answer_is_not_enough():
    got = stage_of_answer(record(hit("e2"), evidence=("e1", "e2")))
    assert (got.stage, got.why) == (
        RETRIEVAL_RANKING,
        "the only delivered hit does not come from e1; e2 was delivered",
    )


def test_a_part_that_holds_the_answer_is():
    got = stage_of_answer(record(hit("e1"), evidence=("e1", "e2")))
    assert got.stage == READER
    assert got.why.endswith("though no hit cites e2")


def test_of_a_session_the_event_that_holds_the_words_counts():
    values = {"evidence": ("e1", "e2"), "sessions": ("s1",)}
    assert stage(record(hit("e2"), **values)) == RETRIEVAL_RANKING
    assert stage(record(hit("e2"), stored=("e2",), **values)) == EXTRACTION
    assert stage(record(hit("e1"), **values)) == READER
    assert stage(record(hit("e2"), gold=("an inference",), **values)) == NOT_VERBATIM  # any of it will do


# --- compression_loss -------------------------------------------------------------------------------------------------


def test_the_words_were_lost_on_the_way():
    got = stage_of_answer(record(hit("e1", text="Gustav has a new job.")))
    assert (got.stage, got.why) == (
        COMPRESSION_LOSS,
        "the answer's words stand in e1 and not in what was delivered of it",
    )
    # another hit that says them of someone else does not help
    assert stage(record(hit("e1", text="Gustav has a new job."), hit("e3"))) == COMPRESSION_LOSS


def test_a_hit_that_was_cut_to_the_budget():
    assert stage(record(hit("e1"), context="Gustav started as a cou")) == COMPRESSION_LOSS
    assert stage(record(hit("e1"), context="Gustav started as a court reporter")) == READER


def test_a_part_that_held_the_answer_was_compressed():
    assert stage(record(hit("e1", text="a job"), evidence=("e1", "e2"))) == COMPRESSION_LOSS


# --- reader and not_verbatim ------------------------------------------------------------------------------------------


def test_the_reader_had_it():
    got = stage_of_answer(record(hit("e1")))
    assert (got.stage, got.why) == (READER, "the answer's words stand in what was delivered of e1")
    assert stage(record(hit("e1", "e2", text="Court reporter: Gustav, whom Zelda knows"))) == READER
    assert stage(record(hit("e1", text="COURT  REPORTER (Gustav)"))) == READER


def test_a_substring_is_no_word():
    assert stage(record(hit("e1", text="they concatenate"), gold=("cat",), raw=())) == UNKNOWN
    assert stage(record(hit("e1"), gold=("port",))) == NOT_VERBATIM


def test_the_time_of_a_memory_tells_a_date_and_no_count():
    at = {"time": datetime(2020, 4, 5, 9, 58)}
    two = (hit("e1", **at), hit("e2"))
    assert stage(record(*two, gold=("5 April 2020",))) == READER
    assert stage(record(*two, gold=("5",))) == NOT_VERBATIM


def test_an_answer_that_has_to_be_inferred():
    got = stage_of_answer(record(hit("e1"), gold=("He is well paid",)))
    assert got.stage == NOT_VERBATIM
    assert got.why.endswith("do not stand in the raw events either")
    assert stage(record(hit("e1"), hit("e2"), evidence=("e1", "e2"), gold=("3",))) == NOT_VERBATIM


@pytest.mark.parametrize("gold", [("Yes",), ("B",), ()])
def test_an_answer_without_words_to_look_for(gold: tuple[str, ...]):
    assert stage(record(hit("e1"), gold=gold)) == NOT_VERBATIM
    assert stage(record(hit("e2"), gold=gold)) == RETRIEVAL_RANKING
    assert stage(record(hit("e2"), gold=gold, stored=())) == EXTRACTION


def test_points_are_no_words_of_an_answer():
    """What a rubric asks for is written for a judge; an answer beside it is looked for as any other."""
    points = {"points": ("states that he is a court reporter",)}
    got = stage_of_answer(record(hit("e1"), gold=(), **points))
    assert got.stage == NOT_VERBATIM
    assert got.why.endswith("it is graded by points")
    assert stage(record(hit("e1"), **points)) == READER


def test_an_abstention_that_was_answered_is_the_reader_s():
    assert stage(record(hit("e1"), abstain=True)) == READER
    assert stage(record(abstain=True, evidence=(), stored=())) == READER


# --- systems that do not tell, records that do not --------------------------------------------------------------------


def test_hits_that_name_no_events():
    assert stage(record(nameless("he is a court reporter"))) == READER
    got = stage_of_answer(record(nameless("he has a job")))
    assert (got.stage, got.why) == (
        UNKNOWN,
        "its hits name no events, and the answer's words do not stand in them",
    )
    assert stage(record(nameless("he has a job"), stored=())) == EXTRACTION
    assert stage(record(nameless("he has a job"), hit("e1", text="a job"))) == COMPRESSION_LOSS


def test_a_context_without_hits_is_read_as_one():
    assert stage(record(context="he is a court reporter"), reading_known=False) == READER
    assert stage(record(context="he has a job"), reading_known=False) == UNKNOWN


def test_a_system_that_does_not_say_what_it_read():
    got = stage_of_answer(record(), reading_known=False)
    assert (got.stage, got.why) == (UNKNOWN, "what it read for the answer is not recorded")
    assert stage(record(stored=()), reading_known=False) == EXTRACTION
    assert stage(record(hit("e1")), reading_known=False) == READER


def test_a_record_without_raw_events():
    bare = {"raw": ()}
    for texts in (record(hit("e1", text="a job"), **bare), replace(record(hit("e1", text="a job")), evidence=None)):
        assert stage(texts) == UNKNOWN
    assert stage(record(hit("e1"), **bare)) == READER
    assert stage(record(hit("e2"), **bare)) == RETRIEVAL_RANKING


def test_evidence_that_is_found_by_words():
    """No labels: the first events that hold the words are recorded, and others may hold them as well."""
    unlabelled = {"evidence": (), "raw": ("e1",)}
    assert stage(record(hit("e2"), **unlabelled)) == RETRIEVAL_RANKING
    assert stage(record(hit("e1", text="a job"), **unlabelled)) == COMPRESSION_LOSS
    assert stage(record(hit("e1"), **unlabelled)) == READER
    assert stage(record(hit("e3"), **unlabelled)) == READER
    assert stage(record(hit("e2"), stored=(), **unlabelled)) == EXTRACTION


def test_no_evidence_at_all():
    nothing = record(hit("e2"), evidence=())
    assert stage(nothing) == NOT_VERBATIM
    assert stage(replace(nothing, evidence=None)) == UNKNOWN
    assert stage(replace(record(hit("e1"), evidence=()), evidence=None)) == READER
    assert stage(record(evidence=())) == RETRIEVAL_RANKING


# --- the recall axis --------------------------------------------------------------------------------------------------


def test_the_recall_axis_looks_at_no_words():
    assert stage_of_recall(record(hit("e3"))).stage == RETRIEVAL_RANKING
    assert stage_of_recall(record(hit("e3"), stored=())).stage == EXTRACTION
    assert stage_of_recall(record(evidence=())).stage == UNKNOWN
    late = stage_of_recall(record(hit("e2"), hit("e3"), hit("e1")), 2)
    assert (late.stage, late.why) == (RETRIEVAL_RANKING, "the evidence comes at rank 3, beyond the first 2 that count")


def test_what_became_of_each_event():
    got = ranks_of_evidence(record(hit("e3"), hit("e3", "e1"), hit("e1"), evidence=("e1", "e2", "e1"), stored=("e1",)))
    assert [(one.id, one.rank, one.stored) for one in got] == [("e1", 2, True), ("e2", None, False)]
    assert ranks_of_evidence(record(hit("e1")))[0].stored is None


# --- whatever is recorded ---------------------------------------------------------------------------------------------

names = st.sampled_from(sorted(RAW))
said = st.sampled_from(["a job", "court reporter", *RAW.values()])
hits = st.builds(
    lambda sources, text: Hit(key="k", text=text, sources=sources),
    st.none() | st.lists(names, max_size=2, unique=True).map(tuple),
    said,
)
some = st.lists(names, max_size=3, unique=True).map(tuple)


@st.composite
def records(draw) -> Texts:
    evidence = draw(some)
    held = draw(st.none() | some)
    return record(
        *draw(st.lists(hits, max_size=4)),
        gold=draw(st.sampled_from([("court reporter",), ("Zelda",), ("rich",), ("yes",), ("Gustav; Kwame",), ()])),
        evidence=evidence,
        raw=draw(st.sampled_from([evidence, ()])),
        stored=None if held is None else tuple(name for name in held if name in evidence),
        links=draw(st.booleans()),
        sessions=draw(st.sampled_from([(), ("s1",)])),
        abstain=draw(st.integers(0, 9)) == 0,
    )


@settings(deadline=None)
@given(records(), st.booleans(), st.none() | st.integers(1, 5))
def test_one_known_stage_and_one_sentence(texts: Texts, told: bool, k: int | None):
    for got in (stage_of_answer(texts, reading_known=told), stage_of_recall(texts, k)):
        assert got.stage in STAGES
        assert got.why
        assert "\n" not in got.why


def mended(texts: Texts, lost_at: str) -> Texts:
    """The same with what that stage lacked: stored, delivered as it was told, or delivered with its words."""
    everything = tuple(dict.fromkeys([*texts.gold.evidence, *(one.id for one in texts.evidence or ())]))
    if lost_at == EXTRACTION:
        return replace(texts, stored=everything)
    more = tuple(hit(name) for name in everything)
    delivered = (*texts.hits, *more)
    return replace(texts, hits=delivered, context="\n".join(one.text for one in delivered))


@settings(max_examples=150, deadline=None)
@given(records().filter(lambda texts: bool(evidence_of(texts))))
def test_what_is_mended_moves_a_miss_on_and_never_back(texts: Texts):
    """A store that holds it, a search that finds it, a text that keeps it: the stage comes later each time."""
    order = [EXTRACTION, GRAPH_RESOLUTION, RETRIEVAL_RANKING, COMPRESSION_LOSS, READER, NOT_VERBATIM, UNKNOWN]
    seen = []
    for _ in range(5):
        now = stage(texts)
        assert now not in seen
        seen.append(now)
        if now in (READER, NOT_VERBATIM, UNKNOWN):
            break
        texts = mended(texts, now)
    assert seen == sorted(seen, key=order.index)
    assert seen[-1] in (READER, NOT_VERBATIM, UNKNOWN)
