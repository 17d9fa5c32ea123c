"""An arm of a sweep, watched against the baseline while it runs (``run.stop_when_decided``).

After every finished cluster the e-value of :class:`runner.stats.sequential.SignWatch` is looked at; when it decides,
the arm stops. A gate does the same again from the two journals in their order, and trusts nothing that is said here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runner.analysis.metrics import metrics_of
from runner.config import Experiment, GateConfig
from runner.early_stop.baseline import baseline_of
from runner.errors import Decided, RunnerError
from runner.record.columns import Columns, columns
from runner.record.compare import compare
from runner.record.files import Instrument
from runner.record.rundir import RunDir
from runner.score.label_metrics import ACCURACY
from runner.stats.sequential import ALPHA, SignWatch, least_units
from runner.types import CORRECT, OK, Row

STOPS_AT: Final = 1 / ALPHA


def contradictions(experiment: Experiment) -> list[str]:
    """Return the settings that contradict stopping early, one line each."""
    if not experiment.run.stop_when_decided:
        return []
    gate, key = experiment.gate, "run.stop_when_decided"
    lines = []
    if gate.min_delta:
        lines.append(
            f"{key}: the e-value tests a difference of 0, and gate.min_delta={gate.min_delta:g} asks for another one; "
            f"leave one of the two out"
        )
    if gate.interval == "percentile":
        lines.append(
            f"{key}: gate.interval=percentile decides by that interval alone, which may be looked at once, at the end; "
            f"leave one of the two out"
        )
    if not gate.enabled:
        lines.append(f"{key}: there is no gate to decide anything (gate.enabled=false); leave one of the two out")
    return lines


def single_run_problem() -> str:
    """Return what to say to a single run with the setting."""
    return (
        "run.stop_when_decided: a single run has no baseline to be decided against; sweep (-m +arm=BASELINE,ARM), or "
        "leave it out"
    )


def too_few_clusters(clusters: int, unit: str) -> str | None:
    """Return what so few clusters mean for a watched arm; ``None`` when they are enough to decide."""
    least = least_units()
    if clusters >= least:
        return None
    return (
        f"run.stop_when_decided: {clusters} {unit}s can never decide early (it takes {least} that all go one way), so "
        f"that every arm runs to its end"
    )


class Watch:
    """Compares the rows of one arm, in the order in which they finish, with the recorded rows of the baseline.

    What counts is what the gate counts: questions of its categories whose gold stands, failed in neither arm.

    Parameters
    ----------
    baseline
        The baseline's rows, all of them, with the metric among its values.
    metric
        The one that the gate reads.
    counted
        Categories that count.
    max_error_share
        Above it, in either arm, the gate refuses: the arm is not stopped then.
    """

    def __init__(self, baseline: Columns, metric: str, counted: Collection[str], max_error_share: float = 1.0) -> None:
        self._metric = metric
        self._share = max_error_share
        self._ids = ids = baseline.ids
        rows = np.flatnonzero(baseline.of_categories(counted) & ~baseline.excluded)
        self._retrieval = baseline.retrieval
        self._ok = baseline.ok
        self._item: NDArray[np.intp] = np.full(len(ids), -1, dtype=np.intp)
        self._item[rows] = np.arange(rows.size)
        values = baseline.correct if metric == ACCURACY else baseline.values[metric]
        self._values = np.where(self._ok, values, np.nan)[rows]
        self.signs = SignWatch(np.unique(baseline.cluster[rows], return_inverse=True)[1])
        self._counted, self._lost_here, self._lost_there = (np.zeros(rows.size, dtype=np.bool_) for _ in range(3))
        self._different = False

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, row: Row) -> bool:
        """Add a finished row; return whether the arm may stop now."""
        name = row.id.encode()
        place = int(np.searchsorted(self._ids, np.bytes_(name)))
        if place == len(self._ids) or self._ids[place] != name:
            return self.stops
        fine = row.status == OK
        if fine and self._ok[place]:
            self._different |= f"{row.keys[:16]}:{row.context[:16]}".encode() != self._retrieval[place]
        item = int(self._item[place])
        if item < 0:
            return self.stops
        value = _value(row, self._metric) if fine else np.nan
        there = self._values[item]
        self._counted[item] = not (fine and self._ok[place] and np.isnan(value) and np.isnan(there))
        self._lost_here[item] = self._counted[item] and np.isnan(value)
        self._lost_there[item] = self._counted[item] and np.isnan(there)
        self.signs.add(item, value - there)
        return self.stops

    @property
    def stops(self) -> bool:
        """Tell whether it is decided, by rows that the gate accepts: not vacuous, and few of them failed."""
        if self.signs.crossing is None or not self._different:
            return False
        limit = self._share * int(self._counted.sum())
        return max(int(self._lost_here.sum()), int(self._lost_there.sum())) <= limit

    def decided(self, against: str, unit: str) -> Decided:
        """Return why the arm stops. Needs a crossing."""
        crossing = self.signs.crossing
        assert crossing is not None
        said = standing(crossing.wins, crossing.losses, crossing.ties, crossing.e_value, unit)
        return Decided(f"decided early against {against}: {said}", crossing.to_dict())


def standing(wins: int, losses: int, ties: int, e_value: float, unit: str) -> str:
    """Return an e-value in words."""
    counts = f"{wins} {unit}{'' if wins == 1 else 's'} won, {losses} lost" + (f", {ties} tied" if ties else "")
    return f"{counts}, e-value {e_value:.3g} ({STOPS_AT:.0f} decides)"


def _value(row: Row, metric: str) -> float:
    if metric == ACCURACY:
        return float(row.label == CORRECT)
    value = row.metrics.get(metric)
    return np.nan if value is None else float(value)


def watch_against(baseline: RunDir, settings: GateConfig, instrument: Instrument) -> tuple[Watch, str]:
    """Return a watch against a recorded baseline, and the metric that it reads.

    Raises
    ------
    RecordError
        When the baseline cannot be read.
    """
    about = instrument.harness
    metric = about.headline if settings.metric == "auto" else settings.metric
    rows = columns(baseline, [] if metric == ACCURACY else [metric])
    counted = about.comparable if settings.categories == "comparable" else rows.categories
    return Watch(rows, metric, counted, settings.max_error_share), metric


class WatchedArm:
    """A watch with its description: the baseline, the metric and the null hypothesis."""

    def __init__(self, watch: Watch, against: RunDir, metric: str, unit: str) -> None:
        self.watch = watch
        self.against = against.path.name
        self.unit = "question" if watch.signs.single else unit
        self.note = (
            f"watched against {self.against} by {metric}: it stops when the e-value over {self.unit}s reaches "
            f"{STOPS_AT:.0f} (run.stop_when_decided)"
        )
        self.record: dict[str, Any] = {
            "against": self.against,
            "against_run_id": against.provenance().run_id,
            "metric": metric,
            "unit": self.unit,
            "units": watch.signs.clusters,
            "alpha": ALPHA,
            "null": f"each {self.unit} is as likely to be won as lost",
        }

    def add(self, row: Row) -> Decided | None:
        """Add a finished row; return why to stop, if the arm is decided."""
        return self.watch.decided(self.against, self.unit) if self.watch.add(row) else None


def begin_watch(run: RunDir, experiment: Experiment, instrument: Instrument) -> WatchedArm | str:
    """Begin to watch an arm whose instrument is known, or say in a line why it is not watched.

    Parameters
    ----------
    run
        The arm's run.
    experiment
        Its config.
    instrument
        As recorded: comparability with the baseline must hold before watching begins.
    """
    if experiment.run.from_:
        return "its answers are recorded, and only graded anew"
    baseline = baseline_of(run, experiment)
    if isinstance(baseline, str):
        return baseline
    try:
        theirs = baseline.instrument()
        found = compare(
            baseline.experiment().model_dump(mode="json"),
            experiment.model_dump(mode="json"),
            theirs.rows,
            instrument.rows,
            experiment.gate.treatment,
            experiment.gate.same,
        )
        if found.confounds:
            return f"not comparable with {baseline.path.name}: {found.confounds[0].line()}"
        if found.null:
            return "the same configuration twice measures noise, and is never stopped"
        fakes = [*theirs.fakes, *instrument.fakes]
        if fakes:
            return f"{fakes[0]} is a fake: there will be no verdict"
        watch, metric = watch_against(baseline, experiment.gate, instrument)
        if metrics_of(instrument.harness).pair(metric) is not None:
            return f"{metric} is a score of two questions, which no single row tells"
        expected = theirs.census.questions
        rows = len(watch)
    except RunnerError as error:
        return f"the baseline {baseline.path.name} cannot be read ({error})"
    if rows < expected:
        return f"the baseline {baseline.path.name} is not finished: {expected - rows} questions are missing"
    few = too_few_clusters(watch.signs.clusters, "question" if watch.signs.single else instrument.harness.cluster)
    return few or WatchedArm(watch, baseline, metric, instrument.harness.cluster)
