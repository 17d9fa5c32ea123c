"""The ten conversations of ``locomo10.json``, which other harnesses name by their position in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BENCHMARK: Final = "locomo_qa"

# Conversations in the order of the file, each with the number of its questions of categories 1-4.
CONVERSATIONS: Final[Mapping[str, int]] = {
    "conv-26": 152,
    "conv-30": 81,
    "conv-41": 152,
    "conv-42": 199,
    "conv-43": 178,
    "conv-44": 123,
    "conv-47": 150,
    "conv-48": 191,
    "conv-49": 156,
    "conv-50": 158,
}
NAMES: Final = tuple(CONVERSATIONS)
