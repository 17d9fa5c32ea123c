"""Counts that several benchmarks print in ``data check``: traps and where, repeated questions, lists of names."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from runner.data.fields import first_few


@dataclass
class DataCheck:
    """Running counts of one pass over the data; holds names and digests, never a text.

    Subclasses add counts of their own and write ``add``, which takes one row of the format, and ``lines``.
    """

    unit: ClassVar[str] = "questions"  # what a trap is met in
    shown: ClassVar[int] = 4  # names that stand beside a trap

    traps: Counter[str] = field(default_factory=Counter)  # times a trap was met
    met_in: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    texts: Counter[bytes] = field(default_factory=Counter)  # digests of questions

    def add_traps(self, name: str, traps: Mapping[str, int]) -> None:
        """Count the traps of one row. ``name`` is shown beside them."""
        for trap, times in traps.items():
            if times:
                self.traps[trap] += times
                self.met_in[trap].append(name)

    def add_text(self, text: str) -> None:
        """Count the text of a question."""
        self.texts[digest_of(text)] += 1

    def trap_lines(self) -> list[str]:
        """Return a line for each trap: how often it was met, in how many rows, and the first of them."""
        return [
            f"{trap}: {self.traps[trap]} in {len(names)} {self.unit} ({first_few(names, self.shown)})"
            for trap, names in sorted(self.met_in.items())
        ]

    @property
    def repeated_texts(self) -> str:
        """Line that counts the question texts that stand more than once."""
        return f"question texts asked more than once: {sum(times > 1 for times in self.texts.values())}"


def digest_of(text: str) -> bytes:
    """Return the sha256 of a text, whatever it holds."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def count_line(what: str, names: Sequence[str], most: int = 8) -> str:
    """Return how many there are of something, with the first few names.

    >>> count_line("ids that stand twice", ["a", "b", "c"], most=2)
    'ids that stand twice: 3 (a, b, … 1 more)'
    """
    return f"{what}: {len(names)}" + (f" ({first_few(names, most)})" if names else "")


def repeated(names: Counter[str]) -> list[str]:
    """Return the names that were counted more than once, in the order in which they came."""
    return [name for name, times in names.items() if times > 1]
