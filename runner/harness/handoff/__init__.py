"""Handoff: one agent works and stops, another takes over, and nobody tells it anything. What does memory bring across?

A scenario is one YAML file (:mod:`runner.harness.handoff.scenario_file`), shipped or in a folder of the user's own
(``harness.settings.scenarios=DIR``). Its history is asked in three wordings, and as written with two seeded sets of
distractors; all of these are one cluster. The headline is the wording as written of the history without distractors;
everything else is of the category ``variant`` and tells how consistent the outcome is.

Scored is the text that the arriving agent would have in its window (:mod:`runner.harness.handoff.score`): ``pass``,
``fidelity``, ``density``, ``signal``, ``tokens``. What rank a hit has is not this suite's business, so that there are
no retrieval metrics; the evidence of a question is there for the oracle.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from runner.config import HarnessConfig, LocalPath, Strict, did_you_mean, own_path
from runner.errors import ConfigError
from runner.harness._base.contract import DatasetInfo, Harness
from runner.harness._base.report import Line, Table
from runner.harness.handoff.figures import figures
from runner.harness.handoff.report import section
from runner.harness.handoff.scenario_file import FAMILIES
from runner.harness.handoff.scenario_folder import Entry, Index, index, spec_of
from runner.harness.handoff.score import METRICS, score_text
from runner.harness.handoff.variants import CATEGORIES, VARIANT, VERSION, pool_sha256, scenarios
from runner.record.rundir import RunDir
from runner.types import Hit, Question, Scenario

SHIPPED: Final = Path(__file__).parent / "scenarios"


class HandoffSettings(Strict):
    """The choice of scenarios and of their variants."""

    # Not in the instrument, which has the content of the files: a folder may lie elsewhere on another machine.
    scenarios: Annotated[str | None, Field(min_length=1, exclude=True), LocalPath("folder")] = None
    shipped: bool = True
    only: Annotated[str, Field(min_length=1)] | None = None
    variants: Literal["all", "as_written"] = "all"
    distractors: bool = True
    seed: Annotated[int, Field(ge=0)] = 7


class HandoffSuite(Harness):
    name = "handoff"
    categories = CATEGORIES
    comparable = frozenset(CATEGORIES) - {VARIANT}
    cluster = "scenario"
    metrics = METRICS
    Settings = HandoffSettings
    settings: HandoffSettings

    def __init__(self, config: HarnessConfig) -> None:
        super().__init__(config)
        problems = []
        if config.dataset.path or config.dataset.url:
            problems.append("harness.dataset: handoff reads scenarios from a folder: harness.settings.scenarios=DIR")
        if config.patches:
            problems.append("harness.patches: handoff takes no gold patches; mend the scenario's file")
        if not self.settings.shipped and self.settings.scenarios is None:
            problems.append(
                "harness.settings.shipped: false leaves no scenarios; name yours: harness.settings.scenarios=DIR"
            )
        if problems:
            raise ConfigError(problems)

    @cached_property
    def _index(self) -> Index:
        folders = [SHIPPED] if self.settings.shipped else []
        if self.settings.scenarios is not None:
            folders.append(own_path(self.settings.scenarios))
        return index(folders)

    @cached_property
    def _chosen(self) -> list[Entry]:
        """Choose the scenarios whose id, family or skill contains ``only``.

        Raises
        ------
        ConfigError
            When there are none.
        """
        only, every = self.settings.only, list(self._index.entries)
        if only is None:
            return every
        chosen = [item for item in every if any(only in name for name in (item.id, item.family, item.skill))]
        if not chosen:
            known = sorted({name for item in every for name in (item.id, item.family, item.skill)})
            raise ConfigError(
                [
                    f"harness.settings.only: no scenario's id, family or skill contains '{only}'"
                    f"{did_you_mean(only, known)}; list them: python -m runner data check handoff"
                ]
            )
        return chosen

    def read(self) -> Iterator[Scenario]:
        every = self.settings.variants == "all"
        for entry in self._chosen:
            yield from scenarios(
                spec_of(entry.path),
                self.settings.seed,
                wordings=every,
                distractors=every and self.settings.distractors,
            )

    def dataset(self) -> DatasetInfo:
        """Hash every scenario, the filler and the version of what is made of them.

        Raises
        ------
        ConfigError
            When ``harness.dataset.sha256`` pins another content.
        """
        sha = hashlib.sha256(f"handoff {VERSION} {pool_sha256()}\n".encode())
        for entry in self._index.entries:
            sha.update(f"{entry.id} {entry.sha256}\n".encode())
        digest, wanted = sha.hexdigest(), self.config.dataset.sha256
        if wanted is not None and wanted != digest:
            raise ConfigError(
                [f"harness.dataset.sha256: the scenarios have {digest}; they were changed, or others are meant"]
            )
        own = self._index.own(SHIPPED)
        return DatasetInfo(
            name="handoff",
            version=f"{VERSION}, {len(self._index.entries)} scenarios{f', {own} of your own' if own else ''}",
            sha256=digest,
            pinned=wanted is not None or not own,
            licence="Apache-2.0" if not own else "",
            source="shipped" if self.settings.shipped else "",
        )

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Return nothing: the text that arrives counts, whatever it was made of."""
        return {}

    def score_delivered(self, question: Question, text: str, *, failed: bool = False) -> dict[str, float | None]:
        return score_text(question.gold, text, question.text, question.budget, failed=failed).metrics()

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """Return the same metrics of a reader's answer, which has no budget."""
        metrics = score_text(question.gold, answer, question.text).metrics()
        return {f"answer_{name}": metrics[name] for name in ("pass", "fidelity", "signal")}

    def headline(self, axis: str) -> str:
        return "pass" if axis == "recall" else super().headline(axis)

    @classmethod
    def report_figures(cls, run: RunDir) -> dict[str, Any] | None:
        return figures(run)

    @classmethod
    def report_section(cls, arms: Sequence[tuple[str, dict[str, Any]]]) -> Sequence[Line | Table]:
        return section(arms)

    def check(self) -> list[str]:
        entries = self._chosen
        fails = [entry for entry in entries if entry.expect == "fail"]
        events = questions = 0
        for scenario in self.read():
            events += len(scenario.events)
            questions += len(scenario.questions)
        families, skills = (Counter(getattr(entry, key) for entry in entries) for key in ("family", "skill"))
        failing = Counter(entry.skill for entry in fails)
        own = sum(entry.path.parent != SHIPPED for entry in entries)
        info = self.dataset()
        lines = [
            f"{info.name}, generator {info.version}, sha256 {info.sha256}",
            f"scenarios {len(entries)} ({len(entries) - own} shipped, {own} of your own), "
            f"with their variants {questions} questions and {events} events",
            "by family: " + ", ".join(f"{name} {families[name]}" for name in FAMILIES if families[name]),
            f"expected to fail for a plain store: {len(fails)} of {len(entries)}",
            "by skill (expected to fail): "
            + ", ".join(f"{name} {skills[name]} ({failing[name]})" for name in sorted(skills)),
        ]
        return lines + [f"note: {line}" for line in self._index.notes]


HARNESS = HandoffSuite
