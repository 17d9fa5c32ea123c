"""Scores of what is delivered, worked out by hand, and what holds for every text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.harness.handoff.score import HandoffScore, score_text, states, tokens, window
from runner.types import Fact, Gold


def fact(*any_, label="", all_=()):
    return Fact(label=label or "/".join((*any_, *all_)), any=any_, all=tuple(all_))


FOUR = Gold(
    carry=(fact("71 percent", "71%", label="share"), fact("spool"), fact("Latin-1"), fact("Westhaven")),
    avoid=(fact("60 calls"), fact("boathouse")),
    signal=(fact("codex"), fact("weeks ago")),
)


def test_a_response_worked_out_by_hand():
    """3 of 4 carried, 1 of 2 leaked, 1 of 2 said; 100 characters are 25 tokens."""
    text = "codex: 71% of it, spool it, and the files are in Latin-1. It is no longer 60 calls."
    text += "." * (100 - len(text))
    got = score_text(FOUR, text, "What now?", 200)
    assert (got.missed, got.leaked, got.unsignalled) == (("Westhaven",), ("60 calls",), ("weeks ago",))
    assert got.recall == 0.75
    assert got.leakage == 0.5
    assert got.fidelity == 0.375
    assert got.signal == 0.5
    assert got.tokens == 25
    assert got.density == 120  # 3 facts in 25 tokens
    assert not got.passed
    assert not got.over_budget
    assert got.metrics() == {
        "pass": 0.0,
        "fidelity": 0.375,
        "fact_recall": 0.75,
        "leakage": 0.5,
        "signal": 0.5,
        "density": 120.0,
        "tokens": 25.0,
        "over_budget": 0.0,
    }


def test_what_is_not_declared_is_not_measured():
    metrics = score_text(Gold(signal=(fact("no record"),)), "There is no record of it.").metrics()
    assert metrics["fact_recall"] == metrics["fidelity"] == metrics["pass"] == 1.0
    assert metrics["leakage"] is metrics["density"] is None
    metrics = score_text(Gold(carry=(fact("ochre"),)), "ochre").metrics()
    assert metrics["signal"] is metrics["leakage"] is None
    assert metrics["density"] == 1000.0  # five characters are one token


@pytest.mark.parametrize(
    ("carried", "leaked", "signals", "passed"),
    [
        ((3, 4), (0, 0), (0, 0), True),  # .75 is the bar
        ((2, 3), (0, 0), (0, 0), False),
        ((4, 4), (1, 4), (0, 0), True),  # 1 · (1 − .25)
        ((3, 4), (1, 4), (0, 0), False),  # .75 · .75 = .5625
        ((15, 16), (1, 5), (0, 0), True),  # .9375 · .8 = .75 exactly
        ((4, 4), (0, 2), (3, 4), True),
        ((4, 4), (0, 2), (2, 3), False),
        ((0, 0), (0, 0), (1, 1), True),
        ((0, 0), (0, 0), (0, 1), False),
        ((4, 4), (1, 1), (1, 1), False),
    ],
)
def test_the_bar(carried, leaked, signals, passed):
    got = HandoffScore(
        carry=carried[1],
        avoid=leaked[1],
        signals=signals[1],
        missed=("x",) * (carried[1] - carried[0]),
        leaked=("x",) * leaked[0],
        unsignalled=("x",) * (signals[1] - signals[0]),
        tokens=10,
    )
    assert got.passed is passed


def test_a_failure_scores_nothing_even_where_nothing_is_required():
    got = score_text(Gold(signal=(fact("no record"),)), "There is no record.", failed=True)
    assert (got.recall, got.fidelity, got.signal, got.density, got.tokens, got.passed) == (0, 0, 0, 0, 0, False)
    assert score_text(Gold(), "").fidelity == 1
    assert score_text(Gold(), "", failed=True).fidelity == 0
    assert score_text(FOUR, "boathouse, 60 calls", failed=True).leaked == ()


def test_an_empty_response_is_not_a_failure():
    got = score_text(FOUR, "")
    assert (got.recall, got.leakage, got.fidelity, got.density, got.tokens) == (0, 0, 0, 0, 0)


def test_any_and_all():
    assert states(fact("a1", "b2"), "here is b2")
    assert not states(fact("a1", "b2"), "here is c3")
    assert states(fact(all_=("a1", "b2")), "b2, later a1")
    assert not states(fact(all_=("a1", "b2")), "a1 alone")
    assert states(fact("x9", "y9", all_=("a1",)), "y9 a1")
    assert not states(fact("x9", "y9", all_=("a1",)), "a1")
    assert not states(fact("x9", all_=("a1",)), "x9")


def test_an_empty_item_is_nowhere():
    assert not states(Fact(label="empty"), "any text")
    assert not states(fact(""), "any text")
    assert not states(fact(" \n"), "any text")
    assert not states(fact("any", all_=("",)), "any text")


def test_matching_collapses_space_and_case():
    gold = Gold(carry=(fact("Batch  Size\n500"), fact("STRASSE")))
    assert score_text(gold, "the BATCH\t\u00a0size \n 500 in the Straße").recall == 1


@pytest.mark.parametrize(("length", "expected"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2), (401, 100)])
def test_tokens_are_whole(length, expected):
    assert tokens("x" * length) == expected


def test_an_echo_of_the_query_is_stripped():
    gold = Gold(carry=(fact("ledger"),), signal=(fact("codex"),))
    query = "What did codex do to the ledger?"
    assert score_text(gold, f"Results for: {query}", query).missed == ("ledger",)
    assert score_text(gold, "WHAT did  codex do\nto the LEDGER? Nothing on ledger by codex.", query).passed
    # only the whole of it, word for word
    assert score_text(gold, "What did codex do to the ledger", query).passed
    assert score_text(gold, "ledger, codex", "").passed


def test_no_fact_is_read_across_the_place_of_an_echo():
    assert window("put the red who? box away", "who?", None) == "put the red \n box away"
    assert score_text(Gold(carry=(fact("red box"),)), "red who? box", "who?").recall == 0
    assert score_text(Gold(carry=(fact("redbox"),)), "redwho?box", "who?").recall == 0


def test_beyond_the_budget_nothing_is_read_and_the_row_says_so():
    gold = Gold(carry=(fact("needle"),))
    fits = "." * 37 + "needle"  # 43 characters are 10 whole tokens
    assert score_text(gold, fits, "", 10).passed
    assert not score_text(gold, fits, "", 10).over_budget
    late = "." * 38 + "needle"  # 44 characters are 11, and the last letter is one too many
    got = score_text(gold, late, "", 10)
    assert got.over_budget
    assert got.missed == ("needle",)
    assert got.metrics()["over_budget"] == 1.0
    assert got.tokens == 11
    assert score_text(gold, late, "", 11).passed
    assert score_text(gold, late).passed
    # what leaks beyond the budget is not read either, and its cost counts
    wrong = Gold(carry=(fact("needle"),), avoid=(fact("boathouse"),))
    got = score_text(wrong, "needle" + "." * 60 + "boathouse", "", 10)
    assert (got.leaked, got.passed, got.tokens) == ((), True, 18)
    assert got.density == pytest.approx(1000 / 18)


WORDS = st.lists(
    st.sampled_from(["71%", "spool", "Latin-1", "Westhaven", "60", "calls", "boathouse", "codex", "weeks", "ago", "a"])
)


@given(WORDS, st.integers(0, 2**32))
def test_case_and_space_do_not_matter(words, seed):
    draw = random.Random(seed)
    plain = " ".join(words)
    styled = "".join(
        draw.choice((" ", "\n", "\t ", "  ")) if char == " " else draw.choice((char.upper(), char.lower()))
        for char in plain
    )
    a, b = score_text(FOUR, plain), score_text(FOUR, styled)
    assert (a.missed, a.leaked, a.unsignalled) == (b.missed, b.leaked, b.unsignalled)


@given(WORDS, st.integers(0, 40), st.booleans())
def test_bounds(words, budget, failed):
    got = score_text(FOUR, " ".join(words), "codex spool", budget, failed=failed)
    assert 0 <= got.fidelity <= got.recall <= 1
    assert 0 <= got.leakage <= 1
    assert got.signal is not None
    assert 0 <= got.signal <= 1
    assert got.density >= 0
    assert got.passed <= (not failed)
    assert all(value == value for value in got.metrics().values() if value is not None)


@given(WORDS, WORDS)
def test_more_text_never_carries_less(words, more):
    few, many = score_text(FOUR, " ".join(words)), score_text(FOUR, " ".join([*words, *more]))
    assert set(many.missed) <= set(few.missed)
    assert set(few.leaked) <= set(many.leaked)


@given(WORDS, WORDS)
def test_an_echo_changes_no_fact(before, after):
    """Wherever the query is repeated, what stands around it counts as it would on two lines."""
    query = "Who measured the codex spool at Westhaven, and how?"
    head, tail = " ".join(before), " ".join(after)
    parts = [score_text(FOUR, head), score_text(FOUR, tail)]
    got = score_text(FOUR, f"{head} {query} {tail}", query)
    assert set(got.missed) == set(parts[0].missed) & set(parts[1].missed)
    assert set(got.leaked) == set(parts[0].leaked) | set(parts[1].leaked)
