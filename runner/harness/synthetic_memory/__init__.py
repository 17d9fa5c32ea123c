"""The bundled default: a seeded generator of histories whose gold is known exactly. No file, no download.

It shows that a set-up works and ranks retrieval methods by what they can do (other words, dates, two statements, newer
over older); it is not evidence about real conversations, and is named synthetic wherever its numbers stand. The
questions, and what makes them hard, are described in :mod:`runner.harness.synthetic_memory.generator`.

A scenario is a cluster. ``now`` of every question is the time of the last event. Retrieval is measured for what can be
answered; an unanswerable question has no evidence.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Final, Self

import msgspec
from pydantic import Field, model_validator

from runner.config import Strict, digest
from runner.harness._base.contract import DatasetInfo, Harness
from runner.harness.synthetic_memory.generator import (
    CATEGORIES,
    EVENTS_PER_QUESTION,
    UNANSWERABLE,
    VERSION,
    ScenarioGenerator,
)
from runner.score.lexical import TOKEN_F1, token_f1
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import Hit, Question, Scenario

_EVENT: Final = ("id", "text", "time", "actor", "kind", "session")
_GOLD: Final = ("answers", "evidence", "abstain")


class Sizes(Strict):
    """Sizes of the data. Categories take turns: 7 scenarios ask every category ``questions`` times."""

    seed: Annotated[int, Field(ge=0)] = 7
    scenarios: Annotated[int, Field(ge=1, le=200_000)] = 30
    events: Annotated[int, Field(ge=EVENTS_PER_QUESTION, le=50_000_000)] = 60  # per scenario
    questions: Annotated[int, Field(ge=1, le=len(CATEGORIES))] = 4  # per scenario

    @model_validator(mode="after")
    def _room(self) -> Self:
        need = EVENTS_PER_QUESTION * self.questions
        if self.events < need:
            raise ValueError(f"{self.questions} questions a scenario need at least {need} events, got {self.events}")
        return self


class SyntheticMemory(Harness):
    name = "synthetic_memory"
    synthetic = True
    categories = CATEGORIES
    comparable = frozenset(CATEGORIES) - {UNANSWERABLE}
    cluster = "scenario"
    metrics = (*profile_metrics(), TOKEN_F1)
    documents = False
    Settings = Sizes
    settings: Sizes

    def _scenario(self, index: int) -> Scenario:
        return ScenarioGenerator(self.settings.seed, index, self.settings.events, self.settings.questions).scenario()

    def read(self) -> Iterator[Scenario]:
        for index in range(self.settings.scenarios):
            yield self._scenario(index)

    @cached_property
    def _signature(self) -> str:
        """Hash the settings and small scenarios that use every template: a change of either shows."""
        sha = hashlib.sha256(digest({"generator": VERSION, **self.settings.model_dump()}).encode())
        for index in range(2 * len(CATEGORIES)):
            sample = ScenarioGenerator(self.settings.seed, index, EVENTS_PER_QUESTION * 7, 7).scenario()
            sha.update(msgspec.json.encode(_generated(sample)))
        return sha.hexdigest()

    def dataset(self) -> DatasetInfo:
        """Settings and generator, hashed; pinned by construction."""
        return DatasetInfo(
            name="synthetic_memory (synthetic)",
            version=f"generator {VERSION}, seed {self.settings.seed}",
            sha256=self._signature,
            pinned=True,
            licence="Apache-2.0",
            source="generated",
        )

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        ranked = ranked_sources(hits)
        return profile(ranked, question.gold.evidence, self.config.k)

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """``token_f1`` against the gold value; ``None`` where the right answer is to abstain."""
        gold = question.gold.answers
        return {"token_f1": None if not gold else max(token_f1(answer, item) for item in gold)}

    def check(self) -> list[str]:
        events = questions = 0
        by_category: Counter[str] = Counter()
        for scenario in self.read():
            events += len(scenario.events)
            questions += len(scenario.questions)
            by_category.update(question.category for question in scenario.questions)
        info = self.dataset()
        return [
            f"{info.name}, {info.version}, sha256 {info.sha256}",
            f"scenarios {self.settings.scenarios}, events {events}, questions {questions}",
            "questions by category: "
            + ", ".join(f"{key} {name} {by_category[key]}" for key, name in CATEGORIES.items()),
        ]


def _generated(scenario: Scenario) -> dict[str, Any]:
    """Return what the generator decides of a scenario, so that a field that a type gains does not change the digest."""
    return {
        "id": scenario.id,
        "cluster": scenario.cluster,
        "events": [{name: getattr(event, name) for name in _EVENT} for event in scenario.events],
        "questions": [
            {
                "id": question.id,
                "text": question.text,
                "category": question.category,
                "gold": {name: getattr(question.gold, name) for name in _GOLD},
                "now": question.now,
            }
            for question in scenario.questions
        ],
    }


HARNESS = SyntheticMemory
