"""Misses by stage, on the terminal and as JSON: counts by category first, then miss by miss."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from runner.analysis.misses import ERROR, EXCLUDED, OUTCOMES, RIGHT, UNMEASURED, Miss, Missed
from runner.report.console import category, counted, text
from runner.score.failure_stage import STAGES, UNKNOWN
from runner.types import Hit

_CLIP: Final = 400  # characters of an answer or a context that a terminal shows; --json has all
_HIT: Final = 160  # the same of a hit
_FIRST: Final = 3  # hits shown, beside those from the evidence
_NAMED: Final = 8  # evidence events told one by one


def failure_table(missed: Missed) -> Group:
    """Return misses by category and stage; errors stand apart, since an error is not a miss."""
    columns = [stage for stage in STAGES if stage != UNKNOWN or missed.counts()[UNKNOWN]]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("questions of")
    for name in ("n", "missed", *columns, "errors"):
        shown.add_column(name, justify="right")
    lines = [(category(name), missed.counts(key)) for key, name in missed.categories.items()]
    total = missed.counts()
    for name, counts in (*lines, ("all", total)):
        misses = sum(counts[stage] for stage in STAGES)
        cells = (misses + counts[RIGHT], misses, *(counts[stage] for stage in columns), counts[ERROR] or "")
        shown.add_row(text(name), *map(str, cells))
    if len(missed):
        shares = (f"{100 * total[stage] / len(missed):.0f}%" for stage in columns)
        shown.add_row(text("share of misses", "italic"), "", "", *shares, "")
    return Group(shown, *(text(line, "dim") for line in _notes(missed, total)))


def _notes(missed: Missed, total: Mapping[str, int]) -> Iterator[str]:
    if missed.instrument.fakes:
        yield f"FAKE: {', '.join(missed.instrument.fakes)}: a first look, never a result"
    if not missed.accuracy:
        depth = "all hits" if missed.k is None else f"the first {missed.k} hits"
        yield f"recall axis: missed is a question none of whose hits comes from its evidence ({depth} count)"
    if total[EXCLUDED]:
        yield f"gold patched away, left out: {counted(total[EXCLUDED], 'question')}"
    if total[UNMEASURED]:
        why = "without a label" if missed.accuracy else "without evidence, or with hits that name no events"
        yield f"not measurable, left out: {counted(total[UNMEASURED], 'question')} {why}"
    if missed.untold:
        yield f"{counted(missed.untold, 'miss', 'misses')} without recorded texts: counted as {UNKNOWN}, not listed"
    left = missed.instrument.census.questions - sum(total.values())
    if left > 0:
        yield f"unfinished: {counted(left, 'question')} not asked yet"


def failure_details(misses: Iterable[Miss]) -> Iterator[Group]:
    """Yield each miss as a person reads it, long texts clipped."""
    for miss in misses:
        yield Group(*_miss_lines(miss))


def _miss_lines(miss: Miss) -> Iterator[Text]:
    texts, gold = miss.texts, miss.texts.gold
    head = " · ".join(part for part in (texts.id, category(miss.category), miss.label, miss.failure.stage) if part)
    yield text(f"\n{_flat(head)}", "bold")

    def line(name: str, value: str, clip: int = _CLIP) -> Text:
        return text(f"  {name:<9}{_clipped(value, clip)}")

    yield line("why", miss.failure.why)
    yield line("question", texts.question)
    wanted = "that the memory does not hold it" if gold.abstain else " | ".join(gold.answers)
    for name, value in (("gold", wanted), ("points", " | ".join(gold.points))):
        if value:
            yield line(name, value)
    for answer, times in _repeated(texts.answers):
        yield line("answer", answer if times == len(texts.answers) else f"({times} of {len(texts.answers)}) {answer}")
    if miss.evidence:
        named = "; ".join(
            f"{one.id} {'not delivered' if one.rank is None else f'at rank {one.rank}'}"
            f"{'' if one.stored is None else ', stored' if one.stored else ', not stored'}"
            for one in miss.evidence[:_NAMED]
        )
        rest = len(miss.evidence) - _NAMED
        yield line("evidence", f"{named}; and {rest} more" if rest > 0 else named, len(named) + 20)
    yield from _delivered(miss)


def _delivered(miss: Miss) -> Iterator[Text]:
    """Yield the first hits and those from the evidence, or the context where no hits are recorded."""
    hits, ranks = miss.texts.hits, {one.rank for one in miss.evidence}
    if not hits:
        yield text(f"  delivered {_clipped(miss.texts.context, _CLIP) or 'nothing'}")
        return
    shown = [rank for rank in range(1, len(hits) + 1) if rank <= _FIRST or rank in ranks]
    yield text(f"  delivered {counted(len(hits), 'hit')}" + (", * from the evidence" if ranks - {None} else ""))
    before = 0
    for rank in shown[: _FIRST + _NAMED]:
        if rank > before + 1:
            yield text("    …", "dim")
        before = rank
        mark = "*" if rank in ranks else " "
        yield text(f"   {mark}{rank:>3}  {_clipped(_line(hits[rank - 1]), _HIT)}", "" if rank in ranks else "dim")
    if before < len(hits):
        yield text("    …", "dim")


def _line(hit: Hit) -> str:
    return hit.text if hit.time is None else f"[{hit.time:%d %B %Y}] {hit.text}"


def _repeated(answers: Sequence[str]) -> Iterator[tuple[str, int]]:
    for answer in dict.fromkeys(answers):
        yield answer, answers.count(answer)


def _flat(value: str) -> str:
    """Return it as one line: what is recorded must not pass for a line of ours."""
    return " ".join(value.split())


def _clipped(value: str, length: int) -> str:
    flat = _flat(value[: 4 * length])
    return flat if len(flat) <= length and len(value) <= 4 * length else f"{flat[:length].rstrip()} …"


def transition_table(first: str, second: str, table_of: Mapping[str, Mapping[str, int]]) -> Group:
    """Return a table of how the questions of each stage ended in another arm."""
    columns = [name for name in OUTCOMES if any(row.get(name) for row in table_of.values())]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column(text(f"in {first}"))
    for name in ("questions", *columns):
        shown.add_column(name, justify="right")
    for stage, row in table_of.items():
        shown.add_row(stage, str(sum(row.values())), *(str(row[name] or "") for name in columns))
    note = "questions that are right or missed in both; what an arm is worth, the gate says"
    return Group(text(f"\n{first} → {second}", "bold"), shown, text(note, "dim"))


# --- JSON ------------------------------------------------------------------------------------------------------------


def failures_json(missed: Missed, misses: Iterable[Miss]) -> Iterator[str]:
    """Yield one run as JSON, in pieces: its misses are never all in memory."""
    by_category = {name: missed.counts(key) for key, name in missed.categories.items()}
    head = {
        "axis": "accuracy" if missed.accuracy else "recall",
        "fakes": missed.instrument.fakes,
        "missed": len(missed),
        "untold": missed.untold,
        "outcomes": missed.counts(),
        "by_category": by_category,
    }
    yield _json(head)[:-1] + ', "misses": ['
    for number, miss in enumerate(misses):
        yield (",\n" if number else "\n") + _json(miss.to_dict())
    yield "]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
