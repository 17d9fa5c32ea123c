"""MemoryAgentBench: a context is told once, chunk by chunk, then much is asked of it (Hu, Wang and McAuley, ICLR 2026).

Source: HUST-AI-HYZ/MemoryAgentBench (MIT); the data is ``ai-hyz/MemoryAgentBench`` on Hugging Face: 146 contexts with
3,671 questions, of up to 1.5 million tokens, in four splits, which are the competencies and our categories. A split is
made of sub-datasets (``metadata.source``), each a task with a prompt and a metric of its own:

====================================  ===================================================================
``ruler_qa*``, ``eventqa_*``,         substring exact match
``factconsolidation_*``
``icl_*``, ``detective_qa``           exact match
``recsys_redial_full``                recall@5 of movies, each the nearest by edit distance
``longmemeval_s*``                    LongMemEval's judge templates by type
``infbench_sum_*``                    a judge of fluency, key points and sentences: fluency times F1
====================================  ===================================================================

- A row is a scenario. Rows of one context (the two fact tasks of a size) are one cluster.
- Chunks are of 4,096 tokens, as published, and hold whole sentences (:mod:`.chunks`). Published
  chunks count o200k_base tokens and take NLTK's sentences; both need a download, and ours are four characters a token
  and end at marks and line ends, so that their borders are others. White space between sentences is kept.
- The LongMemEval part is published with ``has_answer`` inside the context that is ingested: it is left out. Those
  labels, of ``haystack_sessions``, are the evidence, in chunks; no other sub-dataset has any, nor a retrieval metric.
- ``now`` is the date of a LongMemEval question; nothing else has a date, and chunks have none.
- A memory is searched by the question; the reader is shown it as published, with the worked example that the tasks of
  detectives and summaries put into it.

``scoring: upstream`` compares what the published code compares where that is not what its prompts ask for: the first
line of an answer to a label, so that "label: 4" is wrong where 4 is right; the whole JSON of a detective's answer; and
a movie list from the first "1." on, empty lines included.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from runner.config import Dataset, Strict, did_you_mean
from runner.data.fields import FieldReader
from runner.data.tables import rows
from runner.errors import ConfigError, DatasetError
from runner.harness._base.longmemeval_questions import RUBRICS, rubric_of
from runner.harness._base.published import Published
from runner.harness.memoryagentbench import format as mab
from runner.harness.memoryagentbench.data_check import MemoryAgentBenchDataCheck
from runner.harness.memoryagentbench.format import MEANT
from runner.harness.memoryagentbench.history import History, history_of
from runner.harness.memoryagentbench.movies import Movies, recall, recommended
from runner.harness.memoryagentbench.rules import answer_given, contains, first_line, matches, published
from runner.harness.memoryagentbench.source import RowFiles, columns_read, find
from runner.score.lexical import ROUGE_L_F1, ROUGE_L_RECALL, TOKEN_F1, is_abstention, rouge_l
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import ABSTAIN, CORRECT, WRONG, Gold, Hit, Label, Metric, Question, Scenario

SOURCE: Final = "source"  # tag: the sub-dataset
TYPE: Final = "question_type"  # tag of LongMemEval's questions

_UPSTREAM: Final = "_upstream"
_SUMMARY: Final = "mab_summary"
_DEPTH: Final = 5


class MemoryAgentBenchSettings(Strict):
    """``sources`` are names or patterns of sub-datasets, none for all of them."""

    sources: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    chunk_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 4096
    scoring: Literal["paper", "upstream"] = "paper"
    # Not in the instrument, which has the digest of all files.
    more: Annotated[tuple[Dataset, ...], Field(exclude=True)] = ()
    movies: Annotated[Dataset, Field(exclude=True)] = Dataset()  # entity2id.json


class MemoryAgentBench(Published):
    name = "memoryagentbench"
    title = "MemoryAgentBench"
    licence = "MIT"
    categories: ClassVar = {name: name for name in mab.SPLITS}
    aliases: ClassVar = {
        "ar": mab.RETRIEVAL,
        "ttl": mab.LEARNING,
        "lru": mab.UNDERSTANDING,
        "cr": mab.CONFLICT,
        **{name.lower().replace("_", "-"): name for name in mab.SPLITS},
        "selective-forgetting": mab.CONFLICT,  # as the paper came to call it
    }
    comparable = frozenset(mab.SPLITS)
    cluster = "context"
    macro = "competency_averaged"
    tags = (SOURCE, TYPE)
    prompts = tuple(task.prompt for task in mab.TASKS)
    rubrics = (*RUBRICS, _SUMMARY)
    rules = (mab.SUBSTRING, mab.EXACT, mab.RECALL, mab.EXACT + _UPSTREAM, mab.RECALL + _UPSTREAM)
    metrics = (
        *profile_metrics(),
        Metric("exact_match", share=True, shown="never"),
        Metric("substring_exact_match", share=True, shown="never"),
        TOKEN_F1,
        Metric("recsys_recall@K", share=True, shown="never"),
        ROUGE_L_RECALL,
        ROUGE_L_F1,
    )
    Settings = MemoryAgentBenchSettings
    settings: MemoryAgentBenchSettings

    # --- data ------------------------------------------------------------------------------------------------------

    @cached_property
    def _found(self) -> RowFiles:
        wanted = not self.settings.sources or any(
            fnmatchcase(mab.MOVIES.prefix + "_full", name) or name.startswith(mab.MOVIES.prefix)
            for name in self.settings.sources
        )
        movies = self.settings.movies if wanted else None
        return find(self.name, self.config.dataset, self.settings.more, movies)

    @cached_property
    def _movies(self) -> Movies:
        if self._found.movies is None:
            raise DatasetError(
                f"the movies of {mab.MOVIES.prefix} are ids, and entity2id.json, which names them, is not "
                "beside the data; give it with harness.settings.movies.path=FILE, or choose sub-datasets without it "
                "(harness.settings.sources=[icl_*,eventqa_*])"
            )
        return Movies.read(self._found.movies)

    def verified(self) -> RowFiles:
        return self._found

    def _rows(self) -> Iterator[tuple[str, mab.ContextRow]]:
        """Yield every chosen row with the name of its scenario, which counts rows of its source."""
        seen: Counter[str] = Counter()
        for file in self._found.paths:
            for number, value in enumerate(rows(file, columns_read)):
                place = f"{file.name}, row {number}"
                source = mab.source_of(FieldReader(place, MEANT), value)
                name = f"{re.sub(r'[^A-Za-z0-9_.-]', '', source)[:80]}-{seen[source]}"
                seen[source] += 1
                if self._chosen(source):
                    yield name, mab.parse(place, value)
        if not seen:
            raise DatasetError("the data holds no row; give another copy with harness.dataset.path")
        for pattern in self.settings.sources:
            if not any(fnmatchcase(source, pattern) or source == pattern for source in seen):
                hint = did_you_mean(pattern, seen)
                known = ", ".join(sorted(seen))
                raise ConfigError(
                    [f"harness.settings.sources: no sub-dataset is '{pattern}'{hint}; the data has {known}"]
                )

    def _chosen(self, source: str) -> bool:
        names = self.settings.sources
        return not names or any(fnmatchcase(source, name) or source == name for name in names)

    def scenarios(self) -> Iterator[Scenario]:
        asking = ((name, row) for name, row in self._rows() if row.questions)
        return (self._scenario(name, row, self._history(name, row)) for name, row in asking)

    def _history(self, name: str, row: mab.ContextRow) -> History:
        return history_of(FieldReader(name, MEANT), row, self.settings.chunk_tokens)

    def _scenario(self, name: str, row: mab.ContextRow, history: History) -> Scenario:
        return Scenario(
            id=name,
            cluster=f"context-{hashlib.sha256(row.context.encode('utf-8', 'replace')).hexdigest()[:16]}",
            events=history.events,
            questions=tuple(
                self._question(f"{name}/{number}", row, asked, evidence)
                for number, (asked, evidence) in enumerate(zip(row.questions, history.evidence, strict=True))
            ),
        )

    def _question(
        self, name: str, row: mab.ContextRow, asked: mab.ContextQuestion, evidence: tuple[str, ...]
    ) -> Question:
        answers, rule, rubric = asked.answers, row.task.rule, ""
        if row.task is mab.MOVIES:
            answers = tuple(self._movie(name, number) for number in answers)
        elif row.task is mab.SUMMARY:
            rubric = _SUMMARY
        elif row.task is mab.CHATS:
            rubric = rubric_of(asked.type, abstain=asked.abstain)
        if rule in (mab.EXACT, mab.RECALL) and self.settings.scoring == "upstream":
            rule += _UPSTREAM
        return Question(
            id=name,
            text=asked.text,
            reading=asked.reading,
            category=row.task.split,
            gold=Gold(
                answers=answers,
                evidence=() if asked.abstain else evidence,
                abstain=asked.abstain,
                points=asked.points,
            ),
            now=asked.now,
            tags={SOURCE: row.source, **({TYPE: asked.type} if asked.type else {})},
            rubric=rubric,
            prompt=row.task.prompt,
            rule=rule,
        )

    def _movie(self, question: str, number: str) -> str:
        name = self._movies.names.get(int(number)) if number.strip().isdecimal() else None
        if name is None:
            raise DatasetError(
                f"question {question} names the movie '{number[:40]}', which is not in {self._found.movies}; "
                "the two files belong to different releases"
            )
        return name

    # --- scores ----------------------------------------------------------------------------------------------------

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics over the chunks that hold a labelled turn; of LongMemEval's part alone."""
        ranked = ranked_sources(hits)
        return profile(ranked, question.gold.evidence, self.config.k)

    def grade(self, question: Question, answer: str) -> Label:
        golds, rule = question.gold.answers, question.rule
        if rule.startswith(mab.RECALL):
            movies = self._recommended(answer, upstream=rule.endswith(_UPSTREAM))
            share = recall(movies, golds, _DEPTH)
            value = CORRECT if share else ABSTAIN if is_abstention(answer) else WRONG
            return Label(value=value, score=share, reason=f"the first {_DEPTH}: {'; '.join(movies[:_DEPTH])}"[:500])
        if rule == mab.SUBSTRING:
            right = contains(first_line(answer) if question.prompt == mab.EVENTS.prompt else answer, golds)
        elif rule == mab.EXACT:
            right = matches(answer_given(answer), golds, letters=question.prompt == mab.DETECTIVE.prompt)
        else:
            whole = question.prompt != mab.LABELS.prompt
            right = published(answer, golds, whole=whole)["exact_match"] == 1
        return Label(value=CORRECT if right else ABSTAIN if is_abstention(answer) else WRONG, reason=rule)

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """Return the companions of each metric as the published code computes them.

        Of a summary ROUGE-L against the expert's, unstemmed; of LongMemEval's questions none.
        """
        golds = question.gold.answers
        if question.rule.startswith(mab.RECALL):
            movies = self._recommended(answer, upstream=question.rule.endswith(_UPSTREAM))
            return {f"recsys_recall@{depth}": recall(movies, golds, depth) for depth in (1, 5, 10)}
        if question.rule:
            whole = question.prompt not in (mab.LABELS.prompt, mab.EVENTS.prompt)
            return dict(published(answer, golds, whole=whole))
        if question.rubric == _SUMMARY:
            scores = [rouge_l(answer, gold) for gold in golds]
            return {f"rouge_l_{name}": max(score[name] for score in scores) for name in ("recall", "f1")}
        return {}

    def _recommended(self, answer: str, *, upstream: bool) -> list[str]:
        """Return the names of the ten movies that are nearest to the first ten titles of an answer."""
        return [self._movies.nearest(name) for name in recommended(answer, upstream=upstream)[:10]]

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        check = MemoryAgentBenchDataCheck()
        for name, row in self._rows():
            history = self._history(name, row)
            check.add(row, self._scenario(name, row, history), history)
        return check.lines()


HARNESS = MemoryAgentBench
