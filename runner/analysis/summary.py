"""Recorded rows to metrics by category: derived, so that it can be rebuilt at any time, offline, without a model."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec import UNSET

from runner.analysis.metrics import label_f1_of, pairs_of
from runner.record import journal
from runner.record.files import Figures, Group, IngestTotals, Instrument, StageUsage
from runner.record.rundir import RunDir
from runner.record.usage import add
from runner.score.label_metrics import accuracy, label_f1
from runner.score.pairs import PAIRS, pair_scores
from runner.score.retrieval import SOURCES_PER_HIT
from runner.stats.agreement import identical_share
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, OK, SEARCH_CACHED, STATUSES, Ingest, Row, Usage

COMPARABLE: Final = "overall_comparable"
ALL: Final = "overall_all"
PATCHED: Final = "_patched"  # suffix: the same without the questions whose gold a patch excludes


@dataclass
class _Group:
    """Running sums of one set of questions."""

    questions: int = 0
    errors: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    sums: dict[str, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        self.questions += 1
        if row.status != OK:
            self.errors += 1
            return
        if row.label:
            self.labels[row.label] += 1
        for name, value in row.metrics.items():
            if value is not None:
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.counts[name] += 1

    def metrics(self) -> Group:
        """Return the metrics of the group; a metric without a denominator is ``None``, never NaN."""
        graded = sum(self.labels.values())
        measured = [n for name, n in self.counts.items() if name != SOURCES_PER_HIT.name]
        out: Group = {
            "questions": self.questions,
            "scored": graded or max(measured, default=0),
            "errors": self.errors,
        }
        out |= accuracy(self.labels, self.errors)
        for name in sorted(self.sums, key=_natural):
            # Rounded, so that the order in which rows were finished does not show in the last digit.
            out[name] = round(self.sums[name] / self.counts[name], 12)
        return out


def _natural(name: str) -> tuple[str, int]:
    head, _, tail = name.partition("@")
    return (head, int(tail) if tail.isdigit() else 0)


def _latest(rows: Iterable[Row]) -> Iterator[Row]:
    """Each question's last row."""
    last: dict[str, Row] = {}
    for row in rows:
        last[row.id] = row
    yield from last.values()


def summary_of(run: RunDir, recorded: Instrument) -> Figures:
    """Return the recorded summary while it still is one of the rows on disk, else a rebuilt one."""
    written = run.summary()
    try:
        size = run.rows_path.stat().st_size
    except OSError:
        size = 0
    return written if written is not None and written.rows_bytes == size else summarise(run, recorded)


def summarise(run: RunDir, recorded: Instrument) -> Figures:
    """Compute everything that ``summary.json`` holds but the state.

    Parameters
    ----------
    run
        The run directory.
    recorded
        Its instrument, for categories and the expected number of questions.

    Returns
    -------
    Figures
        ``groups`` maps ``overall_comparable``, ``overall_all`` and each category to its metrics. Questions whose row
        is an error are counted and are in no denominator; the two bounds say what they could have changed.
    """
    ids = array("q", (hash(row.id) for row in run.rows()))
    distinct = len(np.unique(np.frombuffer(ids, dtype=np.int64))) if ids else 0
    rows = run.rows() if distinct == len(ids) else _latest(run.rows())

    about = recorded.harness
    comparable = set(about.comparable)
    names = about.categories
    groups: dict[str, _Group] = {COMPARABLE: _Group(), ALL: _Group()}
    patched: dict[str, _Group] = {COMPARABLE + PATCHED: _Group(), ALL + PATCHED: _Group()}
    by_category: dict[str, _Group] = {}
    by_tag: dict[tuple[str, str], _Group] = {}
    tagged = about.tags
    retrieved: list[tuple[str, ...]] = []  # a digest per repeat, of memories that answer by themselves
    statuses: Counter[str] = Counter()
    flags: Counter[str] = Counter()
    samples: dict[str, str] = {}  # the first error of each status
    usage: dict[str, Usage] = {}
    served: set[str] = set()
    seconds = array("d")
    first, last, repatched = float("inf"), float("-inf"), False
    for row in rows:
        statuses[row.status] += 1
        if row.status != OK:
            samples.setdefault(row.status, row.error)
        flags.update(row.flags)
        excluded = GOLD_EXCLUDED in row.flags
        repatched = repatched or excluded or GOLD_FIXED in row.flags
        groups[ALL].add(row)
        by_category.setdefault(row.category, _Group()).add(row)
        for tag in tagged:
            if tag in row.tags:
                by_tag.setdefault((tag, row.tags[tag]), _Group()).add(row)
        if row.repeat_keys:
            retrieved.append(row.repeat_keys)
        if not excluded:
            patched[ALL + PATCHED].add(row)
        if row.category in comparable:
            groups[COMPARABLE].add(row)
            if not excluded:
                patched[COMPARABLE + PATCHED].add(row)
        search = row.usage.get("search")
        if search is not None:
            usage["search"] = add(usage.get("search"), search)
            if SEARCH_CACHED not in row.flags:
                seconds.append(search.seconds)
        served.update(name for name in row.models if name)
        if row.started:
            first, last = min(first, row.started), max(last, row.started)
    # Every call that was paid, those of questions that were asked again or never finished included.
    for call in run.calls():
        usage[call.role] = add(usage.get(call.role), call.completion.usage)
    if repatched:
        groups.update(patched)
    by_name = {name: group.metrics() for name, group in groups.items()}
    if about.macro:
        by_name[about.macro] = _averaged([by_category[key].metrics() for key in sorted(comparable & set(by_category))])
    of_category = {key: by_category[key].metrics() for key in sorted(by_category, key=lambda c: (len(c), c))}
    named = label_f1_of(about)
    if named is not None:
        metric, made = named
        every, mean = label_f1(of_category, comparable, made.prefix)
        for key, f1 in every.items():
            if key in of_category:
                of_category[key][metric] = _rounded(f1)
        by_name[COMPARABLE][made.macro] = _rounded(mean)
    by_name |= {f"{key} {names.get(key, key)}": group for key, group in of_category.items()}
    order = {tag: at for at, tag in enumerate(tagged)}
    for tag, value in sorted(by_tag, key=lambda item: (order[item[0]], _natural_text(item[1]))):
        by_name[f"{tag}: {value}"] = by_tag[tag, value].metrics()
    of_pairs = pairs_of(about)
    pairs = pair_scores(run.rows(), of_pairs) if of_pairs else {}
    whole = pairs.get(PAIRS)
    if whole:
        by_name[PAIRS] = {"questions": 2 * whole, "scored": whole, "errors": 0, **pairs}
    failed = sum(statuses[name] for name in STATUSES if name != OK)
    return Figures(
        rows_bytes=run.rows_path.stat().st_size if run.rows_path.exists() else 0,
        rows=distinct,
        left=max(0, recorded.census.questions - distinct),
        errors=failed,
        error_share=failed / distinct if distinct else 0.0,
        statuses=dict(statuses),
        samples=samples,
        flags=dict(sorted(flags.items())),
        groups=by_name,
        usage={stage: stage_usage(usage[stage]) for stage in usage},
        ingest=_ingest(run),
        search_seconds=_percentiles(seconds),
        identical_share=identical_share(retrieved) if retrieved else UNSET,
        served=sorted(served),
        window=(first, last) if distinct and first <= last else None,
    )


def _averaged(groups: list[Group]) -> Group:
    """Return the mean of every share over categories, each counting alike; without what one of them lacks."""
    means: Group = {}
    for name in groups[0] if groups else ():
        shares = [share for group in groups if isinstance(share := group.get(name), float)]
        if len(shares) == len(groups):
            means[name] = sum(shares) / len(shares)
    return {**{name: sum(group[name] or 0 for group in groups) for name in ("questions", "scored", "errors")}, **means}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 12)


def _natural_text(value: str) -> list[tuple[int, int, str]]:
    """Numbers within a text in their order: 2k before 16k."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", value) if part]


def stage_usage(usage: Usage) -> StageUsage:
    """Return what one stage used, as a record has it; money that is not known is ``"unknown"``."""
    return StageUsage(
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        usd="unknown" if usage.usd is None else round(usage.usd, 8),
        seconds=round(usage.seconds, 6),
        tokens="measured" if usage.measured else "estimated",
    )


def _ingest(run: RunDir) -> IngestTotals:
    scenarios = events = computed = reused = 0
    written = settled = 0.0
    for item in journal.read(run.path / "ingest.jsonl", Ingest):
        scenarios += 1
        events += item.receipt.events
        computed += item.receipt.computed
        reused += item.receipt.reused
        written += item.write_seconds
        settled += item.settle_seconds
    return IngestTotals(
        scenarios=scenarios,
        events=events,
        seconds=round(written + settled, 6),
        embeddings_computed=computed,
        embeddings_reused=reused,
    )


def _percentiles(seconds: array[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    values = np.frombuffer(seconds, dtype=np.float64)
    p50, p90 = np.percentile(values, [50, 90])
    return {"p50": round(float(p50), 6), "p90": round(float(p90), 6)}
