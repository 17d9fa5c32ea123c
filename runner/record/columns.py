"""The rows of a run as columns: what a gate reads, for a million rows in seconds and bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from runner.errors import RecordError
from runner.record import journal
from runner.record.rundir import RunDir
from runner.types import OK, STATUSES

_CHUNK: Final = 50_000
_MAX_ID: Final = 256


class _GateRow(msgspec.Struct):
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
    """One run, a column a field, sorted by question id (each of shape ``(n,)``).

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
    retrieval: NDArray[np.bytes_]  # digest of keys and context
    excluded: NDArray[np.bool_]  # gold patched away
    values: dict[str, NDArray[np.float64]]

    @property
    def ok(self) -> NDArray[np.bool_]:
        fine: NDArray[np.bool_] = self.status == 0
        return fine

    def __len__(self) -> int:
        return len(self.ids)


class _Codes:
    """Strings to small integers, in order of first sight."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        code = self._codes.get(name)
        if code is None:
            code = self._codes[name] = len(self.names)
            self.names.append(name)
        return code


def columns(run: RunDir, metrics: Sequence[str]) -> Columns:
    """Read a run's rows; where a question was asked again (a retried error), its last row counts.

    Raises
    ------
    RecordError
        When a line is damaged or a field is not of its kind.
    """
    cluster, category, label = _Codes(), _Codes(), _Codes()
    status_code = {name: code for code, name in enumerate(STATUSES)}
    parts: list[tuple[NDArray[np.generic], ...]] = []
    buffer: list[tuple[object, ...]] = []

    def flush() -> None:
        if not buffer:
            return
        ids, *fixed, retrieval, values = zip(*buffer, strict=True)
        parts.append(
            (
                np.array(ids, dtype=np.bytes_),
                *(np.array(column, dtype=kind) for column, kind in zip(fixed, _KINDS, strict=True)),
                np.array(retrieval, dtype="S33"),
                np.array(values, dtype=np.float64).reshape(len(buffer), len(metrics)),
            )
        )
        buffer.clear()

    nan = float("nan")
    for row in journal.read(run.rows_path, _GateRow):
        identity = row.id.encode()
        if len(identity) > _MAX_ID:
            raise RecordError(f"{run.rows_path}: a question id is longer than {_MAX_ID} bytes")
        if row.status not in status_code:
            raise RecordError(f"{run.rows_path}: question '{row.id}' has the unknown status '{row.status}'")
        valid = [name for name in row.labels if name not in status_code]
        found = [row.metrics.get(name) for name in metrics]
        buffer.append(
            (
                identity,
                cluster(row.cluster),
                category(row.category),
                status_code[row.status],
                label(row.label),
                len(set(valid)) > 1,
                len(valid) > 1,
                "gold_excluded" in row.flags,
                f"{row.keys[:16]}:{row.context[:16]}".encode(),
                [nan if value is None else value for value in found],
            )
        )
        if len(buffer) >= _CHUNK:
            flush()
    flush()
    if not parts:
        empty = np.zeros(0)
        return Columns(
            ids=empty.astype(np.bytes_),
            cluster=empty.astype(np.int32),
            clusters=[],
            category=empty.astype(np.int32),
            categories=[],
            status=empty.astype(np.int8),
            label=empty.astype(np.int16),
            labels=[],
            flipped=empty.astype(bool),
            repeated=empty.astype(bool),
            retrieval=empty.astype("S33"),
            excluded=empty.astype(bool),
            values=dict.fromkeys(metrics, empty),
        )
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    parts.clear()
    order = np.argsort(joined[0], kind="stable")
    ids = joined[0][order]
    last = np.ones(len(ids), dtype=bool)
    last[:-1] = ids[1:] != ids[:-1]
    keep = order[last]
    ids, codes, groups, status, labels, flipped, repeated, excluded, retrieval, values = (c[keep] for c in joined)
    return Columns(
        ids=ids,
        cluster=codes,
        clusters=cluster.names,
        category=groups,
        categories=category.names,
        status=status,
        label=labels,
        labels=label.names,
        flipped=flipped,
        repeated=repeated,
        retrieval=retrieval,
        excluded=excluded,
        values={name: values[:, i] for i, name in enumerate(metrics)},
    )


_KINDS: Final = (np.int32, np.int32, np.int8, np.int16, np.bool_, np.bool_, np.bool_)
