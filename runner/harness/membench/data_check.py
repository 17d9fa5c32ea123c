"""What ``data check`` says of MemBench: counts and every trap met, gathered in one pass."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from runner.data.fields import some
from runner.harness.membench.format import Trajectory


@dataclass
class DataCheck:
    """Running counts; holds names and digests, never a stream."""

    messages: int = 0
    by_category: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    where: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unresolved: list[str] = field(default_factory=list)
    blind: int = 0
    users: Counter[str] = field(default_factory=Counter)
    questions: Counter[str] = field(default_factory=Counter)
    streams: Counter[bytes] = field(default_factory=Counter)

    def take(self, trajectory: Trajectory, category: str) -> None:
        self.messages += len(trajectory.steps)
        self.by_category[category] += 1
        self.by_kind["/".join((trajectory.view, trajectory.task, trajectory.topic))] += 1
        for trap, times in trajectory.met.items():
            self.met[trap] += times
            self.where[trap].append(trajectory.name)
        self.unresolved += [f"{trajectory.name} {target}" for target in trajectory.unresolved]
        self.blind += not trajectory.targets
        self.users[trajectory.user] += 1
        self.questions[hashlib.sha256(trajectory.question.encode()).hexdigest()] += 1
        sha = hashlib.sha256(trajectory.question.encode())
        for step in trajectory.steps:
            sha.update(f"\0{step.text}".encode())
        self.streams[sha.digest()] += 1

    def lines(self) -> list[str]:
        """One fact a line."""
        total = self.by_category.total()
        shared = sum(times > 1 for times in self.users.values())
        return [
            f"trajectories {total}, each with one question; messages {self.messages}",
            "questions by category: " + ", ".join(f"{name} {times}" for name, times in self.by_category.items()),
            "questions by view, task and topic: " + ", ".join(f"{name} {n}" for name, n in self.by_kind.items()),
            f"tids {len(self.users)}, of which {shared} stand in several places: never an id, only the cluster",
            *(
                f"{trap}: {self.met[trap]} in {len(self.where[trap])} trajectories ({some(self.where[trap], 3)})"
                for trap in sorted(self.met)
            ),
            f"targets that are no message of their trajectory: {len(self.unresolved)}"
            + (f" ({some(self.unresolved)})" if self.unresolved else ""),
            f"questions without a resolvable target, no retrieval metric: {self.blind}",
            f"question texts asked more than once: {sum(times > 1 for times in self.questions.values())}",
            f"trajectories that stand twice, stream and question alike: {sum(n > 1 for n in self.streams.values())}",
        ]
