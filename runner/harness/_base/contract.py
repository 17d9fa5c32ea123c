"""The contract of a benchmark: what a subclass of :class:`Harness` declares and writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from runner.config import HarnessConfig, SliceConfig, Strict, checked
from runner.errors import ConfigError
from runner.harness._base.checks import checked_scenarios
from runner.harness._base.faults import faults_of
from runner.harness._base.gold_patches import PatchReport
from runner.harness._base.report import Line, Table
from runner.harness._base.slices import Census, census_of, sliced
from runner.score.label_metrics import ACCURACY
from runner.types import Hit, Label, Metric, Question, Scenario

if TYPE_CHECKING:
    from runner.record.rundir import RunDir


class NoSettings(Strict):
    """A harness without settings of its own."""


@dataclass(frozen=True)
class DatasetInfo:
    """The data as the instrument records it. ``sha256`` is of the bytes read; ``pinned`` says it was required."""

    name: str
    version: str
    sha256: str
    pinned: bool
    licence: str = ""
    source: str = ""
    patches: str = ""  # sha256 over the gold patches, empty when there are none


class Harness:
    """A benchmark: where its scenarios come from, how rows are scored and what the headline counts.

    Subclasses set the class attributes and write :meth:`read`, :meth:`dataset` and, where the benchmark has one, its
    own answer score. Gold stays in ``Question.gold``; no id, text or order that reaches a system may reveal it.
    """

    name: ClassVar[str]
    synthetic: ClassVar[bool] = False
    categories: ClassVar[Mapping[str, str]]  # source id as text -> name
    aliases: ClassVar[Mapping[str, str]] = {}  # other names in circulation -> source id as text
    comparable: ClassVar[frozenset[str]]  # category ids in `overall_comparable`, the headline
    cluster: ClassVar[str]  # what one cluster is, in words ("conversation")
    # What the benchmark calls the mean over its comparable categories, where it reports one; empty: it does not.
    macro: ClassVar[str] = ""
    # Prompt files of the benchmark's own (conf/reader/prompts), which its questions name; empty: the reader's prompt.
    prompts: ClassVar[tuple[str, ...]] = ()
    # Rubric files of the benchmark's own (conf/judge/rubrics), which its questions name; empty: the judge's rubric.
    rubrics: ClassVar[tuple[str, ...]] = ()
    # Rules of the benchmark's own by which :meth:`grade` grades without a judge, which its questions name. The name is
    # part of the instrument: another rule is another name.
    rules: ClassVar[tuple[str, ...]] = ()
    # A memory that answers by itself can be asked its questions as they stand; not where a prompt says what to do.
    askable: ClassVar[bool] = True
    # Tags of its questions. A summary has a group for each value of each, beside those of the categories.
    tags: ClassVar[tuple[str, ...]] = ()
    # What its metrics are, in the order of their columns. One that is not declared is known by a shipped one's name.
    metrics: ClassVar[tuple[Metric, ...]] = ()
    # Its histories may hold documents (events of kind doc).
    documents: ClassVar[bool] = True
    Settings: ClassVar[type[Strict]] = NoSettings

    def __init__(self, config: HarnessConfig) -> None:
        self.config = config
        self.settings = checked(self.Settings, config.settings, "harness.settings.")

    def read(self) -> Iterator[Scenario]:
        """Yield every scenario, events in time order, before any slice.

        Raises
        ------
        DatasetError
            When the data is missing, altered or not understood.
        """
        raise NotImplementedError

    def dataset(self) -> DatasetInfo:
        """Return the identity of the data; cheap enough to call before a run."""
        raise NotImplementedError

    def category_name(self, category: str) -> str:
        return self.categories.get(category, category)

    def category(self, item: str | int) -> str:
        """Return the category id that a person means by an id, a name or an alias.

        Raises
        ------
        ConfigError
            When there is no such category.
        """
        text = str(item).strip()
        names = {name: key for key, name in self.categories.items()} | dict(self.aliases)
        key = text if text in self.categories else names.get(text, names.get(text.lower().replace("_", "-"), ""))
        if key not in self.categories:
            choices = ", ".join(f"{key} {name}" for key, name in self.categories.items())
            raise ConfigError([f"slice.categories: {self.name} has no category '{item}'; it has {choices}"])
        return key

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Return the retrieval metrics of one question over the hits that the reader would see, best first.

        ``None`` means not measurable (no evidence to find, or hits without sources), never 0.
        """
        raise NotImplementedError

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """Return the answer metrics that need no model (the benchmark's own lexical score)."""
        return {}

    def grade(self, question: Question, answer: str) -> Label:
        """Label an answer by the rule that ``question.rule`` names; called for no other question.

        A rule that gives partial credit sets ``score``; an answer in which it finds nothing to grade is WRONG or
        ABSTAIN, as the benchmark counts it.
        """
        raise NotImplementedError

    def thresholds(self) -> dict[str, float]:
        """Return what a run must reach to pass a smoke test, by metric; empty where the benchmark is not one."""
        return {}

    def score_delivered(self, question: Question, text: str, *, failed: bool = False) -> dict[str, float | None]:
        """Return metrics of the text that an arriving agent would have in its window, where that is what is measured.

        ``failed``: the system had nothing left to answer from, which is a result and scored as such.
        """
        return {}

    def flags(self, question: Question) -> tuple[str, ...]:
        """Return the flags of every row of this question: ``GOLD_EXCLUDED`` or ``GOLD_FIXED`` after a patch."""
        return ()

    def patch_report(self) -> PatchReport | None:
        """Count what the gold patches do to the whole benchmark; ``None`` without patches."""
        return None

    def caveats(self) -> list[str]:
        """Return what a person must know before reading results, one sentence each; shown as a run starts."""
        return []

    @classmethod
    def report_figures(cls, run: RunDir) -> dict[str, Any] | None:
        """Return what a report has of one run beside its table, as JSON has it; ``None``: nothing.

        Made of what is recorded, without a model. ``report --json`` gives it under the name of the harness.
        """
        return None

    @classmethod
    def report_section(cls, arms: Sequence[tuple[str, dict[str, Any]]]) -> Sequence[Line | Table]:
        """Return the figures of :meth:`report_figures` as lines and tables, arms by name side by side."""
        return ()

    def headline(self, axis: str) -> str:
        """Return the name of the metric that the gate reads by default and that is a table's first column."""
        return f"recall@{self.config.k}" if axis == "recall" else ACCURACY

    def check(self) -> list[str]:
        """Return the lines of ``data check``: counts and every trap met. A benchmark with traps adds its own."""
        info, census = self.dataset(), self.census(SliceConfig())
        by_category = ", ".join(f"{self.category_name(key)} {n}" for key, n in sorted(census.by_category.items()))
        return [
            f"{info.name} {info.version}".strip() + f", sha256 {info.sha256}, {info.licence or 'no licence stated'}",
            f"scenarios {census.scenarios}, events {census.events}, questions {census.questions} "
            f"in {census.clusters} clusters ({self.cluster})",
            f"questions by category: {by_category}",
        ]

    def load(self, chosen: SliceConfig) -> Iterator[Scenario]:
        """Yield the scenarios of a slice; questions outside the slice are left out, events never are.

        Raises
        ------
        ConfigError
            When the slice names a scenario, category or question that does not exist, or leaves nothing.
        """
        categories = None if chosen.categories is None else {self.category(item) for item in chosen.categories}
        yield from sliced(self.name, self.checked_scenarios(), chosen, categories)

    def checked_scenarios(self) -> Iterator[Scenario]:
        """Yield the scenarios of :meth:`read`, each held to what the rest of the runner relies on.

        Raises
        ------
        DatasetError
            When the data cannot be read as the harness expects it, or holds ids or text that cannot be recorded.
        """
        with faults_of(self.name):
            yield from checked_scenarios(self)

    def census(self, chosen: SliceConfig) -> Census:
        """Count a slice and hash its question ids, in one pass.

        Raises
        ------
        DatasetError
            When two scenarios or two questions share an id.
        """
        return census_of(self.name, self.load(chosen))
