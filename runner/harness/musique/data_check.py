"""Counts of a MuSiQue file and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from runner.harness._base.data_check import DataCheck, digest_of
from runner.harness.musique.format import COMPOSITIONS, HOPS, MusiqueRow
from runner.score.lexical import spaced_tokens


@dataclass
class MusiqueDataCheck(DataCheck):
    """Running counts; holds ids and digests, never a paragraph."""

    rows: int = 0
    paragraphs: Counter[int] = field(default_factory=Counter)  # rows by their number of paragraphs
    by_hops: Counter[str] = field(default_factory=Counter)
    by_composition: Counter[str] = field(default_factory=Counter)
    unanswerable: int = 0
    aliases: int = 0  # rows with any
    ids: defaultdict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))  # by digest of the question

    def add(self, row: MusiqueRow) -> None:
        self.rows += 1
        self.paragraphs[len(row.paragraphs)] += 1
        self.by_hops[row.hops] += 1
        self.by_composition[row.composition] += 1
        self.unanswerable += not row.answerable
        self.aliases += len(row.answers) > 1
        traps = row.met.copy()
        quoted = _quotes_answer(row)
        traps["answerable, and no supporting paragraph has the answer or an alias word for word"] += (
            row.answerable and not quoted
        )
        traps["unanswerable, and a paragraph still has the answer word for word"] += not row.answerable and quoted
        self.add_traps(row.id, traps)
        self.ids[digest_of(row.question)].add(row.id)

    def lines(self) -> list[str]:
        """Return what was counted, one fact per line."""
        sizes = ", ".join(f"{size} in {rows}" for size, rows in sorted(self.paragraphs.items()))
        twice = sum(len(ids) > 1 for ids in self.ids.values())
        return [
            f"questions {self.rows}: answerable {self.rows - self.unanswerable}, unanswerable {self.unanswerable}",
            "questions by hops: " + ", ".join(f"{name} {self.by_hops[name]}" for name in HOPS),
            "by composition: " + ", ".join(f"{name} {self.by_composition[name]}" for name in COMPOSITIONS),
            f"paragraphs of a question: {sizes}",
            f"questions whose answer has aliases: {self.aliases}",
            "question_decomposition holds the answer of every hop: it is not read; paragraphs are named and ordered "
            "by their text, so that neither idx nor place tells which are supporting",
            *self.trap_lines(),
            f"question texts asked under more than one id: {twice}",
        ]


def _quotes_answer(row: MusiqueRow) -> bool:
    """Tell whether the answer or an alias stands word for word: in supporting paragraphs, or in any of a twin."""
    golds = [gold for gold in map(spaced_tokens, row.answers) if gold.strip()]
    texts = [spaced_tokens(p.with_title) for p in (row.support if row.answerable else row.paragraphs)]
    return any(gold in text for gold in golds for text in texts)
