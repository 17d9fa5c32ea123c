"""Counts of BEAM's chats and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from runner.harness._base.data_check import DataCheck, count_line, repeated
from runner.harness.beam.format import Chat
from runner.harness.beam.questions import ABSTENTION, GOLD
from runner.harness.beam.source import RawChat


@dataclass
class BeamDataCheck(DataCheck):
    """Running counts; holds names and digests, never a chat."""

    size: str = ""  # of the chats, as their names begin
    messages: int = 0
    points: int = 0
    blind: int = 0  # answerable, without resolvable evidence
    truncated: int = 0
    by_ability: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    unresolved: list[str] = field(default_factory=list)

    def add(self, raw: RawChat, chat: Chat) -> None:
        self.names[raw.name] += 1
        self.messages += len(chat.messages)
        self.traps.update(chat.met)
        self.truncated += raw.truncated
        for number, probe in enumerate(chat.probes):
            self.by_ability[probe.ability] += 1
            self.points += len(probe.rubric)
            self.add_text(probe.question)
            self.blind += probe.ability != ABSTENTION and not probe.evidence
            self.unresolved += [f"{self.size}-{raw.name}/{number} {cited}" for cited in probe.unresolved]

    def lines(self) -> list[str]:
        """Return what was counted, one fact per line."""
        cut = [f"truncated chats, read in place of the whole, as published: {self.truncated}"] if self.truncated else []
        return [
            f"chats {self.names.total()}, messages {self.messages}, questions {self.by_ability.total()}, "
            f"rubric points {self.points}",
            "questions by ability: " + ", ".join(f"{name} {self.by_ability[name]}" for name in GOLD),
            *(f"{trap}: {self.traps[trap]}" for trap in sorted(self.traps)),
            *cut,
            count_line("evidence that names no single message", self.unresolved),
            f"questions but abstentions without resolvable evidence, no retrieval metric: {self.blind}",
            self.repeated_texts,
            count_line("chat ids that stand twice", sorted(repeated(self.names))),
        ]
