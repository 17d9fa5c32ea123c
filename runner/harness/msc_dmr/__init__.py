"""Deep memory retrieval: 500 questions, each about five sessions of chat between two people (Packer et al. 2023).

Source: MemGPT/MSC-Self-Instruct (Apache-2.0), which adds a sixth session of one question and its answer to histories
of Multi-Session Chat (Xu et al. 2022). Histories of a few thousand tokens fit any model's window: the benchmark tells
memories apart only where they keep less than everything, and a full-context arm belongs beside every number.

- A row is a scenario. What is told to a memory are the five sessions before the question: the four of
  ``previous_dialogs`` and the current ``dialog``, as the paper says ("sessions 1–5") and as Zep's evaluation does;
  ``current_session: false`` leaves the fifth out, as some harnesses do. Personas and summaries are never read
  (:mod:`runner.harness.msc_dmr.format`).
- Speaker 2 asks (B in the file) and Speaker 1 answers (A). The prompt says so; the question's text is as published.
- The data has no dates, only the time between sessions. The last session is at ``NOW``, a fixed date, the others as
  long before it as their gaps add up to, and the question is asked at ``NOW``: the data does not say how much later.
- Answers are judged by a rubric of the benchmark's own, generous as in the paper; ``rouge_l_recall`` is the paper's
  second number: ROUGE-L recall, since answers are longer than the gold.
- No turn is labelled as evidence, so that retrieval metrics are ``None``. What can be measured without a reader is
  whether the words of the gold are in what was delivered: ``answer_recall``, the headline of the recall axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import ClassVar, Final

from runner.config import Strict
from runner.data.source import DataFiles, locate
from runner.errors import DatasetError, Remedy
from runner.harness._base.published import Published
from runner.harness.msc_dmr.answer_words import ANSWER_HELD, ANSWER_RECALL, answer_recall
from runner.harness.msc_dmr.data_check import MscDataCheck
from runner.harness.msc_dmr.format import MscRow, read_rows
from runner.score.lexical import ROUGE_L_RECALL, rouge_l
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import Event, Gold, Hit, Question, Scenario

NOW: Final = datetime(2023, 10, 12, 12)  # the day the paper appeared; the data has no date of its own
_DMR: Final = "dmr"
_OWN: Final = "msc_dmr"  # the prompt and the rubric


class MscDmrSettings(Strict):
    """``current_session`` says whether the fifth session is part of the history, as in the paper."""

    current_session: bool = True


class MscDmr(Published):
    name = "msc_dmr"
    title = "MSC-Self-Instruct"
    licence = "Apache-2.0"
    categories: ClassVar = {_DMR: _DMR}
    aliases: ClassVar = {"deep-memory-retrieval": _DMR}
    comparable = frozenset({_DMR})
    cluster = "conversation"
    prompts = (_OWN,)
    rubrics = (_OWN,)
    metrics = (*profile_metrics(), ROUGE_L_RECALL, ANSWER_RECALL, ANSWER_HELD)
    documents = False
    Settings = MscDmrSettings
    settings: MscDmrSettings

    @cached_property
    def _file(self) -> DataFiles:
        return locate(self.name, self.config.dataset)

    def verified(self) -> DataFiles:
        return self._file

    def _rows(self) -> Iterator[tuple[str, MscRow]]:
        """Yield every row with the name of its scenario: its place in the file, since rows have no id of their own."""
        place = -1
        for place, row in enumerate(read_rows(self._file.path)):
            yield f"{_DMR}-{place:04d}", row
        if place < 0:
            raise DatasetError(f"{self._file.path} holds no question", Remedy.OTHER)

    def scenarios(self) -> Iterator[Scenario]:
        return (self._scenario(name, row) for name, row in self._rows())

    def _scenario(self, name: str, row: MscRow) -> Scenario:
        history = row.sessions if self.settings.current_session else row.sessions[:-1]
        return Scenario(
            id=name,
            cluster=row.conversation or name,
            events=tuple(
                Event(id=turn.id, text=turn.text, time=NOW - session.before, actor=turn.speaker, session=session.name)
                for session in history
                for turn in session.turns
            ),
            questions=(
                Question(
                    id=f"{name}/0",
                    text=row.question,
                    category=_DMR,
                    gold=Gold(answers=(row.gold,)),
                    now=NOW,
                    rubric=_OWN,
                    prompt=_OWN,
                ),
            ),
        )

    # --- scores ----------------------------------------------------------------------------------------------------

    def headline(self, axis: str) -> str:
        """Return, on the recall axis, the share of the gold's words that were delivered: no turn is labelled."""
        return "answer_recall" if axis == "recall" else super().headline(axis)

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Return retrieval metrics, which are not measurable unless a gold patch labels the turns of a question."""
        ranked = ranked_sources(hits)
        return profile(ranked, question.gold.evidence, self.config.k)

    def score_delivered(self, question: Question, text: str, *, failed: bool = False) -> dict[str, float | None]:
        """``answer_recall``, the share of the gold's words in what was delivered; ``answer_held``, 1 if all are."""
        recall = answer_recall(text, question.gold.answers)
        return {"answer_recall": recall, "answer_held": None if recall is None else float(recall == 1)}

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        return {"rouge_l_recall": max(rouge_l(answer, gold)["recall"] for gold in question.gold.answers)}

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        check = MscDataCheck()
        for name, row in self._rows():
            check.add(name, row, current=self.settings.current_session)
        return check.lines()


HARNESS = MscDmr
