"""The words of an answer in a text, on cases worked out by hand."""

from __future__ import annotations

import pytest

from runner.harness.msc_dmr.answer_words import answer_recall, content_words


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
