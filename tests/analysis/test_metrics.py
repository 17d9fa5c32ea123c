"""Declarations of metrics: found by name and depth, and the columns that come from them."""

from __future__ import annotations

import msgspec
import pytest

from runner import harness as harnesses
from runner.analysis.metrics import Metrics, catalogue, label_f1_of, pairs_of
from runner.harness.musique.score import METRICS
from runner.record.files import HarnessFacts
from runner.types import Metric

OWN = (
    Metric("quotes", share=True),
    Metric("steps", higher=False, unit="steps", digits=0),
    Metric("hidden", shown="never"),
)


def names(metrics: Metrics, headline: str, axis: str, *measured: str, k: int = 5) -> list[str]:
    return [metric.name for metric in metrics.columns(headline, axis, k, set(measured))]


def test_a_depth_is_found_by_its_family() -> None:
    metrics = Metrics((Metric("recall@K", share=True), Metric("recall@all")))
    assert metrics.find("recall@5") == Metric("recall@K", share=True)
    assert metrics.find("recall@all") == Metric("recall@all")
    assert metrics.own("fraction@5") is None
    assert metrics.find("fraction@5") == Metric("fraction@K", share=True, shown="recall"), "a shipped one's by its name"
    assert metrics.find("recall@") is metrics.find("whatever") is None


def test_the_headline_is_the_first_column() -> None:
    metrics = Metrics(OWN)
    measured = ("recall@5", "recall@10", "steps", "quotes", "hidden", "mrr")
    assert names(metrics, "steps", "recall", *measured) == ["steps", "recall@5", "mrr", "quotes"]
    assert names(metrics, "accuracy_abstain_wrong", "accuracy", "accuracy_abstain_wrong", "judge_score", *measured) == [
        "accuracy_abstain_wrong",
        "judge_score",
        "quotes",
        "steps",
    ]
    assert names(metrics, "undeclared", "recall", "undeclared", "mrr") == ["undeclared", "mrr"]
    assert names(metrics, "recall@5", "recall") == ["recall@5"], "also where nothing was measured"
    (first, *_) = metrics.columns("steps", "recall", 5, {"steps"})
    assert first.digits == 0


def test_an_earlier_record_keeps_the_order_of_its_table() -> None:
    measured = ("accuracy_abstain_wrong", "answer_f1", "group_answer_sufficiency_f1")
    assert names(Metrics(None, "musique"), measured[-1], "accuracy", *measured) == list(measured)
    assert names(Metrics(METRICS), measured[-1], "accuracy", *measured) == [measured[-1], *measured[:-1]]
    assert names(Metrics(None, "locomo_qa"), "recall@5", "recall", "fraction@all") == ["fraction@all"], "unranked"
    assert names(Metrics(None, "one_of_their_own"), "doors", "recall", "doors", "mrr") == ["doors", "mrr"]


def test_what_a_record_does_not_name_is_not_made() -> None:
    about = {"name": "x", "categories": {}, "comparable": [], "headline": "recall@5"}
    for more, pairs, f1 in (
        ({}, 0, False),
        ({"paired": True}, 2, False),
        ({"classifies": True}, 0, True),
        ({"paired": True, "classifies": True, "metrics": []}, 2, True),
        ({"metrics": msgspec.to_builtins(METRICS)}, 2, False),
    ):
        read = msgspec.convert({**about, **more}, HarnessFacts)
        assert len(pairs_of(read)) == pairs
        assert (label_f1_of(read) is not None) is f1


@pytest.mark.parametrize("name", harnesses.shipped())
def test_a_name_means_one_thing_in_all_shipped_benchmarks(name: str) -> None:
    metrics = harnesses.find(name).metrics
    assert len({metric.name for metric in metrics}) == len(metrics)
    for metric in metrics:
        known = catalogue()[metric.name]
        assert (known.share, known.higher, known.unit) == (metric.share, metric.higher, metric.unit)
        assert metric.share or metric.unit, "what is no share says what it counts"
