"""Counts of a Dialogue NLI file and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from runner.harness._base.data_check import count_line
from runner.harness.dialogue_consistency.format import LABELS, Pair


@dataclass
class DialogueDataCheck:
    """Running counts. ``asked`` are ids in the sample, ``unknown`` sentences of which not all is known."""

    asked: Collection[str]
    unknown: Collection[str]
    by_label: Counter[str] = field(default_factory=Counter)
    asked_by_label: Counter[str] = field(default_factory=Counter)
    by_rule: Counter[str] = field(default_factory=Counter)
    spelled: Counter[str] = field(default_factory=Counter)
    labels: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # of two sentences
    repeated: list[str] = field(default_factory=list)
    equal: int = 0
    partly_known: int = 0

    def add(self, pair: Pair) -> None:
        self.by_label[pair.label] += 1
        self.asked_by_label[pair.label] += pair.id in self.asked
        self.by_rule[f"{pair.kind} ({pair.label})"] += 1
        self.spelled[pair.published] += 1
        self.equal += pair.premise == pair.hypothesis
        self.partly_known += pair.premise in self.unknown or pair.hypothesis in self.unknown
        self.labels.setdefault((pair.premise, pair.hypothesis), set()).add(pair.label)
        if pair.again:
            self.repeated.append(pair.id)

    def lines(self, sample: str, sentences: str) -> list[str]:
        """Return what was counted, one fact per line, with what is said of the sample and of the sentences."""
        total = self.by_label.total()
        contradicting = sum(len(labels) > 1 for labels in self.labels.values())
        reverse = sum(
            1
            for (one, two), labels in self.labels.items()
            if one < two and (two, one) in self.labels and self.labels[two, one] != labels
        )
        return [
            f"pairs {total}: {_by_label(self.by_label)}",
            "labels as the file spells them: " + ", ".join(f"{name} {n}" for name, n in sorted(self.spelled.items())),
            "pairs by rule (dtype; tells the label, goes nowhere): "
            + ", ".join(f"{name} {n}" for name, n in sorted(self.by_rule.items())),
            f"asked: {self.asked_by_label.total()} ({sample}): {_by_label(self.asked_by_label)}",
            sentences,
            f"pairs of which it is not known what both sentences state, label kept right by words: {self.partly_known}",
            f"pairs of two equal sentences: {self.equal}",
            f"pairs that stand more than once: {total - len(self.labels)}; of them with two labels: {contradicting}",
            f"pairs that stand the other way round with another label: {reverse}",
            count_line("ids that stand twice, told apart by /2", self.repeated),
        ]


def _by_label(counted: Counter[str]) -> str:
    return ", ".join(f"{label} {counted[label]}" for label in LABELS)
