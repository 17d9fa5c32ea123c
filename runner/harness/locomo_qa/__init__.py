"""LoCoMo: ten long conversations between two people, and questions about them (Maharana et al. 2024).

Source: snap-research/locomo, ``data/locomo10.json``, CC BY-NC 4.0. The file is parsed by
:mod:`runner.harness.locomo_qa.format`; this module makes scenarios of it and scores rows.

- A conversation is a scenario and a cluster; a turn is an event; its id is the file's ``dia_id``.
- Every turn carries the date of its session, to the minute, as the file has it. Turns have no times of their own and
  none is invented: order within a session is the order of the events, so a system that sorts must sort stably.
- ``now`` of every question is the date of the last session of its conversation, never the wall clock.
- A caption is part of what was said (``… [shares a photo: CAPTION]``). The ``query`` that found the photo quotes the
  hidden plot of the conversation and is never ingested; neither is its URL.
- Category 5 asks for what the conversation does not hold. Its gold is to abstain, for all 446: the published
  ``adversarial_answer`` is a wrong answer and never becomes gold, and the official score grants only a refusal, also
  to the two questions that carry an answer "No". Its evidence points at the passage that the trap is built from, so
  category 5 has no retrieval metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from runner.data.json_document import decode_json
from runner.data.source import DataFiles, locate
from runner.errors import DatasetError
from runner.harness._base.gold_patches import Patch
from runner.harness._base.published import Published
from runner.harness.locomo_qa.audit import audit_patch
from runner.harness.locomo_qa.conversations import NAMES
from runner.harness.locomo_qa.data_check import check_lines
from runner.harness.locomo_qa.format import ADVERSARIAL, CATEGORIES, Conversation, QaItem, parse
from runner.harness.locomo_qa.score import LOCOMO_F1, PUBLISHED, locomo_f1
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import Event, Gold, Hit, Question, Scenario


class LocomoQA(Published):
    name = "locomo_qa"
    title = "LoCoMo"
    licence = "CC BY-NC 4.0"
    published_ids = NAMES
    categories = CATEGORIES
    # Names of the published results and of other harnesses; four maps of the integers are in circulation.
    aliases: ClassVar = {
        "multi": "1",
        "temporal-reasoning": "2",
        "open": "3",
        "commonsense": "3",
        "single": "4",
        "adv": ADVERSARIAL,
        "unanswerable": ADVERSARIAL,
    }
    comparable = frozenset({"1", "2", "3", "4"})
    cluster = "conversation"
    metrics = (*profile_metrics("session_"), *PUBLISHED, LOCOMO_F1)
    documents = False

    @cached_property
    def _file(self) -> DataFiles:
        return locate(self.name, self.config.dataset, hold=True, diagnose=self._diagnose)

    @cached_property
    def _conversations(self) -> tuple[Conversation, ...]:
        return parse(decode_json(str(self._file.path), self._file.content()))

    def _diagnose(self, data: bytes) -> str | None:
        try:
            parse(decode_json("it", data))
        except DatasetError as error:
            return str(error).split("; ")[0]
        return None

    def verified(self) -> DataFiles:
        return self._file

    def scenarios(self) -> Iterator[Scenario]:
        for conversation in self._conversations:
            yield Scenario(
                id=conversation.id,
                cluster=conversation.id,
                events=tuple(
                    Event(
                        id=turn.id,
                        text=turn.spoken,
                        time=session.time,
                        actor=turn.speaker,
                        session=f"session_{session.number}",
                    )
                    for session in conversation.sessions
                    for turn in session.turns
                ),
                questions=tuple(self._question(conversation, item) for item in conversation.items),
            )

    def _question(self, conversation: Conversation, item: QaItem) -> Question:
        adversarial = item.category == ADVERSARIAL
        return Question(
            id=f"{conversation.id}/{item.index}",
            text=item.question,
            category=item.category,
            gold=Gold(
                answers=() if item.answer is None else (item.answer,),
                evidence=item.evidence,
                abstain=adversarial,
            ),
            now=conversation.sessions[-1].time,
        )

    # --- scores ----------------------------------------------------------------------------------------------------

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics at turn level, and at session level under ``session_``.

        At session level a hit counts when it comes from a session that holds evidence; its rank is the hit's, so that
        both levels speak of the same budget. With gold patches, ``published_recall@k`` and ``published_fraction@k``
        are the turn-level figures against the evidence as published.
        """
        k = self.config.k
        gold = () if question.gold.abstain else question.gold.evidence
        ranked = ranked_sources(hits)
        by_session = None if ranked is None else [tuple({_session(source) for source in item}) for item in ranked]
        metrics = profile(ranked, gold, k)
        metrics |= profile(by_session, {_session(item) for item in gold}, k, prefix="session_", precision=False)
        if self.config.patches:
            published = () if question.gold.abstain else self._published[question.id]
            as_published = profile(ranked, published, k, prefix="published_")
            metrics |= {name: as_published[name] for name in (f"published_recall@{k}", f"published_fraction@{k}")}
        return metrics

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """Return ``locomo_f1``, the official lexical score: Porter-stemmed token F1 by the rule of the category."""
        gold = question.gold.answers[0] if question.gold.answers else ""
        return {"locomo_f1": locomo_f1(answer, gold, int(question.category))}

    # --- gold patches and counts -----------------------------------------------------------------------------------

    @cached_property
    def _published(self) -> dict[str, tuple[str, ...]]:
        return {f"{item.id}/{qa.index}": qa.evidence for item in self._conversations for qa in item.items}

    def scenario_ids(self) -> Sequence[str]:
        return [conversation.id for conversation in self._conversations]

    @classmethod
    def foreign_patch(cls, where: str, entry: Mapping[str, Any], scenarios: Sequence[str]) -> Patch | None:
        return audit_patch(where, entry, scenarios)

    def patched(self, question: Question) -> Question:
        if question.category == ADVERSARIAL and question.gold.answers:
            raise DatasetError(
                f"the gold patch of {question.id} gives an answer to a category-5 question, whose gold is "
                "to abstain; exclude it"
            )
        return question

    def counts(self) -> list[str]:
        return check_lines(self._conversations)


def _session(event_id: str) -> str:
    return event_id.partition(":")[0]


HARNESS = LocomoQA
