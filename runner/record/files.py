"""The JSON files of a run directory as typed data: what a reader may rely on, and nothing else.

A recorded run is untrusted. Decoding is strict about kinds and about numbers (JSON has no NaN and no Infinity), so that
an edited or damaged file is one clear error where it is read, and not a crash or a false figure further on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from runner.errors import RecordError
from runner.types import Metric

T = TypeVar("T")


class About(Struct, kw_only=True):
    """What a gate must know of the harness, without importing it."""

    name: str
    synthetic: bool = False
    cluster: str = "cluster"
    categories: dict[str, str]
    comparable: list[str]
    headline: str
    rubrics: list[str] = field(default_factory=list)  # the benchmark's own rubric files
    macro: str = ""  # what the mean over the comparable categories is called
    tags: list[str] = []  # by which a summary groups as well
    metrics: list[Metric] | UnsetType = UNSET  # as the benchmark declares them; unset: recorded before it did
    classifies: bool = False  # of such an older record: answers name a category
    paired: bool = False  # of such an older record: questions are scored in pairs as well
    thresholds: dict[str, float] = {}  # what a smoke run must reach, by metric


class Counted(Struct, kw_only=True):
    """The slice, counted."""

    questions: int
    scenarios: int = 0
    clusters: int = 0
    events: int = 0
    by_category: dict[str, int] = field(default_factory=dict)


class Checked(Struct, kw_only=True):
    """What the last ``check`` of the system found before this run; both empty when there was none."""

    checked: str = ""
    broken: list[str] = field(default_factory=list)


class Instrument(Struct, kw_only=True):
    """``instrument.json``."""

    format: int
    runner: str = "unknown"
    rows: dict[str, str | int | float | bool | dict[str, Any] | list[Any] | None]
    fakes: list[str] = field(default_factory=list)
    harness: About
    census: Counted
    conformance: Checked = field(default_factory=Checked)


class Spent(Struct, kw_only=True):
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    usd: float | str
    seconds: float
    tokens: str


class Ingested(Struct, kw_only=True):
    scenarios: int
    events: int
    seconds: float
    embeddings_computed: int
    embeddings_reused: int


class Summary(Struct, kw_only=True):
    """``summary.json``: derived, so that one that does not decode is made again from the rows."""

    state: str
    reason: str = ""
    decided: dict[str, int | float] = field(default_factory=dict)  # of a watched arm that stopped early
    rows_bytes: int
    rows: int
    left: int
    errors: int
    error_share: float
    statuses: dict[str, int]
    samples: dict[str, str]
    flags: dict[str, int]
    groups: dict[str, dict[str, int | float | None]]
    usage: dict[str, Spent]
    ingest: Ingested
    search_seconds: dict[str, float] | None
    served: list[str]
    window: tuple[float, float] | None


def decode(path: Path, kind: type[T]) -> T | None:
    """A JSON file as that type; ``None`` when it is not there.

    Raises
    ------
    RecordError
        When it cannot be read or holds something else.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has no end
            raise RecordError(f"{path}: not a regular file")
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror})") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise RecordError(f"{path}: damaged, or not written by this version ({error}); run it again") from None
