"""Declarations of the metrics of a run: those of its benchmark, else those of the shipped metric of that name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Final

import msgspec
from msgspec.structs import replace

from runner import harness as harnesses
from runner.record.files import HarnessFacts
from runner.score import label_metrics, lexical_answers
from runner.score.lexical import ANSWER_EM, ANSWER_F1, ROUGE_L_RECALL
from runner.score.pairs import made_of_pairs
from runner.score.retrieval import BEST_COS_RANK, SOURCES_PER_HIT, profile_metrics
from runner.types import LabelF1, Metric, PairProduct

RUNNERS: Final = (*label_metrics.METRICS, SOURCES_PER_HIT, *lexical_answers.METRICS)  # measured of every benchmark


class Metrics:
    """Look-up of metrics by the name that rows have.

    Parameters
    ----------
    declared
        Those of the benchmark; ``None`` where a record has none.
    name
        Of the benchmark, for a record without them.
    """

    def __init__(self, declared: Iterable[Metric] | None, name: str = "") -> None:
        self._earlier = declared is None
        self._own = {metric.name: metric for metric in declared or ()}
        theirs = shipped_metrics(name) if declared is None else self._own.values()
        self._known = {metric.name: metric for metric in (*RUNNERS, *theirs)}

    def find(self, name: str) -> Metric | None:
        """Return the declaration of a metric; ``None`` of one that nothing declares."""
        return _find(self._known, name) or _find(catalogue(), name)

    def own(self, name: str) -> Metric | None:
        """Return the declaration that the run itself has of a metric; ``None`` where it has none."""
        return _find(self._own, name)

    def pair(self, name: str) -> PairProduct | None:
        """Return what a metric of pairs is made of; ``None`` of another."""
        metric = self.find(name)
        return metric.made if metric is not None and isinstance(metric.made, PairProduct) else None

    def columns(self, headline: str, axis: str, k: int, measured: Collection[str]) -> list[Metric]:
        """Return the columns of a table, in their order: the headline first, then what was measured.

        A record without declarations keeps the columns that its table had when it was made, where it had the headline.

        Parameters
        ----------
        headline
            Name of the metric that is always shown.
        axis
            ``recall`` or ``accuracy``.
        k
            The depth at which a metric of the first K hits is shown.
        measured
            Names of all that the run has a figure of.
        """
        strange = any(_find(self._known, name) is None for name in measured)
        more = catalogue().values() if strange else ()
        every = (*self._known.values(), *(metric for metric in more if metric.name not in self._known))
        ordered = [metric for metric in label_metrics.METRICS if metric.shown == axis]
        theirs = [metric for metric in every if metric not in RUNNERS]
        ordered += [metric for metric in theirs if metric.shown == axis]
        ordered += [metric for metric in lexical_answers.METRICS if metric.shown == axis]
        ordered += [metric for metric in theirs if metric.shown == "always"]
        shown = {metric.name: metric for metric in (at_depth(one, k) for one in ordered) if metric.name in measured}
        declared = self.find(headline)
        if self._earlier and declared is not None:
            return list(shown.values())
        first = at_depth(declared or Metric(headline), k, headline)
        return [first, *(metric for name, metric in shown.items() if name != headline)]


def metrics_of(about: HarnessFacts) -> Metrics:
    """Return the metrics of a recorded run."""
    return Metrics(None if about.metrics is msgspec.UNSET else about.metrics, about.name)


def pairs_of(about: HarnessFacts) -> dict[str, PairProduct]:
    """Return the metrics of pairs that a summary of this run has, by name."""
    return made_of_pairs(about.metrics or (catalogue().values() if about.paired else ()))


def label_f1_of(about: HarnessFacts) -> tuple[str, LabelF1] | None:
    """Return the metric by which a summary of this run has F1 by category; ``None`` where answers name no category."""
    known: Iterable[Metric] = about.metrics or (catalogue().values() if about.classifies else ())
    return next(((metric.name, metric.made) for metric in known if isinstance(metric.made, LabelF1)), None)


def at_depth(metric: Metric, k: int, name: str = "") -> Metric:
    """Return the metric under the name that rows have: ``recall@K`` as ``recall@10``, or as it is named."""
    return replace(metric, name=name or metric.name.replace("@K", f"@{k}"))


def shipped_metrics(name: str) -> Sequence[Metric]:
    """Return the metrics that a shipped benchmark declares, and none for any other benchmark.

    The code of a benchmark that is not shipped is never imported to read a record.
    """
    return harnesses.find(name).metrics if name in harnesses.shipped() else ()


@cache
def catalogue() -> dict[str, Metric]:
    """Return every metric of the shipped benchmarks by name, those that several have in common first."""
    shared = (*profile_metrics("session_"), BEST_COS_RANK, ANSWER_EM, ANSWER_F1, ROUGE_L_RECALL)
    theirs = (metric for name in harnesses.shipped() for metric in shipped_metrics(name))
    found: dict[str, Metric] = {}
    for metric in (*RUNNERS, *shared, *theirs):
        found.setdefault(metric.name, metric)
    return found


def _find(known: dict[str, Metric], name: str) -> Metric | None:
    head, at, depth = name.partition("@")
    return known.get(name) or (known.get(f"{head}@K") if at and depth.isdigit() else None)
