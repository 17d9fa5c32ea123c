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

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from runner.data.source import SourceFile, decode_json, read_source
from runner.errors import DatasetError
from runner.harness import DatasetInfo, Harness
from runner.harness._base.gold_patches import Patch, Patches, PatchReport, read_patches, reported
from runner.harness.locomo_qa.data_check import traps
from runner.harness.locomo_qa.format import ADVERSARIAL, CATEGORIES, Conversation, Item, parse
from runner.harness.locomo_qa.score import LOCOMO_F1, PUBLISHED, locomo_f1
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, Event, Gold, Hit, Question, Scenario

LICENCE = "CC BY-NC 4.0"


class LocomoQA(Harness):
    name = "locomo_qa"
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
    def _file(self) -> SourceFile:
        return read_source(self.name, self.config.dataset, self._diagnose)

    @cached_property
    def _conversations(self) -> tuple[Conversation, ...]:
        return parse(self.name, decode_json(self.name, str(self._file.path), self._file.data))

    @cached_property
    def _patches(self) -> Patches:
        patches = read_patches(self.name, self.config.patches, [item.id for item in self._conversations])
        known = {f"{item.id}/{qa.index}": (item, qa) for item in self._conversations for qa in item.items}
        for key, patch in patches.by_id.items():
            if key not in known:
                raise DatasetError(f"{self.name}: a gold patch names question {key}, which the data does not have")
            _fits(self.name, patch, *known[key])
        return patches

    def _diagnose(self, data: bytes) -> str | None:
        try:
            parse(self.name, decode_json(self.name, "it", data))
        except DatasetError as error:
            return str(error).removeprefix(f"{self.name}: ").split("; ")[0]
        return None

    def dataset(self) -> DatasetInfo:
        return DatasetInfo(
            name="LoCoMo",
            version=self.config.dataset.version,
            sha256=self._file.sha256,
            pinned=self._file.pinned,
            licence=LICENCE,
            source=self.config.dataset.url or "",
            patches=self._patches.sha256,
        )

    def read(self) -> Iterator[Scenario]:
        for conversation in self._conversations:
            yield Scenario(
                id=conversation.id,
                cluster=conversation.id,
                events=tuple(
                    Event(
                        id=turn.id,
                        text=turn.said,
                        time=session.time,
                        actor=turn.speaker,
                        session=f"session_{session.number}",
                    )
                    for session in conversation.sessions
                    for turn in session.turns
                ),
                questions=tuple(self._question(conversation, item) for item in conversation.items),
            )

    def _question(self, conversation: Conversation, item: Item) -> Question:
        key = f"{conversation.id}/{item.index}"
        adversarial = item.category == ADVERSARIAL
        answer, evidence = item.answer, item.evidence
        patch = self._patches.by_id.get(key)
        if patch is not None and patch.action == "fix":
            answer = patch.answer if patch.answer is not None else answer
            evidence = tuple(patch.evidence) if patch.evidence else evidence
        return Question(
            id=key,
            text=item.question,
            category=item.category,
            gold=Gold(
                answers=() if adversarial or answer is None else (answer,),
                evidence=evidence,
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
        """``locomo_f1``, the official lexical score: Porter-stemmed token F1 by the rule of the category."""
        gold = question.gold.answers[0] if question.gold.answers else ""
        return {"locomo_f1": locomo_f1(answer, gold, int(question.category))}

    # --- gold patches ----------------------------------------------------------------------------------------------

    @cached_property
    def _published(self) -> dict[str, tuple[str, ...]]:
        return {f"{item.id}/{qa.index}": qa.evidence for item in self._conversations for qa in item.items}

    def flags(self, question: Question) -> tuple[str, ...]:
        patch = self._patches.by_id.get(question.id)
        if patch is None:
            return ()
        return (GOLD_EXCLUDED if patch.action == "exclude" else GOLD_FIXED,)

    def patch_report(self) -> PatchReport | None:
        if not self.config.patches:
            return None
        asked = ((f"{one.id}/{item.index}", item.category) for one in self._conversations for item in one.items)
        return reported(self._patches, asked, self.comparable)

    def check(self) -> list[str]:
        info = self.dataset()
        pinned = "as pinned" if info.pinned else "unpinned"
        report = self.patch_report()
        return [
            f"LoCoMo {info.version}".strip() + f", sha256 {info.sha256} ({pinned}), {info.licence}",
            *traps(self._conversations),
            *(report.lines() if report else ()),
        ]


def _session(event_id: str) -> str:
    return event_id.partition(":")[0]


def _fits(harness: str, patch: Patch, conversation: Conversation, item: Item) -> None:
    """Refuse a patch that was written for other data.

    Raises
    ------
    DatasetError
        When the question or the published answer differ, or the evidence does not exist.
    """
    where = f"{harness}: the gold patch of {patch.id}"
    if patch.question is not None and patch.question != item.question:
        raise DatasetError(f"{where} was written for another question; it does not belong to this dataset")
    if patch.was is not None and patch.was != item.answer:
        raise DatasetError(f"{where} was written for another published answer; it does not belong to this dataset")
    if patch.answer is not None and item.category == ADVERSARIAL:
        raise DatasetError(f"{where} gives an answer to a category-5 question, whose gold is to abstain; exclude it")
    ids = conversation.turn_ids
    for name in patch.evidence or ():
        if name not in ids:
            raise DatasetError(f"{where} cites '{name}', which is no turn of {conversation.id}")


HARNESS = LocomoQA
