"""The questions that a recorded run missed, each with its stage: streamed, so that a million rows fit in memory.

Rows are read as columns, a few dozen bytes per question. Texts are read twice, a line at a time: once to stage every
miss and to find any damage, once to show those that are asked for. Nothing is printed before the first pass is through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from runner.errors import RecordError
from runner.record import journal
from runner.record.columns import columns
from runner.record.rundir import RunDir
from runner.score.failure_stage import (
    STAGES,
    UNKNOWN,
    EvidenceRank,
    Failure,
    ranks_of_evidence,
    stage_of_answer,
    stage_of_recall,
)
from runner.types import CORRECT, LABELS, NO_SOURCE_OF_TRUTH, Texts

# What became of a question: one of STAGES, or one of these.
RIGHT: Final = "right"
ERROR: Final = "error"
EXCLUDED: Final = "gold_excluded"
UNMEASURED: Final = "unmeasured"  # no label, or hits that name no events where only those count
OUTCOMES: Final = (*STAGES, RIGHT, ERROR, EXCLUDED, UNMEASURED)
_CODE: Final = {name: code for code, name in enumerate(OUTCOMES)}
_ANYWHERE: Final = "recall@all"
_DEPTH: Final = re.compile(r"(?:recall|fraction)@([1-9]\d{0,8})$")  # of a headline that counts the first few hits
_BATCH: Final = 1 << 20  # bytes of texts decoded together


class _Flagged(msgspec.Struct, gc=False):
    """The part of a row that says how it was asked."""

    id: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Miss:
    """A missed question with all that is recorded of it. ``label`` is empty on the recall axis."""

    category: str  # id and name
    label: str
    failure: Failure
    texts: Texts
    evidence: tuple[EvidenceRank, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``report --failures --json`` shows, nothing clipped."""
        texts, raw = self.texts, {passage.id: passage.text for passage in self.texts.evidence or ()}
        return {
            "id": texts.id,
            "category": self.category,
            "label": self.label,
            "stage": self.failure.stage,
            "why": self.failure.why,
            "question": texts.question,
            "gold": msgspec.to_builtins(texts.gold),
            "answers": texts.answers,
            "reasons": texts.reasons,
            "evidence": [
                {"id": one.id, "rank": one.rank, "stored": one.stored, "text": raw.get(one.id)} for one in self.evidence
            ],
            "hits": msgspec.to_builtins(texts.hits),
            "delivered": texts.context,
        }


class Missed:
    """The misses of one run.

    Attributes
    ----------
    accuracy
        Whether the run is of the accuracy axis. There a question is missed that was answered wrong or with a refusal;
        on the recall axis, one none of whose hits that count comes from the evidence.
    k
        Hits that count on the recall axis; ``None``: all.
    categories
        Name by id, of those that have rows.
    untold
        Misses whose texts are not recorded.

    Raises
    ------
    RecordError
        When the run is damaged, or kept no texts to tell a stage by.
    """

    def __init__(self, run: RunDir) -> None:
        instrument = run.instrument()
        self._run = run
        self.instrument = instrument
        self.accuracy = instrument.axis == "accuracy"
        headline = instrument.harness.headline
        depth = _DEPTH.search(headline)
        self.k = int(depth[1]) if depth else None
        metrics = [] if self.accuracy else [*([headline] if self.k else []), _ANYWHERE]
        self._rows = columns(run, metrics)
        self.outcome = self._outcomes(metrics)
        self._missed = self.outcome == _CODE[UNKNOWN]
        self._last = np.full(len(self._rows), -1, dtype=np.int64)  # line of a miss's texts, the last one written
        names = instrument.harness.categories
        self.categories = {key: f"{key} {names.get(key, key)}" for key in sorted(self._rows.categories, key=_natural)}
        self._stage()
        self.untold = int(np.count_nonzero(self._missed & (self._last < 0)))

    def _outcomes(self, metrics: Sequence[str]) -> NDArray[np.int8]:
        """Fill in everything but the stage: a miss is ``unknown`` for now."""
        rows = self._rows
        if self.accuracy:
            strange = next((name for name in rows.labels if name and name not in LABELS), None)
            if strange is not None:
                raise RecordError(
                    f"{self._run.rows_path}: the label {strange!r} is not one that a judge gives; run it again"
                )
            kinds = [RIGHT if name == CORRECT else UNKNOWN if name else UNMEASURED for name in rows.labels]
            outcome = np.array([_CODE[kind] for kind in kinds], dtype=np.int8)[rows.label]
        else:
            value = rows.values[metrics[0]].copy()
            for name in metrics[1:]:  # a system that does not rank is measured on all that it returned
                value = np.where(np.isnan(value), rows.values[name], value)
            outcome = np.where(value > 0, _CODE[RIGHT], _CODE[UNKNOWN]).astype(np.int8)
            outcome[np.isnan(value)] = _CODE[UNMEASURED]
        outcome[~rows.ok] = _CODE[ERROR]
        outcome[rows.excluded] = _CODE[EXCLUDED]
        return outcome

    def _stage(self) -> None:
        """The first pass over the texts: a stage for every miss, by the last texts that it has."""
        if not self._missed.any():
            return
        number = 0
        for batch in journal.batches(self._run.texts_path, Texts, _BATCH):
            for place, at in self._placed(batch):
                self.outcome[at] = _CODE[self._failure(batch[place], at).stage]
                self._last[at] = number + place
            number += len(batch)
        if (self._last < 0).all():
            off = self._run.raw_config().get("run")
            why = "run.texts=false" if isinstance(off, dict) and off.get("texts") is False else "no texts.jsonl"
            raise RecordError(
                f"{self._run.path}: kept no texts of what it missed ({why}), so that no stage can be told; "
                f"run it again with run.texts=true"
            )

    def _placed(self, batch: Sequence[Texts]) -> Iterator[tuple[int, int]]:
        """Yield the places in a batch that are texts of a miss, each with the place of its row."""
        if not batch:
            return
        ids = np.array([texts.id.encode() for texts in batch], dtype=np.bytes_)
        at = np.minimum(np.searchsorted(self._rows.ids, ids), len(self._rows) - 1)
        for place in np.flatnonzero((self._rows.ids[at] == ids) & self._missed[at]).tolist():
            yield place, int(at[place])

    def _failure(self, texts: Texts, at: int) -> Failure:
        if not self.accuracy:
            return stage_of_recall(texts, self.k)
        # A system that answers by itself and does not say what it read has no digest of keys.
        known = not self._rows.retrieval[at].startswith(b":")
        lost = not texts.hits and texts.id in self._lost
        return stage_of_answer(texts, reading_known=known, lost=lost)

    @cached_property
    def _lost(self) -> frozenset[str]:
        """Questions whose system kept nothing; only a benchmark that drops what can be rebuilt has any."""
        flagged = journal.read(self._run.rows_path, _Flagged)
        return frozenset(row.id for row in flagged if NO_SOURCE_OF_TRUTH in row.flags)

    # --- figures ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(np.count_nonzero(self._missed))

    def counts(self, category: str | None = None) -> dict[str, int]:
        """Return questions by outcome, of one category (by its id) or of all."""
        outcome = self.outcome
        if category is not None:
            outcome = outcome[self._rows.category == self._rows.categories.index(category)]
        found_counts = np.bincount(outcome, minlength=len(OUTCOMES))
        return {name: int(found_counts[code]) for name, code in _CODE.items()}

    def chosen(self, stage: str | None = None, categories: Sequence[str] | None = None) -> int:
        """Return how many :meth:`misses` gives."""
        return int(np.count_nonzero(self._chosen(stage, categories)))

    def _chosen(self, stage: str | None, categories: Sequence[str] | None) -> NDArray[np.bool_]:
        chosen: NDArray[np.bool_] = self._missed & (self._last >= 0)
        if stage is not None:
            chosen &= self.outcome == _CODE[stage]
        if categories is not None:
            wanted = [self._rows.categories.index(name) for name in categories if name in self._rows.categories]
            chosen &= np.isin(self._rows.category, wanted)
        return chosen

    def misses(self, stage: str | None = None, categories: Sequence[str] | None = None) -> Iterator[Miss]:
        """Yield the misses in the order of the file, of one stage and some categories (by id) where given."""
        chosen = self._chosen(stage, categories)
        left, number = int(np.count_nonzero(chosen)), 0
        for batch in journal.batches(self._run.texts_path, Texts, _BATCH) if left else ():
            for place, at in self._placed(batch):
                if chosen[at] and self._last[at] == number + place:
                    left -= 1
                    yield self._miss(batch[place], at)
            number += len(batch)
            if not left:
                break

    def _miss(self, texts: Texts, at: int) -> Miss:
        category = self._rows.categories[self._rows.category[at]]
        label = self._rows.labels[self._rows.label[at]]
        return Miss(self.categories[category], label, self._failure(texts, at), texts, ranks_of_evidence(texts))

    def transitions(self, other: Missed) -> dict[str, dict[str, int]] | None:
        """Return questions by outcome here, then by outcome there; ``None`` when the two have no question in common.

        Counted are those that are right or missed in both.
        """
        if self.accuracy != other.accuracy:
            return None
        _, mine, theirs = np.intersect1d(self._rows.ids, other._rows.ids, assume_unique=True, return_indices=True)
        here, there = self.outcome[mine], other.outcome[theirs]
        both = (here <= _CODE[RIGHT]) & (there <= _CODE[RIGHT])
        if not both.any():
            return None
        size = _CODE[RIGHT] + 1
        table = np.bincount(here[both].astype(np.int64) * size + there[both], minlength=size * size).reshape(size, size)
        return {
            OUTCOMES[row]: {OUTCOMES[column]: int(table[row, column]) for column in range(size)}
            for row in range(size)
            if table[row].any()
        }


def _natural(key: str) -> tuple[int, str]:
    return len(key), key
