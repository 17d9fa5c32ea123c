"""The source of MemoryAgentBench's rows: four Parquet files, one per competency, and the movies of one task.

``harness.dataset.path`` may name the folder that holds the four files (or its parent, as the published repository has
them in ``data``), or one file, Parquet, a JSON list or JSON lines: then that file is all the data. Without it the
pinned files are downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runner.config import Dataset
from runner.data.source import DataFiles, configured_path, joined, locate, published_name
from runner.errors import DatasetError

MOVIES: Final = "entity2id.json"
COLUMNS: Final = (  # no other is read: demo, previous_events and the ids of pairs stay where they are
    *("context", "questions", "answers", "metadata.source", "metadata.question_ids", "metadata.question_dates"),
    *("metadata.question_types", "metadata.keypoints", "metadata.haystack_sessions"),
)


@dataclass(frozen=True)
class RowFiles(DataFiles):
    """Files of rows; the digest also covers ``movies``, which is ``None`` where the mapping is not at hand."""

    movies: Path | None = None


def columns_read(names: Sequence[str]) -> list[str]:
    """Return the columns of a Parquet file that are read."""
    return [name for name in names if name in COLUMNS]


def find(benchmark: str, dataset: Dataset, more: Sequence[Dataset], movies: Dataset | None) -> RowFiles:
    """Find, download and verify.

    Parameters
    ----------
    benchmark
        Its name, part of the names in the cache.
    dataset, more
        The data, and its further files. With a local copy, ``dataset.sha256`` of ``None`` takes all of it unpinned.
    movies
        The mapping of movies to ids; ``None`` where the slice does not need it.

    Raises
    ------
    DatasetError
        When anything is missing, cannot be read or does not match its pin.
    """
    parts = [dataset, *more]
    beside: Path | None = None
    if dataset.path is not None:
        path = configured_path(dataset.path)
        beside = path if path.is_dir() else path.parent
        parts = _folder(path, parts) if path.is_dir() else [_alone(path, parts)]
    files = [locate(benchmark, part) for part in parts]
    mapping = None if movies is None else _movies(benchmark, movies, beside, unpinned=dataset.sha256 is None)
    whole = joined([*files, *([mapping] if mapping else [])])
    rows = whole.paths[: len(files)]
    return RowFiles(rows, whole.sha256, whole.pinned, movies=mapping.path if mapping else None)


def _folder(path: Path, parts: Sequence[Dataset]) -> list[Dataset]:
    """The parts as they lie in a folder, each with its own pin unless the data is taken unpinned."""
    names = [published_name(part) for part in parts]
    for root in (path, path / "data"):
        if not any((root / name).is_file() for name in names):
            continue
        missing = [name for name in names if not (root / name).is_file()]
        if missing:
            raise DatasetError(
                f"{root} lacks {', '.join(missing)} of {len(names)} files; put them there, or name one file "
                f"to use it alone (harness.dataset.path={root / next(n for n in names if n not in missing)})"
            )
        return [_at(part, root / name, parts[0]) for part, name in zip(parts, names, strict=True)]
    raise DatasetError(
        f"{path} holds none of {', '.join(names)}, nor does its folder 'data'; name the folder or the one "
        "file that does (harness.dataset.path)"
    )


def _alone(path: Path, parts: Sequence[Dataset]) -> Dataset:
    """One file is all the data; a published name has its own pin."""
    part = next((part for part in parts if published_name(part) == path.name), parts[0])
    return _at(part, path, parts[0])


def _at(part: Dataset, path: Path, first: Dataset) -> Dataset:
    pin = part.sha256 if first.sha256 is not None else None
    return part.model_copy(update={"path": str(path), "sha256": pin})


def _movies(benchmark: str, movies: Dataset, beside: Path | None, *, unpinned: bool) -> DataFiles | None:
    if movies.path is None and beside is not None:
        # A local copy is not completed from elsewhere: what is not there is told when it is needed.
        local = next((root / MOVIES for root in (beside, beside.parent) if (root / MOVIES).is_file()), None)
        if local is None:
            return None
        movies = movies.model_copy(update={"path": str(local)})
    if unpinned and beside is not None:
        movies = movies.model_copy(update={"sha256": None})
    return locate(benchmark, movies) if movies.path or movies.url else None
