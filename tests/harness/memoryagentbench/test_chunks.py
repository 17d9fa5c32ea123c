"""Chunks of a long text: whole sentences where they fit, everything told once, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.harness.memoryagentbench.chunks import chunks


def pieces(text: str, tokens: int) -> list[str]:
    return [text[start:end] for start, end in chunks(text, tokens)]


@given(st.text(alphabet="ab .!?\n1'\"", max_size=300), st.integers(1, 20))
def test_nothing_is_left_out_or_told_twice(text: str, tokens: int) -> None:
    found = pieces(text, tokens)
    assert "".join(found) == text
    assert all(0 < len(piece) <= 4 * tokens for piece in found)


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("", 4, []),
        ("One two. Three four. Five six.", 4, ["One two. ", "Three four. ", "Five six."]),  # 16 characters each
        ("One two. Three four. Five six.", 6, ["One two. Three four. ", "Five six."]),  # 24
        # a number before a fact is no end, so that it stays with its fact
        ("10. Ann sings. 11. Bob naps. 12. x", 4, ["10. Ann sings. ", "11. Bob naps. ", "12. x"]),
        # nor is the line end between an example and its label
        ("who is it ?\nlabel: 3\nwhere ?\nlabel: 4", 6, ["who is it ?\nlabel: 3\n", "where ?\nlabel: 4"]),
        # a sentence that is too long is cut at white space, a word that is too long where the chunk ends
        ("aaaa bbbb cccc", 3, ["aaaa bbbb ", "cccc"]),
        ("a" * 10, 1, ["aaaa", "aaaa", "aa"]),
        ('He said "no." Then left.', 4, ['He said "no." ', "Then left."]),
    ],
)
def test_borders(text: str, tokens: int, expected: list[str]) -> None:
    assert pieces(text, tokens) == expected


@pytest.mark.parametrize("text", ["Word after word. " * 100_000, "." * 1_000_000, "\n" * 1_000_000, "x" * 1_000_000])
def test_a_long_book_takes_moments(text: str) -> None:
    start = time.perf_counter()
    number = sum(1 for _ in chunks(text, 4096))
    assert number >= len(text) // (4 * 4096)
    assert time.perf_counter() - start < 5
