"""Labels: the majority of repeats, how often repeats and arms disagree, accuracy and its named denominators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from runner.errors import UsageError
from runner.stats.export import Exportable
from runner.types import ABSTAIN, CORRECT, LABELS, WRONG

ERROR: Final = "ERROR"  # every repeat of an item errored


def valid_labels(labels: Sequence[str]) -> list[str]:
    """Return the repeats that did not error: those whose label a judge gave."""
    return [label for label in labels if label in LABELS]


def majority_label(labels: Sequence[str]) -> str:
    """The label of an item over its repeats.

    Repeats that errored are dropped. CORRECT when 2·correct > valid; ABSTAIN when 2·abstain > valid (the gate counts
    it as WRONG; :attr:`Tally.accuracy` leaves it out); otherwise WRONG, so that a tie is WRONG. ERROR only when every
    repeat errored.

    Parameters
    ----------
    labels
        One per repeat: a label, or the error status that took its place.

    Raises
    ------
    UsageError
        For an item without repeats.
    """
    if not labels:
        raise UsageError("labels: an item has no repeats; it was not run, so leave it out or resume the run")
    valid = valid_labels(labels)
    if not valid:
        return ERROR
    for label in (CORRECT, ABSTAIN):
        if 2 * valid.count(label) > len(valid):
            return label
    return WRONG


def flipped(labels: Sequence[str]) -> bool | None:
    """Return whether an item's valid repeats differ; ``None`` when fewer than two are valid."""
    valid = valid_labels(labels)
    return len(set(valid)) > 1 if len(valid) >= 2 else None


def flip_rate(items: Iterable[Sequence[str]]) -> float | None:
    """Share of items with at least two valid repeats whose labels differ; ``None`` when there is no such item."""
    flips = [flip for flip in map(flipped, items) if flip is not None]
    return sum(flips) / len(flips) if flips else None


def stable_pairs(a: Sequence[Sequence[str]], b: Sequence[Sequence[str]]) -> list[int]:
    """Positions of the pairs of which neither arm flipped: the stable-only pair, shown and never the gate.

    Raises
    ------
    UsageError
        When the arms have different numbers of items.
    """
    _same_length(len(a), len(b))
    return [i for i, (left, right) in enumerate(zip(a, b, strict=True)) if not flipped(left) and not flipped(right)]


def discordance(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Share of pairs whose majority labels differ; pairs with an ERROR are left out, ``None`` when none is left.

    Raises
    ------
    UsageError
        When the arms have different numbers of items.
    """
    pairs = _label_pairs(a, b)
    return sum(left != right for left, right in pairs) / len(pairs) if pairs else None


def identical_share(repeats: Iterable[Sequence[str]]) -> float | None:
    """Share of items whose repeats all retrieved the same keys.

    Near 1, a flip of the label was the reader's or the judge's; else the retrieval's.

    Parameters
    ----------
    repeats
        For each item, the digest of the ordered keys of each repeat.

    Returns
    -------
    float or None
        ``None`` when no item has two repeats.
    """
    same = [len(set(keys)) == 1 for keys in repeats if len(keys) >= 2]
    return sum(same) / len(same) if same else None


@dataclass(frozen=True)
class Agreement(Exportable):
    """Agreement of two raters. ``kappa`` is ``None`` where chance alone would agree always."""

    n: int
    raw: float
    expected: float
    kappa: float | None

    def __str__(self) -> str:
        kappa = "undefined: chance alone agrees always" if self.kappa is None else f"{self.kappa:.3f}"
        return f"agreement {self.raw:.3f} (n = {self.n}), kappa {kappa}"


def cohen_kappa(a: Sequence[str], b: Sequence[str]) -> Agreement:
    """Cohen's (1960) kappa, (raw − expected)/(1 − expected), over pairs that both raters labelled.

    Raises
    ------
    UsageError
        When the lists differ in length or no pair is labelled by both.
    """
    pairs = _label_pairs(a, b)
    if not pairs:
        raise UsageError("kappa: no item was labelled by both; check that the two files hold the same ids")
    n = len(pairs)
    left, right = Counter(pair[0] for pair in pairs), Counter(pair[1] for pair in pairs)
    agreed = sum(one == other for one, other in pairs)
    chance = sum(left[label] * right[label] for label in left)  # over n²: whole numbers, so that 1 is exactly 1
    kappa = None if chance == n * n else (agreed * n - chance) / (n * n - chance)
    return Agreement(n, agreed / n, chance / n**2, kappa)


@dataclass(frozen=True)
class Tally(Exportable):
    """Counts of majority labels."""

    correct: int
    wrong: int
    abstain: int = 0
    error: int = 0

    def __str__(self) -> str:
        share = self.accuracy_abstain_wrong
        graded = "no answer was graded" if share is None else f"accuracy_abstain_wrong {share:.3f}"
        return f"{graded}: {self.correct} correct, {self.wrong} wrong, {self.abstain} abstained, {self.error} errors"

    @property
    def accuracy(self) -> float | None:
        """C/(C+W): abstentions left out, which flatters an arm that abstains. ``None`` when nothing was answered."""
        return _share(self.correct, self.correct + self.wrong)

    @property
    def accuracy_abstain_wrong(self) -> float | None:
        """C/(C+W+A), the gate's denominator. ``None`` when nothing was graded."""
        return _share(self.correct, self.correct + self.wrong + self.abstain)

    @property
    def if_errors_wrong(self) -> float | None:
        """The gate's accuracy had every error been WRONG: its lower bound."""
        return _share(self.correct, self.total)

    @property
    def if_errors_right(self) -> float | None:
        """The gate's accuracy had every error been CORRECT: its upper bound."""
        return _share(self.correct + self.error, self.total)

    @property
    def error_share(self) -> float | None:
        return _share(self.error, self.total)

    @property
    def total(self) -> int:
        return self.correct + self.wrong + self.abstain + self.error

    def to_dict(self) -> dict[str, float | int | None]:
        """Counts, both accuracies by name, and their bounds."""
        return {
            **super().to_dict(),
            "accuracy": self.accuracy,
            "accuracy_abstain_wrong": self.accuracy_abstain_wrong,
            "if_errors_wrong": self.if_errors_wrong,
            "if_errors_right": self.if_errors_right,
        }


def tally(labels: Iterable[str]) -> Tally:
    """Count majority labels; anything that no judge gave is an error."""
    counts = Counter(labels)
    graded = {label: counts.pop(label, 0) for label in LABELS}
    return Tally(graded[CORRECT], graded[WRONG], graded[ABSTAIN], counts.total())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _same_length(a: int, b: int) -> None:
    if a != b:
        raise UsageError(f"labels: {a} against {b} items; pair them by id first")


def _label_pairs(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    _same_length(len(a), len(b))
    return [(left, right) for left, right in zip(a, b, strict=True) if left in LABELS and right in LABELS]
