"""The identity of a set of question ids, whatever their order.

The sum of the sha256 of every id, modulo 2^256: it can be made while ids stream by and checked against rows that were
finished in any order (Bellare and Micciancio 1997, AdHash).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

_MODULUS: Final = 1 << 256


class IdSet:
    """Ids, added one by one; each is to be added once."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, ids: Iterable[bytes]) -> None:
        sha256, from_bytes = hashlib.sha256, int.from_bytes
        self._sum = (self._sum + sum(from_bytes(sha256(item).digest(), "big") for item in ids)) % _MODULUS

    def hexdigest(self) -> str:
        return f"{self._sum:064x}"
