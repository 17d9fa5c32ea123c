"""What ``data check`` says of a MuSiQue file: counts and every trap met, gathered in one pass."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from runner.data.fields import some
from runner.harness.musique.format import COMPOSITIONS, HOPS, Item
from runner.score.lexical import spaced_tokens


@dataclass
class DataCheck:
    """Running counts; holds ids and digests, never a paragraph."""

    rows: int = 0
    paragraphs: Counter[int] = field(default_factory=Counter)  # rows by their number of paragraphs
    by_hops: Counter[str] = field(default_factory=Counter)
    by_composition: Counter[str] = field(default_factory=Counter)
    unanswerable: int = 0
    aliases: int = 0  # rows with any
    met: Counter[str] = field(default_factory=Counter)
    where: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    texts: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # question digest -> ids

    def take(self, item: Item) -> None:
        self.rows += 1
        self.paragraphs[len(item.paragraphs)] += 1
        self.by_hops[item.hops] += 1
        self.by_composition[item.composition] += 1
        self.unanswerable += not item.answerable
        self.aliases += len(item.answers) > 1
        met = item.met.copy()
        told = _told(item)
        met["answerable, and no supporting paragraph has the answer or an alias word for word"] += (
            item.answerable and not told
        )
        met["unanswerable, and a paragraph still has the answer word for word"] += not item.answerable and told
        for trap, times in (+met).items():
            self.met[trap] += times
            self.where[trap].append(item.id)
        self.texts[hashlib.sha256(item.question.encode("utf-8", "replace")).hexdigest()].add(item.id)

    def lines(self) -> list[str]:
        """One fact a line."""
        sizes = ", ".join(f"{size} in {rows}" for size, rows in sorted(self.paragraphs.items()))
        out = [
            f"questions {self.rows}: answerable {self.rows - self.unanswerable}, unanswerable {self.unanswerable}",
            "questions by hops: " + ", ".join(f"{name} {self.by_hops[name]}" for name in HOPS),
            "by composition: " + ", ".join(f"{name} {self.by_composition[name]}" for name in COMPOSITIONS),
            f"paragraphs of a question: {sizes}",
            f"questions whose answer has aliases: {self.aliases}",
            "question_decomposition holds the answer of every hop: it is not read; paragraphs are named and ordered "
            "by their text, so that neither idx nor place tells which are supporting",
        ]
        for trap in sorted(self.met):
            names = self.where[trap]
            out.append(f"{trap}: {self.met[trap]} in {len(names)} questions ({some(names, 4)})")
        twice = sum(len(ids) > 1 for ids in self.texts.values())
        out.append(f"question texts asked under more than one id: {twice}")
        return out


def _told(item: Item) -> bool:
    """Whether the answer or an alias stands word for word: in a supporting paragraph, or in any where it should not."""
    golds = [gold for gold in map(spaced_tokens, item.answers) if gold.strip()]
    texts = [spaced_tokens(p.whole) for p in (item.support if item.answerable else item.paragraphs)]
    return any(gold in text for gold in golds for text in texts)
