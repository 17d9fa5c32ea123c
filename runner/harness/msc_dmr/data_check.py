"""Counts of MSC-Self-Instruct and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from runner.harness._base.data_check import DataCheck, count_line, repeated
from runner.harness.msc_dmr.answer_words import answer_recall
from runner.harness.msc_dmr.format import MscRow, Turn
from runner.score.lexical import spaced_tokens

_EARLIER, _CURRENT, _NOWHERE = "an earlier session", "the current session only", "none"


@dataclass
class MscDataCheck(DataCheck):
    """Running counts; holds names and digests, never a turn."""

    unit: ClassVar = "rows"

    rows: int = 0
    sessions: int = 0
    turns: int = 0
    quoted: Counter[str] = field(default_factory=Counter)  # rows by where the gold stands word for word
    ceiling: float = 0.0  # sum of answer_recall over the whole history
    complete: int = 0  # rows whose history has every word of the gold
    measurable: int = 0
    conversations: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, row: MscRow, *, current: bool) -> None:
        """Count one row. ``current`` says whether its last session is part of the history."""
        self.rows += 1
        history = row.sessions if current else row.sessions[:-1]
        self.sessions += len(history)
        self.turns += sum(len(session.turns) for session in history)
        self.quoted[_quoted_in(row)] += 1
        recall = answer_recall("\n".join(turn.text for session in history for turn in session.turns), (row.gold,))
        if recall is not None:
            self.measurable += 1
            self.ceiling += recall
            self.complete += recall == 1
        self.add_traps(name, row.met)
        self.add_text(row.question)
        if row.conversation:
            self.conversations[row.conversation] += 1

    def lines(self) -> list[str]:
        """Return what was counted, one fact per line."""
        out = [
            f"questions {self.rows}, each with a history: sessions {self.sessions}, turns {self.turns}",
            "personas and summaries hold answers: they are not read",
            "gold that stands word for word in "
            + ", ".join(f"{place} {self.quoted[place]}" for place in (_EARLIER, _CURRENT, _NOWHERE)),
        ]
        if self.measurable:
            share = 100 * self.ceiling / self.measurable
            out.append(
                f"words of the gold in the whole history, what answer_recall can reach: {share:.1f} % of them, "
                f"all of them in {self.complete} of {self.measurable}"
            )
        if self.measurable < self.rows:
            out.append(f"gold without a word, answer_recall not measurable: {self.rows - self.measurable}")
        return [
            *out,
            *self.trap_lines(),
            self.repeated_texts,
            count_line("conversations asked more than once, one cluster each", repeated(self.conversations)),
        ]


def _quoted_in(row: MscRow) -> str:
    """Return where the gold stands word for word after SQuAD's normalisation; the benchmark labels no evidence."""
    gold = spaced_tokens(row.gold)
    if not gold.strip():
        return _NOWHERE
    if _is_said(gold, (turn for session in row.sessions[:-1] for turn in session.turns)):
        return _EARLIER
    return _CURRENT if _is_said(gold, row.sessions[-1].turns) else _NOWHERE


def _is_said(gold: str, turns: Iterable[Turn]) -> bool:
    return any(gold in spaced_tokens(turn.text) for turn in turns)
