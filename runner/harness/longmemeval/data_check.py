"""Counts of a LongMemEval file and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from runner.harness._base.data_check import DataCheck, count_line, repeated
from runner.harness._base.longmemeval_questions import TYPES
from runner.harness.longmemeval.format import Instance


@dataclass
class LongMemEvalDataCheck(DataCheck):
    """Running counts; holds names and digests, never a history."""

    questions: int = 0
    sessions: int = 0
    turns: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    abstain: Counter[str] = field(default_factory=Counter)
    unresolved: list[str] = field(default_factory=list)
    blind: int = 0  # answerable, without any resolvable evidence
    by_session: int = 0  # answerable, turns not measurable
    lists: int = 0
    ids: Counter[str] = field(default_factory=Counter)

    def add(self, item: Instance) -> None:
        self.questions += 1
        self.sessions += len(item.sessions)
        self.turns += sum(len(session.turns) for session in item.sessions)
        self.by_type[item.type] += 1
        self.abstain[item.type] += item.abstain
        self.add_traps(item.id, item.met)
        self.add_text(item.question)
        self.unresolved += [f"{item.id} '{name}'" for name in item.unresolved]
        if not item.abstain:
            evidence = [session for session in item.evidence if session.turns]
            self.blind += not evidence
            self.by_session += any(not session.labelled for session in evidence)
        self.lists += len(item.answers) > 1
        self.ids[item.id] += 1

    def lines(self) -> list[str]:
        """Return what was counted, one fact per line."""
        return [
            f"questions {self.questions}, each with a history: sessions {self.sessions}, turns {self.turns}",
            "questions by type: " + ", ".join(f"{name} {self.by_type[name]}" for name in TYPES),
            f"abstentions ('_abs' in the id, type unchanged): {self.abstain.total()}"
            + "".join(f", {name} {self.abstain[name]}" for name in TYPES if self.abstain[name]),
            "ids of evidence sessions name themselves: sessions are named anew, and neither an id of the file nor "
            "has_answer is ingested",
            *self.trap_lines(),
            *([f"gold with alternatives as a list: {self.lists}"] if self.lists else []),
            count_line("evidence that names no session of its history", self.unresolved),
            f"answerable questions without resolvable evidence, no retrieval metric: {self.blind}; with an evidence "
            f"session that has no labelled turn, measured by sessions only: {self.by_session}",
            self.repeated_texts,
            count_line("question ids that stand twice", repeated(self.ids)),
        ]
