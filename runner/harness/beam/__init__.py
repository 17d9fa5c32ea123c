"""BEAM: 100 long chats about one matter each, with 20 questions each about ten abilities (Tavakoli et al. 2025).

Source: mohammadtavakoli78/BEAM (chats in the repository, no licence stated there) and its copy on Hugging Face (CC
BY-SA 4.0), which is what the choices ``beam`` (100K), ``beam_500k``, ``beam_1m`` and ``beam_10m`` download.

- A chat is a scenario and a cluster; a message is an event, named by the id that the file's evidence counts in. Dates
  are those of the batch, a day without a time; a batch without one has none.
- ``now`` of every question is the last date of its chat, never the wall clock.
- The generator left ``->-> batch,bullet`` at the end of user messages: stripped. Plot, profile, seed and plan of a chat
  lie beside it in the data and are never read.
- Gold is the ideal answer and a rubric of points; every point is graded 1, 0.5 or 0 and the mean is the score. An
  abstention has no evidence and no retrieval metrics, and so has a question that cites none.
- Event ordering is scored by order as well: ``event_ordering_lexical`` is ``((tau_b + 1) / 2) * F1`` over items that
  are aligned with the rubric lexically (:mod:`runner.harness.beam.ordering`), where the publication asks a model about
  every pair. A rubric of one event has no order: 1 if it alone was named, and the row is flagged ``single_event``.

``scoring: upstream`` follows the published code where it departs from the paper, so that its numbers can be compared
with the published ones: half a point counts as none in every ability but event ordering and the judge is not shown the
question (both are rubric files of their own), every line of an answer, blank ones too, is an item of an ordering, and
each takes the first event that fits, and a rubric of one event is scored like any other. The published table has
``tau_norm`` alone in its column of event ordering, and so in its average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from runner.config import Dataset, Strict
from runner.data.source import DataFiles
from runner.errors import DatasetError
from runner.harness._base.published import Published
from runner.harness.beam.data_check import BeamDataCheck
from runner.harness.beam.format import Chat, parse
from runner.harness.beam.ordering import METRICS, align, items_in, lines_in, ordering
from runner.harness.beam.questions import ABSTENTION, GOLD, ORDERING
from runner.harness.beam.source import RawChat, find, raw_chats
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import SINGLE_EVENT, Event, Gold, Hit, Question, Scenario

_POINT: Final = "beam_point"
_UNASKED: Final = "beam_point_unasked"
_WHOLE: Final = "beam_point_whole"


class BeamSettings(Strict):
    """``size`` is a folder of the data; ``scoring`` the paper's rule or the published code's."""

    size: Literal["100K", "500K", "1M", "10M"] = "100K"
    scoring: Literal["paper", "upstream"] = "paper"
    # Not in the instrument, which has the digest of all files.
    more: Annotated[tuple[Dataset, ...], Field(exclude=True)] = ()


class Beam(Published):
    name = "beam"
    title = "BEAM"
    licence = "CC BY-SA 4.0 (Hugging Face copy)"
    categories: ClassVar = {name: name for name in GOLD}
    aliases: ClassVar = {name.replace("_", "-"): name for name in GOLD} | {
        "multi-hop-reasoning": "multi_session_reasoning"
    }
    comparable = frozenset(GOLD)
    cluster = "chat"
    macro = "ability_averaged"
    rubrics = (_POINT, _UNASKED, _WHOLE)
    metrics = (*profile_metrics(), *METRICS)
    documents = False
    Settings = BeamSettings
    settings: BeamSettings

    @cached_property
    def _found(self) -> DataFiles:
        return find(self.name, self.config.dataset, self.settings.more, self.settings.size)

    def verified(self) -> DataFiles:
        return self._found

    @property
    def described(self) -> str:
        return f"{self.title} {self.settings.size}"

    def _chats(self) -> Iterator[tuple[RawChat, Chat]]:
        empty = True
        for raw in raw_chats(self._found):
            empty = False
            yield raw, parse(raw.name, raw.chat, raw.plans, raw.questions)
        if empty:
            raise DatasetError("the data holds no chat; give another copy with harness.dataset.path")

    def scenarios(self) -> Iterator[Scenario]:
        return (self._scenario(raw.name, chat) for raw, chat in self._chats())

    def _scenario(self, name: str, chat: Chat) -> Scenario:
        name = f"{self.settings.size}-{name}"
        now = max((message.time for message in chat.messages if message.time is not None), default=None)
        return Scenario(
            id=name,
            cluster=name,
            events=tuple(
                Event(id=item.id, text=item.text, time=item.time, actor=item.role, session=item.session)
                for item in chat.messages
            ),
            questions=tuple(
                Question(
                    id=f"{name}/{number}",
                    text=probe.question,
                    category=probe.ability,
                    gold=Gold(
                        answers=(probe.answer,) if probe.answer else (),
                        evidence=probe.evidence,
                        abstain=probe.ability == ABSTENTION,
                        points=probe.rubric,
                    ),
                    now=now,
                    rubric=self._rubric(probe.ability),
                )
                for number, probe in enumerate(chat.probes)
            ),
        )

    def _rubric(self, ability: str) -> str:
        if self.settings.scoring == "paper":
            return _POINT
        return _UNASKED if ability == ORDERING else _WHOLE

    # --- scores ----------------------------------------------------------------------------------------------------

    def headline(self, axis: str) -> str:
        """The mean of the points on the accuracy axis, as published."""
        return super().headline(axis) if axis == "recall" else "judge_score"

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics over the messages that the question cites."""
        ranked = ranked_sources(hits)
        return profile(ranked, () if question.gold.abstain else question.gold.evidence, self.config.k)

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """Return the score of an event ordering and its two factors; nothing for another ability."""
        if question.category != ORDERING:
            return {}
        upstream = self.settings.scoring == "upstream"
        reference = list(dict.fromkeys(question.gold.points))
        items = lines_in(answer) if upstream else items_in(answer)
        order = ordering(reference, align(items, reference, first=upstream), upstream=upstream)
        return {
            "event_ordering_lexical": order.score,
            "event_ordering_tau_norm": order.tau_norm,
            "event_ordering_f1": order.f1,
        }

    def flags(self, question: Question) -> tuple[str, ...]:
        single = question.category == ORDERING and len(set(question.gold.points)) == 1
        return (*self.patches.flags(question), *((SINGLE_EVENT,) if single else ()))

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        check = BeamDataCheck(size=self.settings.size)
        for raw, chat in self._chats():
            check.add(raw, chat)
        return check.lines()


HARNESS = Beam
