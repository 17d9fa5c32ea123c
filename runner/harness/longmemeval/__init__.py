"""LongMemEval: 500 questions, each with a history of its own, between a user and an assistant (Wu et al. 2025).

Source: xiaowu0162/LongMemEval (MIT); the data is ``xiaowu0162/longmemeval-cleaned`` on Hugging Face. ``harness=
longmemeval`` is S (about 115,000 tokens a question), ``longmemeval_m`` is M (1.5 million), ``longmemeval_oracle`` has
the evidence sessions only. The original release and community-patched copies are other datasets: their numbers do not
compare.

- A history is a scenario; questions are independent, so that the cluster is the question. The file is read as a
  stream, one history in memory at a time (:mod:`runner.data.json_stream`).
- A turn is an event of its session's date, named ``<session>/<turn>``; sessions are ordered by date whatever the file
  says (oracle is not sorted) and named by their place. The file's session ids (``answer_…``), its ``has_answer`` and
  the question's id (``…_abs``) reach no system: the scenario is named by a digest of the question id.
- A question whose id holds ``_abs`` cannot be answered: its gold is to abstain, its category stays what it was, the
  file's "answer" is the explanation that the judge is shown, and it has no retrieval metrics.
- Evidence is the labelled turns, of either speaker. An evidence session without a labelled turn counts whole, and then
  nothing is measured at the level of turns. The official code indexes what the user said and no more.
- A type has a judge template of its own, answered by yes or no, as published: off-by-one days are right in temporal
  questions, an old value beside the new one is right in knowledge updates, preferences are graded by their rubric.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Final

from runner.config import Strict
from runner.data.json_stream import records
from runner.data.source import DataFiles, locate
from runner.errors import DatasetError, Remedy
from runner.harness._base.longmemeval_questions import PREFERENCE, RUBRICS, TYPES, UPDATE, rubric_of
from runner.harness._base.published import Published
from runner.harness.longmemeval.data_check import LongMemEvalDataCheck
from runner.harness.longmemeval.format import Instance, parse
from runner.harness.longmemeval.stale import STALE, facts, stale
from runner.score.lexical import TOKEN_F1, token_f1
from runner.score.retrieval import (
    NDCG_ANY,
    Ranked,
    ndcg_any_at,
    profile,
    profile_metrics,
    ranked_sources,
    recall_all_at,
)
from runner.types import Event, Gold, Hit, Metric, Question, Scenario

PUBLISHED: Final = {
    "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c": "it is oracle: harness=longmemeval_oracle",
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": "it is S: harness=longmemeval",
    "9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f": "it is M: harness=longmemeval_m",
}

_DEPTHS: Final = (5, 10)  # K's of the published retrieval tables
_ACCEPTABLE: Final = re.compile(r"\.\s+(.+?)\s+(?:is|are) also acceptable\.?\s*$")
_BRACKET: Final = re.compile(r"\s*\((or )?([^()]*)\)")


class LongMemEvalSettings(Strict):
    """``stale_check`` says of knowledge updates whether an answer gave the superseded value (metric ``stale``)."""

    stale_check: bool = False


class LongMemEval(Published):
    name = "longmemeval"
    title = "LongMemEval"
    licence = "MIT"
    categories: ClassVar = {name: name for name in TYPES}
    # Names in the paper's tables and in other harnesses.
    aliases: ClassVar = {
        "ssu": "single-session-user",
        "ssa": "single-session-assistant",
        "ssp": "single-session-preference",
        "preference": "single-session-preference",
        "multi": "multi-session",
        "temporal": "temporal-reasoning",
        "update": "knowledge-update",
    }
    comparable = frozenset(TYPES)  # abstentions included, as published
    cluster = "question"
    macro = "task_averaged"
    rubrics = RUBRICS
    tags = ("answerable",)  # the published tables give abstention a column of its own
    metrics = (
        *profile_metrics("session_"),
        NDCG_ANY,
        Metric("session_ndcg_any@K", share=True, shown="never"),
        TOKEN_F1,
        STALE,
    )
    documents = False
    Settings = LongMemEvalSettings
    settings: LongMemEvalSettings

    @cached_property
    def _file(self) -> DataFiles:
        return locate(self.name, self.config.dataset, PUBLISHED)

    def verified(self) -> DataFiles:
        return self._file

    def _instances(self) -> Iterator[Instance]:
        number = -1
        for number, value in enumerate(records(self._file.path)):
            yield parse(number, value)
        if number < 0:
            raise DatasetError(f"{self._file.path} holds no question", Remedy.OTHER)

    def scenarios(self) -> Iterator[Scenario]:
        return (self._scenario(item) for item in self._instances())

    def _scenario(self, item: Instance) -> Scenario:
        return Scenario(
            id=f"history-{hashlib.sha256(item.id.encode()).hexdigest()[:16]}",
            cluster=item.id,
            events=tuple(
                Event(id=turn.id, text=turn.text, time=session.time, actor=turn.role, session=session.name)
                for session in item.sessions
                for turn in session.turns
            ),
            questions=(self._question(item),),
        )

    def _question(self, item: Instance) -> Question:
        updated = self.settings.stale_check and item.type == UPDATE and not item.abstain
        carry, avoid = facts(item) if updated else ((), ())
        unlabelled = tuple(session.name for session in item.evidence if not session.labelled and session.turns)
        return Question(
            id=item.id,
            text=item.question,
            category=item.type,
            gold=Gold(
                answers=item.answers,
                evidence=tuple(turn.id for session in item.evidence for turn in session.labelled or session.turns),
                sessions=unlabelled,
                abstain=item.abstain,
                carry=carry,
                avoid=avoid,
            ),
            now=item.now,
            tags={"answerable": "no" if item.abstain else "yes"},
            rubric=rubric_of(item.type, abstain=item.abstain),
        )

    # --- scores ----------------------------------------------------------------------------------------------------

    def headline(self, axis: str) -> str:
        """Return the recall of sessions on the recall axis: every answerable question is labelled with them."""
        return f"session_recall@{self.config.k}" if axis == "recall" else super().headline(axis)

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics at turn level, and at session level under ``session_``.

        At session level a hit counts when it comes from a session that holds evidence; its rank is the hit's, so that
        both levels speak of the same budget; the published code goes on until K sessions are found. ``recall@K`` is the
        paper's recall_any, ``recall_all@K`` its recall_all and ``ndcg_any@K`` its nDCG, with the discount of its code.
        """
        gold = question.gold
        evidence = () if gold.abstain else gold.evidence
        ranked = ranked_sources(hits)
        by_session = None if ranked is None else [tuple({_session(source) for source in item}) for item in ranked]
        turns = () if gold.sessions else evidence
        sessions = {_session(item) for item in evidence}
        metrics = profile(ranked, turns, self.config.k) | _tables(ranked, turns, "")
        metrics |= profile(by_session, sessions, self.config.k, prefix="session_", precision=False)
        return metrics | _tables(by_session, sessions, "session_")

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """``token_f1`` against the best alternative of the gold, ``None`` where the gold is a rubric or to abstain.

        With ``stale_check`` also ``stale``: 1 when the answer gives the superseded value of a knowledge update and not
        the current one (:mod:`runner.harness.longmemeval.stale`), ``None`` where that cannot be told.
        """
        gold = question.gold
        lexical = not gold.abstain and question.category != PREFERENCE
        metrics: dict[str, float | None] = {
            "token_f1": max(token_f1(answer, item) for item in gold_alternatives(gold.answers)) if lexical else None
        }
        if self.settings.stale_check:
            known = bool(gold.carry and gold.avoid)
            metrics["stale"] = (
                float(stale(answer, question.text, gold.answers, gold.carry[0], gold.avoid[0])) if known else None
            )
        return metrics

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        check = LongMemEvalDataCheck()
        for item in self._instances():
            check.add(item)
        return check.lines()


def gold_alternatives(golds: Sequence[str]) -> list[str]:
    """Return gold answers as texts to compare with, each alternative by itself.

    >>> alternatives(["7 days. 8 days (including the last day) is also acceptable."])
    ['7 days', '8 days']
    >>> alternatives(["25 minutes and 50 seconds (or 25:50)"])
    ['25 minutes and 50 seconds', '25:50']
    """
    texts: list[str] = []
    for gold in golds:
        more = _ACCEPTABLE.search(gold)
        if more:
            texts += [gold[: more.start()], _BRACKET.sub("", more[1])]
            continue
        others = [match[2] for match in _BRACKET.finditer(gold) if match[1]]
        texts += [_BRACKET.sub("", gold), *others] if others else [gold]
    return texts


def _tables(ranked: Ranked | None, gold: Collection[str], prefix: str) -> dict[str, float | None]:
    """Return the metrics of the published retrieval tables, at their depths."""
    metrics: dict[str, float | None] = {}
    for depth in _DEPTHS:
        known = ranked is not None and bool(gold)
        metrics[f"{prefix}recall_all@{depth}"] = recall_all_at(ranked or (), gold, depth) if known else None
        metrics[f"{prefix}ndcg_any@{depth}"] = ndcg_any_at(ranked or (), gold, depth) if known else None
    return metrics


def _session(event_id: str) -> str:
    return event_id.partition("/")[0]


HARNESS = LongMemEval
