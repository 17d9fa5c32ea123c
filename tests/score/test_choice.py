"""Closed answers read strictly: what counts as a choice, and what does not."""

from __future__ import annotations

import pytest

from runner.score.choice import letter, nli

OPTIONS = {"A": "Rome", "B": "Plan C", "C": "a dog", "D": "27"}


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("B", "B"),
        (" (B) ", "B"),
        ("b.", "B"),
        ("**B**", "B"),
        ("'D'", "D"),
        ("B. Plan C", "B"),  # the option's own text has a letter in it
        ("a) Rome", "A"),
        ("B) something else", "B"),
        ("B\n\nBecause the user said so.", "B"),
        ("B is right", "B"),
        ("Answer: B", "B"),
        ("answer: b", "B"),
        ("**Answer:** B", "B"),
        ("Final answer: (d)", "D"),
        ("The correct option is **C**.", "C"),
        ("I think A is wrong, so the answer is B.", "B"),  # a statement outweighs what is mentioned
        ("I choose (C)", "C"),
        ('{"choice": "B"}', "B"),
        ('{"answer": "B. Plan C", "reason": "not A"}', "B"),
        ('```json\n{"letter": "d"}\n```', "D"),
    ],
)
def test_a_letter(answer: str, chosen: str) -> None:
    assert letter(answer, OPTIONS).value == chosen


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "names none"),
        ("Rome", "names none"),  # the text of an option is no letter
        ("Plan C", "names none"),
        ("A dog", "names none"),
        ("The answer is a dog", "names none"),
        ("vitamin B-12", "names none"),
        ("E", "names none"),
        ('{"choice": "E"}', "names 'E', which is none of A, B, C, D"),
        ('{"choice": 3}', "names '3', which is none of A, B, C, D"),
    ],
)
def test_no_letter(answer: str, why: str) -> None:
    said = letter(answer, OPTIONS)
    assert (said.value, said.why, said.several) == ("", why, False)


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("The answer is not (B)", ""),
        ("not (B)", ""),
        ("(A) is incorrect", ""),
        ("A is wrong; B is right", ""),  # "B is right" is not where an answer begins
        ("Option A is incorrect, option B is correct", "B"),
        ("(B) is not correct, (C) is", "C"),
        ("Answer: (B), not (A)", "B"),
    ],
)
def test_a_letter_that_is_denied_is_no_choice(answer: str, chosen: str) -> None:
    assert letter(answer, OPTIONS).value == chosen


@pytest.mark.parametrize(
    "answer",
    [
        "A or B",
        "A, B",
        "(A) and (B)",
        "Answer: A or B",
        "Answer: A\nAnswer: B",
        '{"choice": "A", "choice": "B"}',
        '{"choice": "A", "answer": "B"}',
    ],
)
def test_two_letters_are_no_choice(answer: str) -> None:
    said = letter(answer, OPTIONS)
    assert (said.value, said.why, said.several) == ("", "names A and B", True)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("entailment", "entailment"),
        ("**Contradiction**.", "contradiction"),
        ("It contradicts the premise.", "contradiction"),
        ("Label: neutral", "neutral"),
        ("The verdict is neutral, for entailment fails.", "neutral"),
        ('{"label": "Neutral"}', "neutral"),
        ("neither entailment nor contradiction", ""),
        ("Not entailment", ""),  # a label that is denied is none
        ("It does not entail the claim.", ""),
        ("The premise doesn’t contradict it.", ""),
        ("not a contradiction", ""),
        ("cannot be entailed", ""),
        ("Label: not entailment", ""),
        ("Entailment is ruled out", ""),
        ("non-neutral", ""),
        ("This is neutral, not a contradiction.", "neutral"),
        ("Not entailed and not contradicted: neutral.", "neutral"),
        ("Rather than entailment, neutral", "neutral"),
        ("It is not clear, so neutral", "neutral"),
        ("No, contradiction.", "contradiction"),
        ("entailment or neutral", ""),
        ("yes", ""),
        ("positive", ""),
        ("", ""),
    ],
)
def test_a_label_of_inference(answer: str, label: str) -> None:
    assert nli(answer).value == label


def test_a_long_answer_is_read_in_no_time() -> None:
    for text in (
        "not a " * 30_000,
        "not " * 50_000 + "neutral",
        "(A) is not " * 15_000,
        "a " * 200_000,
        "(" * 200_000,
        "answer " * 50_000,
        "{" * 100_000,
        "A, " * 60_000,
    ):
        letter(text, OPTIONS)
        nli(text)
