"""MuSiQue: questions that are composed of two to four hops, each over paragraphs of its own (Trivedi et al. 2022).

Source: StonyBrookNLP/musique (CC BY 4.0), version 1.0, dev; the authors publish a zip on a file host, and the pinned
copies are mirrors of its files with the same digests. ``harness=musique`` is the answerable set (2,417 questions),
``harness=musique_full`` the full one: every id twice, once with a paragraph of some hop taken away.

- A row is a scenario: its paragraphs are documents without a time. The twins of the full set have paragraphs of their
  own, so that they are two scenarios of one cluster, the id, and a digest tells them apart: no name says which of the
  two can be answered, nor which paragraph matters (:mod:`runner.harness.musique.format`).
- An answer is graded by a rule: CORRECT is an exact match with the answer or an alias after SQuAD's normalisation, or
  an explicit refusal where the paragraphs do not hold the answer. ``grading: judge`` has a judge grade instead. EM and
  F1 are metrics either way, the official ones, over the answerable rows.
- ``support_f1@all`` takes what was delivered for what the official script calls the predicted supporting paragraphs: a
  fixed number of hits against two to four, so that it is no published support F1.
- The official scores of the full set join two rows (:mod:`runner.harness.musique.score`): a summary makes them of
  recorded rows. Their row-wise part is here: ``sufficiency``, and ``answer_sufficiency_f1``, which is the F1 of an
  answerable row that was answered and 1 for an unanswerable one that was declined. Whether a system thinks that it can
  answer is a field of its own there, and here read off an explicit refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from runner.config import Strict
from runner.data.source import DataFiles, locate
from runner.errors import DatasetError, Remedy
from runner.harness._base.published import Published
from runner.harness.musique.data_check import MusiqueDataCheck
from runner.harness.musique.format import COMPOSITIONS, HOPS, MusiqueRow, read_rows
from runner.harness.musique.score import GROUP_ANSWER_F1, METRICS, SUFFICIENCY, SUFFICIENT_F1, SUPPORT_F1, support_f1
from runner.score.lexical import exact_match, is_abstention, token_f1
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.stats.allocation import stratified_sample
from runner.types import ABSTAIN, CORRECT, WRONG, Event, Gold, Hit, Label, Question, Scenario

PUBLISHED: Final = {
    "15fa63794d18a94ce12411aca6e2327e65b6e83b0b1490efab3f1962e48abf3b": "it is the answerable dev set: harness=musique",
    "8cab31d56a3a1c4ef491b205a8dab3f1ac9c66e472098c6cf1de4e20294f7a4a": "it is the full dev set: harness=musique_full",
}
_RULE: Final = "exact_match"
_TWICE: Final = {False: 1, True: 1}  # rows of one id in the full set, by answerable


class MuSiQueSettings(Strict):
    """``set`` is which of the two sets the file is. ``sample`` draws so many ids (pairs stay whole) with ``seed``."""

    set: Literal["answerable", "full"] = "answerable"
    grading: Literal["rule", "judge"] = "rule"
    sample: Annotated[int, Field(ge=1)] | None = None
    stratify: Literal["hops", "none"] = "hops"  # of every hop in proportion, or over all alike
    seed: int = 7


class MuSiQue(Published):
    name = "musique"
    title = "MuSiQue"
    licence = "CC BY 4.0"
    categories: ClassVar = {name: name for name in HOPS}
    aliases: ClassVar = {f"{name[0]}-{name[1:]}": name for name in HOPS}
    comparable = frozenset(HOPS)
    cluster = "question"
    prompts = ("musique",)
    rules = (_RULE,)
    tags = ("composition", "answerable")
    metrics = (*profile_metrics(), *METRICS)
    Settings = MuSiQueSettings
    settings: MuSiQueSettings

    @cached_property
    def _file(self) -> DataFiles:
        return locate(self.name, self.config.dataset, PUBLISHED)

    @property
    def _full(self) -> bool:
        return self.settings.set == "full"

    def verified(self) -> DataFiles:
        return self._file

    @property
    def described(self) -> str:
        return f"{self.title} {self.settings.set}"

    # --- which rows ------------------------------------------------------------------------------------------------

    def _rows(self) -> Iterator[MusiqueRow]:
        return read_rows(self._file.path)

    @cached_property
    def _chosen(self) -> frozenset[str]:
        """Ids that are asked, after a pass that holds the file to its set: the draw needs every id.

        Raises
        ------
        DatasetError
            When an id has not the rows that its set has, or there are fewer ids than the sample.
        """
        counts: dict[str, Counter[bool]] = {}
        keys: set[str] = set()
        by_hops: dict[str, list[str]] = {}
        for row in self._rows():
            if row.key in keys:
                raise DatasetError(f"two rows of {row.id} have the same paragraphs; keep one of them")
            keys.add(row.key)
            if row.id not in counts:
                counts[row.id] = Counter()
                by_hops.setdefault(row.hops if self.settings.stratify == "hops" else "", []).append(row.id)
            counts[row.id][row.answerable] += 1
        if not counts:
            raise DatasetError(f"{self._file.path} holds no question", Remedy.OTHER)
        _complete(counts, full=self._full)
        size = self.settings.sample
        if size is None:
            return frozenset(counts)
        if size > len(counts):
            raise DatasetError(
                f"harness.settings.sample is {size}, and the data has {len(counts)} "
                f"{'pairs' if self._full else 'questions'}; take fewer, or null for all"
            )
        return stratified_sample(by_hops, size, self.settings.seed)

    def scenarios(self) -> Iterator[Scenario]:
        return (self._scenario(row) for row in self._rows())

    def read(self) -> Iterator[Scenario]:
        chosen = self._chosen
        # Patches before the draw: one that was written for a question outside the sample is not a fault.
        return (scenario for scenario in super().read() if scenario.cluster in chosen)

    def _scenario(self, row: MusiqueRow) -> Scenario:
        return Scenario(
            id=f"paragraphs-{row.key}",
            cluster=row.id,
            events=tuple(Event(id=p.id, text=p.with_title, kind="doc", title=p.title) for p in row.paragraphs),
            questions=(self._question(row),),
        )

    def _question(self, row: MusiqueRow) -> Question:
        return Question(
            id=f"{row.id}/{row.key[:8]}" if self._full else row.id,
            text=row.question,
            category=row.hops,
            gold=Gold(
                answers=row.answers if row.answerable else (),
                evidence=tuple(p.id for p in row.support) if row.answerable else (),
                abstain=not row.answerable,
            ),
            tags={"composition": row.composition, "answerable": "yes" if row.answerable else "no"},
            prompt="musique",
            rule=_RULE if self.settings.grading == "rule" else "",
        )

    # --- scores ----------------------------------------------------------------------------------------------------

    def headline(self, axis: str) -> str:
        """Return the name of the headline metric.

        On the recall axis it is the share of the supporting paragraphs in the first K hits. Else it is answer F1. In
        the full set that is the F1 of whole pairs: of single rows, declining everything would score one half.
        """
        if axis == "recall":
            return f"fraction@{self.config.k}"
        return GROUP_ANSWER_F1.name if self._full else "answer_f1"

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics over the supporting paragraphs, and their F1 with all that was delivered.

        ``None`` where the question cannot be answered: the official script counts support of answerable rows only.
        """
        evidence = question.gold.evidence
        ranked = ranked_sources(hits)
        metrics = profile(ranked, evidence, self.config.k)
        measurable = ranked is not None and bool(evidence)
        found = {source for item in ranked or () for source in item}
        return metrics | {SUPPORT_F1.name: support_f1(found, evidence) if measurable else None}

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """``answer_em`` and ``answer_f1`` against the best alias; in the full set also what a pair is made of."""
        gold = question.gold
        f1 = None if gold.abstain else max(token_f1(answer, item) for item in gold.answers)
        metrics: dict[str, float | None] = {
            "answer_em": None if gold.abstain else max(exact_match(answer, item) for item in gold.answers),
            "answer_f1": f1,
        }
        if self._full:
            seen = float(is_abstention(answer) == gold.abstain)
            metrics |= {SUFFICIENCY.name: seen, SUFFICIENT_F1.name: seen if f1 is None else seen * f1}
        return metrics

    def grade(self, question: Question, answer: str) -> Label:
        """CORRECT for an exact match with an alias, or for an explicit refusal of what cannot be answered."""
        declined = is_abstention(answer)
        if question.gold.abstain:
            return Label(value=CORRECT if declined else WRONG, reason="declined" if declined else "answered")
        if declined:
            return Label(value=ABSTAIN, reason="declined")
        right = any(exact_match(answer, item) for item in question.gold.answers)
        return Label(value=CORRECT if right else WRONG, reason="exact match" if right else "no exact match")

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        chosen = self._chosen
        check = MusiqueDataCheck()
        asked: Counter[str] = Counter()
        for row in self._rows():
            check.add(row)
            asked[row.composition] += row.id in chosen
        lines = check.lines()
        if self._full:
            lines.append(f"pairs, an answerable and an unanswerable row each: {check.rows // 2}")
        if self.settings.sample is not None:
            by = ", ".join(f"{name} {asked[name]}" for name in COMPOSITIONS)
            lines.append(
                f"sample {self.settings.sample} of {'pairs' if self._full else 'questions'}, "
                f"seed {self.settings.seed}: questions {asked.total()} ({by})"
            )
        return lines


def _complete(rows: dict[str, Counter[bool]], *, full: bool) -> None:
    """Hold every id to the rows of its set: one that can be answered, or that and its twin that cannot."""
    if full:
        odd = [name for name, counted in rows.items() if counted != _TWICE]
        if odd:
            raise DatasetError(
                f"{len(odd)} of {len(rows)} ids have not exactly two rows, one answerable and one not "
                f"(first: {odd[0]}, with {rows[odd[0]].total()}); a set of answerable questions is harness=musique or "
                "harness.settings.set=answerable"
            )
        return
    for name, counted in rows.items():
        if counted[False]:
            raise DatasetError(
                f"{name} has an unanswerable row, and harness.settings.set=answerable has none; the full "
                "set is harness=musique_full or harness.settings.set=full"
            )
        if counted[True] > 1:
            raise DatasetError(f"{name} stands {counted[True]} times in the answerable set; keep one of them")


HARNESS = MuSiQue
