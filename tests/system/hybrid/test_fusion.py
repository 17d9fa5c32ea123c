"""Orders, fusion, diversity, the graph and the follow-up, worked out by hand or by another library."""

from __future__ import annotations

import numpy as np
import pytest

from runner.system._retrieval.ranking import order
from runner.system.hybrid import followup
from runner.system.hybrid.fusion import diversify, fuse
from runner.system.hybrid.graph import TermGraph


def test_ties_go_by_event_order() -> None:
    assert order(np.array([1.0, 3.0, 1.0, 3.0, 0.0])).tolist() == [1, 3, 0, 2, 4]
    assert order(np.array([1.0, 3.0, 1.0, 0.0]), above=0.0).tolist() == [1, 0, 2]
    assert order(np.array([1.0, 3.0]), above=3.0).tolist() == []


def test_fusion_by_hand() -> None:
    fused = fuse([np.array([2, 0]), np.array([0, 1])], 4)
    np.testing.assert_allclose(fused, [1 / 62 + 1 / 61, 1 / 62, 1 / 61, 0.0])
    weighted = fuse([np.array([2, 0]), np.array([0, 1])], 4, weights=[1.0, 0.5])
    np.testing.assert_allclose(weighted, [1 / 62 + 0.5 / 61, 0.5 / 62, 1 / 61, 0.0])


def test_mmr_by_hand() -> None:
    # Candidates 7 and 5 are the same vector, 3 is at a right angle. At lambda .5: 7 first (.5 · 1), then
    # 5 has .5 · .9 − .5 · 1 = −.05 and 3 has .5 · .2 − 0 = .1.
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    candidates, relevance = np.array([7, 5, 3]), np.array([1.0, 0.9, 0.2])
    assert diversify(candidates, relevance, vectors, 0.5, 3).tolist() == [7, 3, 5]
    assert diversify(candidates, relevance, vectors, 1.0, 3).tolist() == [7, 5, 3]
    assert diversify(candidates, relevance, vectors, 0.5, 1).tolist() == [7, 5, 3]
    assert diversify(candidates[:0], relevance[:0], vectors[:0], 0.5, 3).tolist() == []


def test_pagerank_is_the_solution_of_its_equation() -> None:
    tokens = [["a", "b"], ["b", "c"], ["c", "d"], ["e"], ["e", "f", "a"], ["g"], ["h"], ["i"], ["j"], ["k"]]
    graph = TermGraph(tokens)
    terms = sorted({term for text in tokens for term in text})
    held = np.array([[term in text for term in terms] for text in tokens], dtype=float)
    df = held.sum(axis=0)
    idf = np.log(1 + (10 - df + 0.5) / (df + 0.5))
    to_terms = (held * idf / (held * idf).sum(axis=1, keepdims=True)).T
    to_events = held / df
    start = np.zeros(len(terms))
    start[terms.index("a")] = 1.0
    mass = np.linalg.solve(np.eye(len(terms)) - 0.7 * to_terms @ to_events, 0.3 * start)
    np.testing.assert_allclose(graph.score({"a": 1.0, "nothing": 5.0}), to_events @ mass, atol=1e-5)
    # The walk reaches an event that shares no word with the question, and none that it is not connected with.
    scores = graph.score({"a": 1.0})
    assert scores[0] > scores[1] > scores[2] > 0
    assert scores[5:].tolist() == [0.0] * 5


@pytest.mark.parametrize("tokens", [[[]], [["a"]], [[], ["b"], []]])
def test_a_graph_without_the_words_of_the_question_scores_nothing(tokens: list[list[str]]) -> None:
    assert TermGraph(tokens).score({"zebra": 1.0}).tolist() == [0.0] * len(tokens)


def test_rocchio_by_hand() -> None:
    moved = followup.vector(
        np.array([1, 0], dtype=np.float32), np.array([[0, 1], [0, 1]], dtype=np.float32)
    )  # (1, .5) / √1.25
    np.testing.assert_allclose(moved, [2 / np.sqrt(5), 1 / np.sqrt(5)], rtol=1e-6)


def test_feedback_terms_by_hand() -> None:
    # New words: rare (twice, in 1 of 100 events) and common (once, in 99). Together they weigh .4 of the question.
    weights = followup.terms(["q"], [["q", "rare", "common"], ["rare"]], {"rare": 1, "common": 99}, 100)
    rare, common = 2 * np.log(1 + 100 / 2), np.log(1 + 100 / 100)
    assert weights["q"] == 1.0
    assert weights["rare"] == pytest.approx(0.4 * rare / (rare + common))
    assert weights["common"] == pytest.approx(0.4 * common / (rare + common))
    assert followup.terms(["q", "q"], [["q"]], {}, 1) == {"q": 2.0}
