"""The smoke set: fifteen questions over sixty memories of one project, to see that a set-up finds anything at all.

A hit is right when any gold string stands in its key or its text, capitals aside and ``_`` read as a space: lenient on
purpose, since a verbose memory can hold the words by accident, and no system has to say where its hits come from. One
question is 6.7 points: the set catches a collapse and nothing else. It ranks no arms, so that all of it is one cluster
and a gate gives no verdict; decide on a benchmark.

A run must reach the thresholds (:mod:`runner.analysis.smoke`). Their defaults were chosen on this set itself: what
finds memories by words or by meaning clears them, what returns memories blindly, or none, does not.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Final

from pydantic import Field

from runner.config import HarnessConfig, Strict, digest
from runner.errors import ConfigError
from runner.harness._base.contract import DatasetInfo, Harness
from runner.plain_yaml import plain_yaml
from runner.score.retrieval import depths, precision_at, profile_metrics, recall_at, reciprocal_rank
from runner.types import Event, Gold, Hit, Metric, Question, Scenario

FILE: Final = Path(__file__).parent / "questions.yaml"
CATEGORIES: Final = ("decision", "preference", "incident", "release", "correction")

_Share = Annotated[float, Field(ge=0, le=1)]
_Text = Annotated[str, Field(min_length=1)]


class SmokeMemory(Strict):
    key: _Text
    time: datetime
    actor: _Text
    text: _Text


class SmokeQuestion(Strict):
    id: _Text
    category: _Text
    text: _Text
    gold: Annotated[list[_Text], Field(min_length=1)]


class SmokeSet(Strict):
    """The file."""

    version: int
    memories: list[SmokeMemory]
    now: datetime
    questions: list[SmokeQuestion]


class QualitySettings(Strict):
    """Shares that a run must reach. They are not in the instrument, since they change no figure."""

    min_recall: Annotated[_Share, Field(exclude=True)] = 0.8  # of recall@K
    min_mrr: Annotated[_Share, Field(exclude=True)] = 0.6


class Quality(Harness):
    name = "quality"
    categories: ClassVar = {name: name for name in CATEGORIES}
    comparable = frozenset(CATEGORIES)
    cluster = "project"
    metrics = (*profile_metrics(), Metric("substring", share=True, shown="never"))
    documents = False
    Settings = QualitySettings
    settings: QualitySettings

    def __init__(self, config: HarnessConfig) -> None:
        super().__init__(config)
        problems = []
        if config.dataset.path or config.dataset.url:
            problems.append("harness.dataset: quality is a set of its own; your own labels: harness=retrieval_recall")
        if config.patches:
            problems.append("harness.patches: quality takes no gold patches")
        if problems:
            raise ConfigError(problems)

    @cached_property
    def _set(self) -> SmokeSet:
        return SmokeSet.model_validate(plain_yaml(FILE.read_text(encoding="utf-8")))

    def read(self) -> Iterator[Scenario]:
        data = self._set
        events = tuple(
            Event(id=item.key, text=item.text, time=item.time, actor=item.actor, kind="note") for item in data.memories
        )
        questions = tuple(
            Question(
                id=asked.id,
                text=asked.text,
                category=asked.category,
                gold=Gold(
                    answers=tuple(asked.gold),
                    evidence=tuple(
                        event.id for event in events if contains_gold(f"{event.id} {event.text}", asked.gold)
                    ),
                ),
                now=data.now,
            )
            for asked in data.questions
        )
        yield Scenario(id="memories", cluster="memories", events=events, questions=questions)

    def dataset(self) -> DatasetInfo:
        """Hash the content of the file, which is pinned, since it is shipped.

        Raises
        ------
        ConfigError
            When ``harness.dataset.sha256`` pins another content.
        """
        sha = hashlib.sha256(digest(self._set.model_dump(mode="json")).encode()).hexdigest()
        wanted = self.config.dataset.sha256
        if wanted is not None and wanted != sha:
            raise ConfigError(
                [
                    f"harness.dataset.sha256: the smoke set has {sha}, so it was changed or the pin is of another "
                    "set; harness.dataset.sha256=null runs it without the pin"
                ]
            )
        return DatasetInfo(
            name="quality",
            version=f"smoke set {self._set.version}",
            sha256=sha,
            pinned=True,
            licence="Apache-2.0",
            source="shipped",
        )

    # --- scores ----------------------------------------------------------------------------------------------------

    def thresholds(self) -> dict[str, float]:
        return {f"recall@{self.config.k}": self.settings.min_recall, "mrr": self.settings.min_mrr}

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """``recall@K``, ``recall@all``, ``precision@K``, ``mrr`` and ``rank@1`` by the substring rule.

        ``None`` when a hit has neither key nor text: then it is not known what was read.
        """
        k, gold = self.config.k, ("gold",)
        readable = all(hit.key or hit.text for hit in hits)
        ranked = [gold if contains_gold(f"{hit.key}\n{hit.text}", question.gold.answers) else () for hit in hits]
        metrics: dict[str, float | None] = {f"recall@{depth}": recall_at(ranked, gold, depth) for depth in depths(k)}
        metrics |= {
            "recall@all": recall_at(ranked, gold, len(ranked) or 1),
            f"precision@{k}": precision_at(ranked, gold, k),
            "mrr": reciprocal_rank(ranked, gold),
            "rank@1": recall_at(ranked, gold, 1),
        }
        return metrics if readable else dict.fromkeys(metrics)

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """Return ``substring``: 1 when any gold string stands in the answer."""
        return {"substring": float(contains_gold(answer, question.gold.answers))}

    # --- counts ----------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        info = self.dataset()
        (scenario,) = self.read()
        by_category = Counter(question.category for question in scenario.questions)
        several = [question.id for question in scenario.questions if len(question.gold.evidence) > 1]
        without = [question.id for question in scenario.questions if not question.gold.evidence]
        lines = [
            f"{info.name}, {info.version}, sha256 {info.sha256}, {info.licence}",
            f"memories {len(scenario.events)}, questions {len(scenario.questions)}: one is "
            f"{100 / len(scenario.questions):.1f} points, so that this catches a collapse and ranks no arms",
            "questions by category: " + ", ".join(f"{name} {by_category[name]}" for name in CATEGORIES),
            "a run must reach: " + ", ".join(f"{name} {value:g}" for name, value in self.thresholds().items()),
        ]
        lines += [f"{len(several)} questions whose gold stands in several memories: {', '.join(several)}"] * bool(
            several
        )
        lines += [f"{len(without)} questions whose gold stands in none: {', '.join(without)}"] * bool(without)
        return lines


def contains_gold(text: str, golds: Sequence[str]) -> bool:
    """Tell whether a text contains any gold string, capitals aside and ``_`` read as a space.

    >>> contains_gold("decision_message_broker", ["Message Broker"])
    True
    """
    plain = _plain(text)
    return any(_plain(gold) in plain for gold in golds)


def _plain(text: str) -> str:
    return text.casefold().replace("_", " ")


HARNESS = Quality
