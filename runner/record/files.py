"""The JSON files of a run directory as typed data: what a reader may rely on, and nothing else.

A recorded run is untrusted. Decoding is strict about kinds and about numbers (JSON has no NaN and no Infinity), so that
an edited or damaged file is one clear error where it is read, and not a crash or a false figure further on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field, structs, to_builtins

from runner.errors import RecordError
from runner.types import Metric

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


Value = str | int | float | bool | dict[str, Any] | list[Any] | None  # of a row of the instrument
Group = dict[str, int | float | None]  # figures of one set of questions, by metric


SUPERSEDED: Final = ("classifies", "paired")  # by a harness that declares its metrics


class HarnessFacts(Struct, kw_only=True):
    """The facts that a reader of the record must know of the harness, without importing it.

    Attributes
    ----------
    rubrics
        The benchmark's own rubric files.
    macro
        What the mean over the comparable categories is called; empty when there is none.
    tags
        Tags by which a summary groups as well.
    metrics
        As the benchmark declares them; unset in a record that is older than such declarations.
    classifies
        Of such an older record: answers name a category.
    paired
        Of such an older record: an answerable question and its twin are scored together as well.
    thresholds
        What a smoke run must reach, by metric.
    """

    name: str
    synthetic: bool = False
    cluster: str = "cluster"
    categories: dict[str, str]
    comparable: list[str]
    headline: str
    rubrics: list[str] = field(default_factory=list)
    macro: str = ""
    tags: list[str] = field(default_factory=list)
    metrics: list[Metric] | UnsetType = UNSET
    classifies: bool = False
    paired: bool = False
    thresholds: dict[str, float] = field(default_factory=dict)


class CensusCounts(Struct, kw_only=True):
    """The slice, counted."""

    questions: int
    scenarios: int = 0
    clusters: int = 0
    events: int = 0
    by_category: dict[str, int] = field(default_factory=dict)


class LastCheck(Struct, kw_only=True):
    """The result of the last ``check`` of the system before this run; both empty when there was none."""

    checked: str = ""
    broken: list[str] = field(default_factory=list)


class Instrument(Struct, kw_only=True):
    """``instrument.json``: the rows that must match for two runs to compare, and what a gate must know beside them."""

    format: int
    runner: str = "unknown"
    rows: dict[str, Value]
    fakes: list[str] = field(default_factory=list)
    harness: HarnessFacts
    census: CensusCounts
    conformance: LastCheck = field(default_factory=LastCheck)

    @property
    def axis(self) -> str | None:
        """``recall`` or ``accuracy``; ``None`` where the record does not tell."""
        axis = self.rows.get("axis")
        return axis if isinstance(axis, str) else None

    @property
    def k(self) -> int:
        """The depth of the search; 10 where the record does not tell."""
        k = self.rows.get("k")
        return k if isinstance(k, int) else 10


class StageUsage(Struct, kw_only=True):
    """The calls, tokens, money and seconds that one stage used; money that is not known is ``"unknown"``."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    usd: float | str
    seconds: float
    tokens: str  # measured or estimated


class IngestTotals(Struct, kw_only=True):
    """The scenarios and events that were ingested, and how long it took."""

    scenarios: int
    events: int
    seconds: float
    embeddings_computed: int
    embeddings_reused: int


class Figures(Struct, kw_only=True):
    """The figures that ``summary.json`` has beside the state: derived from the rows alone.

    Attributes
    ----------
    left
        Questions of the slice without a row.
    samples
        The first error of each status.
    groups
        ``overall_comparable``, ``overall_all`` and each category, with their metrics.
    identical_share
        Of a memory that answers by itself: how often its repeats retrieved the same.
    served
        Models that the servers say they served.
    window
        When the first question began and the last one, in seconds since 1970.
    """

    rows_bytes: int
    rows: int
    left: int
    errors: int
    error_share: float
    statuses: dict[str, int]
    samples: dict[str, str]
    flags: dict[str, int]
    groups: dict[str, Group]
    usage: dict[str, StageUsage]
    ingest: IngestTotals
    search_seconds: dict[str, float] | None
    identical_share: float | UnsetType | None = UNSET
    served: list[str]
    window: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = to_builtins(self)
        return plain


class Summary(Figures, kw_only=True):
    """``summary.json``: derived, so that one that does not decode is made again from the rows.

    ``reason`` says why a run stopped before its end; ``decided`` are the numbers of a watched arm that stopped early.
    """

    state: str
    reason: str = ""
    decided: dict[str, int | float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        plain = super().to_dict()
        return {name: plain.pop(name) for name in ("state", "reason", "decided")} | plain


class AnswerSource(Struct, kw_only=True):
    """The run whose answers a run grades, as ``provenance.json`` names it.

    ``answers`` is the hash of the texts that were recorded first; ``judge`` has the rows of the judge that graded them
    first.
    """

    run: str | None = None
    run_id: str | None = None
    rows_sha256: str | None = None
    texts_sha256: str | None = None
    answers: str = ""
    judge: dict[str, Value] | None = None


class WatchEntry(Struct, kw_only=True, rename={"why_not": "not"}):
    """One session under ``run.stop_when_decided``: against whom the arm was watched, or why it was not."""

    against: str | None = None
    against_run_id: str | None = None
    metric: str | None = None
    unit: str | None = None
    units: int | None = None
    why_not: str | None = None


class RunProvenance(Struct, kw_only=True):
    """The parts of ``provenance.json`` that a reader uses; a part of another type counts as not recorded."""

    run_id: str | None = None
    dataset: dict[str, Any] = field(default_factory=dict)
    system: dict[str, Any] = field(default_factory=dict)
    write_side: str | None = None
    source: AnswerSource | None = None
    watched: list[WatchEntry] = field(default_factory=list)

    @property
    def undeclared(self) -> list[str]:
        """Capabilities that the system did not declare."""
        names = self.system.get("undeclared")
        return [str(name) for name in names] if isinstance(names, list) else []


def provenance_from(plain: Mapping[str, Any]) -> RunProvenance:
    """Return ``provenance.json`` as typed data; it decides no figure, so a part of another type is left out."""
    source, watched = plain.get("source"), plain.get("watched")
    entries = [item for item in watched if isinstance(item, dict)] if isinstance(watched, list) else []
    return structs.replace(
        _well_typed(RunProvenance, {name: part for name, part in plain.items() if name not in ("source", "watched")}),
        source=_well_typed(AnswerSource, source) if isinstance(source, dict) and source else None,
        watched=[_well_typed(WatchEntry, entry) for entry in entries],
    )


def _well_typed(kind: type[S], plain: Mapping[str, Any]) -> S:
    """Return a struct of the parts that have its types."""
    parts: dict[str, Any] = {}
    for part in structs.fields(kind):
        if part.encode_name in plain:
            with suppress(msgspec.ValidationError):
                parts[part.name] = msgspec.convert(plain[part.encode_name], part.type)
    return kind(**parts)


def decode(path: Path, kind: type[T]) -> T | None:
    """Return a JSON file as that type; ``None`` when it is not there.

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
