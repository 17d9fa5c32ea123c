"""Metrics of two questions that share a cluster, scored as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Final

from runner.types import Metric, PairProduct, Row

PAIRS: Final = "pairs"  # the group of a summary, and how many there are


def made_of_pairs(metrics: Iterable[Metric]) -> dict[str, PairProduct]:
    """Return those of the metrics that are made of pairs, by name."""
    return {metric.name: metric.made for metric in metrics if isinstance(metric.made, PairProduct)}


def pair_scores(rows: Iterable[Row], made: Mapping[str, PairProduct]) -> dict[str, float | int | None]:
    """Return the mean of every metric of pairs over the pairs that are whole in ``rows``.

    Rows carry means over repeats; the product of a row's mean with the other's is the mean over every combination of
    their repeats, and with one repeat it is the official number.

    Parameters
    ----------
    rows
        The two questions of a pair share their cluster, and a tag tells them apart.
    made
        By name; all of one benchmark, which pairs its questions in one way.

    Returns
    -------
    dict
        ``pairs``, and each metric by name: ``None`` without a pair that has what it is made of.
    """
    rule = next(iter(made.values()))
    tag, value = rule.second_tag
    first: dict[str, Row] = {}
    second: dict[str, Row] = {}
    for row in rows:
        side = second if row.tags.get(tag) == value else first
        side[row.cluster] = row
    values: dict[str, list[float]] = {name: [] for name in made}
    pairs = 0
    for cluster in sorted(first.keys() & second.keys()):
        one, two = first[cluster].metrics, second[cluster].metrics
        if one.get(rule.both) is None or two.get(rule.both) is None:
            continue
        pairs += 1
        for name, parts in made.items():
            factors = _values(two, parts.second) + _values(one, parts.first)
            if len(factors) == len(parts.second) + len(parts.first):
                values[name].append(prod(factors))
    return {PAIRS: pairs, **{name: sum(found) / len(found) if found else None for name, found in values.items()}}


def _values(metrics: Mapping[str, float | None], names: Sequence[str]) -> list[float]:
    return [value for name in names if (value := metrics.get(name)) is not None]
