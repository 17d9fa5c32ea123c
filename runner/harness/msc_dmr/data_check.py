"""What ``data check`` says of MSC-Self-Instruct: counts and every trap met, gathered in one pass."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from runner.data.fields import some
from runner.harness.msc_dmr.format import Item, Turn
from runner.score.answer_words import answer_recall
from runner.score.lexical import spaced_tokens

_EARLIER, _CURRENT, _NOWHERE = "an earlier session", "the current session only", "none"


@dataclass
class DataCheck:
    """Running counts; holds names and digests, never a turn."""

    rows: int = 0
    sessions: int = 0
    turns: int = 0
    quoted: Counter[str] = field(default_factory=Counter)  # rows by where the gold stands word for word
    ceiling: float = 0.0  # sum of answer_recall over the whole history
    whole: int = 0  # rows whose history has every word of the gold
    measurable: int = 0
    met: Counter[str] = field(default_factory=Counter)
    where: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    texts: Counter[str] = field(default_factory=Counter)
    conversations: Counter[str] = field(default_factory=Counter)

    def take(self, name: str, item: Item, *, current: bool) -> None:
        """Count one row. ``current`` says whether its last session is told to a memory."""
        self.rows += 1
        told = item.sessions if current else item.sessions[:-1]
        self.sessions += len(told)
        self.turns += sum(len(session.turns) for session in told)
        self.quoted[_quoted(item)] += 1
        recall = answer_recall("\n".join(turn.text for session in told for turn in session.turns), (item.gold,))
        if recall is not None:
            self.measurable += 1
            self.ceiling += recall
            self.whole += recall == 1
        for trap, times in (+item.met).items():
            self.met[trap] += times
            self.where[trap].append(name)
        self.texts[hashlib.sha256(item.question.encode("utf-8", "replace")).hexdigest()] += 1
        if item.conversation:
            self.conversations[item.conversation] += 1

    def lines(self) -> list[str]:
        """One fact a line."""
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
                f"all of them in {self.whole} of {self.measurable}"
            )
        if self.measurable < self.rows:
            out.append(f"gold without a word, answer_recall not measurable: {self.rows - self.measurable}")
        for trap in sorted(self.met):
            names = self.where[trap]
            out.append(f"{trap}: {self.met[trap]} in {len(names)} rows ({some(names, 4)})")
        out.append(f"question texts asked more than once: {sum(times > 1 for times in self.texts.values())}")
        twice = [name for name, times in self.conversations.items() if times > 1]
        shown = f" ({some(twice)})" if twice else ""
        out.append(f"conversations asked more than once, one cluster each: {len(twice)}{shown}")
        return out


def _quoted(item: Item) -> str:
    """Where the gold stands word for word after SQuAD's normalisation; the benchmark labels no evidence."""
    gold = spaced_tokens(item.gold)
    if not gold.strip():
        return _NOWHERE
    if _holds(gold, (turn for session in item.sessions[:-1] for turn in session.turns)):
        return _EARLIER
    return _CURRENT if _holds(gold, item.sessions[-1].turns) else _NOWHERE


def _holds(gold: str, turns: Iterable[Turn]) -> bool:
    return any(gold in spaced_tokens(turn.text) for turn in turns)
