"""What ``data check`` says of a LongMemEval file: counts and every trap met, gathered in one pass."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from runner.data.fields import some
from runner.harness.longmemeval.format import TYPES, Item


@dataclass
class DataCheck:
    """Running counts; holds names and digests, never a history."""

    questions: int = 0
    sessions: int = 0
    turns: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    abstain: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)  # times a trap was met
    where: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # questions that met it
    unresolved: list[str] = field(default_factory=list)
    blind: int = 0  # answerable, without any resolvable evidence
    whole: int = 0  # answerable, turns not measurable
    lists: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    ids: Counter[str] = field(default_factory=Counter)

    def take(self, item: Item) -> None:
        self.questions += 1
        self.sessions += len(item.sessions)
        self.turns += sum(len(session.turns) for session in item.sessions)
        self.by_type[item.type] += 1
        self.abstain[item.type] += item.abstain
        for trap, times in item.met.items():
            self.met[trap] += times
            self.where[trap].append(item.id)
        self.unresolved += [f"{item.id} '{name}'" for name in item.unresolved]
        if not item.abstain:
            held = [session for session in item.evidence if session.turns]
            self.blind += not held
            self.whole += bool(held) and any(not session.labelled for session in held)
        self.lists += len(item.answers) > 1
        self.texts[hashlib.sha256(item.question.encode()).hexdigest()] += 1
        self.ids[item.id] += 1

    def lines(self) -> list[str]:
        """One fact a line."""
        out = [
            f"questions {self.questions}, each with a history: sessions {self.sessions}, turns {self.turns}",
            "questions by type: " + ", ".join(f"{name} {self.by_type[name]}" for name in TYPES),
            f"abstentions ('_abs' in the id, type unchanged): {self.abstain.total()}"
            + "".join(f", {name} {self.abstain[name]}" for name in TYPES if self.abstain[name]),
            "ids of evidence sessions name themselves: sessions are named anew, and neither an id of the file nor "
            "has_answer is ingested",
        ]
        for trap in sorted(self.met):
            names = self.where[trap]
            out.append(f"{trap}: {self.met[trap]} in {len(names)} questions ({some(names, 4)})")
        if self.lists:
            out.append(f"gold with alternatives as a list: {self.lists}")
        out.append(
            f"evidence that names no session of its history: {len(self.unresolved)}"
            + (f" ({some(self.unresolved)})" if self.unresolved else "")
        )
        out.append(
            f"answerable questions without resolvable evidence, no retrieval metric: {self.blind}; with an evidence "
            f"session that has no labelled turn, measured by sessions only: {self.whole}"
        )
        out.append(f"question texts asked more than once: {sum(times > 1 for times in self.texts.values())}")
        twice = [name for name, times in self.ids.items() if times > 1]
        out.append(f"question ids that stand twice: {len(twice)}" + (f" ({some(twice)})" if twice else ""))
        return out
