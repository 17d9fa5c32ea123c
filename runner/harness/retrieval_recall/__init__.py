"""Labels of one's own: which memories answer a query, over a corpus that is there already or one that is given.

``harness.dataset.path=FILE`` holds the queries and their keys (:mod:`runner.harness.retrieval_recall.queries`). What
they are asked of is one of

- ``harness.settings.namespace=NAME``: a corpus that the memory holds already. It is searched and nothing else: never
  reset, written or erased. A hit counts when its key is a labelled one.
- ``harness.settings.corpus=FILE``: JSON lines of ``key`` and ``text`` (``time`` optional), written to the arm as events
  like any history, so that other retrieval can be held against it. A hit counts when it comes from a labelled event.

A query is a cluster of its own, unless the file says which move together (``cluster``, ``session``); the same query in
two rows is one cluster. ``best_cos_rank`` is the rank of the hit that is closest by cosine, where the system tells it.

Labels by use (``relied_on`` and the like) hold only what the ranking of their day brought up: a memory that it missed
counts as wrong here, so that such a set favours that ranking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final

from pydantic import Field

from runner.config import HarnessConfig, LocalPath, Strict
from runner.data.fields import first_few, one_line
from runner.data.source import DataFiles, locate
from runner.errors import ConfigError, DatasetError
from runner.harness._base.contract import DatasetInfo, Harness
from runner.harness._base.faults import faults_of
from runner.harness.retrieval_recall.corpus import memories, read_corpus
from runner.harness.retrieval_recall.queries import EVERYTHING, Labelled, labelled_queries
from runner.score.retrieval import BEST_COS_RANK, best_cos_rank, profile, profile_metrics, ranked_sources
from runner.types import Event, Gold, Hit, Question, Scenario

CORPUS: Final = "corpus"  # the scenario of a corpus that is given

_WHERE: Final = (
    "harness.settings.namespace=NAME (a corpus that the memory holds already) or harness.settings.corpus=FILE (JSON "
    "lines of key and text)"
)


class RecallSettings(Strict):
    """The corpus that is searched: exactly one of the two."""

    namespace: Annotated[str, Field(min_length=1)] | None = None
    # Not in the instrument, which has the content of the file: it may lie elsewhere on another machine.
    corpus: Annotated[str | None, Field(min_length=1, exclude=True), LocalPath()] = None
    corpus_sha256: Annotated[str | None, Field(pattern=r"^[0-9a-f]{64}$", exclude=True)] = None


class RetrievalRecall(Harness):
    name = "retrieval_recall"
    cluster = "group"
    metrics = (*profile_metrics(), BEST_COS_RANK)
    documents = False
    Settings = RecallSettings
    settings: RecallSettings

    def __init__(self, config: HarnessConfig) -> None:
        super().__init__(config)
        problems = []
        if self.settings.namespace is not None and self.settings.corpus is not None:
            problems.append(f"harness.settings: names a namespace and a corpus; keep one of {_WHERE}")
        if self.settings.corpus_sha256 is not None and self.settings.corpus is None:
            problems.append(
                "harness.settings.corpus_sha256: pins a corpus that is not there; name harness.settings.corpus"
            )
        if config.patches:
            problems.append("harness.patches: retrieval_recall takes no gold patches; mend the labels themselves")
        if problems:
            raise ConfigError(problems)

    # --- the data --------------------------------------------------------------------------------------------------

    @cached_property
    def _file(self) -> DataFiles:
        if not self._named:
            raise DatasetError("takes labels of your own: harness.dataset.path=FILE (CSV or JSON lines: query, keys)")
        return locate(self.name, self.config.dataset, hold=True)

    @property
    def _named(self) -> bool:
        """True when the config names labels."""
        return self.config.dataset.path is not None or self.config.dataset.url is not None

    @cached_property
    def _rows(self) -> list[Labelled]:
        """Read the labels, each with where it is asked.

        Raises
        ------
        DatasetError
            When the file is not understood, or a row names a namespace beside a corpus that is given.
        ConfigError
            When a row has nowhere to be asked.
        """
        with faults_of(self.name):
            return self._checked_rows()

    def _checked_rows(self) -> list[Labelled]:
        rows = labelled_queries(self._file.path.name, self._file.content())
        own = [row for row in rows if row.namespace]
        if self.settings.corpus is not None and own:
            raise DatasetError(
                f"line {own[0].line} of the labels names the namespace '{own[0].namespace}' beside "
                f"harness.settings.corpus; leave one of them out"
            )
        if self.settings.corpus is None and self.settings.namespace is None and len(own) < len(rows):
            lost = next(row for row in rows if not row.namespace)
            where = f" (line {lost.line} of the labels has no namespace of its own)" if own else ""
            raise ConfigError([f"harness.settings: say what is searched: {_WHERE}{where}"])
        return rows

    @cached_property
    def _corpus_file(self) -> DataFiles | None:
        if self.settings.corpus is None:
            return None
        with faults_of(self.name):
            return read_corpus(self.settings.corpus, self.settings.corpus_sha256)

    @cached_property
    def _corpus(self) -> tuple[Event, ...]:
        with faults_of(self.name):
            return () if self._corpus_file is None else memories(self._corpus_file)

    @cached_property
    def _held(self) -> frozenset[str] | None:
        """Keys of the corpus; ``None`` where it is not at hand."""
        return None if self._corpus_file is None else frozenset(event.id for event in self._corpus)

    # The base class has one set of categories a class; here they are the file's.
    @property
    def categories(self) -> Mapping[str, str]:  # type: ignore[override]
        names = sorted({row.category for row in self._rows}) if self._named else (EVERYTHING,)
        return {name: name for name in names}

    @property
    def comparable(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(self.categories)

    def dataset(self) -> DatasetInfo:
        """Return the identity of the labels; a corpus adds its digest to the version and counts for ``pinned``."""
        rows, file, corpus = self._rows, self._file, self._corpus_file
        version = [self.config.dataset.version or f"{len(rows)} labelled queries"]
        if corpus is not None:
            version.append(f"corpus sha256 {corpus.sha256}")
        return DatasetInfo(
            name=self.name,
            version=", ".join(version),
            sha256=file.sha256,
            pinned=file.pinned and (corpus is None or corpus.pinned),
            source=self.config.dataset.url or "",
        )

    def read(self) -> Iterator[Scenario]:
        if self._held is not None:
            yield self._scenario(CORPUS, self._rows, "")
            return
        by_namespace: dict[str, list[Labelled]] = {}
        for row in self._rows:
            by_namespace.setdefault(row.namespace or self.settings.namespace or "", []).append(row)
        for name, rows in by_namespace.items():
            yield self._scenario(name, rows, name)

    def _scenario(self, name: str, rows: Sequence[Labelled], existing: str) -> Scenario:
        questions = tuple(
            Question(
                id=row.id,
                text=row.query,
                category=row.category,
                gold=Gold(evidence=tuple(key for key in row.keys if self._held is None or key in self._held)),
                now=row.now,
                cluster=row.cluster,
            )
            for row in rows
        )
        return Scenario(id=name, cluster=name, events=self._corpus, questions=questions, existing=existing)

    # --- scores ----------------------------------------------------------------------------------------------------

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Return the profile over keys (existing corpus) or sources (written corpus), and ``best_cos_rank``.

        All are ``None`` for a query without a labelled key that could be found.
        """
        evidence = question.gold.evidence
        ranked = [(hit.key,) for hit in hits] if self._held is None else ranked_sources(hits)
        metrics = profile(ranked, evidence, self.config.k)
        metrics["best_cos_rank"] = best_cos_rank([hit.cosine for hit in hits]) if evidence else None
        return metrics

    def headline(self, axis: str) -> str:
        """recall@K: keys are labelled here, and no answers.

        Raises
        ------
        ConfigError
            On the accuracy axis.
        """
        if axis != "recall":
            raise ConfigError([f"harness={self.name} labels keys and no answers: leave out reader and judge"])
        return super().headline(axis)

    # --- counts ----------------------------------------------------------------------------------------------------

    def caveats(self) -> list[str]:
        """Return the labels that lead nowhere, since a misspelt key changes the denominator."""
        found = [(count, what, where) for count, what, where in self._unresolved() if count]
        return [f"{count} {what}: {first_few(where, 3)}" for count, what, where in found]

    def check(self) -> list[str]:
        for _ in self.checked_scenarios():  # what a run would refuse is refused here, before any count
            pass
        info, rows = self.dataset(), self._rows
        asked = Counter(row.category for row in rows)
        lines = [
            f"{info.name}, labels sha256 {info.sha256} ({'as pinned' if info.pinned else 'unpinned'})",
            f"questions {len(rows)}, groups that move together {len({row.cluster for row in rows})}, "
            f"labelled keys {sum(len(row.keys) for row in rows)}",
            "questions by category: " + ", ".join(f"{name} {asked[name]}" for name in self.categories),
            self._searched(),
        ]
        again = [row.id for row in rows if row.again]
        without = [row.id for row in rows if not row.keys]
        unreturned = [row.id for row in rows if row.unreturned]
        traps = [
            (len(again), "queries that stand further up already, one group with them", again),
            (sum(row.twice for row in rows), "keys that stand twice in a row, counted once", ()),
            (sum(row.empty for row in rows), "empty keys, left out", ()),
            (len(without), "queries without a key, in no denominator", without),
            (len(unreturned), "queries relied on for a key that their search did not return", unreturned),
            *self._unresolved(),
        ]
        lines += [
            f"{count} {what}" + (f": {first_few(where)}" if where else "") for count, what, where in traps if count
        ]
        used = sum(row.by_use for row in rows)
        if used:
            lines.append(
                f"{used} labelled by use: they hold only what the ranking of their day brought up, and favour it"
            )
        return [one_line(line) for line in lines]

    def _searched(self) -> str:
        if self._corpus_file is None:
            names = first_few([scenario.id for scenario in self.read()])
            return f"asked of what is there already, only searched: {names}; whether it has the keys is not known"
        undated = sum(event.time is None for event in self._corpus)
        return (
            f"corpus sha256 {self._corpus_file.sha256}: {len(self._corpus)} memories"
            f"{f', {undated} without a time' if undated else ''}"
        )

    def _unresolved(self) -> list[tuple[int, str, Sequence[str]]]:
        held = self._held
        if held is None:
            return []
        lost = [f"{row.id} '{key}'" for row in self._rows for key in row.keys if key not in held]
        blind = [row.id for row in self._rows if row.keys and held.isdisjoint(row.keys)]
        return [
            (len(lost), "labelled keys that the corpus does not hold, left out", lost),
            (len(blind), "queries with no key in the corpus, in no denominator", blind),
        ]


HARNESS = RetrievalRecall
