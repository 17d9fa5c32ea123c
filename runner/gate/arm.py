"""A recorded run, opened for a gate: its columns, its metric, and what it may be held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runner.analysis.metrics import Metrics, metrics_of
from runner.analysis.summary import ALL, COMPARABLE, PATCHED, summary_of
from runner.config import GateConfig
from runner.errors import RecordError, UsageError
from runner.gate import question_pairs
from runner.record.columns import Columns, columns
from runner.record.files import Figures, Instrument
from runner.record.rundir import RunDir
from runner.record.unfinished import missing_questions, resume_command
from runner.score.label_metrics import ACCURACY
from runner.types import LABELS

PUBLISHED: Final = "published_"  # prefix of a metric against the gold as published, where a patch changed it


@dataclass(frozen=True)
class RunRecord:
    """A run with its config and its instrument, each read once."""

    run: RunDir
    config: dict[str, Any]
    instrument: Instrument


@dataclass(frozen=True)
class Arm:
    """A recorded run, opened for a gate."""

    name: str
    run: RunDir
    config: dict[str, Any]
    instrument: Instrument
    summary: Figures
    metric: str
    settings: GateConfig
    data: Columns

    @property
    def left(self) -> int:
        """Questions of the slice without a row."""
        return max(0, self.instrument.census.questions - len(self.data))

    @property
    def state(self) -> str:
        return "complete" if self.left == 0 else "incomplete"

    @property
    def reason(self) -> str:
        return missing_questions(self.run, self.instrument, self.left)

    @property
    def resume(self) -> str:
        """The command that finishes the run."""
        return resume_command(self.run, self.instrument)

    @property
    def retry_advice(self) -> str:
        """The way to ask the failed questions again, in words."""
        if self.config["judge"]["provider"] == "imported":
            return "ask them again where they were asked, and import the results once more"
        return f"ask them again with: {self.resume} --retry-errors"

    @property
    def knows_retrieval(self) -> bool:
        """Tell whether the record says what was retrieved; results of another harness do not."""
        return bool((self.data.retrieval != b":").any())

    @property
    def headline(self) -> float | None:
        """The metric over the denominator that the gate reads."""
        groups = self.summary.groups
        name = COMPARABLE if self.settings.categories == "comparable" else ALL
        value = groups.get(name + PATCHED, groups.get(name, {})).get(self.metric)
        if value is None and metrics_of(self.instrument.harness).pair(self.metric) is not None and self.scored:
            value = self.values[self.headline_rows & self.data.ok & np.isfinite(self.values)].mean()
        return float(value) if isinstance(value, int | float) else None

    @property
    def usd(self) -> float | None:
        """Money spent on models; ``None`` when a price is unknown."""
        spent = [stage.usd for stage in self.summary.usage.values()]
        known = [usd for usd in spent if not isinstance(usd, str)]
        return float(sum(known)) if len(known) == len(spent) else None

    @property
    def values(self) -> NDArray[np.float64]:
        """The metric of every row; NaN where it is not measurable. An abstention is not correct: it counts as wrong."""
        return self.data.correct if self.metric == ACCURACY else self.data.values[self.metric]

    @property
    def means(self) -> NDArray[np.float64]:
        """The metric of every row averaged over its valid repeats, where there are several labels; else its value."""
        if self.metric != ACCURACY:
            return self.values
        return np.where(self.data.repeated, self.data.share, self.values)

    @property
    def headline_rows(self) -> NDArray[np.bool_]:
        """The rows of the denominator that the gate reads, failed ones included."""
        comparable = self.data.of_categories(self.instrument.harness.comparable)
        wide = self.settings.categories == "all"
        return (comparable | wide) & ~self.data.excluded

    @property
    def flip_rate(self) -> float | None:
        """Share of the headline's repeated questions whose valid labels differ."""
        repeated = int((self.data.repeated & self.headline_rows).sum())
        return int((self.data.flipped & self.headline_rows).sum()) / repeated if repeated else None

    @property
    def scored(self) -> int:
        """Questions of the headline that have a value."""
        values = self.values
        return int((self.headline_rows & self.data.ok & np.isfinite(values)).sum())

    @property
    def errors(self) -> int:
        """Failed questions of the headline."""
        return int((~self.data.ok & self.headline_rows).sum())

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "run": self.run.path.name,
            "state": self.state,
            "metric": self.metric,
            "value": self.headline,
            "scored": self.scored,
            "rows": self.summary.rows,
            "errors": self.errors,
            "statuses": self.summary.statuses,
            "flip_rate": self.flip_rate,
            "usd": "unknown" if self.usd is None else self.usd,
            "search_seconds": self.summary.search_seconds,
            "fakes": self.instrument.fakes,
            "served": self.summary.served,
        }


def read_record(run: RunDir) -> RunRecord:
    """Read the config and the instrument of a run.

    Raises
    ------
    RecordError
        When one of them cannot be read.
    """
    instrument = run.instrument()
    return RunRecord(run, run.experiment().model_dump(mode="json"), instrument)


def open_arm(source: RunDir | RunRecord, name: str, settings: GateConfig) -> Arm:
    """Read a recorded run for a gate; of a :class:`RunRecord` only the rows and the summary.

    Raises
    ------
    UsageError
        When the run has no such metric.
    """
    record = source if isinstance(source, RunRecord) else read_record(source)
    run, instrument = record.run, record.instrument
    metric = instrument.harness.headline if settings.metric == "auto" else settings.metric
    metrics = metrics_of(instrument.harness)
    made = metrics.pair(metric)
    parts = (
        question_pairs.recorded_metrics(made) if made else () if metric == ACCURACY else (metric, PUBLISHED + metric)
    )
    data = columns(run, parts)
    _check_slice(run, instrument, data)
    if made is not None:
        data = question_pairs.with_pair_values(data, made, metric, PUBLISHED + metric)
    if metric == ACCURACY and instrument.axis == "recall":
        raise UsageError(f"gate.metric={metric}: these runs have no reader; they are on the recall axis")
    summary = summary_of(run, instrument)
    if metric != ACCURACY and len(data) and data.ok.any():
        known = {key for group in summary.groups.values() for key in group if isinstance(group[key], float)}
        known = {key for key in known if not key.startswith((PUBLISHED, "accuracy"))} | {ACCURACY} & known
        if metric not in known and not np.isfinite(data.values[metric]).any() and settings.metric != "auto":
            raise UsageError(
                f"gate.metric={metric}: not recorded in {run.path.name}; there are {', '.join(sorted(known))}"
            )
    if metric != ACCURACY:
        _check_shares(run, metrics, metric, data)
    return Arm(name, run, record.config, instrument, summary, metric, settings, data)


def _check_shares(run: RunDir, metrics: Metrics, name: str, data: Columns) -> None:
    """Hold a metric against what a gate compares: shares of which more is better.

    Raises
    ------
    UsageError
        When the benchmark declares that it is something else, or its values say so.
    RecordError
        When it is a share, and a value lies outside 0 .. 1.
    """
    shown = "`report` shows it, or name another metric"
    own = metrics.own(name)
    if own is not None and not own.share:
        counted = f"is counted in {own.unit}" if own.unit else "is not a share"
        raise UsageError(f"gate.metric={name}: it {counted}, and a gate compares shares; {shown}")
    if own is not None and own.higher is False:
        raise UsageError(f"gate.metric={name}: less of it is better, and a gate passes what has more; {shown}")
    if np.nanmin(data.values[name], initial=0) < 0 or np.nanmax(data.values[name], initial=0) > 1:
        declared = metrics.find(name)
        if declared is not None and declared.share:
            raise RecordError(
                f"{run.rows_path}: {name} lies outside 0 .. 1; it is not a share, or the record is "
                f"damaged: run it again"
            )
        raise UsageError(
            f"gate.metric={name}: its values in {run.path.name} lie outside 0 .. 1, and a gate compares shares; {shown}"
        )


def _check_slice(run: RunDir, instrument: Instrument, data: Columns) -> None:
    """Hold the rows against the slice that the instrument pins.

    Raises
    ------
    RecordError
        When they are other questions, or rows carry a label that no judge gives.
    """
    expected = instrument.census.questions
    if len(data) > expected or (len(data) == expected and expected and data.digest != instrument.rows["slice.sha256"]):
        raise RecordError(f"{run.rows_path}: holds other questions than its slice; the record is damaged: run it again")
    if instrument.axis != "recall":
        strange = [
            name
            for code, name in enumerate(data.labels)
            if name not in LABELS and (data.ok & (data.label == code)).any()
        ]
        if strange:
            raise RecordError(f"{run.rows_path}: the label '{strange[0]}' is not one that a judge gives: run it again")
