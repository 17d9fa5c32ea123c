"""MuSiQue's support F1 and pair scores, and the words of an answer in a text, on cases worked out by hand."""

from __future__ import annotations

import pytest

from runner.score.answer_words import answer_recall, content_words
from runner.score.musique import group_scores, support_f1
from runner.types import Row


@pytest.mark.parametrize(
    ("found", "gold", "f1"),
    [
        ("ab", "ab", 1),
        ("abcd", "ab", 2 / 3),  # precision ½, recall 1
        ("ac", "ab", 1 / 2),
        ("c", "ab", 0),
        ("", "ab", 0),
        ("ab", "", 0),
        ("", "", 1),
    ],
)
def test_support_f1(found: str, gold: str, f1: float) -> None:
    assert support_f1(list(found), list(gold)) == pytest.approx(f1)


def row(cluster: str, *, answerable: bool, f1: float = 0.0, seen: float = 1.0, support: float | None = None) -> Row:
    """As the harness records one: an unanswerable row has no F1 of its own."""
    metrics: dict[str, float | None] = {"sufficiency": seen, "answer_f1": f1 if answerable else None}
    metrics |= {"answer_sufficiency_f1": seen * f1 if answerable else seen, "support_f1@all": support}
    tags = {"answerable": "yes" if answerable else "no"}
    return Row(id=f"{cluster}/{answerable}", scenario="s", cluster=cluster, category="2hop", metrics=metrics, tags=tags)


def test_a_pair_counts_only_when_both_rows_were_seen_through() -> None:
    rows = [
        row("a", answerable=True, f1=0.8, support=0.5),
        row("a", answerable=False),  # declined: the pair scores 0.8 and 0.5
        row("b", answerable=True, f1=1.0, support=1.0),
        row("b", answerable=False, seen=0),  # answered though it cannot be: 0 and 0
        row("c", answerable=True, f1=0.6, seen=0, support=0.4),  # declined though it can be: 0 and 0
        row("c", answerable=False),
        row("d", answerable=True, f1=1.0, support=1.0),  # its twin is not in the run
    ]
    assert group_scores(rows) == {
        "pairs": 3,
        "group_answer_sufficiency_f1": pytest.approx(0.8 / 3),
        "group_support_sufficiency_f1": pytest.approx(0.5 / 3),
    }


def test_pairs_without_what_they_are_made_of() -> None:
    nothing = {"pairs": 0, "group_answer_sufficiency_f1": None, "group_support_sufficiency_f1": None}
    assert group_scores([]) == nothing
    lost = Row(id="x", scenario="s", cluster="a", category="2hop", tags={"answerable": "yes"})
    assert group_scores([lost, row("a", answerable=False)]) == nothing
    blind = [row("a", answerable=True, f1=0.5), row("a", answerable=False)]
    assert group_scores(blind)["group_support_sufficiency_f1"] is None
    assert group_scores(blind)["group_answer_sufficiency_f1"] == 0.5


@pytest.mark.parametrize(
    ("text", "golds", "recall"),
    [
        ("We drove to Lake Erie.", ["Lake Erie"], 1),
        ("We drove to a lake.", ["Lake Erie"], 0.5),
        ("We drove to a lake.", ["Lake Erie", "the lake"], 1),  # the best gold
        ("We drove.", ["I went to it"], 0),  # "went" is the one word that counts
        ("It is so.", ["So it is"], 1),  # nothing but function words: all of them count
        ("", ["Erie"], 0),
        ("Erie", ["!?"], None),
        ("Erie", [], None),
        ("25 bees", ["25"], 1),
    ],
)
def test_answer_recall(text: str, golds: list[str], recall: float | None) -> None:
    assert answer_recall(text, golds) == recall


def test_content_words() -> None:
    assert content_words("I don't keep the Blue teapot; he's got it") == {"don", "keep", "blue", "teapot", "got"}
