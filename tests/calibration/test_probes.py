"""What is asked of a judge: right answers, wrong ones and empty ones, and never one that is the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from runner.calibration import templates
from runner.calibration.probes import RIGHT, SPECIFIC, VAGUE, holds_gold, plan_probes
from runner.config import Dataset, HarnessConfig, SliceConfig
from runner.errors import UsageError
from runner.harness import Harness, build
from runner.score.lexical import is_abstention
from runner.stats.allocation import proportional_counts
from runner.types import GOLD_EXCLUDED, Gold, Question, Scenario


class Small(Harness):
    """Questions as they are given."""

    name = "small"
    categories: ClassVar = {"1": "one", "2": "two", "5": "adversarial"}
    comparable = frozenset({"1", "2"})
    cluster = "scenario"

    def __init__(self, questions: list[Question], excluded: frozenset[str] = frozenset()) -> None:
        super().__init__(HarnessConfig(name="small"))
        self._questions, self._excluded = questions, excluded

    def read(self) -> Iterator[Scenario]:
        yield Scenario(id="s", cluster="s", events=(), questions=tuple(self._questions))

    def flags(self, question: Question) -> tuple[str, ...]:
        return (GOLD_EXCLUDED,) if question.id in self._excluded else ()


def asked(number: int, *golds: str, category: str = "1", text: str = "What is it?", abstain: bool = False) -> Question:
    return Question(id=f"s/{number}", text=text, category=category, gold=Gold(answers=golds, abstain=abstain))


def test_no_template_is_a_refusal_or_doubles_a_full_stop() -> None:
    for name in templates.ANSWERS:
        for fact in ("7 May 2023", "a dog.", "{braces}", "no", "yes, twice"):
            said = templates.fill_answer(name, fact)
            assert not is_abstention(said)
            assert templates.has_words_of(said, fact)
            assert not said.endswith("..")
    for name in templates.VAGUE:
        for question in ("When did the band play?", "Who?", "?", "Would you rather {fact}?"):
            said = templates.fill_vague(name, question)
            assert not is_abstention(said)
            assert "{topic}" not in said


@pytest.mark.parametrize(
    ("question", "topic", "asks"),
    [
        ("When did Anna go to the fair?", "Anna go to the fair", "when"),
        ("How many cats does Ben have?", "cats does Ben have", "how many"),
        ("In which town is the mill?", "town is the mill", "in which"),
        ("Did Clara sing?", "Clara sing", "did"),
        ("What's the name of the boat?", "the name of the boat", "what's"),
        ("Whatever happened?", "Whatever happened", "whatever"),
        ("What is?", "What is", "what"),
    ],
)
def test_the_topic_of_a_question(question: str, topic: str, asks: str) -> None:
    assert templates.topic(question) == topic
    assert templates.interrogative(question) == asks


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The dog!", "dog", True),
        ("May 2022", "2022", True),
        ("painting", "Paintings", True),
        ("London, Paris", "Paris, Rome and London", True),
        ("7 May 2023", "12 April 2023", False),
        ("a", "the", False),  # nothing is left of either: they are compared as they are written
        ("a", "A", True),
        ("two two", "two", True),
        ("", "x", True),
    ],
)
def test_which_answers_may_be_the_same(one: str, other: str, same: bool) -> None:
    assert templates.same_answer(one, other) is same
    assert templates.same_answer(other, one) is same


def test_a_fact_survives_by_its_words() -> None:
    assert templates.has_words_of("It was on May 7, 2023.", "7 May 2023")
    assert not templates.has_words_of("It was in May 2023.", "7 May 2023")
    assert not templates.has_words_of("once", "once and once again")


def test_categories_have_their_share_of_the_slice() -> None:
    """Sainte-Laguë by hand: a 10, c 10, a 3.3, c 3.3, then a, b and c at 2."""
    assert proportional_counts({"a": 10, "b": 2, "c": 10}, 4) == {"a": 2, "b": 0, "c": 2}
    assert proportional_counts({"a": 10, "b": 2, "c": 10}, 7) == {"a": 3, "b": 1, "c": 3}
    assert proportional_counts({"a": 1, "b": 1}, 99) == {"a": 1, "b": 1}
    assert proportional_counts({"a": 5}, 0) == {"a": 0}
    grown = [proportional_counts({"a": 282, "b": 321, "c": 96, "d": 841}, total) for total in range(1541)]
    assert all(less[name] <= more[name] for less, more in pairwise(grown) for name in less)
    assert grown[200] == {"a": 37, "b": 42, "c": 12, "d": 109}  # 36.6, 41.7, 12.5, 109.2


def test_the_wrong_answer_is_never_right() -> None:
    harness = Small(
        [
            asked(0, "two dogs", "a pair of dogs"),
            asked(1, "dogs"),  # contained in an accepted answer of 0
            asked(2, "PAIR of Dogs"),  # another accepted answer of 0
            asked(3, "a parrot"),
            asked(4, "a whale", category="2"),  # another category
        ]
    )
    for seed in range(20):
        made = plan_probes(harness, SliceConfig(), 10, seed)
        wrong = {probe.id: probe for probe in made.probes if probe.kind == SPECIFIC}
        assert wrong["s/0#specific"].donor == "s/3"
        assert wrong["s/0#specific"].fact == "a parrot"
        assert "s/4#specific" not in wrong
        assert made.left_out == {"known wrong, specific: no other answer of the category is surely wrong": 1}
        for probe in made.probes:
            assert holds_gold(probe.text, probe.item) is (probe.kind == RIGHT)


def test_right_and_wrong_are_worded_alike() -> None:
    made = plan_probes(Small([asked(n, f"answer number {n}x") for n in range(30)]), SliceConfig(), 30, 7)
    worded = {probe.id: probe.template for probe in made.probes}
    assert all(worded[f"s/{n}#{RIGHT}"] == worded[f"s/{n}#{SPECIFIC}"] for n in range(30))
    assert len({worded[f"s/{n}#{RIGHT}"] for n in range(30)}) > 3


def test_one_that_asks_alike_lends_its_answer_first() -> None:
    dates = [asked(n, f"{n} May 19{n}", text="When was it?") for n in range(10, 13)]
    places = [asked(n, f"town {n}z", text="Where was it?") for n in range(20, 40)]
    made = plan_probes(Small(dates + places), SliceConfig(), 99, 7)
    lent = {probe.item.question.id: probe.donor for probe in made.probes if probe.kind == SPECIFIC}
    assert all(lent[f"s/{n}"] in {"s/10", "s/11", "s/12"} for n in range(10, 13))


def test_a_vague_answer_does_not_hold_the_gold() -> None:
    either = asked(0, "left-handed", text="Is Anna left-handed or right-handed?")
    for seed in range(20):
        made = plan_probes(Small([either, asked(1, "tea")]), SliceConfig(), 9, seed)
        (vague,) = [probe for probe in made.probes if probe.id == "s/0#vague"]
        assert vague.template in templates.TOPICLESS
        assert "left" not in vague.text


def test_what_cannot_be_probed_is_counted() -> None:
    harness = Small(
        [
            asked(0, "x1"),
            asked(1, category="5", abstain=True),
            asked(2, ""),
            asked(3, "excluded"),
            asked(4, "Not mentioned"),
            asked(5, " ", "second"),
        ],
        excluded=frozenset({"s/3"}),
    )
    made = plan_probes(harness, SliceConfig(), 99, 7)
    assert made.eligible == {"1": 2}
    assert made.left_out == {
        "items whose gold a patch excludes": 1,
        "items whose gold reads as a refusal": 1,
        "items whose right answer is to abstain": 1,
        "items without gold": 1,
    }
    assert {probe.fact for probe in made.probes if probe.kind == RIGHT} == {"x1", "second"}
    with pytest.raises(UsageError, match="1 items whose right answer is to abstain"):
        plan_probes(harness, SliceConfig(categories=["5"]), 9, 7)


def test_a_seed_decides_and_the_order_of_the_data_does_not() -> None:
    questions = [asked(n, f"fact {n}q", category="12"[n % 2]) for n in range(40)]
    one, other = (plan_probes(Small(items), SliceConfig(), 12, 7) for items in (questions, questions[::-1]))
    assert one == other
    assert plan_probes(Small(questions), SliceConfig(), 12, 8) != one
    kinds = Counter((probe.kind, probe.item.question.category) for probe in one.probes)
    assert kinds == dict.fromkeys([(kind, c) for kind in (RIGHT, SPECIFIC, VAGUE) for c in "12"], 6)
    few = {probe.id for probe in plan_probes(Small(questions), SliceConfig(), 6, 7).probes}
    assert few < {probe.id for probe in one.probes}  # more probes add to those that there are


def test_on_locomo(shared_data: Path) -> None:
    file = shared_data / "locomo" / "locomo10.json"
    errors = shared_data / "locomo_audit" / "errors.json"
    harness = build(HarnessConfig(name="locomo_qa", dataset=Dataset(path=str(file)), patches=[str(errors)]))
    made = plan_probes(harness, SliceConfig(), 100, 7)
    # 282, 321, 96 and 841 items, without the 28, 26, 9 and 36 whose gold the audit excludes; 446 adversarial ones.
    assert made.eligible == {"1": 254, "2": 295, "3": 87, "4": 805}
    assert made.left_out["items whose right answer is to abstain"] == 446
    assert made.left_out["items whose gold a patch excludes"] == 99
    kinds = Counter((probe.kind, probe.item.question.category) for probe in made.probes)
    # 100 in proportion: 17.6, 20.5, 6.0 and 55.9
    assert all(
        kinds[kind, name] == n
        for kind in (RIGHT, SPECIFIC, VAGUE)
        for name, n in zip("1234", (18, 20, 6, 56), strict=True)
    )
    assert len(kinds) == 12
    for probe in made.probes:
        assert not is_abstention(probe.text)
        assert holds_gold(probe.text, probe.item) is (probe.kind == RIGHT)
