"""Event ordering: alignment, tau-b and F1, each value worked out by hand or by another formula."""

from __future__ import annotations

import itertools
import math

import pytest

from runner.harness.beam.ordering import Ordering, align, items_in, lines_in, ordering

ABC = ["Alpha setup", "Beta tests", "Gamma deployment"]


def by_pairs(left: list[int], right: list[int]) -> float:
    """Kendall's tau-b from its definition over pairs (Kendall 1945)."""
    concordant = discordant = tied_left = tied_right = 0
    for one, two in itertools.combinations(range(len(left)), 2):
        a, b = left[one] - left[two], right[one] - right[two]
        tied_left += a == 0
        tied_right += b == 0
        concordant += a * b > 0
        discordant += a * b < 0
    pairs = len(left) * (len(left) - 1) // 2
    return (concordant - discordant) / math.sqrt((pairs - tied_left) * (pairs - tied_right))


@pytest.mark.parametrize(
    ("said", "tau_b", "f1", "score"),
    [
        (["A", "B", "C"], 1.0, 1.0, 1.0),
        (["C", "B", "A"], -1.0, 1.0, 0.0),
        # ranks 1 2 3 and 2 1 3: two pairs agree, one does not
        (["B", "A", "C"], 1 / 3, 1.0, 2 / 3),
        # C is missing: its rank is 4; all three pairs agree; recall 2/3, F1 4/5
        (["A", "B"], 1.0, 0.8, 0.8),
        # x is extra: 1 2 3 5 against 1 3 4 2, two pairs disagree of six; precision 3/4, F1 6/7
        (["A", "x", "B", "C"], 1 / 3, 6 / 7, 4 / 7),
        # nothing right: 1 2 3 5 5 against 6 6 6 1 2; five disagree, none agrees … by the definition below
        (["x", "y"], by_pairs([1, 2, 3, 6, 6], [6, 6, 6, 1, 2]), 0.0, 0.0),
        # one of three: 1 2 3 against 1 4 4: two agree, one tied on one side
        (["A"], 2 / math.sqrt(6), 0.5, (2 / math.sqrt(6) + 1) / 4),
    ],
)
def test_scores_by_hand(said: list[str], tau_b: float, f1: float, score: float) -> None:
    told = ordering(["A", "B", "C"], said)
    assert told.tau_b == pytest.approx(tau_b)
    assert told.tau_norm == pytest.approx((tau_b + 1) / 2)
    assert told.f1 == pytest.approx(f1)
    assert told.score == pytest.approx(score)
    assert not told.single


def test_every_order_of_four_agrees_with_the_definition() -> None:
    reference = ["A", "B", "C", "D"]
    for said in itertools.permutations(reference):
        expected = by_pairs([1, 2, 3, 4], [said.index(item) + 1 for item in reference])
        assert ordering(reference, said).tau_b == pytest.approx(expected)


def test_nothing_said_has_no_order_and_no_score() -> None:
    assert ordering(["A", "B"], []) == Ordering(0.0, None, 0.0, 0.0, 0.0, single=False)


@pytest.mark.parametrize(
    ("said", "score"), [(["A"], 1.0), (["A", "A"], 1.0), (["A", "x"], 0.0), (["x"], 0.0), ([], 0.0)]
)
def test_a_single_event_is_one_or_nothing(said: list[str], score: float) -> None:
    told = ordering(["A"], said)
    assert (told.score, told.tau_b, told.single) == (score, None, True)


def test_the_published_code_orders_a_single_event_among_what_stands_beside_it() -> None:
    # ranks 1 4 4 and 1 2 3: two pairs agree, one is tied on one side; precision 1/3, recall 1
    told = ordering(["A"], ["A", "", "x"], upstream=True)
    assert told.single
    assert told.tau_b == pytest.approx(2 / math.sqrt(6))
    assert told.score == pytest.approx((2 / math.sqrt(6) + 1) / 2 * 0.5)
    assert ordering(["A"], ["x"], upstream=True).tau_norm == 0  # ranks 1 3 and 3 1
    assert ordering(["A"], ["A"], upstream=True) == ordering(["A"], ["A"])  # undefined there


def test_an_item_named_twice_is_ranked_by_its_first_mention_or_its_last() -> None:
    said = ["A", "B", "C", "A"]
    assert ordering(["A", "B", "C"], said).tau_b == pytest.approx(1.0)
    assert ordering(["A", "B", "C"], said, upstream=True).tau_b == pytest.approx(-1 / 3)  # ranks 4 2 3


def test_without_a_reference_it_is_not_measurable() -> None:
    with pytest.raises(ValueError, match="no reference"):
        ordering([], ["A"])


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ("You did: 1) alpha, 2) beta, and 3) gamma.", ["alpha", "beta, and", "gamma"]),
        ("1. Alpha\n2. Beta\n\n3. **Gamma**", ["Alpha", "Beta", "Gamma"]),
        ("In this order:\n- Alpha\n- Beta", ["Alpha", "Beta"]),
        ("- Alpha:\n- Beta:", ["Alpha:", "Beta:"]),
        ("Alpha\n\nBeta\n", ["Alpha", "Beta"]),
        ("Alpha -> Beta → Gamma", ["Alpha", "Beta", "Gamma"]),
        ("First alpha; beta; gamma", ["First alpha", "beta", "gamma"]),
        ("You did alpha, then beta, and then gamma.", ["You did alpha", "beta", "gamma"]),
        ("You began with alpha. Beta came next.", ["You began with alpha", "Beta came next"]),
        ("It took 3.5 hours", ["It took 3.5 hours"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_items_of_an_answer(answer: str, items: list[str]) -> None:
    assert items_in(answer) == items


def test_lines_are_as_they_stand() -> None:
    assert lines_in("Order:\n\n1. A") == ["Order:", "", "1. A"]


def test_alignment_is_lexical_stemmed_and_one_to_one() -> None:
    said = ["we set up alpha", "testing betas", "gamma deployments", "deployment of gamma again", "something else"]
    assert align(said, ABC) == ["Alpha setup", "Beta tests", "Gamma deployment", "deployment of gamma again", said[4]]


def test_an_event_goes_to_the_item_that_holds_most_of_it() -> None:
    reference = ["Deployment configuration", "Deployment and test improvements"]
    said = ["Improving deployment and tests", "Configuring the deployment"]
    assert align(said, reference) == [reference[1], reference[0]]
    # the published code takes the first event that fits: half of its words is enough, and a third is not
    assert align(said, reference, first=True) == [reference[0], said[1]]


def test_an_event_of_stop_words_must_be_said_as_it_stands() -> None:
    assert align(["It is", "there"], ["it is"]) == ["it is", "there"]


def test_blank_lines_and_introductions_count_against_the_published_code() -> None:
    answer = "Here is the order:\n\nAlpha setup\n\nBeta tests\n\nGamma deployment"
    paper = ordering(ABC, align(items_in(answer), ABC))
    assert (paper.score, paper.f1) == (1.0, 1.0)
    upstream = ordering(ABC, align(lines_in(answer), ABC, first=True), upstream=True)
    # seven lines: three events, three blank ones, one introduction
    assert upstream.precision == pytest.approx(3 / 7)
    assert upstream.f1 == pytest.approx(0.6)
