"""LoCoMo's questions under other harnesses' ids. Counted from ``locomo10.json``; ours are ``<conversation>/<index>``.

The index is the position in the conversation's ``qa``, all five categories counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HARNESS: Final = "locomo_qa"
ADVERSARIAL: Final = "5"

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


def answerable(conversation: str) -> list[int]:
    """Indexes of the questions of categories 1-4, in order.

    Everywhere the adversarial questions come last, but in conv-30 one stands at 79, before the last two that count.
    """
    count = CONVERSATIONS[conversation]
    return [*range(79), 80, 81] if conversation == "conv-30" else list(range(count))
