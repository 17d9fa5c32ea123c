"""Counts of MemoryAgentBench and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from runner.harness._base.data_check import DataCheck, count_line, digest_of, repeated
from runner.harness.memoryagentbench.format import RECALL, SPLITS, SUBSTRING, ContextRow
from runner.harness.memoryagentbench.history import History
from runner.harness.memoryagentbench.rules import contains
from runner.types import Scenario


@dataclass
class MemoryAgentBenchDataCheck(DataCheck):
    """Running counts; holds names and digests, never a context."""

    rows: Counter[str] = field(default_factory=Counter)  # by sub-dataset
    questions: Counter[str] = field(default_factory=Counter)
    by_split: Counter[str] = field(default_factory=Counter)
    by_grading: Counter[str] = field(default_factory=Counter)
    by_type: Counter[str] = field(default_factory=Counter)
    contexts: Counter[str] = field(default_factory=Counter)
    twice: int = 0  # question texts asked again in one row
    chunks: int = 0
    chars: int = 0
    blank: int = 0  # aliases that no rule can find
    measurable: int = 0  # questions with evidence
    unresolved: list[str] = field(default_factory=list)

    def add(self, row: ContextRow, scenario: Scenario, history: History) -> None:
        self.rows[row.source] += 1
        self.questions[row.source] += len(scenario.questions)
        self.by_split[row.task.split] += len(scenario.questions)
        self.traps.update(row.met)
        self.traps.update(history.met)
        self.contexts[scenario.cluster] += 1
        self.chunks += len(scenario.events)
        self.chars += len(row.context)
        self.unresolved += [f"{scenario.id}/{number}" for number in history.unresolved]
        self.twice += sum(times > 1 for times in Counter(digest_of(asked.text) for asked in row.questions).values())
        for asked, question in zip(row.questions, scenario.questions, strict=True):
            self.by_grading[question.rule or question.rubric] += 1
            self.by_type[asked.type] += bool(asked.type)
            self.measurable += bool(question.gold.evidence)
            if row.task.rule and row.task.rule != RECALL:
                self.blank += sum(not contains(alias, [alias]) for alias in asked.answers)

    def lines(self) -> list[str]:
        """Return what was counted, one fact per line."""
        by_type = ", ".join(f"{name} {number}" for name, number in sorted(self.by_type.items()) if number)
        return [
            f"rows {self.rows.total()}, questions {self.questions.total()}, chunks {self.chunks}, "
            f"characters of context {self.chars}",
            "questions by competency: " + ", ".join(f"{split} {self.by_split[split]}" for split in SPLITS),
            "rows and questions by source: "
            + ", ".join(f"{name} {self.rows[name]}/{self.questions[name]}" for name in sorted(self.rows)),
            "questions by what grades them: " + ", ".join(f"{n} {self.by_grading[n]}" for n in sorted(self.by_grading)),
            *([f"questions of the chats by type: {by_type}"] if by_type else []),
            "demo and previous_events are not read; questions are asked of a memory without their example",
            *(f"{trap}: {self.traps[trap]}" for trap in sorted(self.traps)),
            f"contexts that stand in several rows, one cluster each: {len(repeated(self.contexts))}",
            f"question texts asked more than once of one context: {self.twice}",
            f"aliases of which nothing is left after normalisation, never found ({SUBSTRING} would always find them): "
            f"{self.blank}",
            f"questions with evidence, the others have no retrieval metric: {self.measurable}",
            count_line("labelled turns that the context does not hold", self.unresolved),
        ]
