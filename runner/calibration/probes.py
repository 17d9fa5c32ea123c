"""Probes: answers whose truth is known, by which a judge's errors are counted.

For one item there are three: its gold (known right), the gold of another item of its category (known wrong, specific),
and an answer that stays on the topic and says nothing (known wrong, vague). The item is the same for all three and the
first two are worded alike, so that a difference in how often they pass is the judge's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from runner.calibration import templates
from runner.config import SliceConfig
from runner.errors import UsageError
from runner.harness import Harness
from runner.stats.allocation import proportional_counts
from runner.types import GOLD_EXCLUDED, Question

RIGHT: Final = "right"
SPECIFIC: Final = "specific"
VAGUE: Final = "vague"
KINDS: Final = (RIGHT, SPECIFIC, VAGUE)
WORDS: Final[Mapping[str, str]] = {
    RIGHT: "known right",
    SPECIFIC: "known wrong, specific",
    VAGUE: "known wrong, vague",
}


@dataclass(frozen=True)
class ProbeItem:
    """A question with an answer, and where it stands in the benchmark."""

    question: Question
    scenario: str
    cluster: str

    @property
    def golds(self) -> list[str]:
        """Return every accepted answer."""
        return [gold for gold in self.question.gold.answers if gold.strip()]

    @property
    def gold(self) -> str:
        """Return the first accepted answer."""
        return self.golds[0]


@dataclass(frozen=True)
class Probe:
    """One answer to be graded. ``fact`` is what it states (empty for a vague one), ``donor`` whose gold that is."""

    item: ProbeItem
    kind: str
    text: str
    template: str
    fact: str = ""
    donor: str = ""

    @property
    def id(self) -> str:
        return f"{self.item.question.id}#{self.kind}"


@dataclass(frozen=True)
class ProbePlan:
    """The probes of a calibration, in a fixed order.

    ``eligible`` counts the items that could be probed, by category; ``left_out`` those that could not, and the probes
    that could not be made, by reason.
    """

    probes: list[Probe]
    eligible: dict[str, int]
    left_out: dict[str, int] = field(default_factory=dict)


def plan_probes(harness: Harness, chosen: SliceConfig, per_kind: int, seed: int) -> ProbePlan:
    """Build the probes of a slice.

    Parameters
    ----------
    per_kind
        Probes of each kind; fewer where the slice holds fewer items. Each category has its share of the slice, so that
        the rates over all of them speak of the headline.
    seed
        Of every choice: items, templates and wrong answers. The order of the data does not matter.

    Raises
    ------
    UsageError
        When no item of the slice has an answer to grade.
    """
    left_out: Counter[str] = Counter()
    groups: dict[str, list[ProbeItem]] = {}
    for item in _items(harness, chosen, left_out):
        groups.setdefault(item.question.category, []).append(item)
    if not groups:
        told = ", ".join(f"{n} {reason}" for reason, n in left_out.items())
        raise UsageError(f"calibrate: no item of the slice can be probed ({told}); widen the slice")
    probes: list[Probe] = []
    quota = proportional_counts({name: len(items) for name, items in groups.items()}, per_kind)
    for category in sorted(groups):
        items = sorted(groups[category], key=lambda item: item.question.id)
        random.Random(f"{seed}:{category}").shuffle(items)
        for item in items[: quota[category]]:
            probes += _probes_of(item, items, seed, left_out)
    return ProbePlan(
        probes, {name: len(items) for name, items in sorted(groups.items())}, dict(sorted(left_out.items()))
    )


def _items(harness: Harness, chosen: SliceConfig, left_out: Counter[str]) -> Iterable[ProbeItem]:
    for scenario in harness.load(chosen):
        for question in scenario.questions:
            item = ProbeItem(question, scenario.id, question.cluster or scenario.cluster)
            if question.gold.abstain:
                left_out["items whose right answer is to abstain"] += 1
            elif not item.golds:
                left_out["items without gold"] += 1
            elif GOLD_EXCLUDED in harness.flags(question):
                left_out["items whose gold a patch excludes"] += 1
            elif templates.is_refusal(item.gold):
                left_out["items whose gold reads as a refusal"] += 1
            else:
                yield item


def _probes_of(item: ProbeItem, others: Sequence[ProbeItem], seed: int, left_out: Counter[str]) -> Iterable[Probe]:
    draw = random.Random(f"{seed}:{item.question.id}")
    template = draw.choice(sorted(templates.ANSWERS))
    yield Probe(item, RIGHT, templates.fill_answer(template, item.gold), template, item.gold, item.question.id)
    donor = _donor(item, others, template, draw)
    if donor is None:
        left_out[f"{WORDS[SPECIFIC]}: no other answer of the category is surely wrong"] += 1
    else:
        yield Probe(
            item, SPECIFIC, templates.fill_answer(template, donor.gold), template, donor.gold, donor.question.id
        )
    for name in [draw.choice(sorted(templates.VAGUE)), *draw.sample(templates.TOPICLESS, k=len(templates.TOPICLESS))]:
        text = templates.fill_vague(name, item.question.text)
        if not holds_gold(text, item) and not templates.is_refusal(text):
            yield Probe(item, VAGUE, text, name)
            return
    left_out[f"{WORDS[VAGUE]}: every wording holds the answer"] += 1


def holds_gold(text: str, item: ProbeItem) -> bool:
    """Return whether a text holds the words of an accepted answer of an item."""
    return any(templates.has_words_of(text, gold) for gold in item.golds)


def _donor(item: ProbeItem, others: Sequence[ProbeItem], template: str, draw: random.Random) -> ProbeItem | None:
    """Return another item of the category whose gold is surely wrong here, from a seeded place in a shuffled list.

    One that asks in the same way comes first: a date where a date is asked for is harder to tell from the truth, as a
    real wrong answer is.
    """
    begin = draw.randrange(len(others))
    turned = [*others[begin:], *others[:begin]]
    wanted = templates.interrogative(item.question.text)
    alike = (other for other in turned if templates.interrogative(other.question.text) == wanted)
    return next((other for other in chain(alike, turned) if _is_wrong(other, item, template)), None)


def _is_wrong(other: ProbeItem, item: ProbeItem, template: str) -> bool:
    if other is item or any(templates.same_answer(other.gold, gold) for gold in item.golds):
        return False
    text = templates.fill_answer(template, other.gold)
    return not holds_gold(text, item) and not templates.is_refusal(text)
