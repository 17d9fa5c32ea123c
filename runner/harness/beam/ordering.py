"""Score of an answer that orders events: does it name those of a reference, in the reference's order?

Source: BEAM (Tavakoli et al. 2025, arXiv 2510.27246), event ordering. The published figure aligns with a model that is
asked about every pair; here the alignment is **lexical**: deterministic, free and blind to paraphrase. A figure made
with it says so in its name and does not compare with one that a model aligned.

Words are :func:`runner.score.lexical.stemmed_tokens` (Porter-stemmed) less the stop words below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runner.score.lexical import stemmed_tokens
from runner.types import Metric

METRICS: Final = tuple(
    Metric(f"event_ordering_{name}", share=True, shown="never") for name in ("lexical", "tau_norm", "f1")
)
ENOUGH: Final = 0.5  # of a reference event's words that an item must hold to be that event

# As the stemmer leaves them: this is "thi", was is "wa".
_STOP: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a an and are as at be been but by did do for from had has have he her his how i in into is it its me my of on "
        "or our she so than that the their them then there they thi to us wa was we were what when where which who "
        "will with you your",
    )
)
_MARK: Final = re.compile(r"(?:^|(?<=[\s:;,.]))\(?\d{1,2}[.)](?=\s|[A-Za-z*\"'])")
_BULLET: Final = re.compile(r"^\s*(?:[-*•–—]+|\(?\d{1,2}[.):]|\(?[a-z][.)]|#+)\s*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(*])")
_JOINT: Final = re.compile(r"\s*(?:;|→|->|,\s*(?:and\s+)?then\b|\bfollowed by\b|\band then\b)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Ordering:
    """Score of an answer that puts events in order.

    Attributes
    ----------
    score
        ``((tau_b + 1) / 2) * f1``; for a reference of one event, which has no order, 1 if it is all that was named,
        else 0 (the published code scores it like any other).
    tau_b
        Kendall's tau-b over the union of both lists, what is missing from one tied at the end (rank ``len + 1``);
        ``None`` where it is undefined, because one list is empty or there is but one event (with the published code's
        rules: one event and nothing else).
    single
        The reference has one event: nothing was ordered.
    """

    score: float
    tau_b: float | None
    precision: float
    recall: float
    f1: float
    single: bool

    @property
    def tau_norm(self) -> float | None:
        """``(tau_b + 1) / 2``, in [0, 1]."""
        return None if self.tau_b is None else (self.tau_b + 1) / 2


def items_in(answer: str) -> list[str]:
    """The items that an answer lists, in its order, without their marks.

    Numbers in the text ("1) … 2) …") cut it where there are two or more; else its lines do, less an introduction that
    ends in a colon; else, in a single line, "then", ";" and arrows, or its sentences.
    """
    marks = list(_MARK.finditer(answer))
    if len(marks) > 1:
        ends = [mark.start() for mark in marks[1:]] + [len(answer)]
        parts = [answer[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
    else:
        parts = [line for line in answer.splitlines() if line.strip()]
        if len(parts) > 1:
            parts = [line for line in parts if _BULLET.match(line) or not line.rstrip().endswith(":")]
        if len(parts) == 1:
            parts = _JOINT.split(parts[0])
            if len(parts) == 1:
                parts = _SENTENCE.split(parts[0])
    bare = (_BULLET.sub("", part).strip(" \t\n,;.*") for part in parts)
    return [part for part in bare if part]


def lines_in(answer: str) -> list[str]:
    """The items as BEAM's published code takes them: every line, blank ones and introductions included."""
    return answer.split("\n")


def align(items: Sequence[str], reference: Sequence[str], *, first: bool = False) -> list[str]:
    """Name every item by the reference event that it is, else by itself.

    An item is an event when it holds at least :data:`ENOUGH` of the event's words. Each event is taken once: by the
    item that holds most of it (``first=False``), or, as in BEAM's published code, each item in turn takes the first
    event that is left and fits.

    Parameters
    ----------
    items
        What the answer lists.
    reference
        The events, in order.

    Returns
    -------
    list of str
        As long as ``items``.
    """
    said = [_words(item) for item in items]
    wanted = [_words(event) for event in reference]
    pairs: list[tuple[float, float, int, int]] = []
    for left, item in enumerate(said):
        for right, event in enumerate(wanted):
            held = _held(item, event, items[left], reference[right])
            if held >= ENOUGH:
                spread = 2 * len(item & event) / max(1, len(item) + len(event))
                pairs.append((-held, -spread, left, right))
    pairs.sort(key=(lambda pair: pair[2:]) if first else None)
    named = list(items)
    taken: set[int] = set()
    placed: set[int] = set()
    for *_, left, right in pairs:
        if left not in placed and right not in taken:
            named[left] = reference[right]
            placed.add(left)
            taken.add(right)
    return named


def ordering(reference: Sequence[str], said: Sequence[str], *, upstream: bool = False) -> Ordering:
    """Score an aligned list against the reference.

    Parameters
    ----------
    reference
        The events in order, each once.
    said
        The items of :func:`align` in the answer's order.
    upstream
        As BEAM's published code: an item that is named twice is ranked by its last mention, not by its first, and a
        reference of one event is ordered among what was said beside it.

    Raises
    ------
    ValueError
        Without a reference.
    """
    if not reference:
        raise ValueError("no reference: the order is not measurable for this question")
    events, named = set(reference), set(said)
    found = len(events & named)
    extra = sum(item not in events for item in said)
    precision = found / (found + extra) if found else 0.0
    recall = found / len(events)
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    single = len(events) == 1
    if single and (not upstream or named == events):
        return Ordering(float(named == events), None, precision, recall, f1, single=True)
    union = list(dict.fromkeys([*reference, *said]))
    tau_b = _tau_b(_ranks(reference, union, upstream), _ranks(said, union, upstream))
    score = 0.0 if tau_b is None else (tau_b + 1) / 2 * f1
    return Ordering(score, tau_b, precision, recall, f1, single)


def _ranks(items: Sequence[str], union: Sequence[str], last: bool) -> list[int]:
    ranks: dict[str, int] = {}
    for rank, item in enumerate(items, start=1):
        if last or item not in ranks:
            ranks[item] = rank
    return [ranks.get(item, len(union) + 1) for item in union]


def _tau_b(left: Sequence[int], right: Sequence[int]) -> float | None:
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None  # everything is tied: no order to compare
    from scipy.stats import kendalltau

    value = float(kendalltau(left, right, variant="b").statistic)
    return value if math.isfinite(value) else None


def _words(text: str) -> frozenset[str]:
    return frozenset(stemmed_tokens(text)) - _STOP


def _held(item: frozenset[str], event: frozenset[str], said: str, wanted: str) -> float:
    """Share of the event's words in the item; an event of stop words alone must be said as it stands."""
    if not event:
        return float(said.strip().casefold() == wanted.strip().casefold())
    return len(item & event) / len(event)
