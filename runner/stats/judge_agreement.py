"""Agreement of two judges over the same answers, and which of them accepts what the other does not.

Agreement alone hides a direction: a judge that rejects valid paraphrases errs one way only, which moves every score,
where as many errors in both directions would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runner.errors import UsageError
from runner.stats.agreement import cohen_kappa
from runner.stats.clustered import mcnemar_p
from runner.stats.export import Exportable
from runner.types import CORRECT, LABELS, WRONG

Direction = Literal["harsher", "more lenient"]
_LEVEL = 0.05


@dataclass(frozen=True)
class Disagreement(Exportable):
    """A judge against a reference, over the items that both labelled.

    To accept is to label CORRECT; WRONG and ABSTAIN are not, as in the denominator ``accuracy_abstain_wrong``.

    Attributes
    ----------
    n, errors
        Items that both labelled, and items left out because one of them errored.
    agreement
        Share of the n on which both accept or neither does; ``None`` without an item.
    kappa
        Cohen's kappa of that; ``None`` where chance alone would agree always, or without an item.
    same_label
        Share of the n with the very same label: an abstention and a wrong answer differ.
    only_reference, only_judge
        Items that only the reference accepts, and that only the judge accepts.
    mcnemar_p
        Exact two-sided McNemar p of the two counts: would a fair coin split them so? It takes items as independent.
    """

    n: int
    errors: int
    agreement: float | None
    kappa: float | None
    same_label: float | None
    only_reference: int
    only_judge: int
    mcnemar_p: float

    @property
    def direction(self) -> Direction | None:
        """The direction in which the judge errs, where the McNemar test finds one at 5 %."""
        if self.mcnemar_p >= _LEVEL:
            return None
        return "harsher" if self.only_reference > self.only_judge else "more lenient"

    def to_dict(self) -> dict[str, float | int | str | None]:
        return {**super().to_dict(), "direction": self.direction}


def disagreement(reference: Sequence[str], judge: Sequence[str]) -> Disagreement:
    """Compare a judge's majority labels with those of a reference.

    Parameters
    ----------
    reference, judge
        One label per item, in the same order; anything but CORRECT, WRONG and ABSTAIN is an error.

    Raises
    ------
    UsageError
        When the lists differ in length.
    """
    if len(reference) != len(judge):
        raise UsageError(f"judges: {len(reference)} against {len(judge)} items; pair them by id first")
    pairs = [(x, y) for x, y in zip(reference, judge, strict=True) if x in LABELS and y in LABELS]
    n, errors = len(pairs), len(reference) - len(pairs)
    if not n:
        return Disagreement(0, errors, None, None, None, 0, 0, 1.0)
    left, right = ([CORRECT if pair[side] == CORRECT else WRONG for pair in pairs] for side in (0, 1))
    accepted = cohen_kappa(left, right)
    only_reference = sum(x == CORRECT != y for x, y in zip(left, right, strict=True))
    only_judge = sum(y == CORRECT != x for x, y in zip(left, right, strict=True))
    return Disagreement(
        n=n,
        errors=errors,
        agreement=accepted.raw,
        kappa=accepted.kappa,
        same_label=sum(x == y for x, y in pairs) / n,
        only_reference=only_reference,
        only_judge=only_judge,
        mcnemar_p=mcnemar_p(only_reference, only_judge),
    )
