"""The rows of a run as columns: what a gate reads, for a million rows in seconds and bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from runner.errors import RecordError
from runner.record import column_cache, journal
from runner.record.id_set import IdSet
from runner.record.rundir import RunDir
from runner.types import CORRECT, GOLD_EXCLUDED, OK, STATUSES

_MAX_ID: Final = 256


class _GateRow(msgspec.Struct, gc=False):
    """The part of a row that a gate reads; the decoder skips the rest."""

    id: str
    cluster: str
    category: str
    status: str = OK
    label: str = ""
    labels: tuple[str, ...] = ()
    metrics: dict[str, float | None] = {}
    keys: str = ""
    context: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """The rows of a run, one column per field, sorted by question id (each of shape ``(n,)``).

    ``values`` maps a metric to floats with NaN for "not measurable"; NaN never leaves this module's users: it is a
    mask, not a number.
    """

    ids: NDArray[np.bytes_]
    cluster: NDArray[np.int32]
    clusters: list[str]
    category: NDArray[np.int32]
    categories: list[str]
    status: NDArray[np.int8]  # position in types.STATUSES
    label: NDArray[np.int16]
    labels: list[str]
    flipped: NDArray[np.bool_]  # at least two valid repeats whose labels differ
    repeated: NDArray[np.bool_]  # at least two valid repeats
    share: NDArray[np.float64]  # of the valid repeats that are CORRECT; NaN unless repeated
    retrieval: NDArray[np.bytes_]  # digest of keys and context
    excluded: NDArray[np.bool_]  # gold patched away
    values: dict[str, NDArray[np.float64]]
    digest: str  # of the question ids, as the instrument's `slice.sha256`

    @property
    def ok(self) -> NDArray[np.bool_]:
        fine: NDArray[np.bool_] = self.status == 0
        return fine

    def of_categories(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Return which rows are of one of these categories."""
        codes = [code for code, name in enumerate(self.categories) if name in names]
        chosen: NDArray[np.bool_] = np.isin(self.category, codes)
        return chosen

    @property
    def correct(self) -> NDArray[np.float64]:
        """1 for every row that is labelled ``CORRECT``, else 0: an abstention is not correct, it counts as wrong."""
        if CORRECT not in self.labels:
            return np.zeros(len(self), dtype=np.float64)
        right: NDArray[np.bool_] = self.label == self.labels.index(CORRECT)
        return right.astype(np.float64)

    def agree_on(self, other: Columns, what: str) -> bool:
        """Return whether both give every question the same cluster, or category; their ids line up."""
        mine, theirs = getattr(self, what), getattr(other, what)
        names = {"cluster": "clusters", "category": "categories"}[what]
        if getattr(self, names) == getattr(other, names):
            return bool(np.array_equal(mine, theirs))
        left, right = np.array(getattr(self, names))[mine], np.array(getattr(other, names))[theirs]
        return bool(np.array_equal(left, right))

    def __len__(self) -> int:
        return len(self.ids)


class _Codes(dict[str, int]):
    """Strings to small integers, in order of first sight."""

    def __missing__(self, name: str) -> int:
        code = self[name] = len(self)
        return code

    def ranked(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], list[str]]:
        """Return the codes renumbered in the order of their names, and those names."""
        names = sorted(self)
        rank = np.zeros(max(1, len(names)), dtype=np.int32)
        for position, name in enumerate(names):
            rank[self[name]] = position
        return rank[codes], names


class _Statuses(dict[str, int]):
    """Positions in ``types.STATUSES``; any other word is damage."""

    def __missing__(self, name: str) -> int:
        raise RecordError(f"rows.jsonl: this version does not know the status '{name}'; run it again")


def columns(run: RunDir, metrics: Sequence[str]) -> Columns:
    """Read a run's rows; where a question was asked again (a retried error), its last row counts.

    A large run is read once, and from the user's cache the next time.

    Raises
    ------
    RecordError
        When a line is damaged or a field is not of its kind.
    """
    kept = column_cache.cache_path(run.rows_path, metrics)
    found = None if kept is None else column_cache.load(kept)
    if found is not None:
        fields: dict[str, Any] = {**found[0], **found[1]}
        with contextlib.suppress(KeyError, TypeError):  # of another version: read the rows
            values = {name: fields.pop(f"value {position}") for position, name in enumerate(metrics)}
            return Columns(**fields, values=values)
    read = _read(run, metrics)
    if kept is not None:
        plain = {name: value for name, value in vars(read).items() if name != "values"}
        arrays = {name: value for name, value in plain.items() if isinstance(value, np.ndarray)}
        arrays |= {f"value {position}": read.values[name] for position, name in enumerate(metrics)}
        column_cache.store(kept, arrays, {name: value for name, value in plain.items() if name not in arrays})
    return read


def _read(run: RunDir, metrics: Sequence[str]) -> Columns:
    cluster, category, label = _Codes(), _Codes(), _Codes()
    status = _Statuses({name: code for code, name in enumerate(STATUSES)})
    parts: list[tuple[NDArray[Any], ...]] = []
    for rows in journal.batches(run.rows_path, _GateRow):
        ids = np.array([row.id.encode() for row in rows], dtype=np.bytes_)
        if ids.dtype.itemsize > _MAX_ID:
            raise RecordError(f"{run.rows_path}: a question id is longer than {_MAX_ID} bytes")
        repeats = [_valid(row.labels) if len(row.labels) > 1 else () for row in rows]
        parts.append(
            (
                ids,
                np.array([cluster[row.cluster] for row in rows], dtype=np.int32),
                np.array([category[row.category] for row in rows], dtype=np.int32),
                np.array([status[row.status] for row in rows], dtype=np.int8),
                np.array([label[row.label] for row in rows], dtype=np.int16),
                np.array([len(set(valid)) > 1 for valid in repeats], dtype=np.bool_),
                np.array([len(valid) > 1 for valid in repeats], dtype=np.bool_),
                np.array([valid.count(CORRECT) / len(valid) if len(valid) > 1 else np.nan for valid in repeats], "f8"),
                np.array([f"{row.keys[:16]}:{row.context[:16]}".encode() for row in rows], dtype="S33"),
                np.array([GOLD_EXCLUDED in row.flags for row in rows], dtype=np.bool_),
                *(np.array([row.metrics.get(name) for row in rows], dtype=np.float64) for name in metrics),
            )
        )
    if not parts:
        parts.append(_empty_columns(len(metrics)))
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    parts.clear()
    order = np.argsort(joined[0], kind="stable")
    ids = joined[0][order]
    last = np.ones(len(ids), dtype=np.bool_)
    last[:-1] = ids[1:] != ids[:-1]
    keep = order[last]
    identity = IdSet()
    identity.add(ids[last].tolist())
    codes, clusters = cluster.ranked(joined[1][keep])
    groups, categories = category.ranked(joined[2][keep])
    return Columns(
        ids=ids[last],
        cluster=codes,
        clusters=clusters,
        category=groups,
        categories=categories,
        status=joined[3][keep],
        label=joined[4][keep],
        labels=list(label),
        flipped=joined[5][keep],
        repeated=joined[6][keep],
        share=joined[7][keep],
        retrieval=joined[8][keep],
        excluded=joined[9][keep],
        values={name: joined[10 + position][keep] for position, name in enumerate(metrics)},
        digest=identity.hexdigest(),
    )


def _valid(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label for label in labels if label not in STATUSES)


def _empty_columns(metrics: int) -> tuple[NDArray[Any], ...]:
    kinds: list[Any] = ["S1", np.int32, np.int32, np.int8, np.int16, np.bool_, np.bool_, "f8", "S33", np.bool_]
    return tuple(np.zeros(0, dtype=kind) for kind in [*kinds, *([np.float64] * metrics)])
