"""Seeded draws that give the same choices on every machine and Python version."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A stream of choices."""

    def __init__(self, *key: object) -> None:
        sha = hashlib.sha256("/".join(map(str, key)).encode()).digest()
        self._random = random.Random(int.from_bytes(sha, "big")).random

    def below(self, n: int) -> int:
        return int(self._random() * n)

    def chance(self, share: float) -> bool:
        return self._random() < share

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        out = list(items)
        for last in range(len(out) - 1, 0, -1):
            other = self.below(last + 1)
            out[last], out[other] = out[other], out[last]
        return out
