"""LoCoMo's official answer score against hand-worked values and its definition."""

from __future__ import annotations

import json
import re
import string
from collections import Counter

import pytest

from runner.harness.locomo_qa.score import locomo_f1


def test_locomo_f1_single_and_temporal():
    # "7 may 2023" in "on 7 may 2023": 3 of 4 and 3 of 3
    assert locomo_f1("On 7 May, 2023", "7 May 2023", 2) == pytest.approx(2 * 0.75 / 1.75)
    assert locomo_f1("adopted dogs", "adopting a dog", 4) == 1
    assert locomo_f1("", "x", 4) == 0


def test_locomo_f1_multi_hop_takes_the_best_for_each_gold():
    # golds: "pottery", "camping trips"; answers: "camping", "pottery" -> best 1 and 2·1·½/1½ = ⅔
    assert locomo_f1("camping, pottery", "pottery, camping trips", 1) == pytest.approx((1 + 2 / 3) / 2)
    assert locomo_f1("pottery", "pottery, swimming", 1) == 0.5
    assert locomo_f1("pottery", "pottery, swimming", 4) == pytest.approx(2 / 3)


def test_locomo_f1_open_domain_reads_gold_before_the_semicolon():
    assert locomo_f1("likely yes", "Likely yes; she said so", 3) == 1
    assert locomo_f1("likely yes", "Likely yes; she said so", 4) < 1


@pytest.mark.parametrize(
    ("answer", "score"),
    [("NOT MENTIONED", 1), ("There is No Information Available here", 1), ("It was not said", 0), ("", 0)],
)
def test_locomo_f1_adversarial(answer, score):
    assert locomo_f1(answer, "whatever", 5) == score


def test_locomo_f1_refuses_another_category():
    with pytest.raises(ValueError, match="no category 6"):
        locomo_f1("a", "a", 6)


def _official(answer: str, gold: str, category: int) -> float:
    """The definition of HARNESSES on NLTK's stemmer, which is what the official script uses."""
    from nltk.stem import PorterStemmer

    stem = PorterStemmer().stem

    def tokens(text: str) -> Counter[str]:
        kept = "".join(c for c in text.replace(",", "").lower() if c not in string.punctuation)
        return Counter(stem(word) for word in re.sub(r"\b(a|an|the|and)\b", " ", kept).split())

    def f1(left: str, right: str) -> float:
        a, b = tokens(left), tokens(right)
        same = (a & b).total()
        return 0 if not same else 2 * (same / a.total()) * (same / b.total()) / (same / a.total() + same / b.total())

    if category == 1:
        golds = gold.split(",")
        return sum(max(f1(part, one) for part in answer.split(",")) for one in golds) / len(golds)
    return f1(answer, gold.split(";")[0] if category == 3 else gold)


@pytest.mark.parametrize("name", ["gpt-4.1-mini-cot.json", "gpt-4.1-mini-memos.json"])
def test_locomo_f1_meets_the_official_score_on_real_answers(shared_data, name):
    results = json.loads((shared_data / "locomo_audit" / name).read_text())["detailed_results"]
    rows = [row for rows in results.values() for row in rows][::8]
    ours, theirs = (
        [score(row["generated_answer"], str(row["golden_answer"]), int(row["category"])) for row in rows]
        for score in (locomo_f1, _official)
    )
    assert len(rows) > 150
    assert sum(ours) / len(rows) == pytest.approx(sum(theirs) / len(rows), abs=0.001)
    assert sum(abs(a - b) > 1e-9 for a, b in zip(ours, theirs, strict=True)) <= 0.02 * len(rows)
