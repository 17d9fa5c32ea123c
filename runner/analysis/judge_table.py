"""The same answers under several judges: each one's accuracy, and who accepts what the reference does not.

Nothing is gated here: judges are instruments, and which of them is right only people can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runner.analysis.summary import ALL, COMPARABLE
from runner.config import did_you_mean
from runner.errors import RunnerError, UsageError
from runner.record.columns import Columns, columns
from runner.record.files import HarnessFacts, Instrument
from runner.record.instrument import UNKNOWN
from runner.record.names import distinct_names
from runner.record.provenance import answers_of, is_regraded
from runner.record.rundir import RunDir
from runner.score.label_metrics import ACCURACY
from runner.stats.clustered import Bounds
from runner.stats.interval import TOO_FEW
from runner.stats.judge_agreement import Disagreement, disagreement
from runner.stats.paired import judge_many
from runner.types import CORRECT, LABELS

_ERROR: Final = "ERROR"


@dataclass(frozen=True)
class JudgeFigures:
    """The figures of a judge over one set of questions.

    Attributes
    ----------
    n, errors
        Questions that it labelled, and that it or the reader failed on.
    accuracy
        ``accuracy_abstain_wrong``: correct / (correct + wrong + abstained); ``None`` without a label.
    interval
        95 % interval of that accuracy, clusters resampled; ``None`` where they are too few or all labels are alike.
    against
        The judge against the reference; ``None`` for the reference itself.
    """

    judge: str
    n: int
    errors: int
    accuracy: float | None
    interval: Bounds | None
    against: Disagreement | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "judge": self.judge,
            "n": self.n,
            "errors": self.errors,
            ACCURACY: self.accuracy,
            "interval": None if self.interval is None else [self.interval.low, self.interval.high],
            "against_reference": None if self.against is None else self.against.to_dict(),
        }


@dataclass(frozen=True)
class Section:
    """A set of questions under every judge."""

    name: str
    questions: int
    judges: list[JudgeFigures]


@dataclass(frozen=True)
class JudgeTable:
    """Runs that share their answers, side by side.

    Attributes
    ----------
    arm, harness, cluster
        Whose answers, on what, and what one cluster is.
    reference
        The judge that the others are held against.
    judges
        Name to its run, model and rubric.
    alike
        Judges that are the reference's model, parameters and rubric: what differs is the judge's own flips.
    sections
        The comparable categories, all of them where they differ, then each category.
    """

    arm: str
    harness: str
    cluster: str
    reference: str
    judges: dict[str, dict[str, Any]]
    alike: list[str]
    fakes: list[str]
    sections: list[Section]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "arm": self.arm,
            "harness": self.harness,
            "reference": self.reference,
            "judges": self.judges,
            "same_judge_as_reference": self.alike,
            "fakes": self.fakes,
            "sections": {
                part.name: {"questions": part.questions, "judges": [judge.to_dict() for judge in part.judges]}
                for part in self.sections
            },
            "notes": self.notes,
        }


def runs_by_answers(runs: Sequence[RunDir]) -> list[list[RunDir]]:
    """Return the runs by the answers that they grade: one list for every set of answers that was graded again."""
    readable: list[tuple[RunDir, bool]] = []
    for run in runs:
        try:
            readable.append((run, is_regraded(run)))
        except RunnerError:
            continue  # damaged: the reader of its own tables says so
    if not any(again for _, again in readable):
        return []  # nothing to hash: ordinary runs
    groups: dict[str, list[RunDir]] = {}
    for run, _ in readable:
        groups.setdefault(answers_of(run), []).append(run)
    regraded = {run.path for run, again in readable if again}
    return [group for group in groups.values() if any(run.path in regraded for run in group)]


def judge_tables(runs: Sequence[RunDir], reference: str | None = None) -> list[JudgeTable]:
    """Return a table for every set of answers that two or more of the runs grade.

    Raises
    ------
    UsageError
        When no such set has a judge of that name.
    """
    groups = [group for group in runs_by_answers(runs) if len(group) > 1]
    if reference is not None:
        known = [name for group in groups for name in _names(group)]
        if not any(_position(group, reference) is not None for group in groups):
            raise UsageError(
                f"--reference {reference}: no such judge here{did_you_mean(reference, known)}; there are "
                f"{', '.join(dict.fromkeys(known)) or 'no two judges of the same answers'}"
            )
    return [judge_table(group, reference) for group in groups]


def judge_table(runs: Sequence[RunDir], reference: str | None = None) -> JudgeTable:
    """Return the table of runs that share their answers.

    Parameters
    ----------
    runs
        In the order of the table.
    reference
        A judge, by its name in the table, its choice or its run's directory. ``None``: the run that asked for the
        answers, else the judge that graded them first, else the last one.

    Raises
    ------
    UsageError
        When they share no question.
    RecordError
        When a run is damaged.
    """
    names = _names(runs)
    instruments = [run.instrument() for run in runs]
    rows = [_judge_rows(instrument) for instrument in instruments]
    chosen = _position(runs, reference) if reference is not None else None
    chosen = _reference(runs, rows) if chosen is None else chosen
    about = instruments[0].harness
    data = [columns(run, []) for run in runs]
    places = _common(data)
    first, at = data[0], places[0]
    notes = []
    for name, mine, instrument in zip(names, data, instruments, strict=True):
        missing = instrument.census.questions - len(mine)
        if missing > 0:
            notes.append(f"{name}: is not finished, {missing} of its questions are missing")
    largest = max(map(len, data))
    if len(at) < largest:
        notes.append(f"over the {len(at)} questions that every judge has, of {largest}")
    labels = [_labels(mine)[place] for mine, place in zip(data, places, strict=True)]
    kept = ~first.excluded[at]
    if not kept.all():
        notes.append(f"{int((~kept).sum())} questions whose gold is patched away are left out")
    masks = _masks(first, at, kept, about)
    settings = runs[chosen].experiment().gate
    bounds = _intervals(labels, [mask for _, mask in masks[:2]], first.cluster[at], settings)
    sections = []
    for position, (title, mask) in enumerate(masks):
        lines = [
            _line(
                name,
                label[mask],
                None if index == chosen else labels[chosen][mask],
                bounds[position][index] if position < len(bounds) else None,
            )
            for index, (name, label) in enumerate(zip(names, labels, strict=True))
        ]
        sections.append(Section(title, int(mask.sum()), lines))
    if len(sections) > 1 and sections[0].questions == sections[1].questions:
        del sections[1]  # every question is of a comparable category
    known = UNKNOWN not in rows[chosen].values()
    return JudgeTable(
        arm=runs[0].experiment().arm.name,
        harness=about.name,
        cluster=about.cluster,
        reference=names[chosen],
        judges={name: {"run": run.path.name, **judge} for name, run, judge in zip(names, runs, rows, strict=True)},
        alike=[name for index, name in enumerate(names) if known and index != chosen and rows[index] == rows[chosen]],
        fakes=sorted({fake for instrument in instruments for fake in instrument.fakes}),
        sections=sections,
        notes=notes,
    )


def _judge_rows(instrument: Instrument) -> dict[str, Any]:
    return {name: value for name, value in instrument.rows.items() if name.startswith("judge.")}


def _reference(runs: Sequence[RunDir], rows: Sequence[dict[str, Any]]) -> int:
    """Return the run that asked for the answers, else the judge that graded them first, else the last one."""
    sources = [run.provenance().source for run in runs]
    for position, source in enumerate(sources):
        if not source:
            return position
    for position, source in enumerate(sources):
        own = source.judge if source else None
        if own == rows[position] and UNKNOWN not in rows[position].values():
            return position
    return len(runs) - 1


def _names(runs: Sequence[RunDir]) -> list[str]:
    """Return the names of judges, with what tells two of one name apart."""
    judges = [run.experiment().judge.model_dump(mode="json") for run in runs]
    bare = [str(judge["name"]) for judge in judges]
    names = distinct_names(bare, judges, [run.path.name for run in runs])
    if len(set(names)) < len(names):  # the same judge twice, in directories of one name
        names = [f"{name} [{run.path.parent.name}/{run.path.name}]" for name, run in zip(bare, runs, strict=True)]
    return names


def _position(runs: Sequence[RunDir], reference: str) -> int | None:
    for position, (run, name) in enumerate(zip(runs, _names(runs), strict=True)):
        if reference in (name, name.split(" [")[0], run.path.name):
            return position
    return None


def _common(data: Sequence[Columns]) -> list[NDArray[np.intp]]:
    """Return for each run the positions of the questions that every run has; they are sorted by id."""
    shared = data[0].ids
    for other in data[1:]:
        shared = np.intersect1d(shared, other.ids, assume_unique=True)
    if not len(shared):
        raise UsageError("these runs grade the same answers and share no question; take larger samples (run.sample)")
    return [np.searchsorted(mine.ids, shared) for mine in data]


def _labels(data: Columns) -> NDArray[np.str_]:
    """Return the majority label of every row; a label that no judge gives is an error."""
    names = np.array([name if name in LABELS else _ERROR for name in data.labels] or [_ERROR])
    found: NDArray[np.str_] = np.where(data.ok, names[data.label], _ERROR)
    return found


def _masks(
    data: Columns, at: NDArray[np.intp], kept: NDArray[np.bool_], about: HarnessFacts
) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return masks of the comparable categories, all of them, then each."""
    category, comparable = data.category[at], data.of_categories(about.comparable)[at]
    masks = [(COMPARABLE, comparable & kept), (ALL, kept)]
    for code, key in sorted(enumerate(data.categories), key=lambda item: (len(item[1]), item[1])):
        mask = (category == code) & kept
        if mask.any():
            masks.append((f"{key} {about.categories.get(key, key)}", mask))
    return masks


def _line(
    name: str, labels: NDArray[np.str_], reference: NDArray[np.str_] | None, interval: Bounds | None
) -> JudgeFigures:
    valid = int((labels != _ERROR).sum())
    correct = int((labels == CORRECT).sum())
    against = None if reference is None else disagreement(reference.tolist(), labels.tolist())
    return JudgeFigures(name, valid, len(labels) - valid, correct / valid if valid else None, interval, against)


def _intervals(
    labels: Sequence[NDArray[np.str_]], masks: Sequence[NDArray[np.bool_]], clusters: NDArray[np.int32], settings: Any
) -> list[list[Bounds | None]]:
    """Return the 95 % interval of each judge's accuracy over each set of questions, by the rule of a gate.

    An accuracy is a mean difference against an arm that never is right, so that the draw and the rule are those of a
    pair. Where every answer is accepted the same is asked of the errors.
    """
    values, present, turned = [], [], []
    for mask in masks:
        for label in labels:
            valid = mask & (label != _ERROR)
            right = (label == CORRECT) & valid
            turned.append(bool(valid.any() and right.sum() == valid.sum()))
            values.append(np.where(turned[-1], valid & ~right, right).astype(np.float64))
            present.append(valid)
    shape = (1, len(clusters))
    verdicts = judge_many(
        np.zeros(shape),
        np.stack(values),
        clusters,
        present=np.stack(present),
        mode=settings.interval,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    found: list[Bounds | None] = []
    for verdict, upside_down in zip(verdicts, turned, strict=True):
        shown = verdict.deciding
        if shown is None or verdict.clusters < TOO_FEW:
            found.append(None)
            continue
        low, high = max(0.0, shown.low), min(1.0, shown.high)
        found.append(Bounds(1 - high, 1 - low) if upside_down else Bounds(low, high))
    size = len(labels)
    return [found[start : start + size] for start in range(0, len(found), size)]
