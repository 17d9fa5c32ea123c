"""Long tables to paired arrays, strict about ids and repeats.

Every function here is strict about ids: an id that is missing on one side, or stands twice, is an error and never a
dropped row, because an arm must not choose its own denominator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runner.errors import UsageError
from runner.stats.agreement import ERROR, majority_label
from runner.stats.export import Exportable
from runner.stats.resample import Floats, as_values
from runner.types import CORRECT

Ids = Sequence[Hashable] | NDArray[Any]


@dataclass(frozen=True)
class Paired(Exportable):
    """Two arms over the same items, in the order of their ids, each array of shape (n,)."""

    ids: tuple[Hashable, ...]
    a: Floats
    b: Floats
    clusters: tuple[Hashable, ...] | None = None

    @property
    def deltas(self) -> Floats:
        """B − A, shape (n,)."""
        return self.b - self.a

    def __str__(self) -> str:
        clusters = "" if self.clusters is None else f", {len(set(self.clusters))} clusters"
        return f"{len(self.ids)} pairs{clusters}"


def pair_by_id(
    ids_a: Ids,
    a: ArrayLike,
    ids_b: Ids,
    b: ArrayLike,
    clusters: Mapping[Any, Hashable] | None = None,
) -> Paired:
    """Line two arms up by the ids of their items.

    Parameters
    ----------
    ids_a, ids_b
        One id per item, in any order; shapes (n,).
    a, b
        One value per item in each arm, in the unit that is to be compared; shapes (n,).
    clusters
        Id to cluster key; must have every id.

    Returns
    -------
    Paired
        Ready for :func:`runner.stats.paired.judge_pairs`: ``judge_pairs(p.a, p.b, p.clusters)``.

    Raises
    ------
    UsageError
        An id twice, an id in one arm only, an item without a cluster, or a value that is not finite.
    """
    left, right = _table(ids_a, a, "a"), _table(ids_b, b, "b")
    for name, other, mine, theirs in (("a", "b", left, right), ("b", "a", right, left)):
        alone = [item for item in mine if item not in theirs]
        if alone:
            raise UsageError(
                f"pairs: {len(alone)} of {len(mine)} ids of {name} are not in {other} (first {alone[0]!r}); pair the "
                f"same questions, or say on purpose which to leave out"
            )
    try:
        ids = tuple(sorted(left))  # type: ignore[type-var]
    except TypeError:
        raise UsageError("pairs: ids of mixed types cannot be sorted; make them all text") from None
    keys = None
    if clusters is not None:
        without = [item for item in ids if item not in clusters]
        if without:
            raise UsageError(
                f"clusters: {len(without)} ids have none (first {without[0]!r}); give every item its cluster, or none"
            )
        keys = tuple(clusters[item] for item in ids)
    return Paired(
        ids, np.array([left[item] for item in ids]), np.array([right[item] for item in ids], dtype=np.float64), keys
    )


def majority_by_id(ids: Ids, repeats: Sequence[int], labels: Sequence[str]) -> dict[Hashable, str]:
    """Return the majority label of each item from a long table with one line per repeat.

    Parameters
    ----------
    ids, repeats, labels
        One entry a line, shapes (lines,): the item, the number of the repeat, and its label (``CORRECT``, ``WRONG``,
        ``ABSTAIN``; anything else is an error of that repeat).

    Returns
    -------
    dict
        Id to :func:`~runner.stats.agreement.majority_label`, in the order of first sight.

    Raises
    ------
    UsageError
        Columns of different lengths, or two lines for one repeat of an item.
    """
    if not len(ids) == len(repeats) == len(labels):
        raise UsageError(f"labels: {len(ids)} ids, {len(repeats)} repeats and {len(labels)} labels; give one of each")
    twice = [key for key, n in Counter(zip(ids, repeats, strict=True)).items() if n > 1]
    if twice:
        item, repeat = twice[0]
        raise UsageError(f"labels: item {item!r} has two lines for repeat {repeat}; keep one ({len(twice)} such)")
    grouped: dict[Hashable, list[str]] = {}
    for item, label in zip(ids, labels, strict=True):
        grouped.setdefault(item, []).append(str(label))
    return {item: majority_label(found) for item, found in grouped.items()}


def correct_by_id(majority: Mapping[Any, str]) -> dict[Any, float]:
    """Return 1 for CORRECT, else 0; an item whose every repeat errored is left out: it has no answer."""
    return {item: float(label == CORRECT) for item, label in majority.items() if label != ERROR}


def _table(ids: Ids, values: ArrayLike, name: str) -> dict[Hashable, float]:
    keys = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    found = as_values(values, name)
    if len(keys) != found.size:
        raise UsageError(f"{name}: {len(keys)} ids for {found.size} values; give one id per item")
    table = dict(zip(keys, found.tolist(), strict=True))
    if len(table) < len(keys):
        item, times = Counter(keys).most_common(1)[0]
        raise UsageError(f"{name}: id {item!r} stands {times} times; keep one line per item, or take majorities first")
    return table
