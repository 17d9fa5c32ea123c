"""Counts of MemBench and every trap met, gathered in one pass: the lines of ``data check``."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from runner.harness._base.data_check import DataCheck, count_line
from runner.harness.membench.format import Trajectory


@dataclass
class MemBenchDataCheck(DataCheck):
    """Running counts; holds names and digests, never a stream."""

    unit: ClassVar = "trajectories"
    shown: ClassVar = 3

    messages: int = 0
    by_category: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    unresolved: list[str] = field(default_factory=list)
    blind: int = 0
    users: Counter[str] = field(default_factory=Counter)
    streams: Counter[bytes] = field(default_factory=Counter)

    def add(self, trajectory: Trajectory, category: str) -> None:
        self.messages += len(trajectory.steps)
        self.by_category[category] += 1
        self.by_kind["/".join((trajectory.view, trajectory.task, trajectory.topic))] += 1
        self.add_traps(trajectory.name, trajectory.met)
        self.add_text(trajectory.question)
        self.unresolved += [f"{trajectory.name} {target}" for target in trajectory.unresolved]
        self.blind += not trajectory.targets
        self.users[trajectory.user] += 1
        sha = hashlib.sha256(trajectory.question.encode())
        for step in trajectory.steps:
            sha.update(f"\0{step.text}".encode())
        self.streams[sha.digest()] += 1

    def lines(self) -> list[str]:
        """Return what was counted, one fact per line."""
        total = self.by_category.total()
        shared = sum(times > 1 for times in self.users.values())
        return [
            f"trajectories {total}, each with one question; messages {self.messages}",
            "questions by category: " + ", ".join(f"{name} {times}" for name, times in self.by_category.items()),
            "questions by view, task and topic: " + ", ".join(f"{name} {n}" for name, n in self.by_kind.items()),
            f"tids {len(self.users)}, of which {shared} stand in several places: never an id, only the cluster",
            *self.trap_lines(),
            count_line("targets that are no message of their trajectory", self.unresolved),
            f"questions without a resolvable target, no retrieval metric: {self.blind}",
            self.repeated_texts,
            f"trajectories that stand twice, stream and question alike: {sum(n > 1 for n in self.streams.values())}",
        ]
