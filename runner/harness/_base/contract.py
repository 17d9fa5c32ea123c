"""The contract of a benchmark: what a subclass of :class:`Harness` declares and writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec.structs import replace

from runner import lookup
from runner.config import HarnessConfig, SliceConfig, Strict, checked, did_you_mean
from runner.errors import ConfigError, DatasetError
from runner.harness._base.checks import faults_of, place_of, scenario_problem
from runner.harness._base.gold_patches import PatchReport
from runner.harness._base.report import Line, Table
from runner.record.id_set import IdSet
from runner.score.labels import ACCURACY
from runner.types import Hit, Label, Metric, Question, Scenario

if TYPE_CHECKING:
    from runner.record.rundir import RunDir

MAX_ID: Final = 256  # bytes of an id, so that a gate can hold millions


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


@dataclass
class Census:
    """A slice, counted: what ``plan`` shows and the instrument pins."""

    questions: int = 0
    scenarios: int = 0
    clusters: int = 0
    events: int = 0
    history_chars: int = 0
    gradings: int = 0  # judge calls that one answer to every question takes
    judged: int = 0  # questions that a judge grades; the others are graded by the benchmark's own rule
    existing: str = ""  # namespace of a corpus that is there already; the first, where there are several
    by_category: Counter[str] = field(default_factory=Counter)
    sha256: str = ""  # over the question ids, whatever their order


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
    # Tags of its questions that a summary has a group for, one a value, beside those of the categories.
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
        info, counted = self.dataset(), self.census(SliceConfig())
        by_category = ", ".join(f"{self.category_name(key)} {n}" for key, n in sorted(counted.by_category.items()))
        return [
            f"{info.name} {info.version}".strip() + f", sha256 {info.sha256}, {info.licence or 'no licence stated'}",
            f"scenarios {counted.scenarios}, events {counted.events}, questions {counted.questions} "
            f"in {counted.clusters} clusters ({self.cluster})",
            f"questions by category: {by_category}",
        ]

    def load(self, chosen: SliceConfig) -> Iterator[Scenario]:
        """Yield the scenarios of a slice; questions outside the slice are left out, events never are.

        Raises
        ------
        ConfigError
            When the slice names a scenario, category or question that does not exist, or leaves nothing.
        """
        wanted_categories = None if chosen.categories is None else {self.category(item) for item in chosen.categories}
        ids = set(chosen.questions) if chosen.questions is not None else None
        pending = None if chosen.scenarios is None else {str(item) for item in chosen.scenarios}
        left = chosen.limit
        total = 0
        seen_names: list[str] = []
        for position, scenario in enumerate(self.checked_scenarios()):
            seen_names.append(scenario.id)
            if chosen.scenarios is not None and pending is not None:
                if scenario.id not in chosen.scenarios and position not in chosen.scenarios:
                    continue
                pending -= {scenario.id, str(position)}
            kept = []
            taken: Counter[str] = Counter()
            for question in scenario.questions:
                if wanted_categories is not None and question.category not in wanted_categories:
                    continue
                if chosen.per_category is not None and taken[question.category] >= chosen.per_category:
                    continue
                taken[question.category] += 1
                if ids is not None and question.id not in ids:
                    continue
                if left is not None:
                    if left == 0:
                        break
                    left -= 1
                kept.append(question)
            if kept:
                total += len(kept)
                if ids is not None:
                    ids -= {question.id for question in kept}
                yield replace(scenario, questions=tuple(kept))
            if left == 0 or (pending is not None and not pending) or (ids is not None and not ids):
                break
        if pending and left != 0 and not (ids is not None and not ids):
            first = sorted(pending)[0]
            raise ConfigError(
                [
                    f"slice.scenarios: {self.name} has no scenario '{first}'{did_you_mean(first, seen_names)}; "
                    f"it has {len(seen_names)}: {', '.join(seen_names[:12])}{', …' if len(seen_names) > 12 else ''}"
                ]
            )
        if ids and left != 0:
            raise ConfigError([f"slice.questions: {self.name} has no question '{sorted(ids)[0]}' in this slice"])
        if total == 0:
            raise ConfigError([f"slice: leaves no question of {self.name}; widen slice.categories or slice.scenarios"])

    def checked_scenarios(self) -> Iterator[Scenario]:
        """Yield the scenarios of :meth:`read`, each held to what the rest of the runner relies on.

        Raises
        ------
        DatasetError
            When the data cannot be read as the harness expects it, or holds ids or text that cannot be recorded.
        """
        with faults_of(self.name):
            yield from self._checked()

    def _checked(self) -> Iterator[Scenario]:
        try:
            for scenario in self.read():
                problem = scenario_problem(self, scenario)
                if problem is not None:
                    raise DatasetError(f"{' '.join(problem.split())}; mend the harness or its data")
                clusters = (question.cluster for question in scenario.questions if question.cluster)
                asked_ids = (question.id for question in scenario.questions)
                groups = (name for q in scenario.questions for name in (q.category, *q.tags.values()))
                for item in (scenario.id, scenario.cluster, *asked_ids, *clusters, *groups):
                    if not item or len(item.encode("utf-8", "replace")) > MAX_ID or not item.isprintable():
                        raise DatasetError(
                            f"the id {item[:40]!r} is empty, longer than {MAX_ID} bytes or not printable; mend the data"
                        )
                texts = (event.text for event in scenario.events)
                asked = (text for q in scenario.questions for text in (q.id, q.text, *q.gold.answers))
                for text in (scenario.id, *texts, *asked):
                    text.encode()  # a lone surrogate, as a careless export writes it, is not text
                yield scenario
        except UnicodeEncodeError as error:
            raise DatasetError(
                f"the data holds half of a character ({error.object[error.start]!r}); export it again as UTF-8"
            ) from None
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            reason = (str(error).splitlines() or [""])[0][:120]
            where = f", {place_of(error)}" if code_of(self) else ""  # of a person's own code, which may be at fault
            raise DatasetError(f"the data is not understood ({type(error).__name__}: {reason}{where})") from error

    def census(self, chosen: SliceConfig) -> Census:
        """Count a slice and hash its question ids, in one pass.

        Raises
        ------
        DatasetError
            When two scenarios or two questions share an id.
        """
        census = Census()
        names: set[str] = set()
        clusters: set[str] = set()
        sha = IdSet()
        for scenario in self.load(chosen):
            if scenario.id in names:
                raise DatasetError(f"{self.name}: two scenarios share the id '{scenario.id}'")
            names.add(scenario.id)
            census.existing = census.existing or scenario.existing
            clusters.update(question.cluster or scenario.cluster for question in scenario.questions)
            ids = [question.id for question in scenario.questions]
            if len(set(ids)) != len(ids):
                raise DatasetError(f"{self.name}: two questions of scenario '{scenario.id}' share an id")
            census.questions += len(ids)
            census.events += len(scenario.events)
            census.history_chars += sum(len(event.text) for event in scenario.events)
            sha.add(question.id.encode() for question in scenario.questions)
            for question in scenario.questions:
                census.by_category[question.category] += 1
                if not question.rule:
                    census.judged += 1
                    census.gradings += len(question.gold.points) or 1
        census.scenarios = len(names)
        census.clusters = len(clusters)
        census.sha256 = sha.hexdigest()
        return census


_HOME: Final = Path(__file__).resolve().parents[1]


def code_of(harness: Harness) -> str:
    """Return ``@sha256:…`` over the code of a person's own harness, for the instrument; empty for a shipped one."""
    own = [cls for cls in type(harness).__mro__ if issubclass(cls, Harness) and not lookup.is_within(cls, _HOME)]
    return f"@sha256:{lookup.code_sha256(own)}" if own else ""
