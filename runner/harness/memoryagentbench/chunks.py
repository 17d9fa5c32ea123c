"""Chunks of a long text that end where a sentence does, without a model or a download: a token is four characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

CHARS_PER_TOKEN: Final = 4

# The end of a sentence or a line. "17." before a fact is its number, and "label: 3" belongs to the line above it.
_END: Final = re.compile(r"(?<![\d.!?])[.!?]++[\"')\]”’]*+\s++(?!label:)|\n\s*+(?!label:)")


def chunks(text: str, tokens: int) -> Iterator[tuple[int, int]]:
    """Yield where each chunk starts and ends: as many whole sentences as fit, in order, nothing left out or repeated.

    A sentence that is longer than a chunk is cut at white space, and one without white space wherever the chunk ends.

    Parameters
    ----------
    text
        Of any length.
    tokens
        Size of a chunk, at :data:`CHARS_PER_TOKEN` characters per token.

    Examples
    --------
    >>> text = "One two. Three four! Five"
    >>> [text[start:end] for start, end in chunks(text, 3)]
    ['One two. ', 'Three four! ', 'Five']
    """
    most = tokens * CHARS_PER_TOKEN
    start = last = 0
    for end in _ends(text):
        while end - start > most:
            cut = last if last > start else _forced(text, start, start + most)
            yield start, cut
            start = cut
        last = end
    if start < len(text):
        yield start, len(text)


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        yield match.end()
    yield len(text)


def _forced(text: str, start: int, end: int) -> int:
    at = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
    return at + 1 if at > start else end
