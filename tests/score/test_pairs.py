"""Metrics of pairs of questions, on cases worked out by hand."""

from __future__ import annotations

import pytest

from runner.harness.musique.score import METRICS
from runner.score.pairs import made_of_pairs, pair_scores
from runner.types import Row

MADE = made_of_pairs(METRICS)


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
    assert pair_scores(rows, MADE) == {
        "pairs": 3,
        "group_answer_sufficiency_f1": pytest.approx(0.8 / 3),
        "group_support_sufficiency_f1": pytest.approx(0.5 / 3),
    }


def test_pairs_without_what_they_are_made_of() -> None:
    nothing = {"pairs": 0, "group_answer_sufficiency_f1": None, "group_support_sufficiency_f1": None}
    assert pair_scores([], MADE) == nothing
    lost = Row(id="x", scenario="s", cluster="a", category="2hop", tags={"answerable": "yes"})
    assert pair_scores([lost, row("a", answerable=False)], MADE) == nothing
    blind = [row("a", answerable=True, f1=0.5), row("a", answerable=False)]
    assert pair_scores(blind, MADE)["group_support_sufficiency_f1"] is None
    assert pair_scores(blind, MADE)["group_answer_sufficiency_f1"] == 0.5
